//! A sample of the sizes of a type, in memory that does not grow with it.
//!
//! Keeps sums by stratum, for the estimate; a histogram of at most [`BINS`] sizes; and the squares of differences
//! between successive sizes, which give the part of the variance within blocks (Wolter, Introduction to Variance
//! Estimation, 2007, 8.2). Blocks only grow longer, so two sums suffice for all strata but the last.

use crate::sampling::{LARGE, scale};
use heaplake_kit::memory_account::allocated;

/// Most distinct sizes. Further ones are merged with their neighbours, which keeps the mean.
pub const BINS: usize = 48;

/// Least sizes of the last stratum for which their order counts.
const LEAST_IN_ORDER: u64 = 8;

/// A sample of sizes.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Objects.
    pub count: u64,
    /// Sum of their sizes, bytes.
    pub bytes: u64,
    large: (u64, u64),
    /// Objects and bytes that the finished strata represent.
    finished: (u64, u64),
    /// Sums of weights and of squared weights of their sampled objects.
    weights: (f64, f64),
    last: Stratum,
    bins: Bins,
}

/// The stratum with the longest blocks so far.
#[derive(Clone, Copy, Debug, Default)]
struct Stratum {
    length: u32,
    count: u64,
    bytes: u64,
    order: Order,
}

/// Moments of sizes in their order.
#[derive(Clone, Copy, Debug, Default)]
struct Order {
    before: f64,
    mean: f64,
    squares: f64,
    differences: f64,
}

/// A histogram: sizes ascending, each with its weight. Most types have one size, so it grows on demand.
#[derive(Clone, Debug, Default)]
struct Bins(Vec<(f64, f64)>);

impl Sample {
    /// Adds an object of a stratum.
    #[inline]
    pub fn add(&mut self, stratum: u32, bytes: u64) {
        self.add_one_of_all(bytes);
        if stratum == LARGE {
            self.large = (self.large.0 + 1, self.large.1.saturating_add(bytes));
            return;
        }
        if stratum != self.last.length {
            self.finish();
            self.last.length = stratum;
        }
        self.last.add(bytes);
        self.bins.add(bytes as f64, f64::from(stratum));
    }

    /// Adds an object if all are sampled, so that their variance is not needed.
    #[inline]
    pub fn add_one_of_all(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Finishes a stratum: its blocks were whole, so each of its objects represents a block.
    fn finish(&mut self) {
        let Stratum { length, count, bytes, .. } = std::mem::take(&mut self.last);
        let length = u64::from(length);
        let stand = scale(bytes, length, 1);
        self.finished =
            (self.finished.0.saturating_add(scale(count, length, 1)), self.finished.1.saturating_add(stand));
        let (weight, count) = (length as f64, count as f64);
        self.weights = (self.weights.0 + count * weight, self.weights.1 + count * weight * weight);
    }

    /// Returns the factor of an object of a stratum, if the type has `total` objects: for the last stratum, from all
    /// objects that no other stratum represents.
    pub fn ratio(&self, stratum: u32, total: u64) -> (u64, u64) {
        if stratum == LARGE || self.count >= total {
            return (1, 1);
        }
        if stratum != self.last.length {
            return (u64::from(stratum), 1);
        }
        (total.saturating_sub(self.large.0).saturating_sub(self.finished.0), self.last.count.max(1))
    }

    /// Bytes of its histogram.
    pub fn held(&self) -> u64 {
        let bytes = self.bins.0.capacity() * size_of::<(f64, f64)>();
        if bytes == 0 { 0 } else { allocated(bytes) }
    }

    /// Estimates the bytes of `total` objects; `None` without a sample.
    pub fn estimate(&self, total: u64) -> Option<u64> {
        if self.count >= total {
            return (self.count > 0).then_some(self.bytes);
        }
        if self.last.count == 0 {
            return None;
        }
        let (rest, count) = self.ratio(self.last.length, total);
        let certain = self.large.1.saturating_add(self.finished.1);
        Some(certain.saturating_add(scale(self.last.bytes, rest, count)).max(self.bytes))
    }

    /// Returns the sizes of objects that are not large, ascending, each with its weight; and the factor from the sum of
    /// weights to the effective sample size (Kish, Survey Sampling, 1965, 11.7).
    pub fn sizes(&self, total: u64) -> (&[(f64, f64)], f64) {
        let bins = &self.bins.0[..];
        let (rest, count) = self.ratio(self.last.length, total);
        let (weight, taken) = (rest as f64 / count as f64, self.last.count as f64);
        let (sum, squares) = (self.weights.0 + taken * weight, self.weights.1 + taken * weight * weight);
        let kept: f64 = bins.iter().map(|bin| bin.1).sum();
        (bins, if kept > 0.0 { sum * sum / squares / kept } else { 0.0 })
    }

    /// Returns the part of the standard deviation between neighbours. The rest is change over time, which blocks cover
    /// evenly, so that it adds nothing to the error.
    pub fn within_blocks(&self) -> f64 {
        let Stratum { count, order, .. } = self.last;
        if count < LEAST_IN_ORDER || order.squares <= 0.0 {
            return 1.0;
        }
        // For sizes in random order this ratio is 1 with a standard deviation of one over the root of their number (von
        // Neumann 1941). One deviation distinguishes a change from chance.
        let ratio = order.differences / (2.0 * order.squares);
        if ratio > 1.0 - 1.0 / (count as f64).sqrt() { 1.0 } else { ratio.max(0.02).sqrt() }
    }
}

impl Stratum {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        let (size, order) = (bytes as f64, &mut self.order);
        if self.count > 1 {
            order.differences += (size - order.before) * (size - order.before);
        }
        order.before = size;
        let off = size - order.mean;
        order.mean += off / self.count as f64;
        order.squares += off * (size - order.mean);
    }
}

impl Bins {
    fn add(&mut self, size: f64, weight: f64) {
        let at = self.0.partition_point(|bin| bin.0 < size);
        if let Some(bin) = self.0.get_mut(at).filter(|bin| bin.0 == size) {
            bin.1 += weight;
            return;
        }
        if self.0.len() == BINS {
            self.merge();
            return self.add(size, weight);
        }
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact((2 * self.0.len()).clamp(1, BINS - self.0.len()));
        }
        self.0.insert(at, (size, weight));
    }

    /// Merges the two bins with the closest ratio of sizes.
    fn merge(&mut self) {
        let near = |at: usize| (self.0[at + 1].0 - self.0[at].0) / self.0[at + 1].0;
        let at = (0..BINS - 1).min_by(|&a, &b| near(a).total_cmp(&near(b))).unwrap_or(0);
        let ((a, of_a), (b, of_b)) = (self.0[at], self.0[at + 1]);
        self.0[at] = ((a * of_a + b * of_b) / (of_a + of_b), of_a + of_b);
        self.0.remove(at + 1);
    }
}
