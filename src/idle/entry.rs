//! What a catalogue entry says about its governor, and how to make one.

use super::era::{Era, Ns, Us};
use super::governor::Governor;
use super::stream::{self, Rows, Stream};
use crate::catalogue::Named;
use crate::error::Result;
use crate::machine::IdleTable;

/// How the rules of a governor became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exactness {
    /// From the whole text.
    Exact,
    /// From a neighbouring text and the change notes between them.
    Reconstructed,
}

/// How sure it is that the decisions are those of the named kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the words say it
pub enum Confidence {
    Full,
    High,
    Medium,
    Low,
}

/// One governor of the catalogue.
pub struct GovernorEntry {
    /// Registered name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// One line.
    pub summary: &'static str,
    /// The kernel, or the posting, it is from.
    pub kernel: &'static str,
    /// The text it follows.
    pub source: &'static str,
    /// Whether that text was complete.
    pub exactness: Exactness,
    /// How sure it is.
    pub confidence: Confidence,
    /// True if the reading was chosen because it fits published results: those are then no test of it.
    pub fitted: bool,
    /// Never chooses a state slower than the latency limit while an enabled state is fast enough.
    pub respects_limits: bool,
    /// Never chooses a disabled state while one is enabled.
    pub respects_disabled: bool,
    /// Makes and replays it.
    pub maker: Maker,
}

impl Named for GovernorEntry {
    fn name(&self) -> &str {
        self.name
    }
    fn aliases(&self) -> &[&str] {
        self.aliases
    }
}

impl std::fmt::Debug for GovernorEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GovernorEntry({})", self.name)
    }
}

impl GovernorEntry {
    /// A governor of this entry for one CPU.
    pub fn build(&self, table: &IdleTable, hz: u32) -> Box<dyn Governor> {
        (self.maker.build)(table, hz)
    }

    /// `us` for the governors before 5.5, `ns` for those after.
    pub fn era(&self) -> &'static str {
        self.maker.era
    }
}

type Run = fn(&Stream<'_>, Rows<'_>) -> Result<()>;

/// The compiled loops of one governor type.
pub struct Maker {
    era: &'static str,
    build: fn(&IdleTable, u32) -> Box<dyn Governor>,
    pub(super) run: Run,
    pub(super) run_traced: Run,
}

impl Maker {
    /// For a governor that counts in microseconds.
    pub const fn us<G: Governor + 'static>() -> Self {
        Self::of::<G>(Us::NAME)
    }

    /// For a governor that counts in nanoseconds.
    pub const fn ns<G: Governor + 'static>() -> Self {
        Self::of::<G>(Ns::NAME)
    }

    const fn of<G: Governor + 'static>(era: &'static str) -> Self {
        Self {
            era,
            build: build::<G>,
            run: stream::run_own::<G, false>,
            run_traced: stream::run_own::<G, true>,
        }
    }
}

fn build<G: Governor + 'static>(table: &IdleTable, hz: u32) -> Box<dyn Governor> {
    Box::new(G::new(table, hz))
}
