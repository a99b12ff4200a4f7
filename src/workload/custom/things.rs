//! What programs act on, by name.

use super::field::{Field, amount_of};
use crate::error::Result;
use crate::machine::Machine;
use crate::workload::{
    Amount, At, Barrier, Case, Channel, Device, Full, Guard, MAX_TASKS, Mutex, REGISTERS, Row,
    Spread,
};

/// How often a thing exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Per {
    All,
    Group,
    Task,
}

/// Something that may exist once for each group or task.
#[derive(Debug, Clone)]
pub(super) struct Thing<T> {
    pub(super) name: String,
    pub(super) per: Per,
    pub(super) model: T,
    /// Its number, or the handle under which tasks have theirs.
    pub(super) at: At,
}

/// Everything that is named.
#[derive(Debug, Default)]
pub(super) struct Things {
    pub(super) channels: Vec<Thing<Channel>>,
    pub(super) locks: Vec<Thing<Mutex>>,
    pub(super) lines: Vec<String>,
    pub(super) barriers: Vec<(String, Barrier)>,
    pub(super) boards: Vec<(String, String)>,
    pub(super) devices: Vec<(String, Device)>,
    pub(super) tables: Vec<(String, Vec<Row>)>,
    pub(super) programs: Vec<String>,
    pub(super) counters: Vec<String>,
    pub(super) latencies: Vec<String>,
}

impl Things {
    pub(super) fn new(root: &Field<'_>, machine: &Machine, case: &Case) -> Result<Self> {
        let section = |key: &str| -> Result<Vec<(&str, Field<'_>)>> {
            root.get(key)?.map_or(Ok(vec![]), |f| f.entries())
        };
        let mut things = Self::default();
        for (name, field) in section("channels")? {
            things.channels.push(thing(name, &field, channel(&field)?)?);
        }
        for (name, field) in section("locks")? {
            field.only(&["per", "spin"])?;
            let spin = field.get("spin")?.map_or(Ok(false), |f| f.boolean())?;
            things.locks.push(thing(name, &field, Mutex { spin })?);
        }
        if let Some(lines) = root.get("lines")? {
            for line in lines.items()? {
                things.lines.push(line.text()?.to_owned());
            }
        }
        for (name, field) in section("barriers")? {
            field.only(&["parties", "spin"])?;
            let parties = amount_of(&field.need("parties")?, case.value, machine.ncpus)?;
            let parties = parties.min(MAX_TASKS + 1) as u32;
            let spin = field.get("spin")?.map_or(Ok(0), |f| f.time())?;
            things.barriers.push((name.into(), Barrier { parties, spin }));
        }
        for (name, field) in section("boards")? {
            field.only(&["wakes"])?;
            things.boards.push((name.into(), field.need("wakes")?.text()?.into()));
        }
        for (name, field) in section("devices")? {
            field.only(&["service", "parallel", "per", "uniform", "exponential", "lognormal"])?;
            let service = amount(&field, &field.need("service")?)?;
            let parallel = field.get("parallel")?.map_or(Ok(1), |f| f.integer(1, 1 << 20))?;
            things.devices.push((name.into(), Device { service, parallel: parallel as u32 }));
        }
        for (name, field) in section("tables")? {
            things.tables.push((name.into(), rows(&field)?));
        }
        things.programs =
            section("programs")?.into_iter().map(|(name, _)| name.to_owned()).collect();
        Ok(things)
    }
}

fn thing<T>(name: &str, field: &Field<'_>, model: T) -> Result<Thing<T>> {
    let words = ["all", "group", "task"];
    let per = field.get("per")?.map_or(Ok(0), |f| f.word(&words))?;
    let per = [Per::All, Per::Group, Per::Task][per];
    Ok(Thing { name: name.to_owned(), per, model, at: At::Number(0) })
}

fn channel(field: &Field<'_>) -> Result<Channel> {
    field.only(&["per", "capacity", "full", "sync", "drain", "hold", "lines"])?;
    let usual = Channel::connection();
    let most = i64::from(u32::MAX);
    let count = |key: &str, usual: u32| -> Result<u32> {
        field.get(key)?.map_or(Ok(usual), |f| Ok(f.integer(1, most)? as u32))
    };
    let full = field.get("full")?.map_or(Ok(0), |f| f.word(&["block", "drop"]))?;
    let hold = field.get("hold")?.map(|f| f.time()).transpose()?;
    let lines = field.get("lines")?.map(|f| f.number()).transpose()?;
    if lines.is_some_and(|n| !(0.0..=1000.0).contains(&n)) {
        return Err(field.wrong("lines are between 0 and 1000"));
    }
    let guard = (hold.is_some() || lines.is_some()).then(|| Guard {
        hold: hold.unwrap_or(0),
        lines_permille: (lines.unwrap_or(0.0) * 1000.0).round() as u32,
    });
    Ok(Channel {
        capacity: count("capacity", usual.capacity)?,
        full: if full == 1 { Full::Drop } else { Full::Block },
        sync: field.get("sync")?.map_or(Ok(usual.sync), |f| f.boolean())?,
        drain: count("drain", usual.drain)?,
        guard,
    })
}

fn rows(field: &Field<'_>) -> Result<Vec<Row>> {
    let row = |item: Field<'_>| -> Result<Row> {
        let numbers = item.items()?;
        if numbers.len() < 2 || numbers.len() > 1 + REGISTERS {
            return Err(item.wrong("a row is a weight and one or two sizes"));
        }
        let weight = numbers[0].integer(0, i64::from(u32::MAX))? as u32;
        let mut registers = [0; REGISTERS];
        for (register, number) in registers.iter_mut().zip(&numbers[1..]) {
            let size = number.size()?;
            *register = u32::try_from(size)
                .map_err(|_| number.wrong(format!("{size} is more than {}", u32::MAX)))?;
        }
        Ok(Row { weight, registers })
    };
    field.items()?.into_iter().map(row).collect()
}

/// Reads an amount of work or time: `time` holds the base, `field` how it varies.
pub(super) fn amount(field: &Field<'_>, time: &Field<'_>) -> Result<Amount> {
    let mut amount = Amount::ns(time.time()?);
    if let Some(per) = field.get("per")? {
        let items = per.items()?;
        if items.len() > REGISTERS {
            return Err(per.wrong(format!("at most {REGISTERS} prices, in ns per unit")));
        }
        for (slot, item) in amount.per.iter_mut().zip(&items) {
            let ps = item.number()? * 1e3;
            if !(0.0..=2e9).contains(&ps) {
                return Err(item.wrong("a price per unit is between 0 and 2e6 ns"));
            }
            *slot = ps.round() as i32;
        }
    }
    let share = |key: &str, most: f64| -> Result<Option<u16>> {
        let Some(f) = field.get(key)? else { return Ok(None) };
        let value = f.number()?;
        if !(0.0..=most).contains(&value) {
            return Err(f.wrong(format!("{value} is not between 0 and {most}")));
        }
        Ok(Some((value * 1000.0).round() as u16))
    };
    let exponential = field.get("exponential")?.map_or(Ok(false), |f| f.boolean())?;
    let spreads = [
        share("uniform", 1.0)?.map(Spread::Uniform),
        share("lognormal", 5.0)?.map(Spread::LogNormal),
        exponential.then_some(Spread::Exponential),
    ];
    let mut given = spreads.into_iter().flatten();
    amount.spread = given.next().unwrap_or_default();
    if given.next().is_some() {
        return Err(field.wrong("varies in one way only: uniform, lognormal or exponential"));
    }
    Ok(amount)
}
