//! The registered kernels, their printed spellings, and kernels named as `base+patch`.

use std::sync::OnceLock;

use crate::catalogue::{self, Named};
use crate::error::Result;
use crate::idle::GOVERNORS;

use super::file;
use super::model::Kernel;
use super::patches::{PATCHES, Patch};

/// The file as delivered.
const TEXT: &str = include_str!("kernels.toml");
/// Printed spellings of everything; they live with the published tables that print them.
const ALIASES: &str = include_str!("../../python/tickless/published/data/aliases.csv");

/// A governor that stands for the file's in simulations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The kernel.
    pub kernel: &'static str,
    /// The reading that is simulated.
    pub governor: &'static str,
}

/// The two kernels whose governor has a second reading, found from the published cells.
///
/// The file names the reading of the text; with it the report's columns come out wrong in known
/// ways. What is simulated by default is the second reading, whose columns are therefore fits.
pub const READINGS: &[Reading] = &[
    Reading { kernel: "4.18-teo-v1", governor: "teo-rfc-v1-tolerant" },
    Reading { kernel: "4.18-teo-v2", governor: "teo-rfc-v2-strict" },
];

/// Switch paths that were measured: kernel, and thousandths of the path of 6.1.
///
/// From the same round trip of tbench on stock kernels with 1 instruction = 1 ns, at equal numbers of
/// switches, sleeps and wake-ups: 1.04 us more from 6.1 to 6.12, and 0.1 us more from 6.12 to 7.2 (with
/// `DELAY_ZERO` off). Two switches of 1.8 us carry it: 1 + 1.04 / 3.6 and 1 + 1.14 / 3.6. Nothing of the
/// kind is known of the other kernels. `switch_permille = 1000` takes it out.
pub const SWITCH_PATHS: &[(&str, u32)] =
    &[("6.12", 1289), ("6.12-teo", 1289), ("7.2", 1317), ("7.2-teo", 1317)];

/// Note on kernels with a measured switch path.
const MEASURED_PATH: &str = "switch path measured on stock kernels, 1 instruction = 1 ns";

/// Note on kernels whose governor was fitted.
pub(super) const FITTED: &str = "governor: fitted reading, not a prediction";

/// Returns every registered kernel in the order of the file, as it is simulated.
pub fn kernels() -> &'static [Kernel] {
    static ALL: OnceLock<Vec<Kernel>> = OnceLock::new();
    ALL.get_or_init(|| read().expect("the embedded file is read by a test"))
}

fn read() -> Result<Vec<Kernel>> {
    let mut all = file::parse(TEXT)?;
    for kernel in &mut all {
        let spellings = printed("kernel").filter(|(_, name)| *name == kernel.name);
        let others = spellings.map(|(printed, _)| printed).filter(|p| *p != kernel.name);
        for other in others.map(str::to_owned) {
            if !kernel.aliases.contains(&other) {
                kernel.aliases.push(other);
            }
        }
        if let Some(reading) = READINGS.iter().find(|r| r.kernel == kernel.name) {
            read_otherwise(kernel, reading)?;
        }
        if let Some(&(_, permille)) = SWITCH_PATHS.iter().find(|(name, _)| *name == kernel.name) {
            kernel.switch_permille = permille;
            kernel.notes.push(MEASURED_PATH.to_owned());
        }
    }
    Ok(all)
}

fn read_otherwise(kernel: &mut Kernel, reading: &Reading) -> Result<()> {
    let delivered = kernel.governor_name();
    kernel.governor = Some(catalogue::find("governor", GOVERNORS, reading.governor)?);
    for (field, source) in &mut kernel.sources {
        if field == "governor" {
            *source = "derived".to_owned();
        }
    }
    kernel.notes.push(FITTED.to_owned());
    kernel.notes.push(format!("the reading of the text is {delivered}"));
    Ok(())
}

/// Returns (printed, registered) of all rows of one kind.
fn printed(kind: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    ALIASES.lines().filter_map(move |line| {
        let rest = line.strip_prefix(kind)?.strip_prefix(',')?;
        let (printed, rest) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once("\",")?,
            None => rest.split_once(',')?,
        };
        Some((printed, rest.split(',').next()?))
    })
}

/// A name with its other spellings.
struct Spellings(&'static str, Vec<&'static str>);

