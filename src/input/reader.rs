//! Reads a trace from its sources: blocks on all cores, joined in order, then intervals.

use rayon::prelude::*;

use super::batch::Batch;
use super::episodes::{self, Episodes, Timeline};
use super::ftrace::{self, Layout, Style};
use super::html::Page;
use super::intervals::{self, Idle};
use super::report::{Code, Place, Strictness};
use super::source::{Blocks, HEAD, Origin, Source, refuse};
use super::wrapping::{Wrapping, wrapping_of};
use super::{BOM, Format, detect, perf, trace_dat};
use crate::error::{Error, InputError, Result};
use crate::watch::Watch;

/// Bytes without any sign of a trace after which a file is refused.
const PATIENCE: u64 = 4 << 20;

/// Blocks read ahead per core.
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

/// One source on its way into a trace.
struct Reading<'a> {
    blocks: Blocks<'a>,
    first: Option<Vec<u8>>,
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
        let Some(mut first) = blocks.next(watch)? else {
            return Err(refuse(blocks.name(), "empty-file", "the file is empty", "name a trace"));
        };
        if first.starts_with(BOM) {
            first.drain(..BOM.len());
        }
        let page = match readable(blocks.name(), &first)? {
            Format::Page => Some(Page::default()),
            _ => None,
        };
        let style = style_of(blocks.name(), &first, options.unit)?;
        trace.format = match (&page, style.layout) {
            (Some(_), _) => "systrace-html",
            (None, Layout::Perf) => "perf-script",
            (None, Layout::Ftrace) => "",
        };
        let strict = options.strictness == Strictness::Strict;
        Ok(Self { blocks, first: Some(first), style, page, strict, offset, events_before })
    }

    fn run(mut self, trace: &mut Trace, watch: &Watch) -> Result<()> {
        let mut queue: Vec<Vec<u8>> = self.first.take().into_iter().collect();
        let ahead = AHEAD * rayon::current_num_threads();
        while !queue.is_empty() {
            let bytes: u64 = queue.iter().map(|b| b.len() as u64).sum();
            if let Some(page) = &mut self.page {
                queue.iter_mut().for_each(|block| *block = page.strip(block));
            }
            let style = self.style;
            // The next blocks are read while these are taken apart.
            let (batches, next) = rayon::join(
                || queue.par_iter().map(|b| ftrace::read_block(b, style)).collect::<Vec<_>>(),
                || read_ahead(&mut self.blocks, ahead, watch),
            );
            for batch in batches {
                trace.batch.append(batch);
            }
            watch.advance(bytes)?;
            self.check(trace, watch.done())?;
            if self.strict && trace.batch.tally.first_refused().is_some() {
                break;
            }
            queue = next?;
        }
        self.check(trace, u64::MAX)
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

fn read_ahead(blocks: &mut Blocks, n: usize, watch: &Watch) -> Result<Vec<Vec<u8>>> {
    let mut queue = Vec::with_capacity(n);
    while queue.len() < n
        && let Some(block) = blocks.next(watch)?
    {
        queue.push(block);
    }
    Ok(queue)
}

/// Refuses files that are known to be something else.
fn readable(name: &str, first: &[u8]) -> Result<Format> {
    let head = &first[..first.len().min(HEAD)];
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
    let mut before = 0;
    while let Some(block) = blocks.next(watch).ok()? {
        let lines = memchr::memchr_iter(b'\n', &block).count() as u64;
        if before + lines + 1 >= line {
            let wanted = block.split(|&b| b == b'\n').nth((line - before - 1) as usize);
            if let Some(text) = wanted.filter(|_| before + lines >= line || !block.ends_with(b"\n"))
            {
                return Some(text.to_vec());
            }
        }
        before += lines;
    }
    None
}
