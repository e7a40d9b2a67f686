//! Mann-Whitney test (1947), equal to Wilcoxon's rank sum test: is one side larger?

use super::normal;
use super::null::{Null, splits};

/// Maximum additions for the exact distribution with ties: a fraction of a millisecond; reached by 21 runs a side.
const TIED_COST: usize = 400_000;

/// Two-sided p of the Mann-Whitney test; NaN if a side has no runs.
///
/// Exact if cheap: the fraction of all splits into sides of these sizes with a rank sum at least as far from its mean.
/// With ties, values share their mean rank and the splits of these values are counted (exact permutation distribution).
/// Otherwise the normal approximation with corrections for ties and continuity. Swapping the sides gives the same bits.
pub fn rank_sum(base_sorted: &[i64], target_sorted: &[i64]) -> f64 {
    let (n, m) = (base_sorted.len(), target_sorted.len());
    if n == 0 || m == 0 {
        return f64::NAN;
    }
    let ranks = Ranks::of(base_sorted, target_sorted);
    let pairs = n * m;
    let from_mean = ranks.double_u.abs_diff(pairs);
    if from_mean == 0 {
        return 1.0;
    }
    let double_tail = pairs - from_mean;
    let p = if ranks.ties == 0.0 {
        2.0 * Null::of(n, m).tail(double_tail / 2)
    } else if tied_cost(n, m) <= TIED_COST {
        exact_with_ties(base_sorted, target_sorted, double_tail)
    } else {
        let deviation = (pairs as f64 * (n + m + 1) as f64 / 12.0 * tie_factor(n, m, ranks.ties)).sqrt();
        2.0 * normal::cumulative(-((from_mean as f64 - 1.0) / 2.0).max(0.0) / deviation)
    };
    p.min(1.0)
}

/// Rank statistics of both sides.
struct Ranks {
    /// Twice U of the target: 2 per pair in which the target is larger, 1 per tie.
    double_u: usize,
    /// Sum of t^3 - t over groups of t tied values.
    ties: f64,
}

impl Ranks {
    fn of(base: &[i64], target: &[i64]) -> Self {
        let mut ranks = Self { double_u: 0, ties: 0.0 };
        let mut base_before = 0;
        groups(base, target, 0, |of_base, of_target| {
            ranks.double_u += of_target * (2 * base_before + of_base);
            ranks.ties += cube_less_itself(of_base + of_target);
            base_before += of_base;
        });
        ranks
    }
}

fn cube_less_itself(count: usize) -> f64 {
    let count = count as f64;
    count * count * count - count
}

/// Factor by which ties reduce the variance of U, with `by` added to the base.
pub(super) fn tie_factor_of(base: &[i64], target: &[i64], by: i64) -> f64 {
    let mut ties = 0.0;
    groups(base, target, by, |of_base, of_target| ties += cube_less_itself(of_base + of_target));
    tie_factor(base.len(), target.len(), ties)
}

fn tie_factor(n: usize, m: usize, ties: f64) -> f64 {
    1.0 - ties / cube_less_itself(n + m)
}

/// Calls `group` for each distinct value, ascending, with its count in the base, shifted `by`, and in the target.
fn groups(base: &[i64], target: &[i64], by: i64, mut group: impl FnMut(usize, usize)) {
    let (mut i, mut j) = (0, 0);
    while i < base.len() || j < target.len() {
        let of_base = base.get(i).map(|value| value.saturating_add(by));
        let of_target = target.get(j).copied();
        let value = match (of_base, of_target) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).unwrap_or_default(),
        };
        let from = (i, j);
        while i < base.len() && base[i].saturating_add(by) == value {
            i += 1;
        }
        while j < target.len() && target[j] == value {
            j += 1;
        }
        group(i - from.0, j - from.1);
    }
}

/// Additions of [`splits_in_tail`], for all splits.
fn tied_cost(n: usize, m: usize) -> usize {
    let few = n.min(m);
    (n + m).saturating_mul(few).saturating_mul(few).saturating_mul(n.max(m))
}

/// Fraction of splits with twice U at most `double_tail`, or at most that below its maximum.
fn exact_with_ties(base: &[i64], target: &[i64], double_tail: usize) -> f64 {
    let mut tied = Vec::with_capacity(base.len() + target.len());
    groups(base, target, 0, |of_base, of_target| tied.push(of_base + of_target));
    let few = base.len().min(target.len());
    let low = splits_in_tail(&tied, few, double_tail);
    // With equal sizes each split has a mirror image; otherwise count high ranks as low ones.
    let high = if base.len() == target.len() {
        low
    } else {
        tied.reverse();
        splits_in_tail(&tied, few, double_tail)
    };
    (low + high) / splits(base.len(), target.len())
}

