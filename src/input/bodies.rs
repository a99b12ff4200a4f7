//! The text behind the event name.
//!
//! Names inside a body may hold blanks, arrows, even `pid=`. The usual body has none of that and is
//! read from the left; whatever does not fit is split from the right, where the fields are numbers.

use memchr::{memchr, memmem, memrchr};

use super::columns::{EXIT, MAX_STATE};
use super::fields::{skip_blanks, trim};
use super::number::{at_most, digits, pid, whole};

/// Longest task name taken for one; the kernel's own limit is 15 bytes, tools print up to 63.
const NAME_LIMIT: usize = 255;

/// Where a name lies in the line.
pub type Span = (usize, usize);

/// `cpu_idle: state=S cpu_id=C`.
#[derive(Debug, PartialEq, Eq)]
pub struct Idle {
    /// State, or [`EXIT`].
    pub state: u8,
    /// CPU number, any size.
    pub cpu: u64,
    /// Width of the CPU number, digits.
    pub cpu_width: usize,
}

/// Reads the body of `cpu_idle` that starts at `at`.
#[inline]
pub fn cpu_idle(line: &[u8], at: usize) -> Option<Idle> {
    let s = &line[skip_blanks(line, at)..];
    let s = s.strip_prefix(b"state=")?;
    let (state, n) = if s.starts_with(b"4294967295") {
        (EXIT, 10)
    } else if s.starts_with(b"-1") {
        (EXIT, 2)
    } else {
        let (value, n) = digits(s);
        if n == 0 || value > MAX_STATE {
            return None;
        }
        (value as u8, n)
    };
    let s = s[n..].strip_prefix(b" ")?;
    let s = s[skip_blanks(s, 0)..].strip_prefix(b"cpu_id=")?;
    let (cpu, n) = digits(s);
    (n > 0 && skip_blanks(s, n) == s.len()).then_some(Idle { state, cpu, cpu_width: n })
}

/// `sched_switch`, both spellings.
#[derive(Debug, PartialEq, Eq)]
pub struct Switch {
    /// Name, process number and state of the task that leaves.
    pub prev_comm: Span,
    #[allow(missing_docs)]
    pub prev_pid: i32,
    #[allow(missing_docs)]
    pub prev_state: Span,
    /// Name and process number of the task that comes.
    pub next_comm: Span,
    #[allow(missing_docs)]
    pub next_pid: i32,
}

/// Reads the body of `sched_switch` that starts at `at`.
#[inline]
pub fn sched_switch(line: &[u8], at: usize) -> Option<Switch> {
    plain_switch(line, at).or_else(|| odd_switch(line, at))
}

/// Walks over the fields of a body, from the left.
struct Walk<'a> {
    line: &'a [u8],
    at: usize,
}

impl Walk<'_> {
    #[inline]
    fn expect(&mut self, text: &[u8]) -> Option<()> {
        if self.line[self.at..].starts_with(text) {
            self.at += text.len();
            return Some(());
        }
        None
    }

    /// Text up to the next blank; the walk stops at the blank or the end.
    #[inline]
    fn word(&mut self) -> Span {
        let start = self.at;
        self.at = memchr(b' ', &self.line[start..]).map_or(self.line.len(), |n| start + n);
        (start, self.at)
    }

    /// Digits up to a blank or the end.
    #[inline]
    fn pid(&mut self) -> Option<i32> {
        let (value, n) = digits(&self.line[self.at..]);
        self.at += n;
        let ends = self.line.get(self.at).is_none_or(|&b| b == b' ');
        if n == 0 || !ends { None } else { i32::try_from(value).ok() }
    }

    /// A priority, which may be negative, up to a blank or the end.
    #[inline]
    fn skip_number(&mut self) -> Option<()> {
        if self.line.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        let (value, n) = digits(&self.line[self.at..]);
        self.at += n;
        let ends = self.line.get(self.at).is_none_or(|&b| b == b' ');
        (n > 0 && ends && value <= i32::MAX as u64).then_some(())
    }

    #[inline]
    fn at_end(&self) -> bool {
        skip_blanks(self.line, self.at) == self.line.len()
    }
}

