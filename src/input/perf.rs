//! `perf script` text: what differs from ftrace text, and what cannot be read.
//!
//! `COMM PID[/TID] [CPU] TIME: [PERIOD] group:event: BODY`, then call chain lines and a blank line.

use memchr::memrchr;

use super::fields::{Task, skip_blanks, trim, trimmed_end};
use super::number::{digits, pid};

/// Lines of a text that are looked at to tell perf from ftrace.
const LOOK: usize = 400;

/// Events that perf samples by default; names of hardware, software and cache events.
const SAMPLED: &[&[u8]] = &[
    b"cycles",
    b"cpu-cycles",
    b"instructions",
    b"cpu-clock",
    b"task-clock",
    b"cache-misses",
    b"cache-references",
    b"branches",
    b"branch-misses",
    b"page-faults",
    b"faults",
    b"ref-cycles",
    b"bus-cycles",
    b"context-switches",
    b"cs",
    b"cpu-migrations",
    b"cpu_core",
    b"cpu_atom",
];

/// What the first telling line of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A tracepoint with CPU and time.
    Tracepoint,
    /// A tracepoint without the CPU column: number of the line.
    NoCpu(u64),
    /// A sample of a profile: number of the line.
    Sample(u64),
}

/// Looks for the first line that only `perf script` prints.
pub fn recognise(head: &[u8]) -> Option<Kind> {
    let lines = head.split(|&b| b == b'\n').take(LOOK).enumerate();
    lines
        .filter(|(_, l)| l.first() != Some(&b'#'))
        .find_map(|(i, line)| kind_of(line, i as u64 + 1))
}

fn kind_of(line: &[u8], number: u64) -> Option<Kind> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let (time, event) = time_and_event(line)?;
    let columns = trim(&line[..time]);
    let (column, has_cpu) = match columns.strip_suffix(b"]") {
        Some(inner) => (&inner[..memrchr(b'[', inner)?], true),
        None => (columns, false),
    };
    task(column)?;
    let name = &line[event..];
    let end = name.iter().position(|&b| b == b' ').unwrap_or(name.len());
    let name = name[..end].strip_suffix(b":")?;
    let first = name.split(|&b| b == b':' || b == b'/').next()?;
    if SAMPLED.contains(&first) {
        return Some(Kind::Sample(number));
    }
    let group = name.iter().position(|&b| b == b':')?;
    let sane = group > 0 && name.iter().all(|&b| b.is_ascii_alphanumeric() || b"_:-".contains(&b));
    sane.then_some(if has_cpu { Kind::Tracepoint } else { Kind::NoCpu(number) })
}

/// The first token `12.345678:`, and where the event behind it and its period starts.
fn time_and_event(line: &[u8]) -> Option<(usize, usize)> {
    let mut i = skip_blanks(line, 0);
    while i < line.len() {
        let (_, n) = digits(&line[i..]);
        if n > 0 && line.get(i + n) == Some(&b'.') {
            let (_, m) = digits(&line[i + n + 1..]);
            let end = i + n + 1 + m;
            if m > 0 && line.get(end) == Some(&b':') {
                return Some((i, skip_period(line, skip_blanks(line, end + 1))));
            }
        }
        let next = line[i..].iter().position(|&b| b == b' ').map_or(line.len(), |n| i + n);
        i = skip_blanks(line, next);
    }
    None
}

/// Skips the period in front of the event name.
#[inline]
pub fn skip_period(line: &[u8], at: usize) -> usize {
    let (_, n) = digits(&line[at..]);
    if n > 0 && line.get(at + n) == Some(&b' ') { skip_blanks(line, at + n) } else { at }
}

/// Splits `comm pid` or `comm pid/tid`; the kernel's process number of a thread is the tid.
pub fn task(column: &[u8]) -> Option<Task> {
    let end = trimmed_end(column);
    let blank = memrchr(b' ', &column[..end])?;
    let numbers = &column[blank + 1..end];
    let tid = numbers.iter().position(|&b| b == b'/').map_or(numbers, |at| &numbers[at + 1..]);
    let start = skip_blanks(&column[..blank], 0);
    Some(Task {
        comm: (start, trimmed_end(&column[..blank]).max(start)),
        pid: pid(tid)?,
        tgid: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perf_text_is_told_from_ftrace_text_and_from_profiles() {
        for (line, kind) in [
            (
                "  swapper     0 [000] 9246430.812063: power:cpu_idle: state=2 cpu_id=0",
                Some(Kind::Tracepoint),
            ),
            (
                "  GC Thread #1   101/104 [001] 1.9:          1 sched:sched_switch: x",
                Some(Kind::Tracepoint),
            ),
            (
                "  swapper     0  9246430.812063: power:cpu_idle: state=2 cpu_id=0",
                Some(Kind::NoCpu(1)),
            ),
            (
                "  perf  173 [000]  3.466155:     250000 cpu-clock:pppH:  ffff __x+0x1",
                Some(Kind::Sample(1)),
            ),
            ("  perf  173  3.466155:     250000 cycles:  ffff __x+0x1", Some(Kind::Sample(1))),
            ("  <idle>-0     [000] d..1     1.000000: cpu_idle: state=2 cpu_id=0", None),
            ("  ls-9     [002]    12.000001: bprint:               fn: fig: cpu=0", None),
            ("hello there", None),
        ] {
            assert_eq!(recognise(line.as_bytes()), kind, "{line}");
        }
    }

    #[test]
    fn a_thread_is_named_by_its_tid() {
        let column = b"   GC Thread #1   101/104 ";
        let t = task(column).unwrap();
        assert_eq!((&column[t.comm.0..t.comm.1], t.pid), (&b"GC Thread #1"[..], 104));
    }
}
