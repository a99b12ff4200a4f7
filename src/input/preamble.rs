//! Lines of a trace that are no events: its header, and the tracer's word that events are missing.

use memchr::memmem;

use super::CPU_LIMIT;
use super::batch::{Batch, Loss};
use super::columns::{LOSS, short_line};
use super::fields::trim;
use super::number::{at_most, digits};
use super::report::Code;

/// Takes what a `#` line says.
pub fn comment(batch: &mut Batch, text: &[u8]) {
    let header = &mut batch.header;
    if let Some(name) = text.strip_prefix(b"# tracer:") {
        header.tracer = Some(String::from_utf8_lossy(trim(name)).into_owned());
        batch.recognised = true;
    } else if let Some(rest) = text.strip_prefix(b"# entries-in-buffer/entries-written:") {
        let Some((kept, written, cpus)) = entries(trim(rest)) else { return };
        header.entries = Some((kept, written));
        header.cpus = cpus.or(header.cpus);
        batch.recognised = true;
        if written > kept {
            batch.tally.note(Code::BufferOverwritten, batch.lines, None);
        }
    } else if memmem::find(text, b"TASK-PID").is_some() || text.starts_with(b"# captured on") {
        batch.recognised = true;
    }
}

/// `CPU:0 [LOST 38 EVENTS]`, `CPU:0 [LOST EVENTS]`, and trace-cmd's `CPU:0 [38 EVENTS DROPPED]`.
pub fn loss(batch: &mut Batch, text: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(b"CPU:") else { return false };
    let (cpu, n) = digits(rest);
    let what = trim(&rest[n..]);
    let Some(inner) = what.strip_prefix(b"[").and_then(|w| w.strip_suffix(b"]")) else {
        return false;
    };
    let count = inner
        .strip_prefix(b"LOST")
        .and_then(|s| s.strip_suffix(b"EVENTS"))
        .or_else(|| inner.strip_suffix(b"EVENTS DROPPED"));
    let Some(count) = count.map(trim) else { return false };
    if n == 0 || cpu > CPU_LIMIT || !(count.is_empty() || at_most(count, u64::MAX).is_some()) {
        return false;
    }
    let (cpu, line) = (cpu as u16, batch.lines);
    let time = batch.clocks.last(cpu).unwrap_or(i64::MIN);
    let short = short_line(batch.lines);
    batch.tables.idle.push(time, cpu, LOSS, short);
    batch.lost.push(Loss { line, cpu, events: at_most(count, u64::MAX) });
    batch.tally.note(Code::LostEvents, line, Some(cpu));
    true
}

/// `version = 6`, `cpus=8`, `CPU 3 is empty` of trace-cmd, and the `TRACE:` of atrace.
pub fn by_trace_cmd(batch: &mut Batch, text: &[u8]) -> bool {
    let header = &mut batch.header;
    if let Some(n) = text.strip_prefix(b"cpus=").and_then(|s| at_most(s, u64::MAX)) {
        header.cpus = Some(n);
    } else if let Some(n) = text.strip_prefix(b"version = ").and_then(|s| at_most(s, u64::MAX)) {
        header.version = Some(n);
    } else if let Some(n) = text
        .strip_prefix(b"CPU ")
        .and_then(|s| s.strip_suffix(b" is empty"))
        .and_then(|s| at_most(s, CPU_LIMIT))
    {
        header.empty_cpus.push(n);
    } else {
        return text == b"TRACE:";
    }
    batch.recognised = true;
    true
}

/// `a/b   #P:n`.
fn entries(text: &[u8]) -> Option<(u64, u64, Option<u64>)> {
    let (kept, n) = digits(text);
    let rest = text[n..].strip_prefix(b"/")?;
    let (written, m) = digits(rest);
    let cpus = memmem::find(rest, b"#P:").map(|at| digits(&rest[at + 3..]).0);
    (n > 0 && m > 0).then_some((kept, written, cpus))
}
