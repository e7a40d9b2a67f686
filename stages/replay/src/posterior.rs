//! 95 % intervals of the estimated bytes of all objects of a type.
//!
//! Sizes of arrays and strings are skewed, and most types have few samples. Then the normal interval, Student's, and
//! those with a correction for skewness (Johnson 1978, Hall 1992) or of logarithms fail alike: three small arrays do
//! not exclude a large fourth. The evidence is the variation of sizes of other types in the trace.
//!
//! So the unsampled sizes are drawn from the sampled ones: the Polya posterior of a finite population (Ericson 1969;
//! Ghosh and Meeden, Bayesian Methods for Finite Population Sampling, 1997) with a Dirichlet process as its prior
//! (Ferguson 1973). Each unsampled object has a size of the sample, or, with the weight of [`PRIOR`] objects, one of
//! the sizes of all varying types. The interval lies between the quantiles of [`DRAWS`] such completions. Since only
//! unknown sizes are drawn, the finite population is accounted for and the seen bytes are a lower bound; with many
//! samples it is the Bayesian bootstrap (Rubin 1981), which has the right skewness.
//!
//! * The size of a type with constant sizes is known from one object. Names decide: arrays and strings vary. If a
//!   sample contradicts that, all types of the trace count as varying.
//! * All objects that are large for their type were sampled ([`sampling`](crate::sampling)), so none is drawn.
//! * Differences over time are removed ([`Sample::within_blocks`]).
//! * A type without a sample (only with [`SampleStart::Nth`](heaplake_schemas::options::SampleStart)) has the sizes of
//!   comparable types, or of any others if there are none.
//!
//! Resident memory: 16 bytes per distinct size of a sample and type at the end. Time: some 20,000 draws per varying
//! type. docs/limits.md has the coverage of the intervals.

use crate::sample::Sample;
use crate::sampling::{LARGE_TIMES, next};
use heaplake_kit::{Budget, BudgetVec, StageError};

/// Weight of the sizes of other types, in objects.
const PRIOR: f64 = 2.0;

/// Most sampled objects of a type that count for others, so that none dominates.
const MOST_OF_A_TYPE: f64 = 16.0;

/// Number of completions of a sample.
const DRAWS: usize = 400;

/// Most unknown sizes that are drawn one by one.
const ONE_BY_ONE: u64 = 256;

/// Most sizes from other types in a completion.
const NEW_SIZES: usize = 64;

/// An estimate of all sizes, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The estimate.
    pub bytes: u64,
    /// Its 95 % interval, if there is one.
    pub interval: Option<(u64, u64)>,
}

/// A type to be estimated.
#[derive(Clone, Copy, Debug)]
pub struct Population<'a> {
    /// Objects.
    pub total: u64,
    /// The sampled ones.
    pub sample: &'a Sample,
    /// Whether sizes vary, by the name of the type.
    pub varies: bool,
    /// Whether all large objects were sampled.
    pub took_large: bool,
    /// Seed of the draws.
    pub seed: u64,
}

/// Sizes of all samples of a trace.
pub struct Pool {
    /// Sizes of varying types, ascending, with cumulative weights.
    varying: BudgetVec<(f64, f64)>,
    /// Sizes of the other types, ascending.
    fixed: BudgetVec<f64>,
    names_tell: bool,
}