/// The keyed body whose names hold no blank.
#[inline]
pub(super) fn plain_switch(line: &[u8], at: usize) -> Option<Switch> {
    let mut w = Walk { line, at: skip_blanks(line, at) };
    w.expect(b"prev_comm=")?;
    let prev_comm = w.word();
    w.expect(b" prev_pid=")?;
    let prev_pid = w.pid()?;
    w.expect(b" prev_prio=")?;
    w.skip_number()?;
    w.expect(b" prev_state=")?;
    let prev_state = w.word();
    w.expect(b" ")?;
    let _ = w.expect(b"==> "); // absent in the raw print
    w.expect(b"next_comm=")?;
    let next_comm = w.word();
    w.expect(b" next_pid=")?;
    let next_pid = w.pid()?;
    w.expect(b" next_prio=")?;
    w.skip_number()?;
    let sane = w.at_end() && name_ok(prev_comm) && name_ok(next_comm) && state_ok(prev_state);
    sane.then_some(Switch { prev_comm, prev_pid, prev_state, next_comm, next_pid })
}

fn name_ok(span: Span) -> bool {
    span.1 - span.0 <= NAME_LIMIT
}

fn state_ok(span: Span) -> bool {
    (1..=16).contains(&(span.1 - span.0))
}

/// Any body of `sched_switch`.
#[cold]
pub(super) fn odd_switch(line: &[u8], at: usize) -> Option<Switch> {
    let start = skip_blanks(line, at);
    if line[start..].starts_with(b"prev_comm=") {
        keyed_switch(line, start)
    } else {
        pretty_switch(line, start)
    }
}

/// Splits the value behind the last ` key` off the end of `line[..end]`: (where the key starts, value).
fn last_field(line: &[u8], start: usize, end: usize, key: &[u8]) -> Option<(usize, Span)> {
    let at = start + memmem::rfind(line.get(start..end)?, key)?;
    Some((at, (at + key.len(), end)))
}

fn trimmed_end(line: &[u8], start: usize) -> usize {
    start + trim(&line[start..]).len() + (skip_blanks(line, start) - start)
}

/// `prev_comm=... prev_pid= prev_prio= prev_state= [==>] next_comm=... next_pid= next_prio=` from the right.
fn keyed_switch(line: &[u8], start: usize) -> Option<Switch> {
    let end = trimmed_end(line, start);
    let (end, prio) = last_field(line, start, end, b" next_prio=")?;
    number_of(line, prio)?;
    let (end, next) = last_field(line, start, end, b" next_pid=")?;
    let next_pid = pid_of(line, next)?;
    // The name may itself hold " next_comm=": take the last one behind which everything fits.
    let mut limit = end;
    loop {
        let (at, next_comm) = last_field(line, start, limit, b" next_comm=")?;
        if let Some((prev_comm, prev_pid, prev_state)) = keyed_prev(line, start, at) {
            let next_comm = (next_comm.0, end);
            let sane = name_ok(prev_comm) && name_ok(next_comm);
            return sane.then_some(Switch { prev_comm, prev_pid, prev_state, next_comm, next_pid });
        }
        limit = at;
    }
}

fn keyed_prev(line: &[u8], start: usize, end: usize) -> Option<(Span, i32, Span)> {
    let end = if line[start..end].ends_with(b" ==>") { end - 4 } else { end };
    let (end, state) = last_field(line, start, end, b" prev_state=")?;
    if !state_ok(state) || line[state.0..state.1].contains(&b' ') {
        return None;
    }
    let (end, prio) = last_field(line, start, end, b" prev_prio=")?;
    number_of(line, prio)?;
    let (end, prev) = last_field(line, start, end, b" prev_pid=")?;
    let comm = start + b"prev_comm=".len();
    (comm <= end).then_some(())?;
    Some(((comm, end), pid_of(line, prev)?, state))
}

fn pid_of(line: &[u8], span: Span) -> Option<i32> {
    pid(&line[span.0..span.1]).filter(|&p| p >= 0)
}

