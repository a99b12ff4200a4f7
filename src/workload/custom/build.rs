//! From a definition to a plan: numbers for names, and as many tasks, channels and locks as asked for.

use super::field::{Field, amount_of};
use super::ops;
use super::things::{Per, Thing, Things};
use crate::error::Result;
use crate::machine::Machine;
use crate::workload::tree::Tree;
use crate::workload::{At, Case, End, Kind, Layout, MAX_TASKS, Paths, Plan, Task, TaskClass};

/// Most things that tasks have of their own, all together.
const MAX_OWN: usize = 8_000_000;

/// A row of `tasks`.
struct Row {
    task: Task,
    groups: u32,
    count: u32,
}

/// Makes the plan of a case; what it refers to is checked later.
pub(super) fn plan(root: &Field<'_>, machine: &Machine, case: &Case) -> Result<Plan> {
    let mut things = Things::new(root, machine, case)?;
    let mut plan = Plan::default();
    times(root, &mut plan)?;
    let posted = posted_channel(root, &things)?;
    let handles = places(&mut things, posted);
    for (name, field) in root.need("programs")?.entries()? {
        let mut list = Vec::new();
        ops::list(&field, &mut things, &mut list)?;
        plan.program(name, list);
    }
    let rows = rows(root, &things, machine, case, &mut plan)?;
    let own =
        rows.iter().map(|r| r.groups as usize * r.count as usize).sum::<usize>() * handles.len();
    if own > MAX_OWN {
        let reason = format!("{own} channels and locks of tasks are too many, at most {MAX_OWN}");
        return Err(root.wrong(reason));
    }
    fill(root, &things, &mut plan)?;
    tasks(&things, handles, &rows, &mut plan);
    Ok(plan)
}

fn times(root: &Field<'_>, plan: &mut Plan) -> Result<()> {
    let time = |key: &str| -> Result<Option<i64>> { root.get(key)?.map(|f| f.time()).transpose() };
    plan.warmup = time("warmup")?.unwrap_or(plan.warmup);
    plan.window = time("window")?.unwrap_or(plan.window);
    if let Some(limit) = time("limit")? {
        plan.end = End::AllExit(limit);
    }
    if let Some(spare) = root.get("spare")? {
        plan.spare = spare.integer(0, i64::from(u32::MAX))? as u32;
    }
    if let Some(layout) = root.get("layout")? {
        let word = layout.word(&["spread", "packed", "socket0"])?;
        plan.layout = [Layout::Spread, Layout::Packed, Layout::Socket0][word];
    }
    if let Some(paths) = root.get("paths")? {
        paths.only(&["block", "wake", "refill", "cold_message"])?;
        let time =
            |key: &str| -> Result<Option<i64>> { paths.get(key)?.map(|f| f.time()).transpose() };
        plan.paths = Paths {
            block: time("block")?,
            wake: time("wake")?,
            refill: time("refill")?,
            cold_message: time("cold_message")?,
        };
    }
    Ok(())
}

/// Returns the channel that tasks post on boards, the same for all.
fn posted_channel(root: &Field<'_>, things: &Things) -> Result<Option<usize>> {
    let mut found: Option<usize> = None;
    let mut open: Vec<Field<'_>> =
        root.need("programs")?.entries()?.into_iter().map(|(_, field)| field).collect();
    while let Some(list) = open.pop() {
        for item in list.items()? {
            if !matches!(item.value, Tree::Table(_)) {
                continue;
            }
            open.extend(item.get("do")?);
            if item.get("post")?.is_none() {
                continue;
            }
            let on = item.need("on")?;
            let names = things.channels.iter().map(|t| &t.name);
            let channel = ops::number(&on, names, "channel")? as usize;
            if things.channels[channel].per == Per::All {
                return Err(
                    on.wrong("a task posts a channel of its own: per = \"task\" or \"group\"")
                );
            }
            if found.is_some_and(|f| f != channel) {
                return Err(on.wrong("all posts of a workload are on the same channel"));
            }
            found = Some(channel);
        }
    }
    Ok(found)
}

/// Something that tasks have a handle for: a channel or a lock, by its place in the list.
#[derive(Clone, Copy)]
enum Own {
    Channel(usize),
    Lock(usize),
}

/// Gives everything its number or handle; the posted channel has handle 0.
fn places(things: &mut Things, posted: Option<usize>) -> Vec<Own> {
    let mut handles: Vec<Own> = posted.map(Own::Channel).into_iter().collect();
    let mut shared = 0;
    for (i, thing) in things.channels.iter_mut().enumerate() {
        if posted == Some(i) {
            thing.at = At::Handle(0);
        } else {
            thing.at = place(thing.per, Own::Channel(i), &mut handles, &mut shared);
        }
    }
    shared = 0;
    for (i, thing) in things.locks.iter_mut().enumerate() {
        thing.at = place(thing.per, Own::Lock(i), &mut handles, &mut shared);
    }
    handles
}

fn place(per: Per, own: Own, handles: &mut Vec<Own>, shared: &mut u32) -> At {
    if per == Per::All {
        *shared += 1;
        return At::Number(*shared - 1);
    }
    handles.push(own);
    At::Handle(handles.len() as u32 - 1)
}

const TASK_KEYS: &[&str] =
    &["program", "groups", "count", "nice", "class", "slice", "start", "cpus"];