impl Pool {
    /// Collects the sizes of all types of a trace.
    pub fn new<'a>(budget: &Budget, types: impl Iterator<Item = Population<'a>> + Clone) -> Result<Self, StageError> {
        const WHO: &str = "the sizes of all types";
        let names_tell = types.clone().all(|of| of.varies || of.sample.sizes(of.total).0.len() <= 1);
        let (mut varying, mut fixed) = (budget.growing(WHO), budget.growing(WHO));
        for of in types {
            let (sizes, factor) = of.sample.sizes(of.total);
            if of.varies || !names_tell {
                let all = sizes.iter().map(|size| size.1).sum::<f64>() * factor;
                let factor = factor * MOST_OF_A_TYPE.min(all) / all;
                sizes.iter().try_for_each(|&(size, weight)| varying.push((size, weight * factor)))?;
            } else if let Some(&(size, _)) = sizes.first() {
                fixed.push(size)?;
            }
        }
        varying.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        fixed.sort_unstable_by(f64::total_cmp);
        let mut sum = 0.0;
        varying.iter_mut().for_each(|size| {
            sum += size.1;
            size.1 = sum;
        });
        Ok(Self { varying, fixed, names_tell })
    }

    /// Estimates the bytes of a type; `None` if no object of any type was sampled.
    pub fn estimate(&self, of: &Population<'_>) -> Option<Estimate> {
        let Some(bytes) = of.sample.estimate(of.total) else {
            return self.without_sample(of);
        };
        let varies = of.varies || !self.names_tell;
        if of.sample.count >= of.total || !varies {
            return Some(Estimate { bytes, interval: Some((bytes, bytes)) });
        }
        let (sizes, factor) = of.sample.sizes(of.total);
        let mean = bytes as f64 / of.total as f64;
        let most = if of.took_large { mean * LARGE_TIMES as f64 } else { f64::INFINITY };
        let unknown = of.total - of.sample.count;
        let drawn = self.completions(Completion { sizes, factor, unknown, most }, of.seed);
        let (within, middle) = (of.sample.within_blocks(), quantile(&drawn, 0.5));
        let seen = of.sample.bytes as f64;
        let least = self.least(sizes) * unknown as f64;
        // Removing changes over time keeps the interval around the estimate.
        let centre = if within < 1.0 { bytes as f64 - seen } else { middle };
        let end = |part: f64| seen + (centre + (quantile(&drawn, part) - middle) * within).max(least);
        let (low, high) = (end(0.025).floor() as u64, end(0.975).ceil() as u64);
        Some(Estimate { bytes, interval: Some((low.min(bytes), high.max(bytes))) })
    }

    /// Returns the least size of an object.
    fn least(&self, sizes: &[(f64, f64)]) -> f64 {
        let least = |sizes: &[(f64, f64)]| sizes.first().map_or(f64::INFINITY, |size| size.0);
        let fixed = self.fixed.first().copied().unwrap_or(f64::INFINITY);
        least(sizes).min(least(&self.varying)).min(fixed)
    }

    fn without_sample(&self, of: &Population<'_>) -> Option<Estimate> {
        let total = of.total as f64;
        let whole = |mean: f64, low: f64, high: f64| Estimate {
            bytes: (mean * total).round() as u64,
            interval: Some(((low.min(mean) * total).floor() as u64, (high.max(mean) * total).ceil() as u64)),
        };
        if self.varying.is_empty() && self.fixed.is_empty() {
            return None;
        }
        if !self.varying.is_empty() && (of.varies || !self.names_tell || self.fixed.is_empty()) {
            let completion = Completion { sizes: &[], factor: 0.0, unknown: of.total, most: f64::INFINITY };
            let drawn = self.completions(completion, of.seed);
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64 / total;
            return Some(whole(mean, quantile(&drawn, 0.025) / total, quantile(&drawn, 0.975) / total));
        }
        let mean = self.fixed.iter().sum::<f64>() / self.fixed.len() as f64;
        Some(whole(mean, quantile(&self.fixed, 0.025), quantile(&self.fixed, 0.975)))
    }

    /// Returns the sums of the unknown sizes in all completions of a sample, ascending.
    fn completions(&self, of: Completion<'_>, seed: u64) -> Vec<f64> {
        let mut chance = Chance(seed);
        let mut drawn: Vec<f64> = (0..DRAWS).map(|_| self.complete(&of, &mut chance)).collect();
        drawn.sort_unstable_by(f64::total_cmp);
        drawn
    }

    fn complete(&self, of: &Completion<'_>, chance: &mut Chance) -> f64 {
        // Shares of all sizes among the unknown ones: a draw from the Dirichlet process.
        let mut shares: Vec<(f64, f64)> =
            of.sizes.iter().map(|&(size, weight)| (size, chance.gamma(weight * of.factor))).collect();
        let new = chance.gamma(PRIOR);
        let sum = shares.iter().map(|share| share.1).sum::<f64>() + new;
        shares.iter_mut().for_each(|share| share.1 /= sum);
        let mut rest = new / sum;
        let unknown = of.unknown as f64;
        // Sethuraman's stick breaking, until less than an object remains.
        for _ in 0..NEW_SIZES {
            if rest * unknown <= 0.3 {
                break;
            }
            let broken = rest * (1.0 - chance.unit().powf(1.0 / PRIOR));
            shares.push((self.draw(of.most, chance), broken));
            rest -= broken;
        }
        shares.push((self.draw(of.most, chance), rest));
        if of.unknown > ONE_BY_ONE {
            let mean = shares.iter().map(|&(size, share)| size * share).sum::<f64>();
            let variance = shares.iter().map(|&(size, share)| (size - mean) * (size - mean) * share).sum::<f64>();
            return (unknown * mean + (unknown * variance).sqrt() * chance.normal()).max(0.0);
        }
        let mut sum = 0.0;
        shares.iter_mut().for_each(|share| {
            sum += share.1;
            share.1 = sum;
        });
        (0..of.unknown).map(|_| by_weight(&shares, chance).0).sum()
    }

    /// Draws a size below `most` from the varying types.
    fn draw(&self, most: f64, chance: &mut Chance) -> f64 {
        let few = &self.varying[..self.varying.partition_point(|size| size.0 < most)];
        // If all are too large, only the bound is known.
        if few.is_empty() { most.min(self.least(&[])) } else { by_weight(few, chance).0 }
    }
}

/// Parameters of completions.
#[derive(Clone, Copy)]
struct Completion<'a> {
    sizes: &'a [(f64, f64)],
    factor: f64,
    unknown: u64,
    most: f64,
}

/// Draws by cumulative weights; there is at least one.
fn by_weight(sums: &[(f64, f64)], chance: &mut Chance) -> (f64, f64) {
    let drawn = chance.unit() * sums[sums.len() - 1].1;
    sums[sums.partition_point(|size| size.1 < drawn).min(sums.len() - 1)]
}

/// Returns a quantile of sorted numbers, at least one.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    sorted[((part * sorted.len() as f64) as usize).min(sorted.len() - 1)]
}

/// Random draws.
struct Chance(u64);

impl Chance {
    /// Uniform between 0 and 1, both exclusive.
    fn unit(&mut self) -> f64 {
        ((next(&mut self.0) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Box and Muller, 1958.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
    fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.gamma(shape + 1.0) * self.unit().powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.unit().ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
                return d * v;
            }
        }
    }
}
