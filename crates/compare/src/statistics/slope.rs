//! Estimates the growth of a series per step.

use super::median;
use super::normal;
use super::null;

/// With more pairs of values than this, each step is reduced to its median.
const MOST_PAIRS: usize = 1 << 17;

/// Maximum number of values for the exact distribution of inversions.
const EXACT: usize = 20;

/// Growth of a series per step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Theil-Sen estimate: the median slope over all pairs of values from different steps.
    pub slope: f64,
    /// Lower end of the interval; minus infinity if there are too few values.
    pub low: f64,
    /// Upper end; infinity if there are too few values.
    pub high: f64,
}

/// Theil-Sen slope (Sen 1968) of the values of each step, with the interval of all slopes that Kendall's test does not
/// reject. `None` if fewer than two steps have values.
///
/// The ends are two of the sorted slopes: the pair with coverage nearest to `confidence`, as for
/// [`shift()`](super::shift()); three values have no interval at 95 %. Series with very many values are reduced to the
/// medians of their steps.
pub fn slope(steps: &[Vec<i64>], confidence: f64) -> Option<Slope> {
    let sizes: Vec<usize> = steps.iter().map(Vec::len).filter(|&size| size > 0).collect();
    let values = sizes.iter().sum::<usize>();
    if values.saturating_mul(values) / 2 > MOST_PAIRS && sizes.iter().any(|&size| size > 1) {
        return slope(&medians(steps), confidence);
    }
    let mut slopes = of_pairs(steps);
    let last = slopes.len().checked_sub(1)?;
    slopes.sort_unstable_by(f64::total_cmp);
    let mean = slopes.len().div_ceil(2);
    let exact = exact(&sizes);
    let deviation = deviation(&sizes);
    let tail = |inversions: usize| match &exact {
        Some(cumulative) => cumulative[inversions.min(cumulative.len() - 1)],
        None => normal::cumulative((inversions as f64 + 0.5 - slopes.len() as f64 / 2.0) / deviation),
    };
    let (low, high) = match null::refused(tail, mean, confidence) {
        Some(rank) if rank <= last - rank.min(last) => (slopes[rank], slopes[last - rank]),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    Some(Slope { slope: f64::midpoint(slopes[last / 2], slopes[slopes.len() / 2]), low, high })
}

/// Reduces each step to its median.
fn medians(steps: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let median = |step: &Vec<i64>| {
        let mut step = step.clone();
        step.sort_unstable();
        if step.is_empty() { step } else { vec![median(&step)] }
    };
    steps.iter().map(median).collect()
}

fn of_pairs(steps: &[Vec<i64>]) -> Vec<f64> {
    let mut slopes = Vec::new();
    for (at, earlier) in steps.iter().enumerate() {
        for (apart, later) in steps[at..].iter().enumerate().skip(1) {
            let slope = |a: i64, b: i64| (i128::from(b) - i128::from(a)) as f64 / apart as f64;
            slopes.extend(earlier.iter().flat_map(|&a| later.iter().map(move |&b| slope(a, b))));
        }
    }
    slopes
}

/// Standard deviation of the number of inversions among pairs of different steps (Kendall 1970, section 4.9).
fn deviation(sizes: &[usize]) -> f64 {
    let of = |count: usize| {
        let count = count as f64;
        count * (count - 1.0) * (2.0 * count + 5.0)
    };
    let ties: f64 = sizes.iter().map(|&size| of(size)).sum();
    ((of(sizes.iter().sum()) - ties) / 18.0).sqrt() / 2.0
}

/// Cumulative distribution of inversions in a random order, up to half of all: coefficients of the Gaussian
/// multinomial, built step by step from Gaussian binomials.
fn exact(sizes: &[usize]) -> Option<Vec<f64>> {
    let values = sizes.iter().sum::<usize>();
    if values > EXACT {
        return None;
    }
    let pairs = (values * values - sizes.iter().map(|size| size * size).sum::<usize>()) / 2;
    let mut counts = vec![0i128; pairs / 2 + 1];
    counts[0] = 1;
    let (mut before, mut all) = (0, 1.0);
    for &size in sizes {
        for i in 1..=size {
            for at in (before + i..counts.len()).rev() {
                counts[at] -= counts[at - before - i];
            }
            for at in i..counts.len() {
                counts[at] += counts[at - i];
            }
            all *= (before + i) as f64 / i as f64;
        }
        before += size;
    }
    let mut sum = 0;
    let cumulative = counts.iter().map(|count| {
        sum += count;
        sum as f64 / all
    });
    Some(cumulative.collect())
}

#[cfg(test)]
mod tests {
    use super::{Slope, slope};
    use crate::statistics::simulated::Random;
    use proptest::prelude::*;

    fn of(values: &[i64]) -> Slope {
        slope(&values.iter().map(|&value| vec![value]).collect::<Vec<_>>(), 0.95).unwrap()
    }

    #[test]
    fn lines_have_their_slope() {
        assert_eq!(of(&[10, 20, 30, 40, 50]), Slope { slope: 10.0, low: 10.0, high: 10.0 });
        assert_eq!(of(&[5; 9]), Slope { slope: 0.0, low: 0.0, high: 0.0 });
        assert_eq!(of(&[10, 20, 30]), Slope { slope: 10.0, low: f64::NEG_INFINITY, high: f64::INFINITY });
        assert_eq!(slope(&[vec![4, 6], vec![], vec![10]], 0.95).unwrap().slope, 2.5);
        assert_eq!(slope(&[vec![], vec![10, 11]], 0.95), None);
    }

    /// For four values in random order, the interval from the least to the largest slope covers all but 2 of 24 orders.
    #[test]
    fn the_interval_is_the_nearest_one() {
        assert_eq!(of(&[0, 3, 4, 9]), Slope { slope: 3.0, low: 1.0, high: 5.0 });
    }

    /// Fraction of 2,000 draws in which the interval contains the true slope.
    fn coverage(runs: &[usize], random: &mut Random) -> f64 {
        let mut held = 0;
        for _ in 0..2000 {
            let step = |(at, &runs): (usize, &usize)| {
                (0..runs).map(|_| 1000 * at as i64 + (1e5 * random.normal()) as i64).collect::<Vec<_>>()
            };
            let steps: Vec<Vec<i64>> = runs.iter().enumerate().map(step).collect();
            let found = slope(&steps, 0.95).unwrap();
            held += u32::from(found.low <= 1000.0 && 1000.0 <= found.high);
        }
        f64::from(held) / 2000.0
    }

    #[test]
    fn intervals_cover_what_they_say() {
        let mut random = Random(3);
        for runs in [&[1; 6][..], &[1; 9], &[1; 24], &[1; 30], &[3; 4], &[5; 3], &[2, 7, 1, 4], &[10; 6]] {
            let covered = coverage(runs, &mut random);
            assert!((0.93..=0.97).contains(&covered), "{runs:?}: {covered}");
        }
    }

    proptest! {
        #[test]
        fn the_slope_turns_with_the_series(values in prop::collection::vec(-1000i64..1000, 2..30)) {
            let found = of(&values);
            let backwards: Vec<i64> = values.iter().rev().copied().collect();
            prop_assert_eq!(of(&backwards), Slope { slope: 0.0 - found.slope, low: 0.0 - found.high, high: 0.0 - found.low });
            let steeper: Vec<i64> = values.iter().enumerate().map(|(at, value)| value + 64 * at as i64).collect();
            prop_assert!((of(&steeper).slope - found.slope - 64.0).abs() < 1e-9);
            prop_assert!(found.low <= found.slope && found.slope <= found.high);
        }
    }
}
