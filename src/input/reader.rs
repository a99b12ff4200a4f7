//! Reads a trace from its sources: blocks on all cores, joined in order, then intervals.

use rayon::prelude::*;

use super::batch::Batch;
use super::episodes::{self, Episodes, Timeline};
use super::ftrace::{self, Layout, Style};
use super::html::Page;
use super::intervals::{self, Idle};
use super::report::{Code, Place, Strictness};
use super::source::{Block, Blocks, Origin, Source, refuse};
use super::wrapping::{Wrapping, wrapping_of};
use super::{BOM, Format, detect, perf, trace_dat};
use crate::error::{Error, InputError, Result};
use crate::watch::Watch;

/// Bytes without any sign of a trace after which a file is refused.
const PATIENCE: u64 = 4 << 20;

/// Blocks per core that are taken apart at a time.
const AHEAD: usize = 2;

/// How to read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// What to do about damage.
    pub strictness: Strictness,
    /// ns per unit of integer time stamps.
    pub unit: Option<u64>,
}

/// A trace in columns, with everything there is to say about it.
#[derive(Debug, Default, Clone)]
pub struct Trace {
    /// Tables, counts, reasons.
    pub batch: Batch,
    /// Idle intervals.
    pub idle: Idle,
    /// What the governor was told, tick, timers.
    pub episodes: Episodes,
    /// The word for the kind of text.
    pub format: &'static str,
    /// Name of every source and the lines in front of it.
    pub sources: Vec<(String, u64)>,
}

/// Reads the sources one after the other as parts of one recording.
///
/// # Errors
/// [`Error::Input`] for what is no readable trace, and in strict mode at the first damaged line;
/// [`Error::Interrupted`] when a stop was asked for.
pub fn read_trace(sources: Vec<Source>, options: Options, watch: &Watch) -> Result<Trace> {
    if sources.is_empty() {
        return Err(Error::invalid("path", "expected at least one file, found none"));
    }
    let mut trace = Trace::default();
    let mut again = Vec::new();
    for source in sources {
        again.push(same_again(&source.origin));
        let reading = Reading::open(source, &mut trace, options, watch)?;
        reading.run(&mut trace, watch).map_err(|e| with_excerpt(e, again.last(), watch))?;
    }
    finish(&mut trace);
    if options.strictness == Strictness::Strict
        && let Some((place, code)) = trace.batch.tally.first_refused()
    {
        let (error, source) = refusal(&trace, place, code);
        return Err(with_excerpt(error, again.get(source), watch));
    }
    Ok(trace)
}

/// A block of text and what was found in it.
#[derive(Default)]
struct Lane<'a> {
    block: Block<'a>,
    batch: Batch,
}

/// Lanes that are read, taken apart and joined together.
#[derive(Default)]
struct Lanes<'a> {
    lanes: Vec<Lane<'a>>,
    filled: usize,
}

impl Lanes<'_> {
    fn of(n: usize) -> Self {
        Self { lanes: (0..n).map(|_| Lane::default()).collect(), filled: 0 }
    }

    /// Takes every block apart, on all cores.
    fn take_apart(&mut self, style: Style) {
        self.lanes[..self.filled].par_iter_mut().for_each(|lane| {
            ftrace::read_block(lane.block.text(), style, &mut lane.batch);
        });
    }

    /// Joins what was found to the trace; returns the bytes that were read.
    fn join(&mut self, trace: &mut Trace) -> u64 {
        let filled = &mut self.lanes[..self.filled];
        filled.iter_mut().for_each(|lane| trace.batch.append(&mut lane.batch));
        filled.iter().map(|lane| lane.block.text().len() as u64).sum()
    }
}

/// One source on its way into a trace.
struct Reading<'a> {
    blocks: Blocks<'a>,
    front: Lanes<'a>,
    style: Style,
    page: Option<Page>,
    strict: bool,
    /// Lines of the sources before this one.
    offset: u64,
    /// Events of the sources before this one.
    events_before: u64,
}

