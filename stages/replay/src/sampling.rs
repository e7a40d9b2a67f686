//! Semi-statistical sampling: exact counts, and sizes and stacks of about one object in N.
//!
//! Choice of the objects of a type, with interval N:
//!
//! * **Blocks.** The objects of a type form blocks in order of allocation, and one object of each block is sampled, at
//!   a uniformly random place (stratified systematic sampling: Cochran, Sampling Techniques, 1977, 8.13). All objects
//!   of a block are equally likely, so no loop of the program stays in step with the sample, and choices of two blocks
//!   are independent, so that similar neighbours make no interval wrong.
//! * **A falling rate.** The first [`EACH`] blocks have one object, the next ones two, then four, and so on up to N. So
//!   every type has a sample, small types are known well, and it costs large ones nothing: at most `EACH` more objects
//!   per type and power of two below N.
//! * **All large objects**: those of at least [`LARGE_TIMES`] times the mean of the objects of their type before them
//!   (a stratum of certainty: Hidiroglou, "The construction of a self-representing stratum of large units in survey
//!   design", American Statistician 40, 1986). A few of them make most of the uncertainty of types such as buffers and
//!   lists. Largeness depends on the trace alone and not on the choice, so estimates stay unbiased. Once there are more
//!   of them than blocks, further ones count as any other, so that they at most double the sample.
//!
//! [`SampleStart::Nth`] is the rule of "Semi-statistical data collection in memory profiling" instead: a counter per
//! type starts at N; an allocation decrements it; at zero the object is sampled, and the counter restarts at a value
//! drawn uniformly from 0.7 to 1.3 of N. The first sampled object is then always the Nth, so small types are known
//! badly or not at all.
//!
//! Draws are seeded by type: a run is repeatable, and types are independent. Interval 1 samples every object.

use heaplake_schemas::options::SampleStart;

/// Blocks of each length below the interval.
pub const EACH: u64 = 4;

/// Multiple of the mean of its type that makes an object large.
pub const LARGE_TIMES: u64 = 4;

/// The stratum of large objects; other strata are lengths of blocks.
pub const LARGE: u32 = 0;

/// Parameters of sampling.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    interval: u32,
    start: SampleStart,
    seed: u64,
}

/// Sampling state of a type.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    state: u64,
    /// Objects until the end of the block, or until the next sampled one.
    left: u32,
    /// Value of `left` at which an object is sampled.
    chosen: u32,
    length: u32,
    blocks: u64,
    large: u64,
    passed: bool,
}

impl Counter {
    /// Whether all large objects were sampled.
    pub fn took_large(&self) -> bool {
        self.blocks > 0 && !self.passed
    }

    fn begin(&mut self, interval: u32) {
        let length = 1_u64.checked_shl((self.blocks / EACH).min(63) as u32).unwrap_or(u64::MAX);
        self.length = interval.min(u32::try_from(length).unwrap_or(u32::MAX));
        self.blocks += 1;
        self.left = self.length;
        self.chosen = below(&mut self.state, u64::from(self.length)) as u32;
    }
}

impl Sampler {
    /// Samples one object in `interval`, at least 1.
    pub fn new(interval: u32, start: SampleStart, seed: u64) -> Self {
        Self { interval: interval.max(1), start, seed }
    }

    /// Mean interval.
    pub fn interval(&self) -> u32 {
        self.interval
    }

    /// Returns a seed per type.
    pub fn seed_of(&self, type_id: u32) -> u64 {
        let mut state = self.seed ^ u64::from(type_id).wrapping_mul(0xd6e8_feb8_6659_fd93);
        next(&mut state)
    }

    /// Returns the initial state of a type.
    pub fn counter(&self, type_id: u32) -> Counter {
        let left = if self.start == SampleStart::Nth { self.interval } else { 0 };
        let state = self.seed_of(type_id);
        Counter { state, left, chosen: 0, length: self.interval, blocks: 0, large: 0, passed: false }
    }

    /// Counts an allocation of `bytes`, after `count` objects of the type with `sum` bytes. If size and stack are to be
    /// sampled, returns the stratum: [`LARGE`], or the length of the block that the object represents.
    #[inline]
    pub fn take(&self, counter: &mut Counter, bytes: u64, (count, sum): (u64, u64)) -> Option<u32> {
        if self.interval == 1 {
            return Some(1);
        }
        if self.start == SampleStart::Nth {
            return self.take_nth(counter);
        }
        let large = u128::from(bytes) * u128::from(count) >= u128::from(sum) * u128::from(LARGE_TIMES);
        if large && count > 0 && bytes > 0 {
            if counter.large <= counter.blocks {
                counter.large += 1;
                return Some(LARGE);
            }
            counter.passed = true;
        }
        if counter.left == 0 {
            counter.begin(self.interval);
        }
        counter.left -= 1;
        (counter.left == counter.chosen).then_some(counter.length)
    }

    fn take_nth(&self, counter: &mut Counter) -> Option<u32> {
        counter.left -= 1;
        if counter.left > 0 {
            return None;
        }
        // The draw spans at least one to either side; its mean is the interval.
        let spread = (u64::from(self.interval) * 3 / 10).max(1);
        let drawn = u64::from(self.interval) - spread + below(&mut counter.state, spread * 2 + 1);
        // At most 1.3 times 2^32, saturated.
        counter.left = u32::try_from(drawn).unwrap_or(u32::MAX);
        Some(self.interval)
    }
}

/// Draws an exactly uniform number below `range`, which is not 0; biased draws are repeated.
pub fn below(state: &mut u64, range: u64) -> u64 {
    let limit = u64::MAX - u64::MAX % range;
    loop {
        let drawn = next(state);
        if drawn < limit {
            return drawn % range;
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `value` times `numerator` over `denominator`, rounded half up; the denominator is not 0.
pub fn scale(value: u64, numerator: u64, denominator: u64) -> u64 {
    let product = u128::from(value) * u128::from(numerator);
    u64::try_from((product + u128::from(denominator) / 2) / u128::from(denominator)).unwrap_or(u64::MAX)
}
