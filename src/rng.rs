//! Random streams identical to numpy's: `SeedSequence` seeds, `PCG64` runs.
//!
//! A stream depends on its seed and its key alone, so more tasks, repeats or cells change no other
//! stream. Raw words, uniform floats and bounded integers above 32 bits are numpy's bit for bit;
//! exponential and normal draws come from `rand_distr`, whose tables differ from numpy's.

use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_pcg::Lcg128Xsl64;
use rand_pcg::rand_core::Rng;

/// Words of a seed's pool, numpy's default.
const POOL: usize = 4;

// Constants of the published seed-sequence design that numpy uses (O'Neill, "Developing a seed_seq
// Alternative", 2015).
const FILL_START: u32 = 0x43b0_d7e5;
const FILL_STEP: u32 = 0x931e_8875;
const DRAW_START: u32 = 0x8b51_f9dd;
const DRAW_STEP: u32 = 0x58f3_8ded;
const MIX_LEFT: u32 = 0xca01_f9dd;
const MIX_RIGHT: u32 = 0x4973_f715;

/// `numpy.random.SeedSequence`: entropy and the key of a child, hashed into independent states.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Seed {
    entropy: Vec<u32>,
    key: Vec<u32>,
}

impl Seed {
    /// A seed from one whole number of any size, given in 64-bit words, least first.
    ///
    /// `Seed::new(&[7])` is `SeedSequence(7)`.
    pub fn new(entropy: &[u64]) -> Self {
        let halves = entropy.iter().flat_map(|&w| [w as u32, (w >> 32) as u32]);
        let mut words: Vec<u32> = halves.collect();
        while words.len() > 1 && words.last() == Some(&0) {
            words.pop();
        }
        Self::from_words(if words.is_empty() { vec![0] } else { words }, Vec::new())
    }

    /// A seed from the 32-bit words that numpy makes of its entropy and of its spawn key.
    pub fn from_words(entropy: Vec<u32>, spawn_key: Vec<u32>) -> Self {
        Self { entropy, key: spawn_key }
    }

    /// The seed of a child: numpy's `spawn_key` with `key` appended.
    #[must_use]
    pub fn child(&self, key: &[u32]) -> Self {
        let key = self.key.iter().chain(key).copied().collect();
        Self { entropy: self.entropy.clone(), key }
    }

    /// Returns `n` words, numpy's `generate_state(n, numpy.uint64)`.
    pub fn state(&self, n: usize) -> Vec<u64> {
        let mut hash = Hash { constant: DRAW_START, step: DRAW_STEP };
        let pool = self.pool();
        let mut words = pool.iter().cycle().map(|&word| u64::from(hash.of(word)));
        let mut next = || words.next().unwrap_or(0); // a cycle of a full pool does not end
        (0..n)
            .map(|_| {
                let low = next();
                low | next() << 32
            })
            .collect()
    }

    /// Starts numpy's `PCG64` of this seed.
    pub fn stream(&self) -> Stream {
        let s = self.state(4);
        let pair = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        Stream(Lcg128Xsl64::new(pair(s[0], s[1]), pair(s[2], s[3])))
    }

    /// Mixes entropy and key into the pool.
    fn pool(&self) -> [u32; POOL] {
        let mut words = self.entropy.clone();
        if !self.key.is_empty() && words.len() < POOL {
            words.resize(POOL, 0); // so that a key never looks like entropy
        }
        words.extend(&self.key);
        let mut hash = Hash { constant: FILL_START, step: FILL_STEP };
        let mut pool = [0; POOL];
        for (i, slot) in pool.iter_mut().enumerate() {
            *slot = hash.of(words.get(i).copied().unwrap_or(0));
        }
        for from in 0..POOL {
            for to in (0..POOL).filter(|&to| to != from) {
                pool[to] = mix(pool[to], hash.of(pool[from]));
            }
        }
        for &word in words.iter().skip(POOL) {
            for slot in &mut pool {
                *slot = mix(*slot, hash.of(word));
            }
        }
        pool
    }
}

/// A hash whose constant moves on with every word.
struct Hash {
    constant: u32,
    step: u32,
}

impl Hash {
    fn of(&mut self, word: u32) -> u32 {
        let mixed = word ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.step);
        fold(mixed.wrapping_mul(self.constant))
    }
}

fn mix(left: u32, right: u32) -> u32 {
    fold(MIX_LEFT.wrapping_mul(left).wrapping_sub(MIX_RIGHT.wrapping_mul(right)))
}

fn fold(word: u32) -> u32 {
    word ^ word >> 16
}

/// One random stream, `numpy.random.PCG64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream(Lcg128Xsl64);

impl Stream {
    /// The next raw word.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A whole number below `n`, every one equally likely; 0 when `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        // Lemire 2019: the high word of a product; low words below 2^64 mod n would favour some.
        let mut product = u128::from(self.next_u64()) * u128::from(n);
        if (product as u64) < n {
            let uneven = n.wrapping_neg() % n;
            while (product as u64) < uneven {
                product = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// A float from 0 to 1, 1 excluded, with 53 random bits; numpy's `Generator.random`.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An exponential time of this mean, ns, rounded; 0 for a mean of 0 or less.
    #[inline]
    pub fn exponential(&mut self, mean_ns: i64) -> i64 {
        let unit: f64 = Exp1.sample(&mut self.0);
        // The conversion saturates, so that no mean can overflow.
        (unit * mean_ns.max(0) as f64).round() as i64
    }

    /// A standard normal number.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    /// An index drawn by weight, from the running sums of the weights.
    ///
    /// Index i is drawn with weight `cumulative[i] - cumulative[i - 1]`; one of weight 0 never is.
    /// Returns 0 for an empty list.
    #[inline]
    pub fn index(&mut self, cumulative: &[f64]) -> usize {
        let Some(&total) = cumulative.last() else { return 0 };
        let at = self.uniform() * total;
        cumulative.partition_point(|&sum| sum <= at).min(cumulative.len() - 1)
    }
}