impl<'a> Reading<'a> {
    fn open(
        source: Source<'a>,
        trace: &mut Trace,
        options: Options,
        watch: &'a Watch,
    ) -> Result<Self> {
        let (offset, events_before) = (trace.batch.lines, trace.batch.events);
        trace.sources.push((source.name.clone(), offset));
        let mut blocks = Blocks::open(source, watch)?;
        let mut first = Block::default();
        if !blocks.next(&mut first, watch)? {
            return Err(refuse(blocks.name(), "empty-file", "the file is empty", "name a trace"));
        }
        if first.text().starts_with(BOM) {
            first.skip(BOM.len());
        }
        let mut page = match readable(blocks.name(), blocks.head())? {
            Format::Page => Some(Page::default()),
            _ => None,
        };
        let style = style_of(blocks.name(), first.text(), options.unit)?;
        trace.format = match (&page, style.layout) {
            (Some(_), _) => "systrace-html",
            (None, Layout::Perf) => "perf-script",
            (None, Layout::Ftrace) => "",
        };
        if let Some(page) = &mut page {
            page.strip(&mut first);
        }
        let mut front = Lanes::of(AHEAD * rayon::current_num_threads());
        front.lanes[0].block = first;
        front.filled = 1;
        let strict = options.strictness == Strictness::Strict;
        Ok(Self { blocks, front, style, page, strict, offset, events_before })
    }

    /// Takes blocks apart while the ones before are joined and the next ones are read.
    fn run(mut self, trace: &mut Trace, watch: &Watch) -> Result<()> {
        let style = self.style;
        let mut front = std::mem::take(&mut self.front);
        let mut back = Lanes::of(front.lanes.len());
        while front.filled > 0 {
            let (_, refilled) = rayon::join(
                || front.take_apart(style),
                || -> Result<()> {
                    self.join(&mut back, trace, watch)?;
                    self.fill(&mut back, watch)
                },
            );
            refilled?;
            if self.strict && trace.batch.tally.first_refused().is_some() {
                return self.check(trace, u64::MAX);
            }
            std::mem::swap(&mut front, &mut back);
        }
        self.join(&mut back, trace, watch)?;
        self.check(trace, u64::MAX)
    }

    fn join(&self, lanes: &mut Lanes, trace: &mut Trace, watch: &Watch) -> Result<()> {
        watch.advance(lanes.join(trace))?;
        self.check(trace, watch.done())
    }

    fn fill(&mut self, lanes: &mut Lanes<'a>, watch: &Watch) -> Result<()> {
        lanes.filled = 0;
        for lane in &mut lanes.lanes {
            if !self.blocks.next(&mut lane.block, watch)? {
                break;
            }
            if let Some(page) = &mut self.page {
                page.strip(&mut lane.block);
            }
            lanes.filled += 1;
        }
        Ok(())
    }

    /// Refuses what turns out to be no trace, or one whose times cannot be known.
    fn check(&self, trace: &Trace, bytes: u64) -> Result<()> {
        if let Some(line) = trace.batch.integer_stamp {
            return Err(self.error(
                "time-unit-unknown",
                line,
                "the time stamp is an integer of unknown unit",
                "say what one unit is: time_unit=\"ns\", \"us\" or \"ms\" (--time-unit ns)",
            ));
        }
        if bytes < PATIENCE || trace.batch.recognised || trace.batch.events > self.events_before {
            return Ok(());
        }
        if self.page.as_ref().is_some_and(|page| !page.found) {
            let remedy = "save the page with its trace, or the trace itself, again";
            let reason = "the page holds no trace";
            return Err(refuse(self.blocks.name(), "html-without-trace", reason, remedy));
        }
        match trace.batch.first_text.filter(|&line| line > self.offset) {
            Some(line) => Err(self.error(
                "not-a-trace",
                line,
                "this is no text of ftrace, trace-cmd report, systrace or perf script",
                "name a trace; tickless.read finds out what other files are",
            )),
            None => Ok(()),
        }
    }

    fn error(&self, code: &'static str, line: u64, reason: &str, remedy: &str) -> Error {
        line_error(self.blocks.name(), line - self.offset, code, reason, remedy)
    }
}

/// Refuses files that are known to be something else.
fn readable(name: &str, head: &[u8]) -> Result<Format> {
    let (code, reason, remedy) = match detect(head) {
        format @ (Format::Trace | Format::Page | Format::Text) => return Ok(format),
        Format::TraceDat => return Err(trace_dat::refusal(name, head)),
        Format::Empty => ("empty-file", "the file is empty", "name a trace"),
        Format::PerfData => (
            "perf-data",
            "this is a perf.data file",
            "print it as text: perf script -F comm,pid,tid,cpu,time,event,trace -i FILE > trace.txt",
        ),
        Format::CompressedAtrace => (
            "compressed-atrace",
            "behind TRACE: the trace is packed",
            "inflate it (it is a zlib stream), or record without -z",
        ),
        Format::SysfsCpuidle | Format::CpupowerIdleInfo => (
            "not-a-trace",
            "this is a table of idle states",
            "read it with tickless.read_idle_table",
        ),
        Format::Binary(what, remedy) => {
            return Err(refuse(name, "binary", &format!("this is {what}"), remedy));
        }
    };
    Err(refuse(name, code, reason, remedy))
}

