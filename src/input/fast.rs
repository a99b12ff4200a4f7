//! The usual line, read at fixed places.
//!
//! Lines of one trace share their columns: where the CPU bracket, the flags, the seconds and the
//! event stand is learnt from a line that was read the general way, and the next lines are only
//! checked against it, eight bytes at a time. A line that differs in anything is left to the general
//! way, so nothing here decides what a line means; a test compares both on damaged text.

use super::columns::EXIT;
use super::fields::{Prefix, Stamp};
use super::number::{eight, eight_digits, six};

/// Most bytes of a line that are looked at: columns, two names of 15 bytes, six numbers.
pub const WINDOW: usize = 320;

const BLANKS: u64 = u64::from_le_bytes([b' '; 8]);
const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Places of the columns, from a line that was read the general way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    /// Column of the opening bracket.
    open: usize,
    /// Width of the flags; 0 without flags.
    flags: usize,
    /// Which bytes of a word are flags, which of the word behind them stand in front of the time,
    /// and which of the word at the time are its seconds.
    masks: [u64; 3],
    /// Flags seen in these columns, as little-endian words; 0 = free.
    seen: [u64; 16],
    /// Column of the first digit of the seconds.
    time: usize,
    /// Seconds with their decimal point, as a little-endian word.
    second_text: u64,
    /// Their width.
    second_width: usize,
    /// The seconds, ns.
    seconds: i64,
    /// Decimals: 6 or 9.
    decimals: usize,
    /// The bytes in front of the bracket of the line before, as words; 0 = none are known.
    task: [u64; 4],
    /// Blanks at their end.
    task_blanks: usize,
}

/// Where the bracket usually is: behind a right-aligned name, a dash and a number of 5 or 7 digits.
const BRACKET: std::ops::RangeInclusive<usize> = 16..=32;

/// What a line says in front of its event.
#[derive(Debug, Clone, Copy)]
pub struct Front {
    /// CPU in brackets.
    pub cpu: u16,
    /// Time, ns.
    pub time: i64,
    /// End of the task column.
    pub task_end: usize,
    /// Where the event name starts.
    pub event: usize,
}

#[inline(always)]
fn load(s: &[u8], at: usize) -> Option<u64> {
    s.get(at..)?.first_chunk::<8>().map(|b| u64::from_le_bytes(*b))
}

#[inline(always)]
fn low_bytes(n: usize) -> u64 {
    if n >= 8 { u64::MAX } else { (1 << (8 * n)) - 1 }
}

/// Marks the bytes of `word` that are `b`; marks above the lowest one may be wrong.
#[inline(always)]
fn marks(word: u64, b: u8) -> u64 {
    let x = word ^ (u64::from(b) * ONES);
    x.wrapping_sub(ONES) & !x & HIGHS
}

/// Index of the first blank of the next 16 bytes, on the same line.
#[inline(always)]
fn first_blank(s: &[u8], at: usize) -> Option<usize> {
    for at in [at, at + 8] {
        let word = load(s, at)?;
        let (blank, end) = (marks(word, b' '), marks(word, b'\n'));
        if blank | end != 0 {
            let (blank, end) = (blank.trailing_zeros(), end.trailing_zeros());
            return (blank < end).then_some(at + blank as usize / 8);
        }
    }
    None
}

/// One to seven digits and the index behind them.
#[inline(always)]
fn number(s: &[u8], at: usize) -> Option<(u64, usize)> {
    let word = load(s, at)?;
    let n = digits_in(word);
    if !(1..8).contains(&n) {
        return None;
    }
    // Leading zeros make it eight digits.
    let value = eight_digits(word << (8 * (8 - n)) | ZEROS >> (8 * n));
    Some((value, at + n))
}

/// Index behind one to seven digits.
#[inline(always)]
fn skip_number(s: &[u8], at: usize) -> Option<usize> {
    let n = digits_in(load(s, at)?);
    (1..8).contains(&n).then_some(at + n)
}

