//! ftrace text: `trace`, `trace_pipe`, `trace-cmd report`, systrace, and the lines of `perf script`.
//!
//! A line is taken apart in three steps: the columns in front (`fields`), the event name, the body
//! (`bodies`). Each step has one way for the usual layout and one for everything else; both give
//! the same. A line that fits nowhere is counted under a reason, never guessed at.

use memchr::{memchr, memmem};

use super::batch::Batch;
use super::bodies;
use super::columns::short_line;
use super::fast::{self, Columns, Front, Usual};
use super::fields::{self, Prefix, Stamp, trim};
use super::number::{at_most, digits};
use super::report::Code;
use super::wrapping::{Wrapping, unwrap};
use super::{CPU_LIMIT, LINE_LIMIT, marks, perf, preamble};

/// Longest event name; tracefs allows 64 bytes for a probe and its group.
const EVENT_NAME_LIMIT: usize = 128;

/// What stands where the task column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `comm-pid`.
    Ftrace,
    /// `comm pid[/tid]`, with an optional period and group in front of the event.
    Perf,
}

/// How the lines of a text are to be read.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// Task column.
    pub layout: Layout,
    /// Prefix of every line.
    pub wrapping: Wrapping,
    /// ns per unit of integer time stamps, when the caller gave one.
    pub unit: Option<u64>,
}

/// Reads whole lines into `batch`; only the last line of a file may lack its line end.
pub fn read_block(text: &[u8], style: Style, batch: &mut Batch) {
    let usual = style.layout == Layout::Ftrace && style.wrapping == Wrapping::Bare;
    LineReader { batch, style, usual, columns: None }.read(text);
}

/// As [`read_block`], with no line read at fixed places; for the test that both give the same.
#[doc(hidden)]
pub fn read_block_general(text: &[u8], style: Style, batch: &mut Batch) {
    LineReader { batch, style, usual: false, columns: None }.read(text);
}

struct LineReader<'b> {
    batch: &'b mut Batch,
    style: Style,
    /// Lines may be read at fixed places.
    usual: bool,
    columns: Option<Columns>,
}

/// A line with its columns read.
#[derive(Clone, Copy)]
struct Event<'a> {
    line: &'a [u8],
    prefix: Prefix,
    cpu: u16,
    time: i64,
    /// Where the body starts.
    body: usize,
    /// The line has a line end.
    ended: bool,
}

