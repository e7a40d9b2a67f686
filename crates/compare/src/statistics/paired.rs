//! Paired tests: differences per host, which are more sensitive than unpaired values.
//!
//! Under the null hypothesis a host's difference is positive or negative with equal probability. Two tests use that,
//! both conditional on the absolute differences: Wilcoxon's signed-rank test (1945) on all of them, and the sign test
//! on the outlying ones, see [`tail`](super::tail()). The latter detects a leak on some hosts.

use super::combined::weighted;
use super::counting::coin;
use super::normal;
use super::quantiles::median;
use super::tail::apart;

/// Maximum number of differences for the exact signed-rank test.
const EXACT: usize = 50;

/// Results of the paired tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Combined two-sided p; NaN without pairs.
    pub p: f64,
    /// p of the signed-rank test.
    pub ranks: f64,
    /// p of the sign test on large differences.
    pub large: f64,
    /// Threshold: absolute differences above it are large; 0 if none are.
    pub apart: i64,
    /// Number of large differences below and above 0.
    pub counts: [usize; 2],
    /// Median of the nonzero differences.
    pub median: i64,
    /// Whether enough large differences are far apart from the rest; the sign test then gets most weight.
    pub is_apart: bool,
}

/// Minimum number of large differences for which signs can beat ranks: p can be 1 in 500.
const ENOUGH: usize = 10;
/// Weights of ranks and signs if the large differences are apart.
const IF_APART: [f64; 2] = [0.01, 0.99];

impl Paired {
    /// Result without information.
    const NONE: Self =
        Self { p: f64::NAN, ranks: f64::NAN, large: f64::NAN, apart: 0, counts: [0, 0], median: 0, is_apart: false };
}

/// Tests differences, target minus base, one per host. Sorts them by absolute value.
pub fn paired(differences: &mut Vec<i64>) -> Paired {
    if differences.is_empty() {
        return Paired::NONE;
    }
    differences.retain(|&difference| difference != 0);
    if differences.is_empty() {
        return Paired { p: 1.0, ranks: 1.0, ..Paired::NONE };
    }
    differences.sort_unstable();
    let median = median(differences);
    differences.sort_unstable_by_key(|difference| difference.unsigned_abs());
    let sizes: Vec<i64> = differences.iter().map(|difference| difference.saturating_abs()).collect();
    let ranks = signed_rank(differences, &sizes);
    let (threshold, is_apart) = apart(&sizes).unwrap_or((0, false));
    let is_large = |difference: &&i64| difference.saturating_abs() > threshold;
    let above = differences.iter().filter(is_large).filter(|&&difference| difference > 0).count();
    let below = differences.iter().filter(is_large).count() - above;
    let sign = |above: usize, below: usize| match above + below {
        // Too few for a p below 5 %.
        0..6 => f64::NAN,
        all => (2.0 * coin(all, above.min(below))).min(1.0),
    };
    let large = sign(above, below);
    // Depends only on absolute values, so it favours neither growth nor shrinking.
    let is_apart = is_apart && above + below >= ENOUGH;
    let weights = if is_apart { IF_APART } else { [0.5, 0.5] };
    let p = weighted(&[(ranks, weights[0]), (large, weights[1])]);
    Paired { p, ranks, large, apart: threshold, counts: [below, above], median, is_apart }
}

/// Two-sided p of the signed-rank test. Ties share their mean rank; the exact distribution accounts for that.
fn signed_rank(differences: &[i64], sizes: &[i64]) -> f64 {
    let count = sizes.len();
    let mut double_ranks = vec![0usize; count];
    for group in sizes.chunk_by(|a, b| a == b).scan(0, |from, group| {
        *from += group.len();
        Some(*from - group.len()..*from)
    }) {
        let shared = group.start + 1 + group.end;
        double_ranks[group].fill(shared);
    }
    let total: usize = double_ranks.iter().sum();
    let above: usize =
        double_ranks.iter().zip(differences).filter(|(_, difference)| **difference > 0).map(|(rank, _)| rank).sum();
    let lower = above.min(total - above);
    if count <= EXACT {
        let mut ways = vec![0.0f64; lower + 1];
        ways[0] = 1.0;
        for &rank in &double_ranks {
            for sum in (rank..=lower).rev() {
                ways[sum] += ways[sum - rank];
            }
        }
        return (2.0 * ways.iter().sum::<f64>() * (-(count as f64) * std::f64::consts::LN_2).exp()).min(1.0);
    }
    let squares: f64 = double_ranks.iter().map(|&rank| rank as f64 * rank as f64).sum();
    let from_mean = (total as f64 / 2.0 - lower as f64 - 1.0).max(0.0);
    (2.0 * normal::cumulative(-from_mean / (squares / 4.0).sqrt())).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::paired;
    use crate::statistics::simulated::{Random, Values};
    use proptest::prelude::*;

    /// Of the 32 sign choices of five ranks one has a sum of 0; of the 64 of six ranks three have a sum of at most 2.
    #[test]
    fn all_choices_of_signs_are_counted() {
        assert!((paired(&mut vec![1, 2, 3, 4, 5]).ranks - 2.0 / 32.0).abs() < 1e-12);
        assert!((paired(&mut vec![1, -2, 3, 4, 5, 6]).ranks - 6.0 / 64.0).abs() < 1e-12);
    }

    #[test]
    fn a_leak_on_some_hosts_is_seen() {
        let mut random = Random(3);
        let mut differences: Vec<i64> = (0..200).map(|_| (1e4 * random.normal()) as i64).collect();
        differences.iter_mut().take(10).for_each(|value| *value += 1_000_000);
        let found = paired(&mut differences);
        assert_eq!(found.counts, [0, 10]);
        assert!(found.p < 0.005, "{found:?}");
    }

    #[test]
    fn chance_is_rarely_significant() {
        let mut random = Random(12);
        for values in Values::ALL {
            let wrong = (0..2000).filter(|_| {
                let [base, target] = [values.draw(&mut random, 40), values.draw(&mut random, 40)];
                let mut differences = base.iter().zip(&target).map(|(base, target)| target - base).collect();
                paired(&mut differences).p < 0.05
            });
            let wrong = wrong.count();
            assert!(wrong < 130, "{values:?}: {wrong} of 2000");
        }
    }

    proptest! {
        #[test]
        fn signs_change_places(values in prop::collection::vec(-50i64..50, 1..80)) {
            let mut turned: Vec<i64> = values.iter().map(|value| -value).collect();
            let (one, other) = (paired(&mut values.clone()), paired(&mut turned));
            prop_assert!((one.p - other.p).abs() < 1e-12);
            prop_assert_eq!(one.counts, [other.counts[1], other.counts[0]]);
        }
    }
}
