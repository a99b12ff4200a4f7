//! What a reader has to say about its input: counts, places, and how strict to be about them.

use std::collections::BTreeMap;

/// How many line numbers are kept per reason.
pub const FIRST_LINES: usize = 20;

/// Share of damaged lines among the event lines above which a reader warns aloud.
pub const LOUD_SHARE: f64 = 0.10;

/// What to do about a line that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// Skip it, count it, keep its number.
    #[default]
    Report,
    /// Fail at the first one.
    Strict,
    /// As `Report`; the Python side raises no warning.
    Ignore,
}

/// Why a line was skipped, or what is odd about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// An event that no table is made of.
    UnknownEvent,
    /// trace-cmd could not print the event.
    FailedToParse,
    /// A known event whose fields are not where they should be.
    BadFields,
    /// A CPU number above [`super::CPU_LIMIT`].
    BadCpu,
    /// Part of an event body that held a line end.
    Continuation,
    /// Prose, a shell prompt, an unknown column layout.
    NotATraceLine,
    /// The last line has no line end and lacks fields.
    CutLastLine,
    /// More than [`super::LINE_LIMIT`] bytes.
    LineTooLong,
    /// Nothing on the line.
    Blank,
    /// Part of a call chain.
    Callchain,
    /// A line of the function or function graph tracer.
    FunctionTrace,
    /// The tracer says that events are missing here.
    LostEvents,
    /// The header says that the ring buffer overwrote events.
    BufferOverwritten,
    /// Time goes back on one CPU.
    TimeWentBack,
    /// A CPU leaves idle that did not enter it.
    IdleExitWithoutEnter,
    /// The author of the text removed the task column.
    NoTaskColumn,
    /// A well-formed file without events.
    NoEvents,
}

/// Number of codes.
const CODES: usize = Code::NoEvents as usize + 1;

const ALL: [Code; CODES] = [
    Code::UnknownEvent,
    Code::FailedToParse,
    Code::BadFields,
    Code::BadCpu,
    Code::Continuation,
    Code::NotATraceLine,
    Code::CutLastLine,
    Code::LineTooLong,
    Code::Blank,
    Code::Callchain,
    Code::FunctionTrace,
    Code::LostEvents,
    Code::BufferOverwritten,
    Code::TimeWentBack,
    Code::IdleExitWithoutEnter,
    Code::NoTaskColumn,
    Code::NoEvents,
];

impl Code {
    /// The fixed word for programs.
    pub fn word(self) -> &'static str {
        self.row().0
    }

    /// The reason in words.
    pub fn reason(self) -> &'static str {
        self.row().1
    }

    /// What the user can do.
    pub fn remedy(self) -> &'static str {
        self.row().2
    }

    /// The line was skipped (the others are remarks about lines that were read).
    pub fn is_skip(self) -> bool {
        self < Code::LostEvents
    }

    /// Worth a warning; the others are normal in a healthy file.
    pub fn warns(self) -> bool {
        !matches!(self, Code::UnknownEvent | Code::Blank | Code::Callchain | Code::FunctionTrace)
    }

    /// Strict reading stops here. Losses that the tracer reports are facts, not damage.
    pub fn stops_strict(self) -> bool {
        self.warns() && !matches!(self, Code::LostEvents | Code::BufferOverwritten | Code::NoEvents)
    }

    /// The line looked like an event and was skipped for damage.
    pub fn is_damaged_event(self) -> bool {
        matches!(self, Code::FailedToParse | Code::BadFields | Code::BadCpu)
    }

    fn row(self) -> (&'static str, &'static str, &'static str) {
        const STRICT: &str = "repair the line, or read with errors=\"report\" to skip and count it";
        match self {
            Code::UnknownEvent => ("unknown-event", "no table is made of this event", ""),
            Code::FailedToParse => (
                "failed-to-parse",
                "trace-cmd could not print this event",
                "report with a newer trace-cmd, or read with errors=\"report\"",
            ),
            Code::BadFields => ("bad-fields", "the fields of the event are damaged", STRICT),
            Code::BadCpu => ("bad-cpu", "the CPU number is above 65535", STRICT),
            Code::Continuation => {
                ("continuation", "the line continues the text of the event before it", STRICT)
            }
            Code::NotATraceLine => ("not-a-trace-line", "not a line of a trace", STRICT),
            Code::CutLastLine => (
                "cut-last-line",
                "the file ends in the middle of a line",
                "drop the last line, or read with errors=\"report\"",
            ),
            Code::LineTooLong => ("line-too-long", "the line is longer than 65536 bytes", STRICT),
            Code::Blank => ("blank", "blank line", ""),
            Code::Callchain => ("callchain", "call chain", ""),
            Code::FunctionTrace => ("function-trace", "line of the function tracer", ""),
            Code::LostEvents => ("lost-events", "the tracer lost events here", ""),
            Code::BufferOverwritten => {
                ("buffer-overwritten", "the ring buffer overwrote older events", "")
            }
            Code::TimeWentBack => (
                "time-went-back",
                "time goes back on one CPU",
                "read with errors=\"report\" to sort the events of each CPU",
            ),
            Code::IdleExitWithoutEnter => (
                "idle-exit-without-enter",
                "the CPU leaves idle without having entered it",
                "events are missing; read with errors=\"report\" to leave the period out",
            ),
            Code::NoTaskColumn => (
                "no-task-column",
                "the task column is missing",
                "read with errors=\"report\" to take the tasks as unknown",
            ),
            Code::NoEvents => ("no-events", "the file holds no events", ""),
        }
    }
}

