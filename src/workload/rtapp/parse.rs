//! From the tree of a file to threads, phases and events.

use super::{RtApp, Unsupported};
use crate::error::{Error, Result};
use crate::workload::TaskClass;
use crate::workload::tree::Tree;

/// What a thread does next. Times are us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    Run(i64),
    Runtime(i64),
    Sleep(i64),
    Timer(i64),
    Lock(String),
    Unlock(String),
    Wait { condition: String, mutex: String },
    Signal(String),
    Sync { condition: String, mutex: String },
    Barrier(String),
    Suspend(String),
    Memory(i64),
    Write(i64),
    Yield,
    Fork(String),
}

/// Events that are carried out a number of times; -1 for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Phase {
    pub(super) turns: i64,
    pub(super) events: Vec<Event>,
}

/// One kind of thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) name: String,
    pub(super) instances: i64,
    pub(super) delay: i64,
    pub(super) turns: i64,
    pub(super) nice: i8,
    pub(super) class: TaskClass,
    pub(super) slice: i64,
    pub(super) cpus: Vec<u32>,
    pub(super) phases: Vec<Phase>,
}

/// What holds for the whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Global {
    /// Seconds; -1 until all threads have ended.
    pub(super) duration: i64,
    pub(super) class: TaskClass,
    /// Writes go to a device and not to nowhere.
    pub(super) device: bool,
}

/// Longest time of an event, us.
const LONGEST: i64 = 1_000_000_000_000;

/// Keys of `global` that only say how to log, calibrate and allocate.
const SILENT: &[&str] = &[
    "calibration",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "frag",
    "lock_pages",
    "cumulative_slack",
    "mem_buffer_size",
];

/// Events, as the beginning of their keys; a longer one stands before the shorter one it contains.
const EVENTS: &[&str] = &[
    "runtime", "run", "sleep", "timer", "lock", "unlock", "wait", "signal", "broad", "sync",
    "barrier", "suspend", "resume", "mem", "iorun", "yield", "fork",
];

struct Reader {
    unsupported: Vec<Unsupported>,
    notes: Vec<String>,
}

type Entry<'a> = (&'a str, &'a Tree);

fn wrong(key: &str, expected: &str, found: &Tree) -> Error {
    Error::invalid(key, format!("expected {expected}, found {}", found.kind()))
}

/// Most tasks of a file: every one is compared with the others by name.
const MOST_TASKS: usize = 20_000;

fn table<'a>(key: &str, tree: &'a Tree) -> Result<Vec<Entry<'a>>> {
    match tree {
        Tree::Table(table) => Ok(table.iter().map(|(k, v)| (k.as_str(), v)).collect()),
        other => Err(wrong(key, "an object", other)),
    }
}

fn integer(key: &str, tree: &Tree, least: i64, most: i64) -> Result<i64> {
    let value = match tree {
        Tree::Int(value) => *value,
        Tree::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => *value as i64,
        other => return Err(wrong(key, "an integer", other)),
    };
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(Error::invalid(key, format!("{value} is not between {least} and {most}")))
}

fn text<'a>(key: &str, tree: &'a Tree) -> Result<&'a str> {
    match tree {
        Tree::Text(text) => Ok(text),
        other => Err(wrong(key, "a text", other)),
    }
}

/// Reads a whole file.
pub(super) fn file(tree: &Tree, path: &str) -> Result<RtApp> {
    let mut reader = Reader { unsupported: Vec::new(), notes: Vec::new() };
    let mut global = Global { duration: -1, class: TaskClass::Normal, device: false };
    let root = table("the file", tree)?;
    for (key, value) in &root {
        match *key {
            "global" => global = reader.global(value)?,
            // The resources of old files: rt-app makes them when they are first named.
            "tasks" | "resources" => {}
            other => reader.refuse(other, "no such section"),
        }
    }
    let Some((_, tasks)) = root.iter().find(|(key, _)| *key == "tasks") else {
        return Err(Error::invalid("tasks", "is missing"));
    };
    let mut threads = Vec::new();
    let tasks = table("tasks", tasks)?;
    if tasks.len() > MOST_TASKS {
        let reason = format!(
            "{} tasks; at most {MOST_TASKS} can be, more come from their key instance",
            tasks.len()
        );
        return Err(Error::invalid("tasks", reason));
    }
    for (name, value) in tasks {
        threads.push(reader.thread(name, value, &global)?);
    }
    reader.forks(&threads);
    reader.compare(&threads);
    Ok(RtApp {
        path: path.to_owned(),
        threads,
        global,
        unsupported: reader.unsupported,
        notes: reader.notes,
    })
}

impl Reader {
    fn refuse(&mut self, key: &str, reason: &str) {
        self.unsupported.push(Unsupported { key: key.to_owned(), reason: reason.to_owned() });
    }

    fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    fn global(&mut self, tree: &Tree) -> Result<Global> {
        let mut global = Global { duration: -1, class: TaskClass::Normal, device: false };
        for (name, value) in table("global", tree)? {
            let key = format!("global.{name}");
            match name {
                "duration" => global.duration = integer(&key, value, -1, 1_000_000)?,
                "default_policy" => global.class = self.policy(&key, value)?,
                "io_device" => global.device = text(&key, value)? != "/dev/null",
                "pi_enabled" if *value != Tree::Bool(false) => {
                    self.refuse(&key, "priority inheritance is not simulated");
                }
                "pi_enabled" => {}
                silent if SILENT.contains(&silent) => {}
                _ => self.refuse(&key, "unknown key"),
            }
        }
        Ok(global)
    }

    fn policy(&mut self, key: &str, value: &Tree) -> Result<TaskClass> {
        Ok(match text(key, value)? {
            "SCHED_OTHER" | "SCHED_NORMAL" => TaskClass::Normal,
            "SCHED_BATCH" => TaskClass::Batch,
            "SCHED_IDLE" => TaskClass::Idle,
            other => {
                self.refuse(
                    key,
                    &format!("{other}: only normal, batch and idle tasks are simulated"),
                );
                TaskClass::Normal
            }
        })
    }

    fn thread(&mut self, name: &str, tree: &Tree, global: &Global) -> Result<Thread> {
        let place = format!("tasks.{name}");
        let entries = table(&place, tree)?;
        let mut thread = Thread {
            name: name.to_owned(),
            instances: 1,
            delay: 0,
            turns: -1,
            nice: 0,
            class: global.class,
            slice: 0,
            cpus: Vec::new(),
            phases: Vec::new(),
        };
        for &(key, value) in entries.iter().filter(|(key, _)| *key == "policy") {
            thread.class = self.policy(&format!("{place}.{key}"), value)?;
        }
        let has_phases = entries.iter().any(|(key, _)| *key == "phases");
        let mut own = Phase { turns: 1, events: Vec::new() };
        for (key, value) in entries {
            let full = format!("{place}.{key}");
            match key {
                "instance" => thread.instances = integer(&full, value, 0, 1_000_000)?,
                "delay" => thread.delay = integer(&full, value, 0, LONGEST)?,
                "loop" => thread.turns = integer(&full, value, -1, i64::from(u32::MAX))?,
                "policy" => {}
                "priority" => thread.nice = self.priority(&full, value)?,
                "cpus" => thread.cpus = cpus(&full, value)?,
                "dl-runtime" => thread.slice = integer(&full, value, 0, LONGEST)? * 1000,
                "phases" => {
                    for (name, phase) in table(&full, value)? {
                        let phase = self.phase(&format!("{full}.{name}"), phase, &thread.name)?;
                        thread.phases.push(phase);
                    }
                }
                _ if has_phases => self.refuse(&full, "stands beside phases, and is not in one"),
                _ => own.events.extend(self.event(&full, key, value, &thread.name)?),
            }
        }
        if !has_phases {
            thread.phases.push(own);
        }
        Ok(thread)
    }

    fn priority(&mut self, key: &str, value: &Tree) -> Result<i8> {
        let value = integer(key, value, -1000, 1000)?;
        if (-20..=19).contains(&value) {
            return Ok(value as i8);
        }
        self.refuse(key, &format!("{value}: nice values are between -20 and 19"));
        Ok(0)
    }

    fn phase(&mut self, place: &str, tree: &Tree, thread: &str) -> Result<Phase> {
        let mut phase = Phase { turns: 1, events: Vec::new() };
        for (key, value) in table(place, tree)? {
            let full = format!("{place}.{key}");
            match key {
                "loop" => phase.turns = integer(&full, value, -1, i64::from(u32::MAX))?,
                "cpus" | "policy" | "priority" | "dl-runtime" => {
                    self.refuse(&full, "changes a thread while it runs");
                }
                _ => phase.events.extend(self.event(&full, key, value, thread)?),
            }
        }
        Ok(phase)
    }

