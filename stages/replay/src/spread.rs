//! Variance of the mean of a systematic sample: how far it may be from the mean of all sizes.
//!
//! The sizes of successive objects are no independent draws: programs have loops and phases. A loop's period shines
//! through the jittered interval, and makes neighbours in the sample alike (or unlike), which makes the mean less (or
//! more) certain than the same sizes in random order would. Phases do the opposite: as the sample takes its share of
//! each, differences between phases add nothing to the error. So sizes are taken in blocks of [`BLOCK`], and in each
//! the long-run variance is estimated: the variance, and twice the covariances of sizes up to [`LAGS`] places apart,
//! with weights that are one at first and then fall to nothing (Politis and Romano, "Bias-corrected nonparametric
//! spectral estimation", 1995). Means of blocks do not enter. The estimate itself is therefore less certain, as its
//! degrees of freedom show.

/// Sizes of a block.
const BLOCK: usize = 64;

/// Most places between two sizes whose covariance counts.
const LAGS: usize = 8;

/// Sizes below which a block counts only where there is no other.
const LEAST: usize = 16;

/// The sizes of a sample, as they come.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    block: [u64; BLOCK],
    filled: u8,
    sums: Sums,
}

/// What finished blocks came to, each weighted with its sizes.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    sizes: f64,
    variance: f64,
    long_run: f64,
    freedom: f64,
}

impl Default for Spread {
    fn default() -> Self {
        Self { block: [0; BLOCK], filled: 0, sums: Sums::default() }
    }
}

/// The variance of a sampled size, as it counts for the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    /// That of a size alone.
    pub single: f64,
    /// With what neighbours have in common.
    pub long_run: f64,
    /// Degrees of freedom of the estimate.
    pub freedom: f64,
}

impl Spread {
    /// The next size.
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        self.block[usize::from(self.filled)] = bytes;
        self.filled += 1;
        if usize::from(self.filled) == BLOCK {
            self.sums.add(&self.block);
            self.filled = 0;
        }
    }

    /// The variance; nothing for fewer than two sizes.
    #[must_use]
    pub fn variance(&self) -> Option<Variance> {
        let mut sums = self.sums;
        let rest = &self.block[..usize::from(self.filled)];
        if rest.len() >= LEAST || sums.sizes == 0.0 && rest.len() >= 2 {
            sums.add(rest);
        }
        (sums.sizes > 0.0).then(|| Variance {
            single: sums.variance / sums.sizes,
            // A sum of covariances may come out below nothing by chance.
            long_run: sums.long_run.max(sums.variance / 8.0) / sums.sizes,
            freedom: sums.freedom.max(1.0),
        })
    }
}

impl Sums {
    fn add(&mut self, sizes: &[u64]) {
        let count = sizes.len() as f64;
        let mean = sizes.iter().map(|&size| size as f64).sum::<f64>() / count;
        let covariance = |lag: usize| {
            let pairs = sizes.iter().zip(&sizes[lag..]);
            pairs.map(|(&a, &b)| (a as f64 - mean) * (b as f64 - mean)).sum::<f64>() / count
        };
        let lags = LAGS.min(sizes.len() / 8);
        let (mut long_run, mut weights, mut squares) = (covariance(0), 1.0, 1.0);
        let variance = long_run * count / (count - 1.0);
        for lag in 1..lags {
            let weight = (2.0 * (1.0 - lag as f64 / lags as f64)).min(1.0);
            long_run += 2.0 * weight * covariance(lag);
            weights += 2.0 * weight;
            squares += 2.0 * weight * weight;
        }
        // Deviations from the block's own mean sum up to nothing, which takes from each covariance.
        long_run /= 1.0 - weights / count;
        self.sizes += count;
        self.variance += variance * count;
        self.long_run += long_run * count;
        self.freedom += (count - 1.0) / squares;
    }
}