/// One remark with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line number from 1; 0 = the whole file.
    pub line: u64,
    /// The CPU, for remarks about one.
    pub cpu: Option<u16>,
}

/// Counts per code, and the first places of each.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    counts: [u64; CODES],
    places: [Vec<Place>; CODES],
}

impl Tally {
    /// Counts one line.
    pub fn note(&mut self, code: Code, line: u64, cpu: Option<u16>) {
        let i = code as usize;
        self.counts[i] += 1;
        if self.places[i].len() < FIRST_LINES {
            self.places[i].push(Place { line, cpu });
        }
    }

    /// Adds the counts of the text that follows, whose line numbers start after `offset`.
    pub fn append(&mut self, next: &Tally, offset: u64) {
        for i in 0..CODES {
            self.counts[i] += next.counts[i];
            let room = FIRST_LINES - self.places[i].len();
            let moved = next.places[i].iter().take(room);
            self.places[i].extend(moved.map(|p| Place { line: p.line + offset, ..*p }));
        }
    }

    /// How often `code` was noted.
    pub fn count(&self, code: Code) -> u64 {
        self.counts[code as usize]
    }

    /// Count of every reason that skipped a line.
    pub fn skipped(&self) -> BTreeMap<&'static str, u64> {
        let seen = ALL.iter().filter(|c| c.is_skip() && self.count(**c) > 0);
        seen.map(|&c| (c.word(), self.count(c))).collect()
    }

    /// First places of every code that was noted.
    pub fn places(&self) -> impl Iterator<Item = (Code, &[Place])> {
        let seen = ALL.iter().filter(|c| self.count(**c) > 0);
        seen.map(|&c| (c, self.places[c as usize].as_slice()))
    }

    /// Everything worth a warning, in line order.
    pub fn warnings(&self) -> Vec<(Place, Code)> {
        let mut list: Vec<_> = self
            .places()
            .filter(|(c, _)| c.warns())
            .flat_map(|(c, places)| places.iter().map(move |p| (*p, c)))
            .collect();
        list.sort();
        list
    }

    /// The first line that strict reading refuses.
    pub fn first_refused(&self) -> Option<(Place, Code)> {
        self.warnings().into_iter().find(|(_, c)| c.stops_strict())
    }

    /// Event lines skipped for damage.
    pub fn damaged(&self) -> u64 {
        ALL.iter().filter(|c| c.is_damaged_event()).map(|c| self.count(*c)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_places_are_kept_but_all_are_counted() {
        let mut all = Tally::default();
        for part in 0..3u64 {
            let mut tally = Tally::default();
            for line in 1..=9 {
                tally.note(Code::BadFields, line, None);
            }
            all.append(&tally, 9 * part);
        }
        let (_, places) = all.places().next().unwrap();
        assert_eq!(all.count(Code::BadFields), 27);
        let lines: Vec<u64> = places.iter().map(|p| p.line).collect();
        assert_eq!(lines, (1..=20).collect::<Vec<_>>());
    }

    #[test]
    fn strict_reading_stops_at_damage_but_not_at_reported_losses() {
        let mut tally = Tally::default();
        tally.note(Code::LostEvents, 4, Some(0));
        assert_eq!(tally.first_refused(), None);
        tally.note(Code::NotATraceLine, 9, None);
        tally.note(Code::Continuation, 7, None);
        let (place, code) = tally.first_refused().unwrap();
        assert_eq!((place.line, code.word()), (7, "continuation"));
    }
}
