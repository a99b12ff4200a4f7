//! The ring of recent intervals, and the interval they agree on.
//!
//! Sums over the ring and its order by size are kept up to date as intervals come and go: outliers are
//! then at the ends, and leave by subtraction.

use std::hint::select_unpredictable;

/// Intervals in the ring.
const INTERVALS: usize = 8;
/// Fewest intervals that may be left for another round without outliers, plus one.
const ENOUGH: u64 = INTERVALS as u64 * 3 / 4;
/// "No typical interval", and what is stored when there is no interval to store.
pub const NO_INTERVAL: u32 = u32::MAX;

/// How a revision looks for outliers.
pub struct Outliers {
    /// Larger intervals never count.
    pub start: u32,
    /// Give up once the smallest interval is no smaller than the prediction so far.
    pub needs_gain: bool,
    /// Give up when nothing but zeros is left.
    pub needs_nonzero: bool,
    /// Drop at the end that is further from the mean; else at the upper end.
    pub either_end: bool,
}

/// The last intervals, us.
pub struct Ring {
    /// By age; the oldest is at `place`.
    values: [u32; INTERVALS],
    place: usize,
    /// By size.
    sorted: [u32; INTERVALS],
    start: u32,
    /// What counts at first: the `count` smallest.
    all: Sample,
}

/// Number, sum, and sum of squares, which wraps.
#[derive(Clone, Copy)]
struct Sample {
    count: u64,
    sum: u64,
    squares: u64,
}

impl Sample {
    /// The sample with `value` if `counts`.
    #[inline(always)]
    fn with(self, value: u32, counts: bool) -> Self {
        let (value, counts) = (u64::from(value) * u64::from(counts), u64::from(counts));
        Self {
            count: self.count + counts,
            sum: self.sum + value,
            squares: self.squares.wrapping_add(value * value),
        }
    }

    /// The sample without `value` if `counted`.
    #[inline(always)]
    fn without(self, value: u32, counted: bool) -> Self {
        let (value, counted) = (u64::from(value) * u64::from(counted), u64::from(counted));
        Self {
            count: self.count - counted,
            sum: self.sum - value,
            squares: self.squares.wrapping_sub(value * value),
        }
    }

    #[inline(always)]
    fn mean(&self) -> u64 {
        divide(self.sum, self.count)
    }

    /// Sum of the squared distances from `mean`, by count. `from_squares` subtracts the square of the
    /// truncated mean from the mean square instead, as 7.2 does.
    #[inline(always)]
    fn variance(&self, mean: u64, from_squares: bool) -> u64 {
        if from_squares {
            return divide(self.squares, self.count).wrapping_sub(mean * mean);
        }
        // The sum of (v - mean)^2, multiplied out; equal also where it wraps.
        let cross = mean.wrapping_mul(self.sum).wrapping_mul(2);
        let squares = (mean * mean).wrapping_mul(self.count);
        divide(self.squares.wrapping_sub(cross).wrapping_add(squares), self.count)
    }
}

/// `dividend / divisor` for divisors 1 to 8: by multiplication where that is exact.
#[inline(always)]
fn divide(dividend: u64, divisor: u64) -> u64 {
    // 2^64 / d, rounded up. Exact below 2^61: the error, below d / 2^64 of the dividend, is too small
    // to reach the next whole number.
    const fn inverse(d: u64) -> u64 {
        u64::MAX / d + 1
    }
    const INVERSES: [u64; INTERVALS] = [
        0, // a division by 1 is none
        inverse(2),
        inverse(3),
        inverse(4),
        inverse(5),
        inverse(6),
        inverse(7),
        inverse(8),
    ];
    if dividend < 1 << 61 && divisor > 1 {
        ((u128::from(dividend) * u128::from(INVERSES[(divisor - 1) as usize % INTERVALS])) >> 64)
            as u64
    } else {
        dividend / divisor
    }
}

/// True if `count` values of this mean and variance are near enough to each other: a standard
/// deviation of at most 20 us, or of at most a sixth of the mean of at least six values.
#[inline(always)]
fn agree(mean: u64, variance: u64, count: u64) -> bool {
    let steady = (mean * mean > variance.wrapping_mul(36)) & (count >= ENOUGH);
    (variance <= u64::MAX / 36) & (steady | (variance <= 400))
}