impl LineReader<'_> {
    fn read(&mut self, text: &[u8]) {
        let mut start = 0;
        while start < text.len() {
            if let Some(length) = self.usual_line(&text[start..]) {
                start += length;
                continue;
            }
            let rest = &text[start..];
            let end = memchr(b'\n', rest);
            self.line(&rest[..end.unwrap_or(rest.len())], end.is_some());
            start += end.unwrap_or(rest.len()) + 1;
        }
    }

    /// Reads the line at the start of `text` if everything in it is where it usually is; returns its length.
    #[inline]
    fn usual_line(&mut self, text: &[u8]) -> Option<usize> {
        let columns = self.columns.as_mut()?;
        let s = text.get(..fast::WINDOW)?;
        let front = columns.front(s)?;
        let (colon, next_line) = match fast::event(s, front.event)? {
            (Usual::Idle, colon) => (colon, self.usual_idle(s, &front, colon)?),
            (Usual::Switch, colon) => (colon, self.usual_switch(s, &front, colon)?),
            (Usual::Wakeup, colon) => (colon, self.usual_wakeup(s, &front, colon, false)?),
            (Usual::Waking, colon) => (colon, self.usual_wakeup(s, &front, colon, true)?),
        };
        self.batch.lines += 1;
        self.batch.events += 1;
        self.used(s, colon + 1, front.cpu, front.time);
        Some(next_line)
    }

    #[inline]
    fn usual_idle(&mut self, s: &[u8], front: &Front, colon: usize) -> Option<usize> {
        let (state, cpu, next_line) = fast::cpu_idle(s, fast::body(s, colon)?)?;
        self.batch.cpu_differs += u64::from(cpu != front.cpu);
        let line = short_line(self.batch.lines + 1);
        self.batch.tables.idle.push(front.time, cpu, state, line);
        Some(next_line)
    }

    #[inline]
    fn usual_switch(&mut self, s: &[u8], front: &Front, colon: usize) -> Option<usize> {
        let w = fast::sched_switch(s, fast::body(s, colon)?)?;
        let t = &mut self.batch.tables;
        let prev_comm = t.names.id_in(s, w.prev_comm.0, w.prev_comm.1);
        let next_comm = t.names.id_in(s, w.next_comm.0, w.next_comm.1);
        let prev_state = t.states.id_in(s, w.prev_state.0, w.prev_state.1);
        let (time, cpu) = (front.time, front.cpu);
        t.switches.push(time, cpu, w.prev_pid, prev_comm, prev_state, w.next_pid, next_comm);
        Some(w.next_line)
    }

    #[inline]
    fn usual_wakeup(
        &mut self,
        s: &[u8],
        front: &Front,
        colon: usize,
        waking: bool,
    ) -> Option<usize> {
        let w = fast::sched_wakeup(s, fast::body(s, colon)?, front.task_end)?;
        let t = &mut self.batch.tables;
        let by = t.names.id_in(s, w.by_comm.0, w.by_comm.1);
        let comm = t.names.id_in(s, w.comm.0, w.comm.1);
        let table = if waking { &mut t.wakings } else { &mut t.wakeups };
        table.push(front.time, front.cpu, w.by_pid, by, w.pid, comm, w.target_cpu, false);
        Some(w.next_line)
    }

    #[inline]
    fn line(&mut self, line: &[u8], ended: bool) {
        self.batch.lines += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > LINE_LIMIT {
            return self.note(Code::LineTooLong);
        }
        let line = match self.style.wrapping {
            Wrapping::Bare => line,
            wrapping => unwrap(line, wrapping),
        };
        if line.first() != Some(&b'#')
            && let Some(prefix) = fields::prefix(line)
        {
            return self.event(line, prefix, ended);
        }
        self.odd_line(line, ended);
    }

    fn note(&mut self, code: Code) {
        self.batch.tally.note(code, self.batch.lines, None);
    }

    #[inline]
    fn event(&mut self, line: &[u8], prefix: Prefix, ended: bool) {
        let at = match self.style.layout {
            Layout::Ftrace => prefix.rest,
            Layout::Perf => perf::skip_period(line, prefix.rest),
        };
        let Some((start, end)) = event_name(line, at) else {
            return self.nameless(line, prefix.rest, ended);
        };
        self.batch.events += 1;
        let Some(time) = self.time(prefix.stamp) else { return };
        if prefix.cpu > CPU_LIMIT {
            return self.note(Code::BadCpu);
        }
        if prefix.task_end == 0 {
            self.note(Code::NoTaskColumn);
        } else if line[prefix.task_end - 1] == b')' {
            self.thread_group(&line[..prefix.task_end]);
        }
        self.batch.latency += u64::from(prefix.latency);
        let cpu = prefix.cpu as u16;
        let event = Event { line, prefix, cpu, time, body: end + 1, ended };
        let read = match &line[start..end] {
            b"cpu_idle" => self.cpu_idle(event),
            b"sched_switch" => self.sched_switch(event),
            b"sched_wakeup" => self.sched_wakeup(event, false),
            b"sched_waking" => self.sched_waking(event),
            b"sched_wakeup_new" => self.sched_wakeup(event, true),
            name => match self.rare(event, name) {
                Some(read) => read,
                None => return self.unknown(event, name),
            },
        };
        match read {
            Some(()) => {
                self.used(line, event.body, cpu, time);
                if self.usual {
                    self.columns = Columns::learn(line, &prefix, self.columns).or(self.columns);
                }
            }
            None => self.damaged(event),
        }
    }

    /// Counts an event that was read; `body` is the place behind the colon of its name.
    #[inline(always)]
    fn used(&mut self, line: &[u8], body: usize, cpu: u16, time: i64) {
        self.batch.used += 1;
        if self.batch.padded == 0 && line.get(body + 1) == Some(&b' ') {
            self.batch.padded = 1;
        }
        if self.batch.clocks.note(cpu, time, self.batch.lines) {
            self.batch.tally.note(Code::TimeWentBack, self.batch.lines, Some(cpu));
        }
    }

    fn unknown(&mut self, event: Event, name: &[u8]) {
        if failed_to_parse(event) {
            return self.note(Code::FailedToParse);
        }
        self.note(Code::UnknownEvent);
        self.batch.count_unknown(name, 1);
    }

    #[cold]
    fn damaged(&mut self, event: Event) {
        if failed_to_parse(event) {
            self.note(Code::FailedToParse);
        } else if event.ended {
            self.note(Code::BadFields);
        } else {
            self.batch.events -= 1;
            self.note(Code::CutLastLine);
        }
    }

    #[inline]
    fn time(&mut self, stamp: Stamp) -> Option<i64> {
        match stamp {
            Stamp::Seconds(ns) => Some(ns),
            Stamp::Relative(ns) => {
                self.batch.relative += 1;
                Some(ns)
            }
            Stamp::Integer(value) => self.integer_time(value),
        }
    }

    fn integer_time(&mut self, value: u64) -> Option<i64> {
        let Some(unit) = self.style.unit else {
            let line = self.batch.lines;
            self.batch.integer_stamp.get_or_insert(line);
            return None;
        };
        let ns = value.checked_mul(unit).and_then(|t| i64::try_from(t).ok());
        if ns.is_none() {
            self.note(Code::BadFields);
        }
        ns
    }

    #[inline]
    fn cpu_idle(&mut self, e: Event) -> Option<()> {
        let idle = bodies::cpu_idle(e.line, e.body)?;
        whole_cpu(&e, idle.cpu, idle.cpu_width)?;
        self.batch.cpu_differs += u64::from(idle.cpu != e.prefix.cpu);
        let line = short_line(self.batch.lines);
        self.batch.tables.idle.push(e.time, idle.cpu as u16, idle.state, line);
        Some(())
    }

    #[inline]
    fn sched_switch(&mut self, e: Event) -> Option<()> {
        let s = bodies::sched_switch(e.line, e.body)?;
        let t = &mut self.batch.tables;
        let prev_comm = t.names.id_in(e.line, s.prev_comm.0, s.prev_comm.1);
        let next_comm = t.names.id_in(e.line, s.next_comm.0, s.next_comm.1);
        let prev_state = t.states.id_in(e.line, s.prev_state.0, s.prev_state.1);
        t.switches.push(e.time, e.cpu, s.prev_pid, prev_comm, prev_state, s.next_pid, next_comm);
        Some(())
    }

    #[inline]
    fn sched_wakeup(&mut self, e: Event, new: bool) -> Option<()> {
        let row = self.wakeup(e)?;
        let (by_pid, by_comm, pid, comm, target) = row;
        self.batch.tables.wakeups.push(e.time, e.cpu, by_pid, by_comm, pid, comm, target, new);
        Some(())
    }

    #[inline]
    fn sched_waking(&mut self, e: Event) -> Option<()> {
        let (by_pid, by_comm, pid, comm, target) = self.wakeup(e)?;
        self.batch.tables.wakings.push(e.time, e.cpu, by_pid, by_comm, pid, comm, target, false);
        Some(())
    }

    #[inline]
    fn wakeup(&mut self, e: Event) -> Option<(i32, u32, i32, u32, u16)> {
        let w = bodies::sched_wakeup(e.line, e.body)?;
        // The kernel prints three digits: fewer in a cut line are not the whole number.
        if w.target_cpu > CPU_LIMIT || (!e.ended && w.target_width < 3) {
            return None;
        }
        let column = &e.line[..e.prefix.task_end];
        let task = match self.style.layout {
            Layout::Ftrace => fields::task(column),
            Layout::Perf => perf::task(column),
        };
        let names = &mut self.batch.tables.names;
        let (by_pid, by_comm) = match task {
            Some(t) => (t.pid, names.id_in(e.line, t.comm.0, t.comm.1)),
            None => (-1, names.id(b"")),
        };
        let comm = names.id_in(e.line, w.comm.0, w.comm.1);
        Some((by_pid, by_comm, w.pid, comm, w.target_cpu as u16))
    }

    /// Events of which there are few. The outer None: not one of ours.
    fn rare(&mut self, e: Event, name: &[u8]) -> Option<Option<()>> {
        let body = trim(&e.line[e.body..]);
        match name {
            b"cpu_idle_miss" => return Some(self.cpu_idle_miss(e, body)),
            b"cpu_frequency" => return Some(self.cpu_frequency(e, body)),
            _ => {}
        }
        let found = marks::mark(name, body)?;
        let (line, tables) = (short_line(self.batch.lines), &mut self.batch.tables);
        Some(found.map(|(kind, name, value)| {
            let name = tables.names.id(name);
            tables.marks.push(e.time, e.cpu, kind, name, value, line);
        }))
    }

    fn cpu_idle_miss(&mut self, e: Event, body: &[u8]) -> Option<()> {
        let cpu = bodies::number_behind(body, b"cpu_id")?;
        let state = bodies::number_behind(body, b"state")?;
        let above = match bodies::value_of(body, b"type")? {
            b"above" => true,
            b"below" => false,
            _ => return None,
        };
        let (cpu, state) = (u16::try_from(cpu).ok()?, u8::try_from(state).ok()?);
        self.batch.tables.misses.push(e.time, cpu, state, above);
        Some(())
    }

    fn cpu_frequency(&mut self, e: Event, body: &[u8]) -> Option<()> {
        let khz = bodies::number_behind(body, b"state")?;
        let text = bodies::value_of(body, b"cpu_id")?;
        let cpu = at_most(text, CPU_LIMIT)?;
        whole_cpu(&e, cpu, text.len())?;
        self.batch.tables.frequency.push(e.time, cpu as u16, khz);
        Some(())
    }

    fn thread_group(&mut self, column: &[u8]) {
        if let Some(task) = fields::task(column)
            && let Some(tgid) = task.tgid
            && task.pid != 0
        {
            self.batch.tgids.insert(task.pid, tgid);
        }
    }

    /// Columns without an event behind them: function tracer, stack marker, or a cut line.
    #[cold]
    fn nameless(&mut self, line: &[u8], rest: usize, ended: bool) {
        let text = &line[rest..];
        if memmem::find(text, b"<-").is_some() {
            self.note(Code::FunctionTrace);
        } else if text.starts_with(b"<stack trace>") || text.starts_with(b"<user stack trace>") {
            self.note(Code::Callchain);
        } else {
            self.note(if ended { Code::NotATraceLine } else { Code::CutLastLine });
        }
    }

    /// Everything whose first bracket is not a CPU field.
    #[cold]
    fn odd_line(&mut self, line: &[u8], ended: bool) {
        let text = trim(line);
        if text.is_empty() {
            return self.note(Code::Blank);
        }
        if line[0] == b'#' {
            return preamble::comment(self.batch, text);
        }
        let number = self.batch.lines;
        self.batch.first_text.get_or_insert(number);
        if preamble::loss(self.batch, text) || preamble::by_trace_cmd(self.batch, text) {
            return;
        }
        if let Some(prefix) = fields::odd_prefix(line) {
            return self.event(line, prefix, ended);
        }
        self.note(match () {
            () if is_function_graph(text) => Code::FunctionTrace,
            () if is_callchain(line, text, self.style.layout) => Code::Callchain,
            () if !ended => Code::CutLastLine,
            () if matches!(line[0], b' ' | b'\t') => Code::Continuation,
            () => Code::NotATraceLine,
        });
    }
}