/// Number of digits at the start of a word.
#[inline(always)]
fn digits_in(word: u64) -> usize {
    // Bytes that are no digits: high nibble not 3, or low nibble above 9.
    let odd = (word ^ ZEROS) | (word.wrapping_add(0x0606_0606_0606_0606) ^ ZEROS);
    (odd & 0xF0F0_F0F0_F0F0_F0F0).trailing_zeros() as usize / 8
}

#[inline(always)]
fn expect(s: &[u8], at: usize, text: &[u8]) -> Option<usize> {
    s.get(at..at + text.len()).is_some_and(|t| t == text).then_some(at + text.len())
}

impl Columns {
    /// Learns the places from a line that was read the general way, if they are usual ones.
    pub fn learn(line: &[u8], p: &Prefix, before: Option<Self>) -> Option<Self> {
        let Stamp::Seconds(ns) = p.stamp else { return None };
        let open = memchr::memchr(b'[', line)?;
        if p.latency || p.cpu_width != 3 || !BRACKET.contains(&open) || p.rest + 8 > WINDOW {
            return None;
        }
        let colon = p.rest.checked_sub(2)?;
        if line.get(colon..p.rest)? != b": " {
            return None;
        }
        let dot = memchr::memrchr(b'.', line.get(..colon)?)?;
        let time = memchr::memrchr(b' ', &line[..dot])? + 1;
        let (decimals, second_width) = (colon - dot - 1, dot - time + 1);
        if !matches!(decimals, 6 | 9) || second_width > 8 {
            return None;
        }
        let start = open + 6;
        let end =
            line.get(start..time)?.iter().position(|&b| b == b' ').map_or(time, |n| start + n);
        let flags = end - start;
        if flags > 8 || time - end > 8 || (flags > 0 && time == end) {
            return None;
        }
        let second_text = load(line, time)? & low_bytes(second_width);
        let mut columns = Columns {
            open,
            flags,
            masks: [low_bytes(flags), low_bytes(time - end), low_bytes(second_width)],
            seen: [0; 16],
            time,
            second_text,
            second_width,
            seconds: ns - ns % 1_000_000_000,
            decimals,
            task: [0; 4],
            task_blanks: 0,
        };
        if let Some(before) = before
            && (before.open, before.flags, before.time) == (open, flags, time)
        {
            columns.seen = before.seen;
        }
        if flags > 0 {
            let word = load(line, start)? & low_bytes(flags);
            columns.seen[slot(word)] = word;
        }
        Some(columns)
    }

    /// Blanks in front of the bracket, which must be the line's first; remembers the task column.
    #[inline(always)]
    fn blanks(&mut self, s: &[u8]) -> Option<usize> {
        let last = self.open - 8;
        // These overlap, and together reach from the start of the line to the bracket.
        let words = [load(s, 0)?, load(s, 8)?, load(s, last.min(16))?, load(s, last)?];
        if words == self.task {
            return Some(self.task_blanks);
        }
        let strange = words.iter().fold(0, |m, &w| m | marks(w, b'[') | marks(w, b'\n'));
        let blanks = (words[3] ^ BLANKS).leading_zeros() as usize / 8;
        // No blank: glued to a name; 8: further away than usual; a bracket: a thread group.
        if strange != 0 || !(1..8).contains(&blanks) || s[0] == b'#' {
            return None;
        }
        if matches!(s[self.open - 1 - blanks], b')' | b'\t') {
            return None;
        }
        (self.task, self.task_blanks) = (words, blanks);
        Some(blanks)
    }

    /// Reads the columns in front of the event of the line that starts at `s`.
    #[inline(always)]
    pub fn front(&mut self, s: &[u8]) -> Option<Front> {
        let task_end = self.open - self.blanks(s)?;
        let cpu = cpu(load(s, self.open)?)?;
        self.flags_and_gap(s)?;
        let word = load(s, self.time)?;
        if word & self.masks[2] != self.second_text {
            return None;
        }
        let fraction = self.time + self.second_width;
        let (ns, colon) = self.fraction(s, fraction)?;
        let event = colon + 2;
        if s.get(colon) != Some(&b':') || s.get(colon + 1) != Some(&b' ') {
            return None;
        }
        Some(Front { cpu, time: self.seconds + ns, task_end, event })
    }

