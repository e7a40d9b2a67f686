//! Confidence intervals of the difference of means, and of a median.

use super::counting::coin;

/// Student's t at 97.5 %, for 1, 2, ... degrees of freedom.
const T: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

fn t(freedom: usize) -> f64 {
    const NORMAL: f64 = 1.959_964;
    // For more degrees of freedom: first terms of the Cornish-Fisher expansion.
    let series = || NORMAL + (NORMAL.powi(3) + NORMAL) / (4.0 * freedom as f64);
    T.get(freedom.saturating_sub(1)).copied().unwrap_or_else(series)
}

/// Mean, and variance of the mean (NaN for fewer than two values).
fn mean(values: &[i64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().map(|&value| value as f64).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum();
    (mean, squares / (count * (count - 1.0)))
}

/// 95 % interval of the difference of the means, target minus base (Welch 1947, with Satterthwaite's degrees of
/// freedom, rounded down). A side without the subject adds no variance. NaN if a side has one value.
pub fn of_means(base: &[i64], target: &[i64]) -> [f64; 2] {
    let (of_base, of_target) = (mean(base), mean(target));
    let variance = of_base.1 + of_target.1;
    let part = |(_, variance): (f64, f64), side: &[i64]| variance * variance / (side.len().max(2) - 1) as f64;
    let freedom = variance * variance / (part(of_base, base) + part(of_target, target));
    // Zero variance: t does not matter.
    let half = t(if freedom >= 1.0 { freedom as usize } else { 1 }) * variance.sqrt();
    [of_target.0 - of_base.0 - half, of_target.0 - of_base.0 + half]
}

/// 95 % interval of the mean of paired differences.
pub fn of_pairs(differences: &[i64]) -> [f64; 2] {
    let (mean, variance) = mean(differences);
    let half = t(differences.len().max(2) - 1) * variance.sqrt();
    [mean - half, mean + half]
}

/// Interval of the median of sorted values (Hettmansperger and Sheather 1986): interpolates between the order
/// statistics with coverage just above and just below `confidence`. `None` at 95 % for fewer than five values: the
/// range of four covers 87.5 %, farther from 95 % than the whole line. Ends are whole, rounded outwards.
pub fn of_median(sorted: &[i64], confidence: f64) -> Option<[i64; 2]> {
    let count = sorted.len();
    // Coverage of the range from order statistic `from` to its mirror.
    let coverage = |from: usize| 1.0 - 2.0 * coin(count, from);
    if count < 2 || confidence - coverage(0) > 1.0 - confidence {
        return None;
    }
    let (mut from, mut inner) = (0, 0.0);
    while 2 * (from + 1) < count && coverage(from + 1) >= confidence {
        from += 1;
    }
    let (more, less) = (coverage(from), if 2 * (from + 1) < count { coverage(from + 1) } else { 0.0 });
    if more > confidence {
        let (part, below) = ((more - confidence) / (more - less), (from + 1) as f64);
        let above = count as f64 - below;
        inner = above * part / (below + (above - below) * part);
    }
    let [low, next] = [sorted[from], sorted[(from + 1).min(count - 1)]];
    let [high, before] = [sorted[count - 1 - from], sorted[(count - 1 - from).saturating_sub(1)]];
    let within = |a: i64, b: i64| (inner * (i128::from(b) - i128::from(a)) as f64).floor() as i64;
    Some([low.saturating_add(within(low, next)), high.saturating_sub(within(before, high))])
}

#[cfg(test)]
mod tests {
    use super::{of_means, of_median, of_pairs};
    use crate::statistics::simulated::Random;

    #[test]
    fn intervals_cover_what_they_say() {
        let mut random = Random(5);
        for (n, m) in [(5, 5), (10, 20), (60, 60)] {
            let held = (0..2000).filter(|_| {
                let mut side = |count: usize, by: f64| -> Vec<i64> {
                    (0..count).map(|_| (1e6 + by + 1e4 * random.normal()) as i64).collect()
                };
                let [low, high] = of_means(&side(n, 0.0), &side(m, 500.0));
                low <= 500.0 && 500.0 <= high
            });
            let held = held.count();
            assert!((1860..=1990).contains(&held), "{n} {m}: {held} of 2000");
        }
        assert!(of_means(&[1], &[2, 3])[0].is_nan());
        assert_eq!(of_pairs(&[5, 5, 5]), [5.0, 5.0]);
        assert_eq!(of_means(&[0, 0, 0], &[7, 7]), [7.0, 7.0]);
    }

    /// A side of few runs without the subject adds no uncertainty.
    #[test]
    fn intervals_of_what_appeared_cover_what_they_say() {
        let mut random = Random(6);
        for (n, m) in [(2, 60), (3, 20), (60, 10)] {
            let held = (0..4000).filter(|_| {
                let target: Vec<i64> = (0..m).map(|_| (1e6 + 1e4 * random.normal()) as i64).collect();
                let [low, high] = of_means(&vec![0; n], &target);
                low <= 1e6 && 1e6 <= high
            });
            let held = held.count();
            assert!((3720..=3880).contains(&held), "{n} {m}: {held} of 4000");
        }
    }

    #[test]
    fn medians_have_intervals_of_order_statistics() {
        assert_eq!(of_median(&[1, 2, 3, 4], 0.95), None);
        assert_eq!(of_median(&[1, 2, 3, 4, 5], 0.95), Some([1, 5]));
        // 1 - 2 / 64 covers 96.9 %, one further in 78.1 %: the ends are slightly inside.
        assert_eq!(of_median(&[0, 1000, 2000, 3000, 4000, 5000], 0.95), Some([357, 4643]));
        assert_eq!(of_median(&[7; 30], 0.95), Some([7, 7]));
    }
}
