//! Files of events and idle tables: the list of formats, and what a file is by its first bytes.
//!
//! Text is read in blocks of whole lines; blocks are read on all cores and joined in file order, so
//! the result does not depend on the number of threads. Times are integer nanoseconds throughout.

pub mod batch;
mod bodies;
pub mod columns;
mod cpupower;
pub mod episodes;
mod fast;
mod fields;
pub mod ftrace;
mod html;
pub mod intervals;
mod marks;
pub mod names;
mod number;
pub mod perf;
mod preamble;
mod reader;
pub mod report;
pub mod source;
pub mod tables;
pub mod trace_dat;
pub mod wrapping;

pub use reader::{Options, Trace, read_trace};

/// Longest line that is read; the kernel itself prints at most a page (4 KiB).
pub const LINE_LIMIT: usize = 65_536;

/// Largest CPU number that is read; Linux is built for at most 8,192 CPUs, merged traces may hold more.
pub const CPU_LIMIT: u64 = 65_535;

/// What a file is, as far as its first bytes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// ftrace text, trace-cmd report, perf script: lines with a time stamp.
    Trace,
    /// A page with a trace inside.
    Page,
    /// A dump of the cpuidle directories.
    SysfsCpuidle,
    /// `cpupower idle-info`.
    CpupowerIdleInfo,
    /// trace.dat.
    TraceDat,
    /// perf.data.
    PerfData,
    /// atrace output with packed trace.
    CompressedAtrace,
    /// Another program's binary file: its name and what prints it as text.
    Binary(&'static str, &'static str),
    /// Nothing at all.
    Empty,
    /// Text of another kind.
    Text,
}

impl Format {
    /// The word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Format::Trace => "trace",
            Format::Page => "systrace-html",
            Format::SysfsCpuidle => "sysfs-cpuidle",
            Format::CpupowerIdleInfo => "cpupower-idle-info",
            Format::TraceDat => "trace-dat",
            Format::PerfData => "perf-data",
            Format::CompressedAtrace => "compressed-atrace",
            Format::Binary(..) => "binary",
            Format::Empty => "empty-file",
            Format::Text => "text",
        }
    }
}

/// Signatures of binary files that people mistake for traces.
const BINARIES: &[(&[u8], &str, &str)] = &[
    (b"\xC1\x1F\xFC\xC1", "an LTTng (CTF) trace", "print it with: babeltrace2 DIR"),
    (b"\xC1\xFC\x1F\xC1", "an LTTng (CTF) trace", "print it with: babeltrace2 DIR"),
    (b"\x7FELF", "a program", "name the file that the tracer wrote"),
    (b"PK\x03\x04", "a zip archive", "unpack it first"),
    (b"SQLite format 3", "a database", "export the events as text first"),
    (b"\x89PNG", "a picture", "name the file that the tracer wrote"),
];

/// Tells what a file is by its first bytes (unpacked, at least 4 KiB unless the file is shorter).
pub fn detect(head: &[u8]) -> Format {
    let head = head.strip_prefix(BOM).unwrap_or(head);
    if head.is_empty() {
        return Format::Empty;
    }
    if head.starts_with(trace_dat::MAGIC) {
        return Format::TraceDat;
    }
    if head.starts_with(b"PERFILE2") || head.starts_with(b"2ELIFREP") {
        return Format::PerfData;
    }
    if let Some((_, what, remedy)) = BINARIES.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return Format::Binary(what, remedy);
    }
    if is_packed_atrace(head) {
        return Format::CompressedAtrace;
    }
    if html::is_page(head) {
        return Format::Page;
    }
    if head.contains(&0) {
        return Format::Binary(
            "a binary file",
            "name a file of text; a tracer's own viewer prints one",
        );
    }
    text_format(head)
}

/// A byte-order mark that some editors put in front of UTF-8.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// `TRACE:` and then a zlib stream instead of text.
fn is_packed_atrace(head: &[u8]) -> bool {
    let Some(at) = memchr::memmem::find(head, b"TRACE:") else { return false };
    let line_start = at == 0 || head[at - 1] == b'\n';
    let behind = head[at + 6..].trim_ascii_start();
    // zlib's first byte is 0x78, its second makes the pair a multiple of 31.
    let packed =
        matches!(*behind, [0x78, second, ..] if (0x7800 + u16::from(second)).is_multiple_of(31));
    line_start && packed
}

fn text_format(head: &[u8]) -> Format {
    for line in head.split(|&b| b == b'\n') {
        let text = line.trim_ascii();
        if memchr::memmem::find(text, b"/cpuidle/").is_some() && !text.starts_with(b"#") {
            return Format::SysfsCpuidle;
        }
        let told = text.starts_with(b"CPUidle driver:") || text.starts_with(b"analyzing CPU ");
        if told || text.starts_with(b"Available idle states:") {
            return Format::CpupowerIdleInfo;
        }
        if fields::prefix(line).or_else(|| fields::odd_prefix(line)).is_some()
            || text.starts_with(b"# tracer:")
            || text.starts_with(b"# entries-in-buffer")
            || text.starts_with(b"# captured on")
            || text.starts_with(b"cpus=")
        {
            return Format::Trace;
        }
    }
    if perf::recognise(head).is_some() { Format::Trace } else { Format::Text }
}