    /// Checks that known flags and only blanks stand between bracket and time.
    #[inline(always)]
    fn flags_and_gap(&self, s: &[u8]) -> Option<()> {
        let start = self.open + 6;
        if self.flags > 0 {
            let word = load(s, start)? & self.masks[0];
            if word == 0 || self.seen[slot(word)] != word {
                return None;
            }
        }
        let gap = load(s, start + self.flags)?;
        ((gap ^ BLANKS) & self.masks[1] == 0).then_some(())
    }

    #[inline(always)]
    fn fraction(&self, s: &[u8], at: usize) -> Option<(i64, usize)> {
        if self.decimals == 6 {
            return Some((six(s.get(at..)?)? as i64 * 1000, at + 6));
        }
        let last = s.get(at + 8)?.wrapping_sub(b'0');
        let value = eight(load(s, at)?)? * 10 + u64::from(last);
        (last <= 9).then_some((value as i64, at + 9))
    }
}

/// Place of flags in [`Columns::seen`].
#[inline(always)]
fn slot(word: u64) -> usize {
    (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60) as usize
}

/// `[ddd] ` as a little-endian word.
#[inline(always)]
fn cpu(word: u64) -> Option<u16> {
    let shape = word & 0x0000_FFFF_F0F0_F0FF;
    let expected = u64::from_le_bytes([b'[', 0x30, 0x30, 0x30, b']', b' ', 0, 0]);
    let digits = word >> 8 & 0x0F_0F0F;
    if shape != expected || (digits + 0x06_0606) & 0xF0_F0F0 != 0 {
        return None;
    }
    Some(((digits & 15) * 100 + (digits >> 8 & 15) * 10 + (digits >> 16)) as u16)
}

/// Events that are read at fixed places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usual {
    /// `cpu_idle`.
    Idle,
    /// `sched_switch`.
    Switch,
    /// `sched_wakeup`.
    Wakeup,
    /// `sched_waking`.
    Waking,
}

/// Which event starts at `at`, and where the colon behind its name is.
#[inline(always)]
pub fn event(s: &[u8], at: usize) -> Option<(Usual, usize)> {
    const fn word(text: &[u8; 8]) -> u64 {
        u64::from_le_bytes(*text)
    }
    // The first eight bytes of the name, and the eight that end with its colon.
    let (head, short) = (load(s, at)?, s.get(at + 8)?);
    if head == word(b"cpu_idle") && *short == b':' {
        return Some((Usual::Idle, at + 8));
    }
    let tail = load(s, at + 5)?;
    const SWITCH: (u64, u64) = (word(b"sched_sw"), word(b"_switch:"));
    const WAKEUP: (u64, u64) = (word(b"sched_wa"), word(b"_wakeup:"));
    const WAKING: (u64, u64) = (word(b"sched_wa"), word(b"_waking:"));
    let which = match (head, tail) {
        SWITCH => Usual::Switch,
        WAKEUP => Usual::Wakeup,
        WAKING => Usual::Waking,
        _ => return None,
    };
    Some((which, at + 12))
}

/// Skips the blanks behind the colon of an event name; there is at least one.
#[inline]
pub fn body(s: &[u8], colon: usize) -> Option<usize> {
    let mut at = colon + 1;
    while *s.get(at)? == b' ' {
        at += 1;
    }
    (at > colon + 1).then_some(at)
}

/// `state=S cpu_id=C` and a line end: state, CPU, start of the next line.
#[inline]
pub fn cpu_idle(s: &[u8], at: usize) -> Option<(u8, u16, usize)> {
    let at = expect(s, at, b"state=")?;
    let (state, at) = match expect(s, at, b"4294967295") {
        Some(at) => (EXIT, at),
        None => (s.get(at)?.wrapping_sub(b'0'), at + 1),
    };
    if state > 9 && state != EXIT {
        return None;
    }
    let at = expect(s, at, b" cpu_id=")?;
    let (cpu, at) = number(s, at)?;
    Some((state, u16::try_from(cpu).ok()?, line_end(s, at)?))
}

