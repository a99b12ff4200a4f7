//! Random streams against numpy's own numbers, and the laws of the draws.

use tickless::rng::{Seed, Stream};

const BOUNDS: [u64; 5] =
    [(1 << 32) + 1, 1 << 33, 3 << 62, (1 << 63) + 1, 10_000_000_000_000_000_000];

/// Lists of numbers of one line of the file, see `tests/data/cut_rng.py`.
fn cases() -> Vec<Vec<Vec<u64>>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/rng/numpy.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let numbers = |list: &str| list.split_whitespace().map(|n| n.parse().unwrap()).collect();
    let lines = text.lines().filter(|l| !l.starts_with('#'));
    let cases: Vec<Vec<Vec<u64>>> = lines.map(|l| l.split('|').map(numbers).collect()).collect();
    assert_eq!(cases.len(), 50);
    cases
}

fn seed(case: &[Vec<u64>]) -> Seed {
    let key: Vec<u32> = case[1].iter().map(|&k| u32::try_from(k).unwrap()).collect();
    Seed::new(&case[0]).child(&key)
}

fn draws<T>(n: usize, mut draw: impl FnMut() -> T) -> Vec<T> {
    (0..n).map(|_| draw()).collect()
}

#[test]
fn a_seed_gives_the_state_of_numpys_seed_sequence() {
    for case in cases() {
        assert_eq!(seed(&case).state(8), case[2], "entropy {:?}, key {:?}", case[0], case[1]);
    }
}

#[test]
fn a_stream_gives_the_words_and_floats_of_numpys_pcg64() {
    for case in cases() {
        let mut s = seed(&case).stream();
        assert_eq!(draws(8, || s.next_u64()), case[3]);
        let mut s = seed(&case).stream();
        let floats = draws(8, || (s.uniform() * (1u64 << 53) as f64) as u64);
        assert_eq!(floats, case[4]);
    }
}

#[test]
fn bounded_numbers_are_numpys_and_stay_below_the_bound() {
    for case in cases() {
        let mut s = seed(&case).stream();
        let bounded: Vec<u64> = BOUNDS.iter().flat_map(|&n| draws(4, || s.below(n))).collect();
        assert_eq!(bounded, case[5]);
    }
}

#[test]
fn a_child_of_a_child_has_the_joined_key() {
    let seed = Seed::new(&[42]);
    assert_eq!(seed.child(&[1]).child(&[2, 3]), seed.child(&[1, 2, 3]));
    assert_ne!(seed.child(&[1]).state(4), seed.child(&[2]).state(4));
    assert_ne!(seed.child(&[0]).state(4), seed.state(4));
}

fn stream() -> Stream {
    Seed::new(&[20_181_110]).stream()
}

/// Mean and standard deviation of n draws.
fn moments(n: usize, mut draw: impl FnMut() -> f64) -> (f64, f64) {
    let all = draws(n, &mut draw);
    let mean = all.iter().sum::<f64>() / n as f64;
    let variance = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
    (mean, variance.sqrt())
}

#[test]
fn exponential_times_have_their_mean_as_deviation() {
    let mut s = stream();
    let (mean, deviation) = moments(200_000, || s.exponential(40_000_000) as f64);
    // Standard errors: 0.22 % of the mean, 0.32 % of the deviation; five of them.
    assert!((mean / 4e7 - 1.0).abs() < 0.011, "mean {mean}");
    assert!((deviation / 4e7 - 1.0).abs() < 0.018, "deviation {deviation}");
    assert_eq!((s.exponential(0), s.exponential(-5)), (0, 0));
    assert!(s.exponential(i64::MAX) >= 0);
}

#[test]
fn normal_numbers_are_standard() {
    let mut s = stream();
    let (mean, deviation) = moments(200_000, || s.normal());
    assert!(mean.abs() < 0.0112 && (deviation - 1.0).abs() < 0.008, "{mean} {deviation}");
}

#[test]
fn an_index_comes_as_often_as_its_weight_says() {
    let mut s = stream();
    let mut counts = [0u32; 4];
    for _ in 0..100_000 {
        counts[s.index(&[1.0, 1.0, 4.0, 10.0])] += 1;
    }
    assert_eq!(counts[1], 0, "an index of weight 0 was drawn");
    // Five standard errors of a share of 100,000 are below 0.8 %.
    for (count, share) in counts.iter().zip([0.1, 0.0, 0.3, 0.6]) {
        assert!((f64::from(*count) / 1e5 - share).abs() < 0.008, "{counts:?}");
    }
    assert_eq!(s.index(&[]), 0);
}

#[test]
fn small_bounds_are_even() {
    let mut s = stream();
    let mut counts = [0i32; 7];
    for _ in 0..70_000 {
        counts[s.below(7) as usize] += 1;
    }
    assert!(counts.iter().all(|c| (c - 10_000).abs() < 465), "{counts:?}"); // five standard errors
    assert_eq!((s.below(1), s.below(0)), (0, 0));
}
