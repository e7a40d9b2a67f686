//! Tests whether some runs of one side are far above all others.
//!
//! A leak on a few hosts moves neither a median nor many ranks: it fills the upper tail. So the runs above a threshold
//! are counted on both sides and compared by Fisher's exact test. Thresholds depend on the pooled values only, not on
//! the side of each run, so the test is exact for each. Four are tried:
//!
//! * the split of the values into two groups with the least variance within them (Otsu 1979), if the upper group is the
//!   smaller one: hosts that leak much, however many;
//! * the same split of the logarithms, for values over several decades;
//! * the 90 % and the 80 % quantile, for tails that are not apart from the rest.
//!
//! Beside them Rosenbaum's test (1954): the number of runs of one side above all of the other. If the split separates
//! two groups that are far apart, it alone is tried.

use super::combined::weighted;
use super::counting::ln_choose;
use super::fisher::{Counts, fisher};

/// Groups are apart if the gap exceeds this many standard deviations of the lower one.
const APART: f64 = 2.0;

/// Weights of the thresholds, in order, and of Rosenbaum's test. For heavy tails the split by bytes isolates only the
/// largest values, and the 80 % quantile detects most.
const WEIGHTS: [f64; 5] = [0.1, 0.2, 0.2, 0.4, 0.1];

/// Minimum size of the upper group.
const FEWEST: usize = 5;

/// Results of the tail tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// Combined two-sided p over all thresholds; NaN if none is usable.
    pub p: f64,
    /// The threshold: the lowest of those with nearly the least p.
    pub above: i64,
    /// Least p of a single threshold.
    pub least: f64,
    /// Number of base and target runs above the threshold.
    pub counts: [usize; 2],
    /// Whether the pooled values form two groups, far apart: the tail is then more sensitive than ranks.
    pub is_apart: bool,
}

impl Tail {
    /// Result without information.
    pub const NONE: Self = Self { p: f64::NAN, above: i64::MAX, least: f64::NAN, counts: [0, 0], is_apart: false };
}

/// Compares the upper tails of two sides, both sorted.
///
/// Costs O(n + m).
pub fn tail(base: &[i64], target: &[i64]) -> Tail {
    let (n, m) = (base.len(), target.len());
    if n == 0 || m == 0 {
        return Tail::NONE;
    }
    let all = merged(base, target);
    let above = |side: &[i64], value: i64| side.len() - side.partition_point(|&other| other <= value);
    let at = |value: i64, is_apart: bool| {
        let counts = [above(base, value), above(target, value)];
        let p = fisher(Counts { base: n, base_with: counts[0], target: m, target_with: counts[1] });
        Tail { p, above: value, least: p, counts, is_apart }
    };
    // Zeros are left to the test of presence.
    let some = &all[all.partition_point(|&value| value <= 0)..];
    let plain: Vec<f64> = all.iter().map(|&value| value as f64).collect();
    let logarithms: Vec<f64> = some.iter().map(|&value| (value as f64).ln_1p()).collect();
    let (by_bytes, by_logarithm) = (split(&all, &plain), split(some, &logarithms));
    let groups = by_bytes.filter(|&value| value > 0 && is_apart(&all, value, &plain));
    let groups = groups.or_else(|| by_logarithm.filter(|&value| is_apart(some, value, &logarithms)));
    if let Some(groups) = groups.map(|value| at(value, true)).filter(|groups| !groups.p.is_nan()) {
        return groups;
    }
    let mut thresholds = [by_bytes, by_logarithm, quantile(&all, 10), quantile(&all, 5)];
    for at in 1..thresholds.len() {
        if thresholds[..at].contains(&thresholds[at]) {
            thresholds[at] = None;
        }
    }
    let mut tried = [Tail::NONE; 5];
    for (tried, threshold) in tried.iter_mut().zip(thresholds) {
        *tried = threshold.map_or(Tail::NONE, |value| at(value, false));
    }
    tried[4] = outside(base, target);
    let least = tried.iter().map(|tail| tail.p).filter(|p| !p.is_nan()).fold(f64::INFINITY, f64::min);
    // Among thresholds with nearly equal p, the lowest one includes every run of the tail.
    let is_telling = |tail: &&Tail| tail.p <= least.sqrt();
    let lowest = tried.iter().filter(is_telling).min_by_key(|tail| tail.above);
    let weighed: Vec<(f64, f64)> = tried.iter().map(|tail| tail.p).zip(WEIGHTS).collect();
    lowest.map_or(Tail::NONE, |lowest| Tail { p: weighted(&weighed), least, ..*lowest })
}

