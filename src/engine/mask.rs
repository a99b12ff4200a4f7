//! Sets of CPUs of one last-level cache, as bits.

const WORDS: usize = 4;

/// Most CPUs that share a last-level cache here.
pub const MOST: usize = WORDS * 64;

/// A set of positions below [`MOST`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mask([u64; WORDS]);

impl Mask {
    /// Puts a position in.
    #[inline]
    pub fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    /// Takes a position out.
    #[inline]
    pub fn remove(&mut self, at: usize) {
        self.0[at / 64] &= !(1 << (at % 64));
    }

    /// Returns true if the position is in.
    #[inline]
    pub fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 != 0
    }

    /// Returns true if nothing is in.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Returns what is in this set and not in the other.
    #[inline]
    #[must_use]
    pub fn minus(&self, other: &Mask) -> Mask {
        Mask(std::array::from_fn(|i| self.0[i] & !other.0[i]))
    }

    /// Puts everything in that is in the other.
    #[inline]
    pub fn join(&mut self, other: &Mask) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
    }

    /// Returns how many are in.
    #[inline]
    pub fn count(&self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }

    /// Returns the first position at or after `from`, then from 0 on.
    #[inline]
    pub fn first_from(&self, from: usize) -> Option<usize> {
        self.first_at_least(from).or_else(|| self.first_at_least(0))
    }

    fn first_at_least(&self, from: usize) -> Option<usize> {
        if from >= MOST {
            return None;
        }
        let mut word = from / 64;
        let mut bits = self.0[word] & (!0 << (from % 64));
        loop {
            if bits != 0 {
                return Some(word * 64 + bits.trailing_zeros() as usize);
            }
            word += 1;
            bits = *self.0.get(word)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_starts_where_asked_and_wraps() {
        let mut mask = Mask::default();
        assert_eq!(mask.first_from(3), None);
        for at in [5, 70, 255] {
            mask.insert(at);
        }
        assert_eq!(mask.first_from(0), Some(5));
        assert_eq!(mask.first_from(6), Some(70));
        assert_eq!(mask.first_from(71), Some(255));
        assert_eq!(mask.first_from(256), Some(5));
        mask.remove(255);
        assert_eq!(mask.first_from(71), Some(5));
        assert_eq!((mask.count(), mask.has(70), mask.has(71)), (2, true, false));
    }
}