fn rows(
    root: &Field<'_>,
    things: &Things,
    machine: &Machine,
    case: &Case,
    plan: &mut Plan,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut total = 0_u64;
    for field in root.need("tasks")?.items()? {
        field.only(TASK_KEYS)?;
        let many = |key: &str| -> Result<u64> {
            let Some(f) = field.get(key)? else { return Ok(1) };
            match amount_of(&f, case.value, machine.ncpus)? {
                0 => Err(f.wrong("is 0: no task would run")),
                n => Ok(n),
            }
        };
        let (groups, count) = (many("groups")?, many("count")?);
        total = groups.saturating_mul(count).saturating_add(total);
        if total > MAX_TASKS {
            let reason = format!("{total} tasks need about {:.1} GB", total as f64 / 1e6);
            return Err(field.wrong(format!("{reason}; at most {MAX_TASKS} are run")));
        }
        let task = task(&field, things, plan)?;
        rows.push(Row { task, groups: groups as u32, count: count as u32 });
    }
    Ok(rows)
}

fn task(field: &Field<'_>, things: &Things, plan: &mut Plan) -> Result<Task> {
    let time = |key: &str| -> Result<i64> { field.get(key)?.map_or(Ok(0), |f| f.time()) };
    let program = ops::number(&field.need("program")?, things.programs.iter(), "program")?;
    let class = field.get("class")?.map_or(Ok(0), |f| f.word(&["normal", "batch", "idle"]))?;
    let nice = field.get("nice")?.map_or(Ok(0), |f| f.integer(-20, 19))?;
    let affinity = match field.get("cpus")? {
        Some(cpus) => {
            let cpu = |f: &Field<'_>| Ok(f.integer(0, i64::from(u32::MAX))? as u32);
            plan.affinities.push(cpus.items()?.iter().map(cpu).collect::<Result<_>>()?);
            Some(plan.affinities.len() as u32 - 1)
        }
        None => None,
    };
    Ok(Task {
        program,
        nice: nice as i8,
        class: [TaskClass::Normal, TaskClass::Batch, TaskClass::Idle][class],
        slice: time("slice")?,
        start: time("start")?,
        affinity,
        ..Task::default()
    })
}

/// Puts everything that exists once into the plan.
fn fill(root: &Field<'_>, things: &Things, plan: &mut Plan) -> Result<()> {
    let once = |t: &&Thing<_>| t.per == Per::All;
    plan.channels = things.channels.iter().filter(once).map(|t| t.model).collect();
    let once = |t: &&Thing<_>| t.per == Per::All;
    plan.locks = things.locks.iter().filter(once).map(|t| t.model).collect();
    names(things, plan);
    plan.lines = things.lines.len() as u32;
    plan.barriers = things.barriers.iter().map(|(_, b)| *b).collect();
    plan.devices = things.devices.iter().map(|(_, d)| *d).collect();
    plan.tables = things.tables.iter().map(|(_, t)| t.clone()).collect();
    plan.counters.clone_from(&things.counters);
    plan.latencies.clone_from(&things.latencies);
    for (name, wakes) in &things.boards {
        let channel = things.channels.iter().find(|t| t.name == *wakes);
        let Some(At::Number(number)) = channel.map(|t| t.at) else {
            let place = format!("{}.boards.{name}.wakes", root.place);
            let reason = format!("{wakes:?} is not a channel that exists once");
            return Err(Field { place, value: root.value }.wrong(reason));
        };
        plan.boards.push(number);
    }
    Ok(())
}

/// Names what exists once; what tasks have of their own follows with them.
fn names(things: &Things, plan: &mut Plan) {
    let once = |per: Per| per == Per::All;
    let channels = things.channels.iter().filter(|t| once(t.per)).map(|t| (Kind::Channel, &t.name));
    let locks = things.locks.iter().filter(|t| once(t.per)).map(|t| (Kind::Lock, &t.name));
    let lines = things.lines.iter().map(|name| (Kind::Line, name));
    let barriers = things.barriers.iter().map(|(name, _)| (Kind::Barrier, name));
    let devices = things.devices.iter().map(|(name, _)| (Kind::Device, name));
    for (kind, name) in channels.chain(locks).chain(lines).chain(barriers).chain(devices) {
        plan.names.add(kind, name);
    }
}

/// Adds the tasks, and what they have of their own.
fn tasks(things: &Things, handles: Vec<Own>, rows: &[Row], plan: &mut Plan) {
    let groups = rows.iter().map(|r| r.groups).max().unwrap_or(0) as usize;
    // For each handle the numbers of the instances of the groups so far.
    let mut known: Vec<Vec<u32>> = vec![Vec::new(); handles.len()];
    for row in rows {
        for group in 0..row.groups {
            for _ in 0..row.count {
                let mut own = Vec::with_capacity(handles.len());
                for (handle, known) in handles.iter().zip(&mut known) {
                    own.push(instance(things, *handle, known, group as usize, groups, plan));
                }
                plan.task(Task { group, ..row.task }, &own);
            }
        }
    }
}

fn instance(
    things: &Things,
    own: Own,
    known: &mut Vec<u32>,
    group: usize,
    groups: usize,
    plan: &mut Plan,
) -> u32 {
    let per = match own {
        Own::Channel(i) => things.channels[i].per,
        Own::Lock(i) => things.locks[i].per,
    };
    if per == Per::Group {
        known.resize(groups, u32::MAX);
        if known[group] != u32::MAX {
            return known[group];
        }
    }
    let number = match own {
        Own::Channel(i) => {
            plan.names.add(Kind::Channel, &things.channels[i].name);
            plan.channel(things.channels[i].model)
        }
        Own::Lock(i) => {
            plan.names.add(Kind::Lock, &things.locks[i].name);
            plan.locks.push(things.locks[i].model);
            plan.locks.len() as u32 - 1
        }
    };
    if per == Per::Group {
        known[group] = number;
    }
    number
}
