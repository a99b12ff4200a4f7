//! One block of text and what was found in it; blocks are read independently and joined in order.

use std::collections::BTreeMap;

use super::columns::{LOSS, Tables};
use super::names::Names;
use super::report::{Code, Tally};

/// Time stamps of one CPU within a block.
#[derive(Debug, Clone, Copy)]
struct Clock {
    first: i64,
    first_line: u64,
    last: i64,
}

/// The order of time stamps per CPU.
#[derive(Debug, Default, Clone)]
pub struct Clocks {
    of: Vec<Option<Clock>>,
    /// Events that are older than the one before on their CPU.
    pub back: BTreeMap<u16, u64>,
}

impl Clocks {
    /// Notes an event; true if it is older than the one before on its CPU.
    #[inline(always)]
    pub fn note(&mut self, cpu: u16, time: i64, line: u64) -> bool {
        let i = usize::from(cpu);
        if let Some(Some(clock)) = self.of.get_mut(i) {
            let back = time < clock.last;
            clock.last = time;
            if back {
                *self.back.entry(cpu).or_default() += 1;
            }
            return back;
        }
        if i >= self.of.len() {
            self.of.resize(i + 1, None);
        }
        self.of[i] = Some(Clock { first: time, first_line: line, last: time });
        false
    }

    /// Time of the last event on `cpu`.
    pub fn last(&self, cpu: u16) -> Option<i64> {
        self.of.get(usize::from(cpu)).copied().flatten().map(|c| c.last)
    }

    /// CPUs with events, ascending.
    pub fn cpus(&self) -> impl Iterator<Item = u16> {
        self.of.iter().enumerate().filter(|(_, c)| c.is_some()).map(|(i, _)| i as u16)
    }

    /// Joins the clocks of the text that follows; returns where the joint goes back.
    fn append(&mut self, next: &Clocks) -> Vec<(u16, u64)> {
        let mut joints = Vec::new();
        for cpu in next.cpus() {
            let Some(Some(clock)) = next.of.get(usize::from(cpu)) else { continue };
            if self.note(cpu, clock.first, clock.first_line) {
                joints.push((cpu, clock.first_line));
            }
            if let Some(Some(own)) = self.of.get_mut(usize::from(cpu)) {
                own.last = clock.last;
            }
        }
        for (&cpu, &n) in &next.back {
            *self.back.entry(cpu).or_default() += n;
        }
        joints
    }
}

/// What the lines in front of the events say.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Header {
    /// `# tracer:`.
    pub tracer: Option<String>,
    /// `# entries-in-buffer/entries-written: a/b`.
    pub entries: Option<(u64, u64)>,
    /// Number of CPUs, from `#P:n` or `cpus=n`.
    pub cpus: Option<u64>,
    /// `version = n` of trace-cmd.
    pub version: Option<u64>,
    /// `CPU n is empty` of trace-cmd.
    pub empty_cpus: Vec<u64>,
}

impl Header {
    /// True if nothing was said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn append(&mut self, next: Header) {
        self.tracer = self.tracer.take().or(next.tracer);
        self.entries = self.entries.or(next.entries);
        self.cpus = self.cpus.or(next.cpus);
        self.version = self.version.or(next.version);
        self.empty_cpus.extend(next.empty_cpus);
    }
}

/// A line that says that events are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// Line number from 1.
    pub line: u64,
    /// CPU that lost them.
    pub cpu: u16,
    /// How many, when the line says so.
    pub events: Option<u64>,
}

/// Everything found in a stretch of text.
#[derive(Debug, Default, Clone)]
pub struct Batch {
    /// The events.
    pub tables: Tables,
    /// Reasons and places.
    pub tally: Tally,
    /// Physical lines.
    pub lines: u64,
    /// Lines that look like an event.
    pub events: u64,
    /// Those whose event is one that is read.
    pub used: u64,
    /// Time order.
    pub clocks: Clocks,
    /// Preamble.
    pub header: Header,
    /// Losses, in file order.
    pub lost: Vec<Loss>,
    /// Thread groups by process number.
    pub tgids: BTreeMap<i32, i32>,
    /// Names of events that are not read, and how often each came.
    pub unknown: Names,
    /// Counts beside `unknown`.
    pub unknown_counts: Vec<u64>,
    /// `cpu_idle` lines whose `cpu_id` is not the CPU in brackets.
    pub cpu_differs: u64,
    /// First line with an integer time stamp when no unit was given.
    pub integer_stamp: Option<u64>,
    /// Lines with `us` stamps: times are relative.
    pub relative: u64,
    /// Lines in the latency layout.
    pub latency: u64,
    /// Event names followed by more than one blank, as trace-cmd pads them.
    pub padded: u64,
    /// Text that only a trace or its header can hold was seen.
    pub recognised: bool,
    /// First line with text, for the refusal of files that are something else.
    pub first_text: Option<u64>,
}

impl Batch {
    /// Joins what was found in the text that follows, and empties `next` for the next block.
    pub fn append(&mut self, next: &mut Batch) {
        let offset = self.lines;
        self.place_losses(next);
        self.tally.append(&next.tally, offset);
        for (cpu, line) in self.clocks.append(&next.clocks) {
            self.tally.note(Code::TimeWentBack, line + offset, Some(cpu));
        }
        self.tables.append(&mut next.tables, offset);
        self.lost.extend(next.lost.iter().map(|l| Loss { line: l.line + offset, ..*l }));
        for (id, &count) in next.unknown_counts.iter().enumerate().filter(|(_, c)| **c > 0) {
            self.count_unknown(next.unknown.get(id as u32), count);
        }
        for (pid, tgid) in std::mem::take(&mut next.tgids) {
            self.tgids.entry(pid).or_insert(tgid);
        }
        self.header.append(std::mem::take(&mut next.header));
        let shift = |line: Option<u64>| line.map(|l| l + offset);
        self.integer_stamp = self.integer_stamp.or(shift(next.integer_stamp));
        self.first_text = self.first_text.or(shift(next.first_text));
        self.recognised |= next.recognised;
        self.lines += next.lines;
        self.events += next.events;
        self.used += next.used;
        self.cpu_differs += next.cpu_differs;
        self.relative += next.relative;
        self.latency += next.latency;
        self.padded += next.padded;
        next.clear();
    }

    /// Forgets what was found; keeps room and names.
    pub fn clear(&mut self) {
        self.tables.clear();
        let mut kept = std::mem::take(self);
        kept.clocks.of.clear();
        kept.clocks.back.clear();
        kept.unknown_counts.fill(0);
        *self = Batch {
            tables: kept.tables,
            clocks: kept.clocks,
            unknown: kept.unknown,
            unknown_counts: kept.unknown_counts,
            ..Batch::default()
        };
    }

    /// Counts an event that is not read.
    #[inline]
    pub fn count_unknown(&mut self, name: &[u8], count: u64) {
        let id = self.unknown.id(name) as usize;
        if id >= self.unknown_counts.len() {
            self.unknown_counts.resize(id + 1, 0);
        }
        self.unknown_counts[id] += count;
    }

    /// Gives losses before a CPU's first event of a block the time of its last event before the block.
    fn place_losses(&self, next: &mut Batch) {
        if next.lost.is_empty() {
            return;
        }
        let idle = &mut next.tables.idle;
        for i in 0..idle.len() {
            if idle.state[i] == LOSS && idle.time[i] == i64::MIN {
                idle.time[i] = self.clocks.last(idle.cpu[i]).unwrap_or(i64::MIN);
            }
        }
    }
}