/// Rosenbaum's test: values of one side above all of the other.
fn outside(base: &[i64], target: &[i64]) -> Tail {
    let (n, m) = (base.len(), target.len());
    let (highest_base, highest_target) = (base[n - 1], target[m - 1]);
    let above = |side: &[i64], value: i64| side.len() - side.partition_point(|&other| other <= value);
    // Probability that the `of` highest values are all from one side.
    let part = |of: usize, side: usize| (ln_choose(side, of) - ln_choose(n + m, of)).exp();
    let (of_target, of_base) = (above(target, highest_base), above(base, highest_target));
    let p = if of_target > 0 { part(of_target, m) } else { part(of_base, n) };
    Tail {
        p: (2.0 * p).min(1.0),
        above: highest_base.min(highest_target),
        least: p,
        counts: [of_base, of_target],
        is_apart: false,
    }
}

/// Whether the gap above `value` exceeds twice the standard deviation of the values up to it. `of` has the number to
/// use for each value.
fn is_apart(sorted: &[i64], value: i64, of: &[f64]) -> bool {
    let (lower, upper) = of.split_at(sorted.partition_point(|&other| other <= value));
    let (Some(&last), Some(&first)) = (lower.last(), upper.first()) else { return false };
    if upper.len() < FEWEST {
        return false;
    }
    let count = lower.len() as f64;
    let mean = lower.iter().sum::<f64>() / count;
    let deviation = (lower.iter().map(|&value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    first - last > APART * deviation
}

fn merged(base: &[i64], target: &[i64]) -> Vec<i64> {
    let mut all = Vec::with_capacity(base.len() + target.len());
    let (mut i, mut j) = (0, 0);
    while i < base.len() || j < target.len() {
        let of_base = j == target.len() || (i < base.len() && base[i] <= target[j]);
        all.push(if of_base { base[i] } else { target[j] });
        if of_base { i += 1 } else { j += 1 }
    }
    all
}

/// Largest value of the lower group of the best split with at most half of the values above; `of` has the number to use
/// for each value.
fn split(sorted: &[i64], of: &[f64]) -> Option<i64> {
    let count = sorted.len();
    let sum: f64 = of.iter().sum();
    let mut upper = 0.0;
    let mut best = (0.0, None);
    for at in (count.div_ceil(2)..count).rev() {
        upper += of[at];
        if sorted[at - 1] == sorted[at] {
            continue;
        }
        let (above, below) = ((count - at) as f64, at as f64);
        let between = upper / above - (sum - upper) / below;
        let variance = above * below * between * between;
        if variance > best.0 {
            best = (variance, Some(sorted[at - 1]));
        }
    }
    best.1
}

/// Largest value below the top `1 / parts` of the values.
fn quantile(sorted: &[i64], parts: usize) -> Option<i64> {
    let at = sorted.len() - sorted.len().div_ceil(parts);
    let value = *sorted.get(at)?;
    let below = sorted.partition_point(|&other| other < value);
    below.checked_sub(1).map(|below| sorted[below])
}

/// Threshold of the best split of sorted values, and whether the groups are far apart.
pub(super) fn apart(sorted: &[i64]) -> Option<(i64, bool)> {
    let plain: Vec<f64> = sorted.iter().map(|&value| value as f64).collect();
    split(sorted, &plain).map(|value| (value, is_apart(sorted, value, &plain)))
}

#[cfg(test)]
mod tests {
    use super::{apart, tail};
    use crate::statistics::simulated::{Random, Values};

    #[test]
    fn groups_are_split_where_they_are_apart() {
        let plain = |sorted: &[i64]| apart(sorted).map(|(value, _)| value);
        assert_eq!(plain(&[1, 2, 3, 4, 5, 6, 100, 110]), Some(6));
        assert_eq!(plain(&[7; 9]), None);
        assert_eq!(plain(&[0, 0, 0, 0, 9]), Some(0));
        assert_eq!(plain(&[1, 100, 101, 102]), Some(100), "the upper group is the smaller one");
    }

    #[test]
    fn a_leak_on_some_hosts_is_seen() {
        let mut random = Random(7);
        let mut base: Vec<i64> = (0..200).map(|_| (25_000.0 * (0.5 * random.normal()).exp()) as i64).collect();
        let mut target: Vec<i64> = (0..200).map(|_| (25_000.0 * (0.5 * random.normal()).exp()) as i64).collect();
        target.iter_mut().take(29).for_each(|value| *value += (2e6 + 3e6 * random.uniform()) as i64);
        base.sort_unstable();
        target.sort_unstable();
        let found = tail(&base, &target);
        assert_eq!(found.counts, [0, 29]);
        assert!(found.p < 1e-7, "{found:?}");
        let found = tail(&target, &base);
        assert_eq!(found.counts, [29, 0]);
        assert!(found.p < 1e-7, "{found:?}");
    }

    #[test]
    fn sides_of_one_distribution_are_rarely_apart() {
        let mut random = Random(11);
        for values in Values::ALL {
            let mut wrong = 0;
            for _ in 0..2000 {
                let mut sides = [values.draw(&mut random, 30), values.draw(&mut random, 40)];
                sides.iter_mut().for_each(|side| side.sort_unstable());
                wrong += u32::from(tail(&sides[0], &sides[1]).p < 0.05);
            }
            assert!(wrong < 130, "{values:?}: {wrong} of 2000");
        }
    }
}