fn style_of(name: &str, first: &[u8], unit: Option<u64>) -> Result<Style> {
    let layout = match perf::recognise(first) {
        None => Layout::Ftrace,
        Some(perf::Kind::Tracepoint) => Layout::Perf,
        Some(perf::Kind::NoCpu(line)) => {
            let fields = "perf script -F comm,pid,tid,cpu,time,event,trace";
            return Err(line_error(
                name,
                line,
                "no-cpu-column",
                "the text does not say on which CPU an event happened",
                &format!(
                    "print it with the CPU: {fields}; if it is missing there, record with perf record -a"
                ),
            ));
        }
        Some(perf::Kind::Sample(line)) => {
            return Err(line_error(
                name,
                line,
                "sampling-profile",
                "this is a sampling profile, not a trace of events",
                "record events: perf record -a -e power:cpu_idle -e sched:sched_switch",
            ));
        }
    };
    let wrapping = match layout {
        Layout::Ftrace => wrapping_of(first),
        Layout::Perf => Wrapping::Bare,
    };
    Ok(Style { layout, wrapping, unit })
}

/// Everything that needs the whole trace.
fn finish(trace: &mut Trace) {
    let batch = &mut trace.batch;
    if batch.events == 0 {
        batch.tally.note(Code::NoEvents, 0, None);
    }
    if trace.format.is_empty() {
        let by_trace_cmd = batch.header.version.is_some()
            || batch.padded > 0
            || (batch.header.cpus.is_some() && batch.header.entries.is_none());
        trace.format = match () {
            () if batch.latency > 0 => "ftrace-latency",
            () if by_trace_cmd => "trace-cmd-text",
            () => "ftrace-text",
        };
    }
    trace.idle = intervals::build(&batch.tables.idle, &mut batch.tally);
    batch.tables.idle = Default::default();
    batch.tables.sort();
    let tables = &batch.tables;
    trace.episodes = episodes::build(&Timeline {
        intervals: &trace.idle.intervals,
        marks: &tables.marks,
        switches: &tables.switches,
        wakeups: [&tables.wakeups, &tables.wakings],
    });
}

/// The error of strict mode, and which source it is about.
fn refusal(trace: &Trace, place: Place, code: Code) -> (Error, usize) {
    let source = trace.sources.partition_point(|(_, before)| *before < place.line).max(1) - 1;
    let (name, before) = &trace.sources[source];
    let line = place.line - before;
    (line_error(name, line, code.word(), code.reason(), code.remedy()), source)
}

fn line_error(name: &str, line: u64, code: &'static str, reason: &str, remedy: &str) -> Error {
    InputError {
        path: name.to_owned(),
        line: Some(line),
        code,
        reason: reason.to_owned(),
        excerpt: String::new(),
        remedy: remedy.to_owned(),
    }
    .into()
}

/// A second look at the same input; a stream is gone.
fn same_again<'a>(origin: &Origin<'a>) -> Option<Origin<'a>> {
    match origin {
        Origin::Path(path) => path.is_file().then(|| Origin::Path(path.clone())),
        Origin::Bytes(bytes) => Some(Origin::Bytes(bytes)),
        Origin::Stream(_) => None,
    }
}

/// Adds the first 80 characters of the line to an error about a line.
fn with_excerpt(error: Error, again: Option<&Option<Origin>>, watch: &Watch) -> Error {
    let (Error::Input(mut input), Some(Some(origin))) = (error.clone(), again) else {
        return error;
    };
    let Some(origin) = same_again(origin) else { return error };
    if let Some(line) = input.line
        && let Some(text) = line_of(Source { name: input.path.clone(), origin }, line, watch)
    {
        input.excerpt = String::from_utf8_lossy(&text).trim_end().chars().take(80).collect();
    }
    Error::Input(input)
}

fn line_of(source: Source, line: u64, watch: &Watch) -> Option<Vec<u8>> {
    let mut blocks = Blocks::open(source, watch).ok()?;
    let (mut block, mut before) = (Block::default(), 0);
    while blocks.next(&mut block, watch).ok()? {
        let text = block.text();
        let lines = memchr::memchr_iter(b'\n', text).count() as u64;
        if line <= before + lines + u64::from(!text.ends_with(b"\n")) {
            let wanted = text.split(|&b| b == b'\n').nth((line - before - 1) as usize);
            return wanted.map(<[u8]>::to_vec);
        }
        before += lines;
    }
    None
}
