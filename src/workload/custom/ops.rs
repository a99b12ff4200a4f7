//! Operations by name.

use super::field::Field;
use super::things::{Thing, Things, amount};
use crate::error::Result;
use crate::workload::tree::Tree;
use crate::workload::{Amount, At, Op};

/// Operations, and the further keys that each may have.
const OPERATIONS: &[(&str, &[&str])] = &[
    ("run", VARIES),
    ("kernel", VARIES),
    ("spin", VARIES),
    ("sleep", VARIES),
    ("every", &[]),
    ("send", &["reply"]),
    ("receive", &[]),
    ("post", &["on"]),
    ("release", &["each"]),
    ("lock", &[]),
    ("unlock", &[]),
    ("line", &[]),
    ("barrier", &[]),
    ("io", &[]),
    ("memory", &[]),
    ("touch", &[]),
    ("draw", &[]),
    ("chance", &["do"]),
    ("repeat", &["do"]),
    ("fork", &[]),
    ("count", &[]),
    ("record", &[]),
    ("wait", &[]),
    ("yield", &[]),
    ("stamp", &[]),
    ("exit", &[]),
];

const VARIES: &[&str] = &["per", "uniform", "exponential", "lognormal"];

/// Reads a list of operations.
pub(super) fn list(field: &Field<'_>, things: &mut Things, ops: &mut Vec<Op>) -> Result<()> {
    for item in field.items()? {
        operation(&item, things, ops)?;
    }
    Ok(())
}

/// Returns the operation that a table or a plain word stands for.
fn split<'a>(item: &Field<'a>) -> Result<(&'static str, Option<Field<'a>>)> {
    let names: Vec<&'static str> = OPERATIONS.iter().map(|(name, _)| *name).collect();
    if let Tree::Text(_) = item.value {
        return Ok((names[item.word(&names)?], None));
    }
    let mut found = Vec::new();
    for (key, field) in item.entries()? {
        if let Some((name, _)) = OPERATIONS.iter().find(|(name, _)| *name == key) {
            found.push((*name, field));
        }
    }
    let Some((name, field)) = found.pop().filter(|_| found.is_empty()) else {
        let keys: Vec<&str> = item.entries()?.into_iter().map(|(key, _)| key).collect();
        let (known, found) = (names.join(", "), keys.join(", "));
        return Err(item.wrong(format!("needs exactly one of {known}; found {found}")));
    };
    let more = OPERATIONS.iter().find(|(n, _)| *n == name).map_or(&[][..], |(_, more)| more);
    let known: Vec<&str> = std::iter::once(name).chain(more.iter().copied()).collect();
    item.only(&known)?;
    Ok((name, Some(field)))
}

fn operation(item: &Field<'_>, things: &mut Things, ops: &mut Vec<Op>) -> Result<()> {
    let (name, argument) = split(item)?;
    let plain = match name {
        "wait" => Some(Op::Wait),
        "yield" => Some(Op::Yield),
        "stamp" => Some(Op::Stamp),
        "exit" => Some(Op::Exit),
        _ => None,
    };
    if let Some(op) = plain {
        ops.push(op);
        return Ok(());
    }
    let Some(argument) = argument else {
        return Err(item.wrong(format!("{name} needs an argument: {{ {name} = ... }}")));
    };
    match name {
        "chance" => return chance(item, &argument, things, ops),
        "repeat" => return repeat(item, &argument, things, ops),
        _ => {}
    }
    ops.push(single(name, item, &argument, things)?);
    Ok(())
}

