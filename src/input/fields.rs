//! The columns in front of the event: `TASK-PID [(TGID)] [CPU] [FLAGS] TIME: [(+delta)]`.
//!
//! The task column may hold anything, so a line is entered through its CPU field: the first `[digits]`
//! that is followed by optional flags and a time stamp. Lines of the latency layout have no brackets
//! (`5d..4.`); they are entered through the time stamp.

use memchr::memchr;

use super::number::{digits, six};

/// How far into a line the columns in front of the event can reach: a task name of 15 bytes, three
/// numbers and flags need less than 100, perf pads wider.
const REACH: usize = 256;

/// A time stamp and what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamp {
    /// Seconds with a decimal point, as ns.
    Seconds(i64),
    /// `123us`: since an arbitrary origin, as ns.
    Relative(i64),
    /// Integer of a counter-like clock whose unit the text does not tell.
    Integer(u64),
}

/// What stands in front of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// End of the task column with its tgid, blanks trimmed; 0 if the column is missing.
    pub task_end: usize,
    /// CPU number as printed, any size.
    pub cpu: u64,
    /// Width of the CPU number, digits.
    pub cpu_width: usize,
    /// When.
    pub stamp: Stamp,
    /// Where the event name (in perf: an optional period) starts.
    pub rest: usize,
    /// The latency layout, without brackets.
    pub latency: bool,
}

#[inline]
fn is_blank(b: u8) -> bool {
    b == b' ' || b == b'\t'
}

/// Index of the first byte at or after `i` that is not blank.
#[inline]
pub fn skip_blanks(s: &[u8], mut i: usize) -> usize {
    while i < s.len() && is_blank(s[i]) {
        i += 1;
    }
    i
}

/// `s` without blanks at both ends.
#[inline]
pub fn trim(s: &[u8]) -> &[u8] {
    let start = skip_blanks(s, 0);
    let end = s.iter().rposition(|&b| !is_blank(b)).map_or(start, |i| i + 1);
    &s[start..end.max(start)]
}

/// Returns the columns of `line`, or None if it does not look like an event.
#[inline]
pub fn prefix(line: &[u8]) -> Option<Prefix> {
    let open = memchr(b'[', line)?;
    bracketed(line, open)
}

/// As [`prefix`], for lines whose first bracket is not the CPU field.
#[cold]
pub fn odd_prefix(line: &[u8]) -> Option<Prefix> {
    let head = &line[..line.len().min(REACH)];
    memchr::memchr_iter(b'[', head).find_map(|open| bracketed(line, open)).or_else(|| latency(line))
}

/// Reads the columns whose CPU field opens at `open`.
#[inline]
fn bracketed(line: &[u8], open: usize) -> Option<Prefix> {
    let after = line.get(open + 1..)?;
    let (cpu, cpu_width) = digits(after);
    if cpu_width == 0 || after.get(cpu_width) != Some(&b']') {
        return None;
    }
    let task = line[..open].iter().rposition(|&b| !is_blank(b)).map_or(0, |i| i + 1);
    if task == open && open > 0 {
        return None; // glued to a name: part of it
    }
    let i = open + 1 + cpu_width + 1;
    let start = skip_blanks(line, i);
    if start == i {
        return None;
    }
    let (stamp, end) = match stamp(&line[start..]) {
        Some((stamp, n)) => (stamp, start + n),
        None => after_flags(line, start)?,
    };
    Some(Prefix {
        task_end: task,
        cpu,
        cpu_width,
        stamp,
        rest: after_time(line, end)?,
        latency: false,
    })
}

/// Skips a flags token at `start` and reads the stamp behind it.
#[inline]
fn after_flags(line: &[u8], start: usize) -> Option<(Stamp, usize)> {
    let mut i = start;
    while i < line.len() && (line[i].is_ascii_alphanumeric() || line[i] == b'.') {
        i += 1;
    }
    // Flags are 3 to 8 wide (4 before 5.17, 5 after, 7 on real-time kernels).
    if !(3..=8).contains(&(i - start)) {
        return None;
    }
    let time = skip_blanks(line, i);
    if time == i {
        return None;
    }
    let (stamp, n) = stamp(&line[time..])?;
    Some((stamp, time + n))
}

/// Reads `12.345678:`, `12345:` or `12us+:` and returns the stamp and the length with its colon.
#[inline]
fn stamp(s: &[u8]) -> Option<(Stamp, usize)> {
    let (whole, n) = digits(s);
    if n == 0 {
        return None;
    }
    match *s.get(n)? {
        b'.' => seconds(whole, &s[n + 1..]).map(|(t, m)| (t, n + 1 + m)),
        b':' => Some((Stamp::Integer(whole), n + 1)),
        b'u' => micros(whole, &s[n..]).map(|(t, m)| (t, n + m)),
        _ => None,
    }
}

#[inline]
fn seconds(whole: u64, fraction: &[u8]) -> Option<(Stamp, usize)> {
    let ns = i64::try_from(whole).ok()?.checked_mul(1_000_000_000)?;
    if let Some(us) = six(fraction)
        && fraction.get(6) == Some(&b':')
    {
        return Some((Stamp::Seconds(ns.checked_add(us as i64 * 1000)?), 7));
    }
    let (value, n) = digits(fraction);
    if n == 0 || n > 9 || fraction.get(n) != Some(&b':') {
        return None;
    }
    let scale = 10i64.pow(9 - n as u32);
    Some((Stamp::Seconds(ns.checked_add(value as i64 * scale)?), n + 1))
}