fn number_of(line: &[u8], span: Span) -> Option<i64> {
    let text = &line[span.0..span.1];
    let bare = text.strip_prefix(b"-").unwrap_or(text);
    at_most(bare, i32::MAX as u64).map(|v| v as i64)
}

/// `name:pid [prio] STATE ==> name:pid [prio]`; a name may hold the arrow.
fn pretty_switch(line: &[u8], start: usize) -> Option<Switch> {
    const ARROW: &[u8] = b" ==> ";
    let end = trimmed_end(line, start);
    let body = line.get(start..end)?;
    memmem::find_iter(body, ARROW).find_map(|n| {
        let arrow = start + n;
        let blank = start + memrchr(b' ', &line[start..arrow])?;
        let prev_state = (blank + 1, arrow);
        let (prev_comm, prev_pid) = pretty_task(line, start, blank)?;
        let (next_comm, next_pid) = pretty_task(line, arrow + ARROW.len(), end)?;
        let sane = state_ok(prev_state) && name_ok(prev_comm) && name_ok(next_comm);
        sane.then_some(Switch { prev_comm, prev_pid, prev_state, next_comm, next_pid })
    })
}

/// `name:pid [prio]`, split at the last colon.
fn pretty_task(line: &[u8], start: usize, end: usize) -> Option<(Span, i32)> {
    let text = line.get(start..end)?.strip_suffix(b"]")?;
    let open = memmem::rfind(text, b" [")?;
    number_of(text, (open + 2, text.len()))?;
    let colon = memrchr(b':', &text[..open])?;
    Some(((start, start + colon), pid_of(text, (colon + 1, open))?))
}

/// `sched_wakeup` and its kin, both spellings.
#[derive(Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// Name and process number of the task that is woken.
    pub comm: Span,
    #[allow(missing_docs)]
    pub pid: i32,
    /// CPU number, any size, and its width in digits.
    pub target_cpu: u64,
    #[allow(missing_docs)]
    pub target_width: usize,
}

/// Reads the body of a wakeup that starts at `at`.
#[inline]
pub fn sched_wakeup(line: &[u8], at: usize) -> Option<Wakeup> {
    plain_wakeup(line, at).or_else(|| odd_wakeup(line, at))
}

#[inline]
pub(super) fn plain_wakeup(line: &[u8], at: usize) -> Option<Wakeup> {
    let mut w = Walk { line, at: skip_blanks(line, at) };
    w.expect(b"comm=")?;
    let comm = w.word();
    w.expect(b" pid=")?;
    let pid = w.pid()?;
    w.expect(b" prio=")?;
    w.skip_number()?;
    w.expect(b" ")?;
    if w.expect(b"success=").is_some() {
        w.skip_number()?;
        w.expect(b" ")?;
    }
    w.expect(b"target_cpu=")?;
    let (target_cpu, target_width) = digits(&line[w.at..]);
    w.at += target_width;
    let sane = target_width > 0 && w.at_end() && name_ok(comm);
    sane.then_some(Wakeup { comm, pid, target_cpu, target_width })
}

#[cold]
pub(super) fn odd_wakeup(line: &[u8], at: usize) -> Option<Wakeup> {
    let start = skip_blanks(line, at);
    let end = trimmed_end(line, start);
    let keyed = line[start..].starts_with(b"comm=");
    let key: &[u8] = if keyed { b" target_cpu=" } else { b" CPU:" };
    let (end, target) = last_field(line, start, end, key)?;
    let target_cpu = at_most(&line[target.0..target.1], u64::MAX)?;
    let target_width = target.1 - target.0;
    // Older kernels print whether the task was not yet on a queue.
    let end = match last_field(line, start, end, b" success=") {
        Some((before, value)) if number_of(line, value).is_some() => before,
        _ => end,
    };
    let (comm, pid) = if keyed {
        let (end, prio) = last_field(line, start, end, b" prio=")?;
        number_of(line, prio)?;
        let (end, pid) = last_field(line, start, end, b" pid=")?;
        let comm = start + b"comm=".len();
        (comm <= end).then_some(())?;
        ((comm, end), pid_of(line, pid)?)
    } else {
        pretty_task(line, start, end)?
    };
    name_ok(comm).then_some(Wakeup { comm, pid, target_cpu, target_width })
}