fn single(name: &str, item: &Field<'_>, argument: &Field<'_>, things: &mut Things) -> Result<Op> {
    Ok(match name {
        "run" => Op::Run(amount(item, argument)?),
        "kernel" => Op::Kernel(amount(item, argument)?),
        "spin" => Op::Spin(amount(item, argument)?),
        "sleep" => Op::Sleep(amount(item, argument)?),
        "every" => Op::Every(argument.time()?),
        "send" => {
            let reply =
                item.get("reply")?.map(|f| one(&f, &things.channels, "channel")).transpose()?;
            let caller = argument.text()? == "caller";
            let to = if caller { At::Caller } else { one(argument, &things.channels, "channel")? };
            Op::Send { to, reply }
        }
        "receive" => Op::Receive(one(argument, &things.channels, "channel")?),
        "post" => Op::Post(At::Number(number(argument, names(&things.boards), "board")?)),
        "release" => {
            let board = At::Number(number(argument, names(&things.boards), "board")?);
            let each = item.get("each")?.map_or(Ok(0), |f| f.time())?;
            Op::Release { board, each: Amount::ns(each) }
        }
        "lock" => Op::Lock(one(argument, &things.locks, "lock")?),
        "unlock" => Op::Unlock(one(argument, &things.locks, "lock")?),
        "line" => Op::Line(At::Number(number(argument, things.lines.iter(), "line")?)),
        "barrier" => Op::Barrier(At::Number(number(argument, names(&things.barriers), "barrier")?)),
        "io" => Op::Io(At::Number(number(argument, names(&things.devices), "device")?)),
        "memory" => Op::Memory(argument.size()? as u64),
        "touch" => {
            let size = argument.size()?;
            Op::Touch(
                u32::try_from(size).map_err(|_| argument.wrong("at most 4 GiB are read again"))?,
            )
        }
        "draw" => Op::Draw(number(argument, names(&things.tables), "table")?),
        "fork" => Op::Fork(number(argument, things.programs.iter(), "program")?),
        "count" => Op::Count(name_of(argument, &mut things.counters)?),
        _ => Op::Record(name_of(argument, &mut things.latencies)?),
    })
}

/// A part that is carried out with a probability.
fn chance(
    item: &Field<'_>,
    argument: &Field<'_>,
    things: &mut Things,
    ops: &mut Vec<Op>,
) -> Result<()> {
    let probability = argument.number()?;
    if !(0.0..=1.0).contains(&probability) {
        return Err(argument.wrong(format!("{probability} is not between 0 and 1")));
    }
    let mut inner = Vec::new();
    list(&item.need("do")?, things, &mut inner)?;
    let skip = u16::try_from(inner.len())
        .map_err(|_| item.wrong("at most 65,535 operations depend on chance"))?;
    ops.push(Op::Unless { permille: (probability * 1000.0).round() as u16, skip });
    ops.append(&mut inner);
    Ok(())
}

fn repeat(
    item: &Field<'_>,
    argument: &Field<'_>,
    things: &mut Things,
    ops: &mut Vec<Op>,
) -> Result<()> {
    let forever = matches!(argument.value, Tree::Text(_));
    let times = if forever {
        argument.word(&["forever"])?;
        0
    } else {
        argument.integer(1, i64::from(u32::MAX))? as u32
    };
    ops.push(Op::Repeat(times));
    list(&item.need("do")?, things, ops)?;
    ops.push(Op::Next);
    Ok(())
}

fn names<T>(list: &[(String, T)]) -> impl Iterator<Item = &String> {
    list.iter().map(|(name, _)| name)
}

/// Returns the number of something that exists once.
pub(super) fn number<'n>(
    field: &Field<'_>,
    names: impl Iterator<Item = &'n String>,
    kind: &str,
) -> Result<u32> {
    let text = field.text()?;
    let names: Vec<&str> = names.map(String::as_str).collect();
    match names.iter().position(|n| *n == text) {
        Some(place) => Ok(place as u32),
        None if names.is_empty() => {
            Err(field.wrong(format!("no {kind} {text:?}: none is defined")))
        }
        None => Err(field.wrong(format!("no {kind} {text:?}; defined: {}", names.join(", ")))),
    }
}

/// Returns where something is that may exist for each group or task.
fn one<T>(field: &Field<'_>, things: &[Thing<T>], kind: &str) -> Result<At> {
    let place = number(field, things.iter().map(|t| &t.name), kind)?;
    Ok(things[place as usize].at)
}

/// Returns the number of a counter or latency, which exists because it is used.
fn name_of(field: &Field<'_>, names: &mut Vec<String>) -> Result<u32> {
    let text = field.text()?;
    if let Some(place) = names.iter().position(|n| n == text) {
        return Ok(place as u32);
    }
    names.push(text.to_owned());
    Ok(names.len() as u32 - 1)
}