impl Ring {
    /// Eight intervals of zero; those above `start` do not count.
    pub fn new(start: u32) -> Self {
        let all = Sample { count: INTERVALS as u64, sum: 0, squares: 0 };
        Self { values: [0; INTERVALS], place: 0, sorted: [0; INTERVALS], start, all }
    }

    /// Stores an interval in place of the oldest.
    #[inline(always)]
    pub fn push(&mut self, interval: u32) {
        let old = std::mem::replace(&mut self.values[self.place], interval);
        self.place = (self.place + 1) % INTERVALS;
        self.all = self.all.without(old, old <= self.start).with(interval, interval <= self.start);
        self.sorted = replaced(&self.sorted, old, interval);
    }

    /// The interval that the last eight agree on; [`NO_INTERVAL`] if they do not, or if they cannot
    /// lower `prediction`.
    #[inline(always)]
    pub fn typical(&self, outliers: &Outliers, prediction: u32) -> u32 {
        let mut left = self.all;
        let (mut low, mut high) = (0, left.count as usize);
        if outliers.needs_gain && (high == 0 || self.sorted[0] >= prediction) {
            return NO_INTERVAL;
        }
        loop {
            if left.count == 0 || (outliers.needs_nonzero && left.sum == 0) {
                return NO_INTERVAL;
            }
            let mean = left.mean();
            if agree(mean, left.variance(mean, outliers.either_end), left.count) {
                return mean as u32;
            }
            if left.count <= ENOUGH {
                return NO_INTERVAL;
            }
            // Seven or eight that do not agree are not all equal: the loops below end in between.
            let (min, max) = (self.sorted[low], self.sorted[(high - 1) % INTERVALS]);
            if outliers.either_end && mean as i64 - i64::from(min) > i64::from(max) - mean as i64 {
                while self.sorted[low % INTERVALS] == min {
                    left = left.without(min, true);
                    low += 1;
                }
            } else {
                while self.sorted[(high - 1) % INTERVALS] == max {
                    left = left.without(max, true);
                    high -= 1;
                }
            }
        }
    }
}

/// A sorted array with one of its values replaced, still sorted.
///
/// Every place is settled by itself, so that nothing waits and nothing has to be foreseen.
#[inline(always)]
fn replaced(sorted: &[u32; INTERVALS], old: u32, new: u32) -> [u32; INTERVALS] {
    // The places without the old value, and the largest number beyond them.
    let mut rest = [u32::MAX; INTERVALS];
    for i in 0..INTERVALS - 1 {
        rest[i] = select_unpredictable(sorted[i] < old, sorted[i], sorted[i + 1]);
    }
    let mut result = [0; INTERVALS];
    result[0] = rest[0].min(new);
    for i in 1..INTERVALS {
        result[i] = rest[i - 1].max(rest[i].min(new));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_by_small_numbers_is_exact() {
        for divisor in 1..=8 {
            for dividend in [0, 1, 6, 7, 8, 1 << 35, (1 << 61) - 1, 1 << 61, u64::MAX] {
                for near in [dividend, dividend.wrapping_add(1), dividend.wrapping_sub(1)] {
                    assert_eq!(divide(near, divisor), near / divisor, "{near} / {divisor}");
                }
            }
        }
    }

    #[test]
    fn running_sums_and_order_are_those_of_the_ring() {
        let mut ring = Ring::new(i32::MAX as u32);
        for v in [5, NO_INTERVAL, 70_000, 1 << 31, 3, i32::MAX as u32, 9, 9, 1, 0, NO_INTERVAL] {
            ring.push(v);
        }
        let mut sorted = ring.values;
        sorted.sort_unstable();
        assert_eq!(ring.sorted, sorted);
        let counted = ring.values.iter().filter(|&&v| v <= ring.start);
        assert_eq!(ring.all.count, counted.clone().count() as u64);
        assert_eq!(ring.all.sum, counted.map(|&v| u64::from(v)).sum::<u64>());
    }
}
