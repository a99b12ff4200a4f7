//! Weights of nice levels and the kernel's integer arithmetic on them.
//!
//! Virtual time runs at 1024/weight of wall time. The kernel avoids the division by multiplying
//! with a tabulated inverse, 2^32/weight, and drops low bits on the way ([`scale`]); a result that
//! is exact, or rounded differently, is a wrong result here. Linux 7.2 divides ([`vlen_exact`]).

/// Weight of nice 0; virtual time and wall time run equally fast for it.
pub const NICE_0: u32 = 1024;

/// Lowest nice value (heaviest task).
pub const MIN_NICE: i64 = -20;

/// Highest nice value (lightest task).
pub const MAX_NICE: i64 = 19;

/// A weight and its tabulated inverse, about 2^32 / weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight {
    /// Share of the CPU relative to the others; 1024 for nice 0.
    pub weight: u32,
    /// The constant the kernel multiplies with instead of dividing.
    pub inverse: u32,
}

const fn entry(weight: u32, inverse: u32) -> Weight {
    Weight { weight, inverse }
}

/// Weight of SCHED_IDLE tasks, whatever their nice value (Linux `WEIGHT_IDLEPRIO`).
pub const IDLE_WEIGHT: Weight = entry(3, 1_431_655_765);

/// Weights of nice -20 to 19, a factor of about 1.25 apart (Linux `sched_prio_to_weight` and
/// `sched_prio_to_wmult`). The inverses are constants of the kernel, neither floor nor nearest.
pub const NICE_WEIGHTS: [Weight; 40] = [
    entry(88761, 48388),
    entry(71755, 59856),
    entry(56483, 76040),
    entry(46273, 92818),
    entry(36291, 118348),
    entry(29154, 147320),
    entry(23254, 184698),
    entry(18705, 229616),
    entry(14949, 287308),
    entry(11916, 360437),
    entry(9548, 449829),
    entry(7620, 563644),
    entry(6100, 704093),
    entry(4904, 875809),
    entry(3906, 1099582),
    entry(3121, 1376151),
    entry(2501, 1717300),
    entry(1991, 2157191),
    entry(1586, 2708050),
    entry(1277, 3363326),
    entry(1024, 4194304),
    entry(820, 5237765),
    entry(655, 6557202),
    entry(526, 8165337),
    entry(423, 10153587),
    entry(335, 12820798),
    entry(272, 15790321),
    entry(215, 19976592),
    entry(172, 24970740),
    entry(137, 31350126),
    entry(110, 39045157),
    entry(87, 49367440),
    entry(70, 61356676),
    entry(56, 76695844),
    entry(45, 95443717),
    entry(36, 119304647),
    entry(29, 148102320),
    entry(23, 186737708),
    entry(18, 238609294),
    entry(15, 286331153),
];

/// Returns the weight of a nice value, which must lie in [`MIN_NICE`]..=[`MAX_NICE`].
pub fn of_nice(nice: i8) -> Weight {
    NICE_WEIGHTS[(i64::from(nice) - MIN_NICE) as usize]
}

/// Returns `d * weight * inverse / 2^32` as the kernel computes it.
///
/// The factor `weight * inverse` is kept within 32 bits by shifting; the bits shifted out are lost.
pub fn scale(d: u64, weight: u64, inverse: u32) -> u64 {
    let (factor, lost) = narrow(weight);
    let (factor, more) = narrow(factor * u64::from(inverse));
    ((u128::from(d) * u128::from(factor)) >> (32 - lost - more)) as u64
}

/// Shifts `f` right until it fits 32 bits; returns it and the number of places.
fn narrow(f: u64) -> (u64, u32) {
    let excess = 32u32.saturating_sub(f.leading_zeros());
    (f >> excess, excess)
}

/// Returns the inverse of a sum of weights, computed on the spot as the kernel does.
pub fn inverse_of(total: u64) -> u32 {
    match total {
        0 => u32::MAX,
        t if t >= u64::from(u32::MAX) => 1,
        t => (u64::from(u32::MAX) / t) as u32,
    }
}

/// Returns the share of `period` that `weight` has among `total`.
pub fn share(period: u64, weight: u64, total: u64) -> u64 {
    scale(period, weight, inverse_of(total))
}

/// Undoes the kernel's internal factor 1024 on weights; small weights stay at least 2.
pub fn scale_down(scaled: u64) -> u64 {
    if scaled == 0 { 0 } else { (scaled >> 10).max(2) }
}

/// Returns the virtual length of the wall interval `d` ns by the tabulated inverse.
#[inline]
pub fn vlen(d: i64, weight: u32, inverse: u32) -> i64 {
    if weight == NICE_0 { d } else { scale(d as u64, u64::from(NICE_0), inverse) as i64 }
}

/// Returns the virtual length of the wall interval `d` ns by exact division (Linux 7.2, 64 bit).
#[inline]
pub fn vlen_exact(d: i64, weight: u32) -> i64 {
    if weight == NICE_0 {
        d
    } else {
        ((d as u64).wrapping_mul(u64::from(NICE_0)) / u64::from(weight)) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nice_step_is_about_a_quarter() {
        for pair in NICE_WEIGHTS.windows(2) {
            let ratio = f64::from(pair[0].weight) / f64::from(pair[1].weight);
            assert!((1.15..1.30).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn inverses_are_close_to_two_to_the_32_over_weight() {
        for w in NICE_WEIGHTS.iter().chain([&IDLE_WEIGHT]) {
            let exact = (1u64 << 32) / u64::from(w.weight);
            assert!(u64::from(w.inverse).abs_diff(exact) <= exact / 10_000, "{w:?}");
        }
    }

    #[test]
    fn scaling_drops_low_bits_of_the_factor() {
        // 1024 * 48388 has 26 bits: nothing lost. 1024 * 286331153 has 39 bits: 7 are lost.
        assert_eq!(scale(1 << 32, 1024, 48388), 1024 * 48388);
        assert_eq!(scale(1 << 32, 1024, 286_331_153), (1024 * 286_331_153u64) >> 7 << 7);
    }
}
