//! Which governor stands for a kernel version that has no entry of its own.

use super::catalogue::GOVERNORS;
use crate::error::{Error, Result};

/// How well an entry stands for another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The rules of that version are the entry's.
    Identical,
    /// Nothing known speaks against it: no change between the two is known.
    Assumed,
    /// The rules changed somewhere between two entries, and where is not known; or the version lies
    /// outside what the entries cover.
    Unknown,
}

/// The entry that is nearest to a version, per family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nearest {
    /// `menu`, `teo`, `ladder` or `haltpoll`.
    pub family: &'static str,
    /// Registered name of the entry.
    pub name: &'static str,
    /// How well it stands for the version.
    pub claim: Claim,
    /// Why.
    pub reason: &'static str,
}

type Version = (u32, u32);

/// From this version up to the next line of the family.
struct Line(&'static str, Version, &'static str, Claim, &'static str);

use Claim::{Assumed, Identical, Unknown};

const OWN: &str = "the entry is of this version";
const NO_CHANGE: &str = "no change of the rules is known between the two";
const SOMEWHERE: &str = "the rules changed in one of the versions between two entries";
const NEWER: &str = "newer than the newest entry";

/// Newest version that any entry covers.
const NEWEST: Version = (7, 2);

/// Facts of `governors.md`: 4.20 equals 5.0; microseconds end with 5.4; the bins of teo begin with 5.14,
/// utilisation is that of 6.2 to 6.5; menu splits I/O wait until 6.5 or so; ladder has the same rules
/// throughout. teo begins with 5.1, haltpoll with 5.4.
const LINES: &[Line] = &[
    Line("menu", (4, 18), "menu-4.18.0", Identical, OWN),
    Line("menu", (4, 19), "menu-4.18.20", Assumed, NO_CHANGE),
    Line("menu", (4, 20), "menu-5.0", Identical, "4.20 has the rules of 5.0"),
    Line("menu", (5, 0), "menu-5.0", Identical, OWN),
    Line("menu", (5, 1), "menu-5.3", Unknown, SOMEWHERE),
    Line("menu", (5, 3), "menu-5.3", Identical, OWN),
    Line("menu", (5, 4), "menu-5.3", Assumed, NO_CHANGE),
    Line("menu", (5, 5), "menu-5.10", Assumed, NO_CHANGE),
    Line("menu", (5, 10), "menu-5.10", Identical, OWN),
    Line("menu", (5, 11), "menu-5.10", Unknown, SOMEWHERE),
    Line("menu", (5, 16), "menu-6.1", Unknown, SOMEWHERE),
    Line("menu", (6, 1), "menu-6.1", Identical, OWN),
    Line("menu", (6, 2), "menu-6.1", Assumed, NO_CHANGE),
    Line("menu", (6, 6), "menu-6.12", Unknown, SOMEWHERE),
    Line("menu", (6, 12), "menu-6.12", Identical, OWN),
    Line("menu", (6, 13), "menu-6.12", Unknown, SOMEWHERE),
    Line("menu", (6, 18), "menu-7.2", Unknown, SOMEWHERE),
    Line("menu", (7, 2), "menu-7.2", Identical, OWN),
    Line("teo", (5, 1), "teo-5.1", Identical, OWN),
    Line("teo", (5, 2), "teo-5.1", Assumed, NO_CHANGE),
    Line("teo", (5, 3), "teo-5.3", Identical, OWN),
    Line("teo", (5, 4), "teo-5.4", Identical, OWN),
    Line("teo", (5, 5), "teo-5.10", Assumed, NO_CHANGE),
    Line("teo", (5, 10), "teo-5.10", Identical, OWN),
    Line(
        "teo",
        (5, 11),
        "teo-5.10",
        Unknown,
        "5.11 to 5.13 expect the middle of the early-hit state where 5.10 expects its target",
    ),
    Line("teo", (5, 14), "teo-6.1", Assumed, NO_CHANGE),
    Line("teo", (6, 1), "teo-6.1", Identical, OWN),
    Line("teo", (6, 2), "teo-6.5", Assumed, NO_CHANGE),
    Line("teo", (6, 5), "teo-6.5", Identical, OWN),
    Line("teo", (6, 6), "teo-6.12", Unknown, SOMEWHERE),
    Line("teo", (6, 12), "teo-6.12", Identical, OWN),
    Line("teo", (6, 13), "teo-6.12", Unknown, SOMEWHERE),
    Line("teo", (6, 18), "teo-7.2", Unknown, SOMEWHERE),
    Line("teo", (7, 2), "teo-7.2", Identical, OWN),
    Line("ladder", (4, 18), "ladder-4.18", Identical, OWN),
    Line("ladder", (4, 19), "ladder-4.18", Identical, "the rules never changed"),
    Line("ladder", (5, 5), "ladder-6.1", Identical, "the rules never changed"),
    Line("haltpoll", (5, 4), "haltpoll-5.4", Identical, OWN),
    Line("haltpoll", (5, 5), "haltpoll-5.10", Assumed, NO_CHANGE),
    Line("haltpoll", (5, 10), "haltpoll-5.10", Identical, OWN),
    Line("haltpoll", (5, 11), "haltpoll-5.10", Unknown, SOMEWHERE),
    Line("haltpoll", (6, 1), "haltpoll-6.12", Unknown, SOMEWHERE),
    Line("haltpoll", (6, 12), "haltpoll-6.12", Identical, OWN),
    Line("haltpoll", (6, 13), "haltpoll-6.12", Assumed, "6.12 and 7.2 have the same rules"),
    Line("haltpoll", (7, 2), "haltpoll-7.2", Identical, OWN),
];

/// The nearest entry of every family that existed in kernel `version`, e.g. `6.8` or `6.1.0-57-amd64`.
///
/// # Errors
/// [`Error::InvalidParameter`] for text that does not begin with a version, or a version before 4.18.
pub fn nearest(version: &str) -> Result<Vec<Nearest>> {
    let found = parse(version).filter(|&v| v >= (4, 18)).ok_or_else(|| {
        Error::invalid(
            "version",
            format!("{version:?} is no kernel version from 4.18 on, such as \"6.8\""),
        )
    })?;
    let mut families: Vec<Nearest> = Vec::new();
    for &Line(family, from, name, claim, reason) in LINES.iter().filter(|line| line.1 <= found) {
        let newest = if found > NEWEST { (Unknown, NEWER) } else { (claim, reason) };
        let nearest = Nearest { family, name, claim: newest.0, reason: newest.1 };
        debug_assert!(GOVERNORS.iter().any(|g| g.name == name), "{name} from {from:?}");
        match families.iter_mut().find(|n| n.family == family) {
            Some(earlier) => *earlier = nearest,
            None => families.push(nearest),
        }
    }
    Ok(families)
}

fn parse(version: &str) -> Option<Version> {
    let digits = |c: char| !c.is_ascii_digit();
    let mut parts = version.trim().trim_start_matches('v').split(digits);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(version: &str, family: &str) -> Option<(&'static str, Claim)> {
        let all = nearest(version).unwrap();
        all.iter().find(|n| n.family == family).map(|n| (n.name, n.claim))
    }

    #[test]
    fn every_line_names_an_entry_of_its_family_and_versions_ascend() {
        for pair in LINES.windows(2).filter(|p| p[0].0 == p[1].0) {
            assert!(pair[0].1 < pair[1].1, "{:?}", pair[1].1);
        }
        for line in LINES {
            assert!(line.2.starts_with(line.0));
            assert!(GOVERNORS.iter().any(|g| g.name == line.2), "{}", line.2);
        }
    }

    #[test]
    fn a_version_with_an_entry_is_identical_to_it() {
        for g in GOVERNORS.iter().filter(|g| g.kernel.starts_with(|c: char| c.is_ascii_digit())) {
            let family = g.name.split('-').next().unwrap();
            if ["menu-4.18.20", "ladder-6.1"].contains(&g.name) {
                continue; // 4.18 is its first release; ladder has no later change
            }
            assert_eq!(of(g.kernel, family), Some((g.name, Claim::Identical)), "{}", g.kernel);
        }
    }

    #[test]
    fn distribution_suffixes_are_ignored_and_newer_kernels_are_unknown() {
        assert_eq!(of("6.1.0-57-cloud-amd64", "menu"), Some(("menu-6.1", Claim::Identical)));
        assert_eq!(of("v6.8-rc3", "teo"), Some(("teo-6.12", Claim::Unknown)));
        assert_eq!(of("7.9", "teo"), Some(("teo-7.2", Claim::Unknown)));
    }

    #[test]
    fn a_family_that_did_not_exist_yet_is_absent() {
        assert_eq!(of("4.19", "teo"), None);
        assert_eq!(of("5.3", "haltpoll"), None);
    }

    #[test]
    fn nonsense_and_old_kernels_are_refused() {
        for text in ["", "six", "6", "4.17", "99999999999999.1"] {
            assert!(nearest(text).is_err(), "{text:?}");
        }
    }
}
