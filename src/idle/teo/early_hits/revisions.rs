//! The revisions with early hits, each as its difference from a neighbour: the posted change notes
//! as data.

use super::super::pattern::{Agreement, Pattern};
use super::super::refine::Refine;
use super::{Choice, Clock, INTERVALS, Latency, PollFlag, Revision, Switches};
use crate::idle::era::{Ns, Us};

/// RFC v5, the only posted revision of which the whole text is known.
pub struct Rfc5;
impl Revision for Rfc5 {
    type Era = Us;
    const IS: Switches = Switches {
        exact_timer: true,
        timer_is_endless: false,
        ring_takes_equal: true,
        clock: Clock::Core,
        latency: Latency::Whole,
        hit_within_timer: false,
        poll_flag: PollFlag::Sticky,
        ring: INTERVALS + 1,
        choice: Choice::Pattern(PATTERN_V5),
    };
}

const PATTERN_V5: Pattern = Pattern {
    agreement: Agreement::Majority { low_side: true, spread_test: false },
    stopped_tick_aware: true,
    avoid_polling: false,
};
const PATTERN_V4: Pattern = Pattern { stopped_tick_aware: false, ..PATTERN_V5 };
const PATTERN_V3: Pattern = Pattern {
    agreement: Agreement::Majority { low_side: false, spread_test: false },
    ..PATTERN_V4
};
const PATTERN_V2: Pattern =
    Pattern { agreement: Agreement::Majority { low_side: false, spread_test: true }, ..PATTERN_V3 };

/// RFC v4: does not treat a stopped tick apart.
pub struct Rfc4;
impl Revision for Rfc4 {
    type Era = Us;
    const IS: Switches = Switches { choice: Choice::Pattern(PATTERN_V4), ..Rfc5::IS };
}

/// RFC v3: the pattern detector drops outliers at the upper end only.
pub struct Rfc3;
impl Revision for Rfc3 {
    type Era = Us;
    const IS: Switches = Switches { choice: Choice::Pattern(PATTERN_V3), ..Rfc4::IS };
}

/// RFC v2: a pattern must also pass a spread test in the end.
pub struct Rfc2;
impl Revision for Rfc2 {
    type Era = Us;
    const IS: Switches =
        Switches { ring_takes_equal: false, choice: Choice::Pattern(PATTERN_V2), ..Rfc3::IS };
}

/// RFC v1: as v2, for kernels that had no flag for timed-out polls yet.
pub struct Rfc1;
impl Revision for Rfc1 {
    type Era = Us;
    const IS: Switches = Switches { poll_flag: PollFlag::Ignored, ..Rfc2::IS };
}

/// Second reading of v2: no flag, and a pattern is a mean that every interval stays within one eighth of.
pub struct Rfc2Strict;
impl Revision for Rfc2Strict {
    type Era = Us;
    const IS: Switches = Switches {
        poll_flag: PollFlag::Ignored,
        choice: Choice::Pattern(Pattern { agreement: Agreement::Eighth, ..PATTERN_V2 }),
        ..Rfc2::IS
    };
}

/// Second reading of v1: intervals may exceed their mean by 2 us, and polling is not chosen while
/// the timer is beyond 20 us.
pub struct Rfc1Tolerant;
impl Revision for Rfc1Tolerant {
    type Era = Us;
    const IS: Switches = Switches {
        choice: Choice::Pattern(Pattern {
            agreement: Agreement::Within(2),
            avoid_polling: true,
            ..PATTERN_V2
        }),
        ..Rfc1::IS
    };
}

/// RFC v6, and v7, whose difference is not known: refinement in place of the pattern, the governor's
/// own clock, and the flag cleared.
pub struct Rfc6;
impl Revision for Rfc6 {
    type Era = Us;
    const IS: Switches = Switches {
        exact_timer: false,
        clock: Clock::Own,
        hit_within_timer: true,
        poll_flag: PollFlag::Cleared,
        choice: Choice::Refine(Refine { hits_test_in_scan: true }),
        ..Rfc5::IS
    };
}

/// RFC v8: all states are treated alike, and half of the exit latency is taken off.
pub struct Rfc8;
impl Revision for Rfc8 {
    type Era = Us;
    const IS: Switches = Switches {
        latency: Latency::Half,
        choice: Choice::Refine(Refine { hits_test_in_scan: false }),
        ..Rfc6::IS
    };
}

/// Linux 5.1: v8 as merged.
pub struct V51;
impl Revision for V51 {
    type Era = Us;
    const IS: Switches = Rfc8::IS;
}

/// Linux 5.3.18: the stable fixes to the ring, to disabled states and to the latency limit.
pub struct V53;
impl Revision for V53 {
    type Era = Us;
    const IS: Switches = Switches { ring: INTERVALS, choice: Choice::RefineStable, ..V51::IS };
}

/// Linux 5.4: a timer-like sleep counts as endless.
pub struct V54;
impl Revision for V54 {
    type Era = Us;
    const IS: Switches = Switches { timer_is_endless: true, ..V53::IS };
}

/// Linux 5.10: nanoseconds, and the core's residency again.
pub struct V510;
impl Revision for V510 {
    type Era = Ns;
    const IS: Switches = Switches { clock: Clock::Core, ..V54::IS };
}