#[inline(always)]
fn line_end(s: &[u8], at: usize) -> Option<usize> {
    (*s.get(at)? == b'\n').then_some(at + 1)
}

/// Fields of a usual `sched_switch`: spans of names and state, process numbers, next line.
pub struct Switch {
    /// Leaving task.
    pub prev_comm: (usize, usize),
    #[allow(missing_docs)]
    pub prev_pid: i32,
    #[allow(missing_docs)]
    pub prev_state: (usize, usize),
    /// Coming task.
    pub next_comm: (usize, usize),
    #[allow(missing_docs)]
    pub next_pid: i32,
    /// Start of the next line.
    pub next_line: usize,
}

/// The keyed body with short names without blanks, and a line end.
#[inline]
pub fn sched_switch(s: &[u8], at: usize) -> Option<Switch> {
    let start = expect(s, at, b"prev_comm=")?;
    let prev_comm = (start, first_blank(s, start)?);
    let (prev_pid, at) = number(s, expect(s, prev_comm.1, b" prev_pid=")?)?;
    let at = skip_number(s, expect(s, at, b" prev_prio=")?)?;
    let start = expect(s, at, b" prev_state=")?;
    let prev_state = (start, first_blank(s, start)?);
    if prev_state.1 == start {
        return None;
    }
    let start = expect(s, prev_state.1, b" ==> next_comm=")?;
    let next_comm = (start, first_blank(s, start)?);
    let (next_pid, at) = number(s, expect(s, next_comm.1, b" next_pid=")?)?;
    let at = skip_number(s, expect(s, at, b" next_prio=")?)?;
    let (prev_pid, next_pid, next_line) = (prev_pid as i32, next_pid as i32, line_end(s, at)?);
    Some(Switch { prev_comm, prev_pid, prev_state, next_comm, next_pid, next_line })
}

/// Fields of a usual wakeup.
pub struct Wakeup {
    /// Woken task.
    pub comm: (usize, usize),
    #[allow(missing_docs)]
    pub pid: i32,
    #[allow(missing_docs)]
    pub target_cpu: u16,
    /// Waking task.
    pub by_comm: (usize, usize),
    #[allow(missing_docs)]
    pub by_pid: i32,
    /// Start of the next line.
    pub next_line: usize,
}

/// The keyed body with a short name without blanks, and a line end.
#[inline]
pub fn sched_wakeup(s: &[u8], at: usize, task_end: usize) -> Option<Wakeup> {
    let start = expect(s, at, b"comm=")?;
    let comm = (start, first_blank(s, start)?);
    let (pid, at) = number(s, expect(s, comm.1, b" pid=")?)?;
    let at = skip_number(s, expect(s, at, b" prio=")?)?;
    let (target, at) = number(s, expect(s, at, b" target_cpu=")?)?;
    let next_line = line_end(s, at)?;
    let (by_comm, by_pid) = task(s, task_end)?;
    let target_cpu = u16::try_from(target).ok()?;
    Some(Wakeup { comm, pid: pid as i32, target_cpu, by_comm, by_pid, next_line })
}

/// `name-pid` up to `end`.
#[inline]
fn task(s: &[u8], end: usize) -> Option<((usize, usize), i32)> {
    let column = s.get(..end)?;
    let digits = column.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let dash = end.checked_sub(digits + 1)?;
    if !(1..8).contains(&digits) || column[dash] != b'-' {
        return None;
    }
    let pid = column[dash + 1..].iter().fold(0, |v, &b| v * 10 + i32::from(b - b'0'));
    let start = column.iter().position(|&b| b != b' ')?;
    (start < dash && column[start] != b'\t').then_some(((start, dash), pid))
}