/// Returns where the event name lies: behind its group, in front of a colon and a blank.
#[inline]
fn event_name(line: &[u8], at: usize) -> Option<(usize, usize)> {
    let mut start = at;
    loop {
        let colon = start + memchr(b':', &line[start..])?;
        if matches!(line.get(colon + 1), None | Some(b' ' | b'\t')) {
            let sane = start < colon
                && colon - at <= EVENT_NAME_LIMIT
                && !line[at..colon].iter().any(|&b| b <= b' ');
            return sane.then_some((start, colon));
        }
        start = colon + 1;
    }
}

fn failed_to_parse(event: Event) -> bool {
    trim(&event.line[event.body..]).starts_with(b"[FAILED TO PARSE]")
}

/// Refuses CPU numbers above the limit, and in a cut line those that end where the bracket goes on.
#[inline]
fn whole_cpu(e: &Event, cpu: u64, width: usize) -> Option<()> {
    if cpu > CPU_LIMIT {
        return None;
    }
    if !e.ended {
        let full = e.prefix.cpu.to_string();
        if width < full.len() && full.starts_with(&cpu.to_string()) {
            return None;
        }
    }
    Some(())
}

/// ` 0)   0.541 us    |  }`.
fn is_function_graph(text: &[u8]) -> bool {
    let (_, n) = digits(text);
    (n > 0 && text.get(n) == Some(&b')')) || text == b"}"
}