impl Named for Spellings {
    fn name(&self) -> &str {
        self.0
    }
    fn aliases(&self) -> &[&str] {
        &self.1
    }
}

fn kernel_names() -> &'static [Spellings] {
    static NAMES: OnceLock<Vec<Spellings>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let others = |k: &'static Kernel| k.aliases.iter().map(String::as_str).collect();
        kernels().iter().map(|k| Spellings(&k.name, others(k))).collect()
    })
}

/// Returns the registered kernel of this name or alias.
fn registered(name: &str) -> Result<&'static Kernel> {
    let found = catalogue::find("kernel", kernel_names(), name)?;
    let at = kernel_names().iter().position(|s| s.0 == found.0).unwrap_or(0);
    Ok(&kernels()[at])
}

fn patch(name: &str) -> Result<&'static Patch> {
    let spellings = |p: &'static Patch| {
        let others = printed("patch").filter(|(_, registered)| *registered == p.name);
        Spellings(p.name, others.map(|(printed, _)| printed).collect())
    };
    let all: Vec<Spellings> = PATCHES.iter().map(spellings).collect();
    let found = catalogue::find("patch", &all, name)?.0;
    let at = PATCHES.iter().position(|p| p.name == found).unwrap_or(0);
    Ok(&PATCHES[at])
}

impl Kernel {
    /// Returns the kernel called `name`: a registered name, a printed spelling of it, or
    /// `base+patch+patch`.
    ///
    /// A combination that is a registered kernel is returned as that kernel.
    ///
    /// # Errors
    /// [`Error::UnknownName`] for a base or patch that is not known,
    /// [`Error::InvalidParameter`] for a patch that is there already or does not apply.
    ///
    /// [`Error::UnknownName`]: crate::error::Error::UnknownName
    /// [`Error::InvalidParameter`]: crate::error::Error::InvalidParameter
    pub fn find(name: &str) -> Result<Kernel> {
        let unknown = match registered(name) {
            Ok(kernel) => return Ok(kernel.clone()),
            Err(unknown) => unknown,
        };
        // Names and spellings may contain a plus: the longest base wins.
        for (at, _) in name.rmatch_indices('+') {
            if let Ok(base) = registered(&name[..at]) {
                return patched(base, &name[at + 1..]);
            }
        }
        Err(unknown)
    }
}

fn patched(base: &Kernel, patches: &str) -> Result<Kernel> {
    let mut kernel = base.clone();
    let mut added = Vec::new();
    for word in patches.split('+') {
        let patch = patch(word)?;
        patch.apply(&mut kernel)?;
        added.push(patch.name);
    }
    if let Some(same) = kernels().iter().find(|k| k.same_makeup(&kernel)) {
        return Ok(same.clone());
    }
    let ordered = PATCHES.iter().map(|p| p.name).filter(|name| added.contains(name));
    let suffix: String = ordered.flat_map(|name| ["+", name]).collect();
    kernel.label = format!("{}{suffix}", base.label);
    kernel.summary = format!("{}; with {}", base.summary, added.join(", "));
    kernel.name = format!("{}{suffix}", base.name);
    kernel.aliases.clear();
    kernel.report.clear();
    kernel.column.clear();
    Ok(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_kernels_and_patches_is_read_and_names_something() {
        for (kind, rows) in [("kernel", 43), ("patch", 4)] {
            let starts = ALIASES.lines().filter(|l| l.starts_with(&format!("{kind},"))).count();
            assert_eq!(printed(kind).count(), starts);
            assert_eq!(starts, rows, "{kind}: update the number if the file grew");
        }
        for (spelling, name) in printed("kernel") {
            assert_eq!(Kernel::find(spelling).unwrap().name, name, "{spelling}");
        }
        for (spelling, name) in printed("patch") {
            assert_eq!(patch(spelling).unwrap().name, name, "{spelling}");
        }
    }

    #[test]
    fn no_spelling_stands_for_two_kernels() {
        let mut seen: Vec<&str> = Vec::new();
        for s in kernel_names() {
            for name in std::iter::once(s.0).chain(s.1.iter().copied()) {
                assert!(!seen.contains(&name), "{name}");
                seen.push(name);
            }
        }
    }
}