/// Number of choices of `few` values, from ascending groups of `tied` sizes, with twice U at most `double_tail`.
///
/// Dynamic programming over the groups: `counts[j * width + u]` is the number of choices of j values so far with twice
/// U = u, a doubled rank sum of u + j (j + 1). Taking values never lowers U, so nothing above the tail is kept.
fn splits_in_tail(tied: &[usize], few: usize, double_tail: usize) -> f64 {
    let width = double_tail + 1;
    let mut counts = vec![0.0f64; (few + 1) * width];
    counts[0] = 1.0;
    let (mut before, all) = (0, tied.iter().sum::<usize>());
    for &group in tied {
        let after = all - before - group;
        for j in (few.saturating_sub(after).max(1)..=few.min(before + group)).rev() {
            let (fewer, these) = counts.split_at_mut(j * width);
            let mut ways = 1.0;
            for taken in 1..=group.min(j) {
                ways *= (group + 1 - taken) as f64 / taken as f64;
                // Twice their ranks is `taken * (2 * before + group + 1)`; minus the growth of j (j + 1).
                let Some(untied) = (before + taken).checked_sub(j) else { continue };
                let step = taken * (2 * untied + group - taken);
                if step < width {
                    let from = &fewer[(j - taken) * width..];
                    these[step..width].iter_mut().zip(from).for_each(|(count, from)| *count += ways * from);
                }
            }
        }
        before += group;
    }
    counts[few * width..].iter().sum()
}

#[cfg(test)]
mod tests {
    use super::rank_sum;
    use proptest::prelude::*;

    fn p(base: &[i64], target: &[i64]) -> f64 {
        let (mut base, mut target) = (base.to_vec(), target.to_vec());
        base.sort_unstable();
        target.sort_unstable();
        rank_sum(&base, &target)
    }

    /// Twice U, pair by pair.
    fn double_u(base: &[i64], target: &[i64]) -> i64 {
        base.iter().flat_map(|b| target.iter().map(move |t| 1 + (t.cmp(b) as i64))).sum()
    }

    /// p by enumerating all splits.
    fn enumerated(base: &[i64], target: &[i64]) -> f64 {
        let all: Vec<i64> = base.iter().chain(target).copied().collect();
        let mean = (base.len() * target.len()) as i64;
        let found = (double_u(base, target) - mean).abs();
        let (mut splits, mut as_far) = (0u32, 0u32);
        for mask in 0u32..1 << all.len() {
            if mask.count_ones() as usize == base.len() {
                let side =
                    |bit: u32| all.iter().enumerate().filter(move |(i, _)| mask >> i & 1 == bit).map(|(_, v)| *v);
                let (base, target): (Vec<i64>, Vec<i64>) = (side(1).collect(), side(0).collect());
                splits += 1;
                as_far += u32::from((double_u(&base, &target) - mean).abs() >= found);
            }
        }
        f64::from(as_far) / f64::from(splits)
    }

    proptest! {
        #[test]
        fn exact_p_is_that_of_all_splits(base in prop::collection::vec(0i64..8, 1..7), target in prop::collection::vec(0i64..8, 1..7)) {
            let (found, expected) = (p(&base, &target), enumerated(&base, &target));
            prop_assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }

        #[test]
        fn exact_p_without_ties_is_that_of_all_splits(values in Just((0..12i64).collect::<Vec<_>>()).prop_shuffle(), at in 1usize..11) {
            let (base, target) = values.split_at(at);
            let (found, expected) = (p(base, target), enumerated(base, target));
            prop_assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }

        #[test]
        fn the_order_of_the_sides_does_not_matter(base in prop::collection::vec(-50i64..50, 1..60), target in prop::collection::vec(-50i64..60, 1..60)) {
            prop_assert_eq!(p(&base, &target).to_bits(), p(&target, &base).to_bits());
            let mirrored = |side: &[i64]| side.iter().map(|value| -value).collect::<Vec<_>>();
            prop_assert!((p(&base, &target) - p(&mirrored(&base), &mirrored(&target))).abs() < 1e-12);
        }
    }

    /// `scipy.stats.mannwhitneyu(base, target, method=...).pvalue` of SciPy 1.17 with "exact", `PermutationMethod`
    /// (which enumerates all splits of so few values), and "asymptotic".
    #[test]
    fn p_is_that_of_scipy() {
        let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
        near(p(&[12, 15, 19, 22, 30], &[17, 24, 31, 33, 40, 41]), 0.051_948_051_948_051_95);
        near(p(&[1, 2, 2, 3, 5], &[2, 4, 4, 6, 6]), 0.142_857_142_857_142_85);
        let (base, target): (Vec<i64>, Vec<i64>) = ((0..60).step_by(2).collect(), (9..99).step_by(3).collect());
        near(p(&base, &target), 0.000_728_514_952_594_188_1);
        near(p(&[1, 1, 2, 3, 3, 3, 4, 9].repeat(5), &[2, 3, 3, 4, 5, 5, 6, 9].repeat(5)), 0.000_376_723_479_869_726_3);
    }

    #[test]
    fn sides_that_say_nothing_have_no_p() {
        assert!(rank_sum(&[], &[1]).is_nan());
        assert!((rank_sum(&[5; 30], &[5; 40]) - 1.0).abs() < f64::EPSILON);
        assert!((rank_sum(&[1], &[2]) - 1.0).abs() < f64::EPSILON);
    }
}