/// ` => do_idle`, or in perf an indented address.
fn is_callchain(line: &[u8], text: &[u8], layout: Layout) -> bool {
    if text.starts_with(b"=> ") {
        return true;
    }
    let word = text.iter().position(|&b| b == b' ').unwrap_or(text.len());
    layout == Layout::Perf
        && matches!(line[0], b' ' | b'\t')
        && word >= 4
        && text[..word].iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_lines_are_read_at_fixed_places() {
        let mut text = String::new();
        for i in 0..20 {
            let front = format!("          <idle>-0       [003] d..{}.    12.{i:06}: ", i % 2);
            text += &front;
            text += [
                "cpu_idle: state=1 cpu_id=3\n",
                "cpu_idle: state=4294967295 cpu_id=3\n",
                "sched_wakeup: comm=a pid=7 prio=120 target_cpu=003\n",
                "sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=0 next_prio=120\n",
            ][i % 4];
        }
        text += &"\n".repeat(fast::WINDOW);
        let style = Style { layout: Layout::Ftrace, wrapping: Wrapping::Bare, unit: None };
        let mut batch = Batch::default();
        let mut reader = LineReader { batch: &mut batch, style, usual: true, columns: None };
        let (mut rest, mut at_places) = (text.as_bytes(), 0);
        while !rest.starts_with(b"\n") {
            let length = reader.usual_line(rest);
            at_places += u32::from(length.is_some());
            let line = memchr(b'\n', rest).unwrap();
            if length.is_none() {
                reader.line(&rest[..line], true);
            }
            assert_eq!(length.unwrap_or(line + 1), line + 1);
            rest = &rest[line + 1..];
        }
        // The first line of each of the two kinds of flags teaches them.
        assert_eq!((at_places, batch.used), (18, 20));
    }
}