/// `us`, an optional delay mark, blanks, colon.
fn micros(whole: u64, s: &[u8]) -> Option<(Stamp, usize)> {
    let mut i = s.starts_with(b"us").then_some(2)?;
    if s.get(i).is_some_and(|b| b"+!#*@$".contains(b)) {
        i += 1;
    }
    let i = skip_blanks(s, i);
    if s.get(i) != Some(&b':') {
        return None;
    }
    let ns = i64::try_from(whole).ok()?.checked_mul(1000)?;
    Some((Stamp::Relative(ns), i + 1))
}

/// Skips blanks and a `(+delta)` behind the time; the event name must be there.
#[inline]
fn after_time(line: &[u8], end: usize) -> Option<usize> {
    let mut i = skip_blanks(line, end);
    if i == end {
        return None;
    }
    if line[i..].starts_with(b"(+") {
        let close = memchr(b')', &line[i..])?;
        i = skip_blanks(line, i + close + 1);
    }
    (i < line.len()).then_some(i)
}

/// The latency layout: `TASK-PID  CPUflags TIME: ...`, entered through the time stamp.
fn latency(line: &[u8]) -> Option<Prefix> {
    let end = line.len().min(REACH);
    let mut i = skip_blanks(line, 0);
    let mut before = None; // the previous token
    while i < end {
        let stop = line[i..].iter().position(|&b| is_blank(b)).map_or(line.len(), |n| i + n);
        if let Some((task_end, cpu, cpu_width)) = before.and_then(|(a, b)| latency_cpu(line, a, b))
            && let Some((stamp, n)) = stamp(&line[i..])
        {
            let rest = after_time(line, i + n)?;
            return Some(Prefix { task_end, cpu, cpu_width, stamp, rest, latency: true });
        }
        before = Some((i, stop));
        i = skip_blanks(line, stop);
    }
    None
}

/// `12d..1` between a task column and the time: end of the task column and the CPU.
fn latency_cpu(line: &[u8], start: usize, stop: usize) -> Option<(usize, u64, usize)> {
    let token = &line[start..stop];
    let (cpu, n) = digits(token);
    let flags = &token[n..];
    let plausible = n > 0
        && (3..=8).contains(&flags.len())
        && flags.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'.');
    if !plausible {
        return None;
    }
    let task_end = line[..start].iter().rposition(|&b| !is_blank(b))? + 1;
    task(&line[..task_end])?;
    Some((task_end, cpu, n))
}

/// Task name, process number and thread group of a task column.
#[derive(Debug, PartialEq, Eq)]
pub struct Task {
    /// Where the name lies in the column; at most 15 bytes in a healthy trace.
    pub comm: (usize, usize),
    /// Process number of the thread.
    pub pid: i32,
    /// Thread group, when the column shows one.
    pub tgid: Option<i32>,
}

/// End of `column` without blanks.
#[inline]
pub fn trimmed_end(column: &[u8]) -> usize {
    column.iter().rposition(|&b| !is_blank(b)).map_or(0, |i| i + 1)
}

/// Splits `name-pid [(tgid)]`: the process number is behind the last dash.
pub fn task(column: &[u8]) -> Option<Task> {
    let mut end = trimmed_end(column);
    let mut tgid = None;
    if column[..end].ends_with(b")") {
        let open = memchr::memrchr(b'(', &column[..end])?;
        let (value, n) = digits(trim(&column[open + 1..end - 1]));
        tgid = if n > 0 { i32::try_from(value).ok() } else { None };
        end = trimmed_end(&column[..open]);
    }
    let dash = memchr::memrchr(b'-', &column[..end])?;
    let pid = super::number::pid(&column[dash + 1..end])?;
    let start = skip_blanks(&column[..dash], 0);
    Some(Task { comm: (start, dash), pid, tgid })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any(line: &str) -> Option<Prefix> {
        prefix(line.as_bytes()).or_else(|| odd_prefix(line.as_bytes()))
    }

    #[test]
    fn columns_of_the_usual_layouts() {
        for (line, cpu, stamp) in [
            ("  <idle>-0     [003] d..1.   100.000010: e: b", 3, Stamp::Seconds(100_000_010_000)),
            ("  a-1   (  880) [012]  22.5: e: b", 12, Stamp::Seconds(22_500_000_000)),
            ("  sh-6243  [000] 162534.216493360: e: b", 0, Stamp::Seconds(162_534_216_493_360)),
            ("  <idle>-0 [002] d..1 380330000000: e: b", 2, Stamp::Integer(380_330_000_000)),
            ("  <idle>-0         2dN.2    3us : e: b", 2, Stamp::Relative(3_000)),
            ("  <idle>-0        12d..1  950us!: e: b", 12, Stamp::Relative(950_000)),
            (
                "  [kthr] [1]-80    [000] d..2.    10.000004: e: b",
                0,
                Stamp::Seconds(10_000_004_000),
            ),
            ("  a-1 [001] d..1. 1.000001: (+22400) e: b", 1, Stamp::Seconds(1_000_001_000)),
            ("[007] 154.89: e: b", 7, Stamp::Seconds(154_890_000_000)),
        ] {
            let p = any(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((p.cpu, p.stamp), (cpu, stamp), "{line}");
            assert_eq!(&line[p.rest..], "e: b", "{line}");
        }
    }

    #[test]
    fn lines_without_a_time_are_no_events() {
        for line in ["", "hello there", "[a] 1.0: x", "a-1 [000]1.0: x: y", " a-1 [000] d..1 1.0 x"]
        {
            assert_eq!(any(line), None, "{line}");
        }
    }

    #[test]
    fn the_process_number_is_behind_the_last_dash() {
        let column = b"  io-9-79   (  12)";
        let t = task(column).unwrap();
        assert_eq!((&column[t.comm.0..t.comm.1], t.pid, t.tgid), (&b"io-9"[..], 79, Some(12)));
        assert_eq!(task(b" <idle>-0     (-----)").unwrap().tgid, None);
        assert!(task(b"no pid").is_none());
    }
}
