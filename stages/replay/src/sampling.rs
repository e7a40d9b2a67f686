//! Semi-statistical sampling: exact counts, and sizes and stacks of every tenth object or so.
//!
//! Each type has a counter that starts at the interval. An allocation decrements it; at zero the object's size and
//! stack are taken, and the counter restarts at a value drawn uniformly from 0.7 to 1.3 of the interval, so that its
//! mean is exactly the interval and no loop of the program stays in step with it. Draws are seeded by type: a run can
//! be repeated, and types do not disturb each other. Interval 1 takes every object.
//!
//! From the sizes of a sample, the bytes of all objects are estimated by the ratio of the exact count to the sampled
//! one. The interval around it rests on the long-run variance of the sampled sizes ([`spread`](crate::spread)), less
//! the part of them that was seen, and on Student's distribution.

use crate::spread::Spread;

/// Parameters of sampling.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    interval: u32,
    spread: u32,
    seed: u64,
}

/// What a type keeps between two allocations.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    left: u32,
    state: u64,
}

impl Sampler {
    /// Samples with a mean interval of at least 1.
    #[must_use]
    pub fn new(interval: u32, seed: u64) -> Self {
        let interval = interval.max(1);
        // The draw spans at least one to either side, as soon as the interval allows.
        let spread = (u64::from(interval) * 3 / 10).max(u64::from(interval > 1)) as u32;
        Self { interval, spread, seed }
    }

    /// Mean interval.
    #[must_use]
    pub fn interval(&self) -> u32 {
        self.interval
    }

    /// The counter of a type that has not occurred yet.
    #[must_use]
    pub fn counter(&self, type_id: u32) -> Counter {
        let mut state = self.seed ^ u64::from(type_id).wrapping_mul(0xd6e8_feb8_6659_fd93);
        next(&mut state);
        Counter { left: self.interval, state }
    }

    /// Counts an allocation; true when its size and stack are to be taken.
    #[inline]
    pub fn take(&self, counter: &mut Counter) -> bool {
        counter.left -= 1;
        if counter.left > 0 {
            return false;
        }
        counter.left = self.restart(&mut counter.state);
        true
    }

    fn restart(&self, state: &mut u64) -> u32 {
        if self.spread == 0 {
            return self.interval;
        }
        // An exactly uniform draw: what would favour small values is drawn again.
        let range = u64::from(self.spread) * 2 + 1;
        let limit = u64::MAX - u64::MAX % range;
        let drawn = loop {
            let drawn = next(state);
            if drawn < limit {
                break drawn % range;
            }
        };
        // At most 1.3 times 2^32; a counter that large stays at its greatest value.
        u32::try_from(u64::from(self.interval - self.spread) + drawn).unwrap_or(u32::MAX)
    }
}

/// SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A sample of sizes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Objects.
    pub count: u64,
    /// Sum of their sizes, bytes.
    pub bytes: u64,
    /// How they vary.
    pub spread: Spread,
}

/// An estimate of all sizes, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The estimate itself.
    pub bytes: u64,
    /// Its 95 % interval, where the sample has at least two objects or is everything.
    pub interval: Option<(u64, u64)>,
}

impl Sample {
    /// Adds an object.
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        self.add_one_of_all(bytes);
        self.spread.add(bytes);
    }

    /// Adds an object where all are sampled, so that their variance is not needed.
    #[inline]
    pub fn add_one_of_all(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// What `total` objects weigh, of which these are a sample; nothing without a sample.
    #[must_use]
    pub fn estimate(&self, total: u64) -> Option<Estimate> {
        if self.count == 0 {
            return None;
        }
        let bytes = scale(self.bytes, total, self.count);
        if self.count >= total {
            return Some(Estimate { bytes, interval: Some((bytes, bytes)) });
        }
        let Some(variance) = self.spread.variance() else {
            return Some(Estimate { bytes, interval: None });
        };
        let (n, all) = (self.count as f64, total as f64);
        // Of what was seen nothing is uncertain, which takes its share of the variance, if the order is one of
        // chance. In step with a loop, what was seen says less of what was not. Two standard deviations tell one from
        // the other.
        let by_chance = variance.long_run <= variance.single * (1.0 + 2.0 * (2.0 / variance.freedom).sqrt());
        let seen = if by_chance { n / all } else { 0.0 };
        let variance_of_mean = (variance.long_run - variance.single * seen).max(variance.single / 8.0) / n;
        let margin = student(variance.freedom) * all * variance_of_mean.sqrt();
        // The sampled objects themselves are certain.
        let low = (bytes as f64 - margin).max(self.bytes as f64).floor() as u64;
        Some(Estimate { bytes, interval: Some((low.min(bytes), (bytes as f64 + margin).ceil() as u64)) })
    }
}

/// `value` times `numerator` over `denominator`, rounded to the nearest, halves up; the denominator is not 0.
#[must_use]
pub fn scale(value: u64, numerator: u64, denominator: u64) -> u64 {
    let product = u128::from(value) * u128::from(numerator);
    u64::try_from((product + u128::from(denominator) / 2) / u128::from(denominator)).unwrap_or(u64::MAX)
}

/// The 97.5 % point of Student's distribution. Tabulated up to 10 degrees of freedom; beyond, the expansion of Cornish
/// and Fisher around the normal distribution (Abramowitz and Stegun, 26.7.5), which is right to 1 in 10,000 there.
fn student(freedom: f64) -> f64 {
    const TABLE: [f64; 10] = [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281];
    if freedom < TABLE.len() as f64 {
        // Between two whole numbers, the one below: rather too wide than too narrow.
        return TABLE[(freedom as usize).clamp(1, TABLE.len()) - 1];
    }
    let (z, v) = (1.959_964_f64, freedom);
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    z + (z3 + z) / (4.0 * v)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * v * v)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * v.powi(3))
}
