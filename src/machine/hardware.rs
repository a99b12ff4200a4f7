//! Clocks, caches, bandwidth and power of a machine.

use serde::{Deserialize, Serialize};

/// CPUs that share one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockDomain {
    /// Every core has its own.
    Core,
    /// The cores of a cluster.
    Cluster,
    /// The cores of a package.
    Package,
}

impl ClockDomain {
    /// The words of the settings.
    pub const WORDS: [(&str, Self); 3] =
        [("core", Self::Core), ("cluster", Self::Cluster), ("package", Self::Package)];
}

/// Clocks, MHz.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Highest clock with 1, 2, 3 ... active cores; the last entry holds for all further cores.
    /// Empty when nobody knows the clock.
    pub turbo_mhz: Vec<u32>,
    /// Nominal clock; 0 = unknown.
    pub base_mhz: u32,
    /// Lowest clock; 0 = unknown.
    pub min_mhz: u32,
    /// CPUs that share one clock.
    pub domain: ClockDomain,
    /// The clock at which the prices of [`super::Costs`] hold: the highest bin of the machine as
    /// it was first described. A copy with other clocks keeps it, so that it runs slower or faster.
    pub priced_mhz: u32,
}

impl Clock {
    /// A clock nobody knows: speed 1 whatever is active.
    pub fn unknown() -> Self {
        Self {
            turbo_mhz: Vec::new(),
            base_mhz: 0,
            min_mhz: 0,
            domain: ClockDomain::Core,
            priced_mhz: 0,
        }
    }

    /// Highest clock with so many active cores, MHz; 0 = unknown.
    #[inline]
    pub fn mhz(&self, active_cores: usize) -> u32 {
        match self.turbo_mhz.len() {
            0 => 0,
            n => self.turbo_mhz[active_cores.clamp(1, n) - 1],
        }
    }

    /// Speed with so many active cores, in thousandths of the clock at which the prices hold.
    ///
    /// At most 1000 unless a copy of the machine was given higher clocks.
    #[inline]
    pub fn permille(&self, active_cores: usize) -> u32 {
        match (self.mhz(active_cores), self.priced_mhz) {
            (0, _) | (_, 0) => 1000,
            (mhz, priced) => {
                // Clocks are below 100 GHz, so the product fits.
                (u64::from(mhz) * 1000 / u64::from(priced)).clamp(1, u64::from(u32::MAX)) as u32
            }
        }
    }
}

/// Cache sizes, KiB; 0 = none or unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// First-level data cache of a core.
    pub l1d_kib: u32,
    /// Second-level cache of a core.
    pub l2_kib: u32,
    /// Last-level cache, of one last-level domain.
    pub l3_kib: u32,
}

/// Memory bandwidth, MB/s (1e6 bytes); 0 = unknown, no cap.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// One core.
    pub core_mbs: u32,
    /// One last-level domain.
    pub llc_mbs: u32,
    /// One socket.
    pub socket_mbs: u32,
}

/// Power of a package, mW. Estimates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Power {
    /// One package, all cores in the deepest state.
    pub package_idle_mw: f64,
    /// Added when any core of the package is awake.
    pub uncore_mw: f64,
    /// One busy core.
    pub core_active_mw: f64,
}