    /// Returns the events that a key stands for: none if it is not supported, or does nothing.
    fn event(
        &mut self,
        full: &str,
        key: &str,
        value: &Tree,
        thread: &str,
    ) -> Result<Option<Event>> {
        let Some(name) = EVENTS.iter().find(|name| key.starts_with(**name)) else {
            self.refuse(full, "not simulated");
            return Ok(None);
        };
        let us = || integer(full, value, 0, LONGEST);
        let word = || Ok::<_, Error>(text(full, value)?.to_owned());
        let event = match *name {
            "run" => Event::Run(us()?),
            "runtime" => Event::Runtime(us()?),
            // In files of 2014 `sleep` is a switch beside `exec`.
            "sleep" if matches!(value, Tree::Bool(_)) => {
                self.refuse(full, "belongs to the task sets of old files");
                return Ok(None);
            }
            "sleep" => Event::Sleep(us()?),
            "timer" => self.timer(full, value)?,
            "lock" if matches!(value, Tree::List(_)) => {
                self.refuse(full, "belongs to the task sets of old files");
                return Ok(None);
            }
            "lock" => Event::Lock(word()?),
            "unlock" => Event::Unlock(word()?),
            "wait" => {
                let (condition, mutex) = pair(full, value)?;
                Event::Wait { condition, mutex }
            }
            "sync" => {
                let (condition, mutex) = pair(full, value)?;
                Event::Sync { condition, mutex }
            }
            "signal" | "broad" | "resume" => Event::Signal(word()?),
            "barrier" => Event::Barrier(word()?),
            "suspend" => {
                let name = word()?;
                Event::Suspend(if name.is_empty() { thread.to_owned() } else { name })
            }
            "mem" => Event::Memory(integer(full, value, 0, (1 << 40) - 1)?),
            "iorun" => Event::Write(integer(full, value, 0, (1 << 40) - 1)?),
            "yield" => Event::Yield,
            _ => Event::Fork(word()?),
        };
        let idle = [
            Event::Run(0),
            Event::Runtime(0),
            Event::Sleep(0),
            Event::Timer(0),
            Event::Memory(0),
            Event::Write(0),
        ];
        Ok((!idle.contains(&event)).then_some(event))
    }

    fn timer(&mut self, full: &str, value: &Tree) -> Result<Event> {
        let mut period = None;
        let mut absolute = false;
        for (key, value) in table(full, value)? {
            let place = format!("{full}.{key}");
            match key {
                "ref" => drop(text(&place, value)?),
                "period" => period = Some(integer(&place, value, 0, LONGEST)?),
                "mode" => absolute = text(&place, value)? == "absolute",
                _ => self.refuse(&place, "unknown key"),
            }
        }
        if !absolute {
            self.note("a timer that was missed is made up for, as in mode absolute".into());
        }
        period
            .map(Event::Timer)
            .ok_or_else(|| Error::invalid(format!("{full}.period"), "is missing"))
    }

    /// Lists forks of threads that are not there, or that wait for others.
    fn forks(&mut self, threads: &[Thread]) {
        for thread in threads {
            for event in thread.phases.iter().flat_map(|p| &p.events) {
                let Event::Fork(name) = event else { continue };
                let key = format!("tasks.{}.fork", thread.name);
                let Some(child) = threads.iter().find(|t| t.name == *name) else {
                    self.refuse(&key, &format!("no thread {name:?}"));
                    continue;
                };
                let waits = |e: &Event| {
                    matches!(e, Event::Wait { .. } | Event::Sync { .. } | Event::Suspend(_))
                };
                if child.phases.iter().flat_map(|p| &p.events).any(waits) {
                    self.refuse(
                        &key,
                        &format!("{name:?} waits for others, which only threads of the start do"),
                    );
                }
            }
        }
    }

    /// Notes where a signal wakes more threads than it would.
    fn compare(&mut self, threads: &[Thread]) {
        let mut waiting: Vec<(&str, i64)> = Vec::new();
        for thread in threads {
            for event in thread.phases.iter().flat_map(|p| &p.events) {
                if let Event::Wait { condition, .. } | Event::Sync { condition, .. } = event {
                    waiting.push((condition, thread.instances));
                }
            }
        }
        for &(condition, _) in &waiting {
            let all: i64 = waiting.iter().filter(|(c, _)| *c == condition).map(|(_, n)| n).sum();
            if all > 1 {
                self.note(format!("a signal of {condition:?} wakes all that wait, not the first"));
            }
        }
    }
}

fn pair(key: &str, tree: &Tree) -> Result<(String, String)> {
    let entries = table(key, tree)?;
    let part = |name: &str| -> Result<String> {
        let place = format!("{key}.{name}");
        match entries.iter().find(|(k, _)| *k == name) {
            Some((_, value)) => Ok(text(&place, value)?.to_owned()),
            None => Err(Error::invalid(place, "is missing")),
        }
    };
    Ok((part("ref")?, part("mutex")?))
}

fn cpus(key: &str, tree: &Tree) -> Result<Vec<u32>> {
    let Tree::List(list) = tree else { return Err(wrong(key, "a list of CPUs", tree)) };
    list.iter().map(|cpu| Ok(integer(key, cpu, 0, i64::from(u32::MAX))? as u32)).collect()
}
