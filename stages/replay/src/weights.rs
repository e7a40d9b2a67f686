//! Estimates from weighted samples, and their intervals.
//!
//! A runtime that samples by bytes gives each sample a weight: the bytes allocated since the one before. The bytes of a
//! type are then the sum of the weights of its samples (Horvitz and Thompson 1952): a sample is of a type with the
//! probability of the type's share of the bytes that the sample represents.
//!
//! The interval is Wilson's for a proportion (1927), with the effective number of samples instead of their number
//! (Kish, Survey Sampling, 1965, 8.2; Korn and Graubard, Survey Methodology 24, 1998): few heavy samples are worth less
//! than many equal ones. Two effective numbers are known, that of all samples and that of the samples of the type; the
//! smaller one counts. Bytes recorded object by object are certain and only added. The bytes of recorded objects are a
//! lower bound.
//!
//! Resident memory: 40 bytes per type.

use crate::posterior::Estimate;
use heaplake_kit::{Budget, BudgetVec, StageError};

/// The quantile of the normal distribution for 95 %.
const Z: f64 = 1.959_964;

/// Samples of a type, or of all.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Sum of their weights, bytes.
    weight: f64,
    /// Sum of squared weights.
    squares: f64,
    /// Bytes of the sampled objects themselves.
    seen: u64,
    /// Bytes of objects recorded one by one.
    certain: u64,
    is_there: bool,
}

impl Sums {
    fn add(&mut self, weight: f64) {
        self.weight += weight;
        self.squares += weight * weight;
    }
}

/// Samples by type.
pub struct Weights {
    types: BudgetVec<Sums>,
    all: Sums,
}

impl Weights {
    /// Returns empty sums.
    pub fn new(budget: &Budget) -> Self {
        Self { types: budget.growing("the samples of types"), all: Sums::default() }
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    fn of(&mut self, type_id: u32) -> Result<&mut Sums, StageError> {
        while self.types.len() <= type_id as usize {
            self.types.push(Sums::default())?;
        }
        let sums = &mut self.types[type_id as usize];
        sums.is_there = true;
        Ok(sums)
    }

    /// Adds a sample of a type that represents `weight` bytes; its object has `seen`.
    pub fn add(&mut self, type_id: u32, weight: u64, seen: u64) -> Result<(), StageError> {
        let bytes = weight as f64;
        let sums = self.of(type_id)?;
        sums.seen = sums.seen.saturating_add(seen);
        sums.add(bytes);
        self.all.add(bytes);
        Ok(())
    }

    /// Adds an object of a type of which each is recorded.
    pub fn add_certain(&mut self, type_id: u32, bytes: u64) -> Result<(), StageError> {
        let sums = self.of(type_id)?;
        sums.certain = sums.certain.saturating_add(bytes);
        Ok(())
    }

    /// Estimates the bytes of a type; `None` without a sample.
    pub fn estimate(&self, type_id: u32) -> Option<Estimate> {
        let sums = self.types.get(type_id as usize).filter(|sums| sums.is_there)?;
        let (low, high) = interval(sums, &self.all);
        let low = (low.floor() as u64).max(sums.seen.min(sums.weight as u64));
        let whole = |bytes: u64| bytes.saturating_add(sums.certain);
        let bytes = sums.weight as u64;
        Some(Estimate {
            bytes: whole(bytes),
            interval: Some((whole(low.min(bytes)), whole((high.ceil() as u64).max(bytes)))),
        })
    }
}

/// Returns Wilson's interval for the bytes of some of all samples.
fn interval(some: &Sums, all: &Sums) -> (f64, f64) {
    if all.weight <= 0.0 {
        return (0.0, 0.0);
    }
    let share = (some.weight / all.weight).min(1.0);
    let effective = all.weight * all.weight / all.squares;
    // The variance of the sum of the type's weights, as an equivalent number of samples.
    let variance = (1.0 - 2.0 * share) * some.squares + share * share * all.squares;
    let own = share * (1.0 - share) * all.weight * all.weight / variance;
    let samples = if own.is_finite() && own > 0.0 { effective.min(own) } else { effective };
    let scale = samples + Z * Z;
    let centre = (share * samples + Z * Z / 2.0) / scale;
    let half = Z / scale * (samples * share * (1.0 - share) + Z * Z / 4.0).sqrt();
    ((centre - half).max(0.0) * all.weight, (centre + half).min(1.0) * all.weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Knuth's multiplier; the upper half of the state.
    fn next(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as f64 / (1_u64 << 31) as f64
    }

    /// Programs that allocate types with known shares, sampled as the virtual machine does: at varying distances of
    /// bytes, sometimes rarely. The interval covers the truth about as often as stated.
    #[test]
    fn the_truth_lies_in_the_interval() {
        let shares = [0.6, 0.25, 0.1, 0.04, 0.01];
        let (mut held, mut asked, mut state) = ([0_u32; 5], 0, 7);
        for round in 0..600_u32 {
            let mut weights = Weights::new(&Budget::new(1 << 20));
            let (mut truth, mut all) = ([0_f64; 5], 0.0);
            let samples = [30, 100, 400][round as usize % 3];
            for number in 0..samples {
                // In one phase of three, a throttle makes samples rare.
                let distance = if number % 3 == 0 { 6e5 } else { 1e5 } * (0.2 - next(&mut state).max(1e-9).ln());
                let weight = distance as u64;
                all += weight as f64;
                let (mut at, drawn) = (0, next(&mut state));
                let mut sum = shares[0];
                while drawn >= sum && at < 4 {
                    at += 1;
                    sum += shares[at];
                }
                weights.add(at as u32, weight, 24).expect("room");
            }
            for (truth, share) in truth.iter_mut().zip(shares) {
                *truth = all * share;
            }
            asked += 1;
            for at in 0..5 {
                // A type without a sample has no interval.
                let interval = weights.estimate(at as u32).and_then(|estimate| estimate.interval);
                held[at] +=
                    u32::from(interval.is_none_or(|(low, high)| (low as f64..=high as f64).contains(&truth[at])));
            }
        }
        for held in held {
            let part = f64::from(held) / f64::from(asked);
            assert!(part > 0.92, "{held} of {asked}");
        }
    }

    #[test]
    fn what_was_seen_and_what_is_certain_bound_it() {
        let mut weights = Weights::new(&Budget::new(1 << 20));
        weights.add(0, 1000, 900).expect("room");
        weights.add(1, 1000, 16).expect("room");
        weights.add_certain(1, 5000).expect("room");
        weights.add_certain(3, 70).expect("room");
        let estimate = |type_id| weights.estimate(type_id).map(|estimate| (estimate.bytes, estimate.interval));
        assert!(estimate(0).is_some_and(|(bytes, interval)| bytes == 1000 && interval.is_some_and(|of| of.0 == 900)));
        assert!(estimate(1).is_some_and(|(bytes, interval)| bytes == 6000 && interval.is_some_and(|of| of.0 > 5000)));
        assert!(estimate(3).is_some_and(|(bytes, interval)| bytes == 70 && interval.is_some_and(|of| of.0 == 70)));
        assert_eq!(estimate(2), None);
        assert_eq!(estimate(9), None);
    }
}
