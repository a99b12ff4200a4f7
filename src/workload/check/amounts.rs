//! Numbers against their ranges.

use super::{MAX_TIME, at};
use crate::error::{Error, Result};
use crate::workload::{Amount, Op, Plan, Program, Spread};

/// Most bytes that one operation moves.
const MAX_BYTES: u64 = 1 << 40;

/// Largest value of a register.
const MAX_REGISTER: u32 = 1 << 30;

/// Says what is wrong with an amount.
fn fault(amount: &Amount, most_register: u32) -> Option<String> {
    if !(0..=MAX_TIME).contains(&amount.base) {
        return Some(format!("{} ns is not between 0 and {MAX_TIME}", amount.base));
    }
    if let Some(per) = amount.per.iter().find(|&&per| per < 0) {
        return Some(format!("{per} ps for each unit of a register is negative"));
    }
    let most: i64 =
        amount.per.iter().map(|&p| i64::from(p) * i64::from(most_register) / 1000).sum();
    if most > MAX_TIME {
        return Some(format!(
            "with a register of {most_register} it takes more than {MAX_TIME} ns"
        ));
    }
    match amount.spread {
        Spread::Uniform(permille) if permille > 1000 => {
            Some(format!("a uniform spread of {permille} thousandths would be negative at times"))
        }
        Spread::LogNormal(permille) if permille > 5000 => {
            Some(format!("a log-normal spread of {permille} thousandths is more than 5000"))
        }
        _ => None,
    }
}

fn is_zero(amount: &Amount) -> bool {
    amount.base == 0 && amount.per.iter().all(|&p| p == 0)
}

/// Returns the largest value that a register may have.
fn largest_register(plan: &Plan) -> u32 {
    plan.tables.iter().flatten().flat_map(|r| r.registers).max().unwrap_or(0)
}

/// Checks what programs act on.
pub(super) fn things(plan: &Plan) -> Result<()> {
    for (i, c) in plan.channels.iter().enumerate() {
        let name = || format!("workload.channels[{i}]");
        if c.capacity == 0 || c.drain == 0 {
            return Err(Error::invalid(name(), "capacity and drain are at least 1"));
        }
        if c.drain > c.capacity {
            let reason = format!("drain {} is more than the capacity {}", c.drain, c.capacity);
            return Err(Error::invalid(name(), reason));
        }
        if c.guard.is_some_and(|g| !(0..=MAX_TIME).contains(&g.hold) || g.lines_permille > 1 << 20)
        {
            return Err(Error::invalid(name(), "guard: hold or lines_permille out of range"));
        }
    }
    for (i, b) in plan.barriers.iter().enumerate() {
        if b.parties == 0 || b.spin < 0 {
            let reason = "parties are at least 1 and spin is not negative";
            return Err(Error::invalid(format!("workload.barriers[{i}]"), reason));
        }
    }
    for (i, &channel) in plan.boards.iter().enumerate() {
        if channel as usize >= plan.channels.len() {
            let reason = format!("channel {channel} does not exist");
            return Err(Error::invalid(format!("workload.boards[{i}]"), reason));
        }
    }
    devices(plan)?;
    tables(plan)
}

fn devices(plan: &Plan) -> Result<()> {
    for (i, d) in plan.devices.iter().enumerate() {
        let name = || format!("workload.devices[{i}]");
        if d.parallel == 0 {
            return Err(Error::invalid(name(), "serves at least 1 request at a time"));
        }
        if is_zero(&d.service) {
            return Err(Error::invalid(name(), "a request takes some time"));
        }
        if let Some(reason) = fault(&d.service, largest_register(plan)) {
            return Err(Error::invalid(name(), reason));
        }
    }
    Ok(())
}

fn tables(plan: &Plan) -> Result<()> {
    for (i, rows) in plan.tables.iter().enumerate() {
        let name = || format!("workload.tables[{i}]");
        let weight: u64 = rows.iter().map(|r| u64::from(r.weight)).sum();
        if weight == 0 || weight > u64::from(u32::MAX) {
            let reason = format!("the weights add up to {weight}; between 1 and {}", u32::MAX);
            return Err(Error::invalid(name(), reason));
        }
        if let Some(big) = rows.iter().flat_map(|r| r.registers).find(|&r| r > MAX_REGISTER) {
            return Err(Error::invalid(name(), format!("{big} is more than {MAX_REGISTER}")));
        }
    }
    Ok(())
}

/// Checks the numbers of one operation.
pub(super) fn op(plan: &Plan, program: &Program, index: usize, op: &Op) -> Result<()> {
    let amount = match op {
        Op::Run(a) | Op::Kernel(a) | Op::Spin(a) | Op::Sleep(a) => Some((a, true)),
        Op::Release { each, .. } => Some((each, false)),
        _ => None,
    };
    if let Some((amount, positive)) = amount {
        if positive && is_zero(amount) {
            return Err(at(program, index, "takes 0 ns; leave it out"));
        }
        if let Some(reason) = fault(amount, largest_register(plan)) {
            return Err(at(program, index, reason));
        }
    }
    let reason = match *op {
        Op::Every(period) if !(1..=MAX_TIME).contains(&period) => {
            format!("a period of {period} ns is not between 1 and {MAX_TIME}")
        }
        Op::Memory(0) | Op::Touch(0) => "moves no bytes; leave it out".into(),
        Op::Memory(bytes) if bytes >= MAX_BYTES => {
            format!("moves {bytes} bytes, less than {MAX_BYTES} are allowed")
        }
        Op::Unless { permille, .. } if permille > 1000 => {
            format!("a probability of {permille} thousandths is more than 1000")
        }
        _ => return Ok(()),
    };
    Err(at(program, index, reason))
}