/// The value of ` key=` or of `key=` at the start of the body, up to the next blank.
pub fn value_of<'a>(body: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    memmem::find_iter(body, key).find_map(|at| {
        let starts = at == 0 || body[at - 1] == b' ';
        let rest = body[at + key.len()..].strip_prefix(b"=")?;
        starts.then(|| &rest[..memchr(b' ', rest).unwrap_or(rest.len())])
    })
}

/// The number behind `key=`, decimal or hexadecimal.
pub fn number_behind(body: &[u8], key: &[u8]) -> Option<i64> {
    whole(value_of(body, key)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &str, span: Span) -> &str {
        &line[span.0..span.1]
    }

    #[test]
    fn switch_bodies_are_split_in_every_spelling() {
        for (line, prev, prev_pid, state, next, next_pid) in [
            (
                "prev_comm=a b prev_pid=77 prev_prio=120 prev_state=R+ ==> next_comm=c ==> d next_pid=78 next_prio=-1",
                "a b",
                77,
                "R+",
                "c ==> d",
                78,
            ),
            (
                "prev_comm=sh prev_pid=6 prev_prio=120 prev_state=4096 next_comm=b next_pid=7 next_prio=120",
                "sh",
                6,
                "4096",
                "b",
                7,
            ),
            (
                "prev_comm= next_comm= prev_pid=1 prev_prio=0 prev_state=S ==> next_comm=x next_comm=y next_pid=2 next_prio=0",
                " next_comm=",
                1,
                "S",
                "x next_comm=y",
                2,
            ),
            (
                "trace-cmd:6244 [120] x ==> kworker/2:1:2923 [120]",
                "trace-cmd",
                6244,
                "x",
                "kworker/2:1",
                2923,
            ),
            ("a ==> b:1 [120] S ==> c ==> d:2 [98]", "a ==> b", 1, "S", "c ==> d", 2),
        ] {
            let s = sched_switch(line.as_bytes(), 0).unwrap_or_else(|| panic!("{line}"));
            let found = (
                text(line, s.prev_comm),
                s.prev_pid,
                text(line, s.prev_state),
                text(line, s.next_comm),
                s.next_pid,
            );
            assert_eq!(found, (prev, prev_pid, state, next, next_pid), "{line}");
        }
    }

    #[test]
    fn both_ways_of_splitting_agree_on_plain_bodies() {
        let line = b"prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120 ";
        assert_eq!(plain_switch(line, 0), odd_switch(line, 0));
        assert!(plain_switch(line, 0).is_some());
        let line = b" comm=a pid=1 prio=120 success=1 target_cpu=003";
        assert_eq!(plain_wakeup(line, 0), odd_wakeup(line, 0));
        assert!(plain_wakeup(line, 0).is_some());
    }

    #[test]
    fn wakeups_in_both_spellings() {
        let line = "rcu sched:8 [120] success=1 CPU:002";
        let w = sched_wakeup(line.as_bytes(), 0).unwrap();
        assert_eq!((text(line, w.comm), w.pid, w.target_cpu), ("rcu sched", 8, 2));
        let line = "comm=x pid=1 prio=2 pid=90 prio=120 target_cpu=001";
        let w = sched_wakeup(line.as_bytes(), 0).unwrap();
        assert_eq!((text(line, w.comm), w.pid, w.target_cpu), ("x pid=1 prio=2", 90, 1));
    }

    #[test]
    fn incomplete_bodies_are_refused() {
        for line in [
            "state=42",
            "state=42 cpu_id=",
            "state=300 cpu_id=1",
            "state= cpu_id=1",
            "",
            "state=1 cpu_id=1x",
        ] {
            assert_eq!(cpu_idle(line.as_bytes(), 0), None, "{line}");
        }
        assert!(
            sched_switch(
                b"prev_comm=a prev_pid=1 prev_prio=1 prev_state=S ==> next_comm=b next_pid=2",
                0
            )
            .is_none()
        );
    }
}
