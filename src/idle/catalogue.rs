//! The list of governors, in the order of the manual: menu, teo, ladder, haltpoll, each by age.

use super::entry::Confidence::{Full, High, Low, Medium};
use super::entry::Exactness::{Exact, Reconstructed};
use super::entry::{GovernorEntry, Maker};
use super::haltpoll::{Haltpoll54, Haltpoll510, Haltpoll612};
use super::ladder::Ladder;
use super::teo::EarlyHits;
use super::{era, menu, teo};

/// An entry whose text is complete; the others start from this one.
const fn exact(
    name: &'static str,
    kernel: &'static str,
    source: &'static str,
    maker: Maker,
) -> GovernorEntry {
    GovernorEntry {
        name,
        aliases: &[],
        summary: "",
        kernel,
        source,
        exactness: Exact,
        confidence: Full,
        fitted: false,
        respects_limits: true,
        respects_disabled: true,
        maker,
    }
}

const fn rebuilt(
    name: &'static str,
    kernel: &'static str,
    source: &'static str,
    maker: Maker,
) -> GovernorEntry {
    GovernorEntry { exactness: Reconstructed, ..exact(name, kernel, source, maker) }
}

const RFC: &str = "posting of 2018";

/// Every governor.
///
/// Where limits are broken: menu 4.18.20 to 6.1 take a deep state for a stopped tick without a look at
/// the limit; teo 5.3 to 5.10 take the first state that is too slow in place of the last that is fast
/// enough; teo 6.5 takes state 1 of two on a utilised CPU; ladder moves one state at a time; haltpoll
/// knows no limit but zero. Where disabled states are chosen: menu takes state 0 for a limit of zero;
/// teo v1 to v5 end there when nothing fits before the tick; teo 6.1 to 7.2 when no state is fast
/// enough; ladder steps and falls blindly; haltpoll knows two states.
pub const GOVERNORS: &[GovernorEntry] = &[
    GovernorEntry {
        aliases: &["menu-4.18"],
        summary: "load-aware latency limit, first handling of a stopped tick",
        confidence: High,
        respects_disabled: false,
        ..rebuilt(
            "menu-4.18.0",
            "4.18",
            "4.18.20 with its two later tick fixes undone",
            Maker::us::<menu::Menu418First>(),
        )
    },
    GovernorEntry {
        summary: "load-aware latency limit, stopped tick handled as in 4.20",
        respects_limits: false,
        respects_disabled: false,
        ..exact(
            "menu-4.18.20",
            "4.18.20",
            "Linux 4.18.20 (Ubuntu source package)",
            Maker::us::<menu::Menu418Last>(),
        )
    },
    GovernorEntry {
        aliases: &["menu-4.20"],
        summary: "polling state in the scan, no load in the latency limit",
        respects_limits: false,
        respects_disabled: false,
        ..exact(
            "menu-5.0",
            "5.0",
            "Linux 5.0.21 (Ubuntu source package)",
            Maker::us::<menu::Menu50>(),
        )
    },
    GovernorEntry {
        summary: "intervals above 2^31 us are outliers",
        respects_limits: false,
        respects_disabled: false,
        ..exact(
            "menu-5.3",
            "5.3",
            "Linux 5.3.18 (Ubuntu source package)",
            Maker::us::<menu::Menu53>(),
        )
    },
    GovernorEntry {
        summary: "nanoseconds",
        respects_limits: false,
        respects_disabled: false,
        ..exact(
            "menu-5.10",
            "5.10",
            "Linux 5.10.223 (Debian source package)",
            Maker::ns::<menu::Menu510>(),
        )
    },
    GovernorEntry {
        summary: "guards against negative sleep lengths and refused entries",
        respects_limits: false,
        respects_disabled: false,
        ..exact(
            "menu-6.1",
            "6.1",
            "Linux 6.1.192 (Debian source package)",
            Maker::ns::<menu::Menu61>(),
        )
    },
    GovernorEntry {
        summary: "typical interval first, timer only when needed, no I/O wait",
        respects_disabled: false,
        ..exact(
            "menu-6.12",
            "6.12",
            "Linux 6.12.117 (Debian source package)",
            Maker::ns::<menu::Menu612>(),
        )
    },
    GovernorEntry {
        aliases: &["menu"],
        summary: "outliers dropped at either end",
        respects_disabled: false,
        ..exact(
            "menu-7.2",
            "7.2",
            "Linux 7.2.13 (Debian source package)",
            Maker::ns::<menu::Menu72>(),
        )
    },
    GovernorEntry {
        aliases: &["teo-v1"],
        summary: "pattern of recent intervals first, timed-out polls not known",
        confidence: Low,
        respects_disabled: false,
        ..rebuilt(
            "teo-rfc-v1",
            RFC,
            "v2 without the poll flag",
            Maker::us::<EarlyHits<teo::Rfc1>>(),
        )
    },
    GovernorEntry {
        summary: "second reading of v1: 2 us of tolerance, polling avoided",
        confidence: Low,
        fitted: true,
        respects_disabled: false,
        ..rebuilt(
            "teo-rfc-v1-tolerant",
            RFC,
            "rules inferred from published results",
            Maker::us::<EarlyHits<teo::Rfc1Tolerant>>(),
        )
    },
    GovernorEntry {
        aliases: &["teo-v2"],
        summary: "patterns pass a spread test, sticky poll flag",
        confidence: Low,
        respects_disabled: false,
        ..rebuilt("teo-rfc-v2", RFC, "v3 with a spread test", Maker::us::<EarlyHits<teo::Rfc2>>())
    },
    GovernorEntry {
        summary: "second reading of v2: intervals within an eighth of their mean, no poll flag",
        confidence: Low,
        fitted: true,
        respects_disabled: false,
        ..rebuilt(
            "teo-rfc-v2-strict",
            RFC,
            "rules inferred from published results",
            Maker::us::<EarlyHits<teo::Rfc2Strict>>(),
        )
    },
    GovernorEntry {
        aliases: &["teo-v3"],
        summary: "no spread test, sticky poll flag",
        confidence: Medium,
        respects_disabled: false,
        ..rebuilt(
            "teo-rfc-v3",
            RFC,
            "v5 with two change notes undone",
            Maker::us::<EarlyHits<teo::Rfc3>>(),
        )
    },
    GovernorEntry {
        aliases: &["teo-v4"],
        summary: "outliers at the lower end count, sticky poll flag",
        confidence: Medium,
        respects_disabled: false,
        ..rebuilt(
            "teo-rfc-v4",
            RFC,
            "v5 with a change note undone",
            Maker::us::<EarlyHits<teo::Rfc4>>(),
        )
    },
    GovernorEntry {
        aliases: &["teo-v5"],
        summary: "stopped tick treated apart, sticky poll flag",
        respects_disabled: false,
        ..exact(
            "teo-rfc-v5",
            RFC,
            "public copy of the posted text; the label v5 is inferred",
            Maker::us::<EarlyHits<teo::Rfc5>>(),
        )
    },
    GovernorEntry {
        aliases: &["teo-v6"],
        summary: "refinement in place of the pattern, poll flag cleared",
        confidence: Low,
        ..rebuilt(
            "teo-rfc-v6",
            RFC,
            "as v7, from which its difference is not known",
            Maker::us::<EarlyHits<teo::Rfc6>>(),
        )
    },
    GovernorEntry {
        aliases: &["teo-v7"],
        summary: "refinement in place of the pattern, poll flag cleared",
        confidence: Medium,
        ..rebuilt(
            "teo-rfc-v7",
            RFC,
            "v8 with two change notes undone",
            Maker::us::<EarlyHits<teo::Rfc6>>(),
        )
    },
    GovernorEntry {
        aliases: &["teo-v8"],
        summary: "half of the exit latency taken off, all states alike",
        confidence: Medium,
        ..rebuilt(
            "teo-rfc-v8",
            RFC,
            "5.1 and the v8 change notes",
            Maker::us::<EarlyHits<teo::Rfc8>>(),
        )
    },
    GovernorEntry {
        summary: "v8 as merged",
        confidence: High,
        ..rebuilt(
            "teo-5.1",
            "5.1",
            "5.3 with later fixes undone, checked against public excerpts",
            Maker::us::<EarlyHits<teo::V51>>(),
        )
    },
    GovernorEntry {
        summary: "stable fixes: ring, disabled states, latency limit",
        respects_limits: false,
        ..exact(
            "teo-5.3",
            "5.3",
            "Linux 5.3.18 (Ubuntu source package)",
            Maker::us::<EarlyHits<teo::V53>>(),
        )
    },
    GovernorEntry {
        summary: "a sleep up to the timer counts as endless",
        respects_limits: false,
        ..exact(
            "teo-5.4",
            "5.4",
            "Linux 5.4 (Ubuntu source package)",
            Maker::us::<EarlyHits<teo::V54>>(),
        )
    },
    GovernorEntry {
        summary: "nanoseconds, the core's residency",
        respects_limits: false,
        ..exact(
            "teo-5.10",
            "5.10",
            "Linux 5.10.223 (Debian source package)",
            Maker::ns::<EarlyHits<teo::V510>>(),
        )
    },
    GovernorEntry {
        summary: "hits and intercepts per bin, nine recent periods",
        respects_disabled: false,
        ..exact(
            "teo-6.1",
            "6.1",
            "Linux 6.1.192 (Debian source package)",
            Maker::ns::<teo::Teo61>(),
        )
    },
    GovernorEntry {
        summary: "shallower on utilised CPUs",
        respects_limits: false,
        respects_disabled: false,
        ..exact("teo-6.5", "6.5", "Linux 6.5 (Ubuntu source package)", Maker::ns::<teo::Teo65>())
    },
    GovernorEntry {
        summary: "bins first, timer only when needed",
        respects_disabled: false,
        ..exact(
            "teo-6.12",
            "6.12",
            "Linux 6.12.117 (Debian source package)",
            Maker::ns::<teo::Teo612>(),
        )
    },
    GovernorEntry {
        aliases: &["teo"],
        summary: "tick wakeups and very short sleeps told apart",
        respects_disabled: false,
        ..exact("teo-7.2", "7.2", "Linux 7.2.13 (Debian source package)", Maker::ns::<teo::Teo72>())
    },
    GovernorEntry {
        summary: "one step at a time, microseconds",
        respects_limits: false,
        respects_disabled: false,
        ..exact(
            "ladder-4.18",
            "4.18",
            "Linux 4.18.20 (Ubuntu source package)",
            Maker::us::<Ladder<era::Us>>(),
        )
    },
    GovernorEntry {
        aliases: &["ladder"],
        summary: "one step at a time, nanoseconds; the same rules through 7.2",
        respects_limits: false,
        respects_disabled: false,
        ..exact(
            "ladder-6.1",
            "6.1",
            "Linux 6.1.192 (Debian source package)",
            Maker::ns::<Ladder<era::Ns>>(),
        )
    },
    GovernorEntry {
        summary: "guest polls before it halts, halts in microseconds",
        respects_limits: false,
        respects_disabled: false,
        ..exact(
            "haltpoll-5.4",
            "5.4",
            "Linux 5.4 (Ubuntu source package)",
            Maker::us::<Haltpoll54>(),
        )
    },
    GovernorEntry {
        summary: "halts in nanoseconds",
        respects_limits: false,
        respects_disabled: false,
        ..exact(
            "haltpoll-5.10",
            "5.10",
            "Linux 5.10.223 (Debian source package)",
            Maker::ns::<Haltpoll510>(),
        )
    },
    GovernorEntry {
        summary: "small limits become none",
        respects_limits: false,
        respects_disabled: false,
        ..exact(
            "haltpoll-6.12",
            "6.12",
            "Linux 6.12.117 (Debian source package)",
            Maker::ns::<Haltpoll612>(),
        )
    },
    GovernorEntry {
        aliases: &["haltpoll"],
        summary: "as 6.12",
        respects_limits: false,
        respects_disabled: false,
        ..exact(
            "haltpoll-7.2",
            "7.2",
            "Linux 7.2.13 (Debian source package)",
            Maker::ns::<Haltpoll612>(),
        )
    },
];
