//! By how much the sum of a fleet differs, with an interval.

/// Student's t at 97.5 %, for 1, 2, ... degrees of freedom.
const T: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

fn t(freedom: usize) -> f64 {
    const NORMAL: f64 = 1.959_964;
    // Of more degrees of freedom, the first terms of the expansion of Cornish and Fisher.
    let series = || NORMAL + (NORMAL.powi(3) + NORMAL) / (4.0 * freedom as f64);
    T.get(freedom.saturating_sub(1)).copied().unwrap_or_else(series)
}

/// Mean, and variance of the mean; the latter is NaN of fewer than two values.
fn mean(values: &[i64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().map(|&value| value as f64).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum();
    (mean, squares / (count * (count - 1.0)))
}

/// The 95 % interval of the difference of the means, target less base (Welch 1947, with the degrees of freedom of the
/// smaller side, which is never too narrow). NaN where a side that varies has one value.
#[must_use]
pub fn of_means(base: &[i64], target: &[i64]) -> [f64; 2] {
    let (of_base, of_target) = (mean(base), mean(target));
    let half = t(base.len().min(target.len()).max(2) - 1) * (of_base.1 + of_target.1).sqrt();
    [of_target.0 - of_base.0 - half, of_target.0 - of_base.0 + half]
}

/// The same of differences of pairs.
#[must_use]
pub fn of_pairs(differences: &[i64]) -> [f64; 2] {
    let (mean, variance) = mean(differences);
    let half = t(differences.len().max(2) - 1) * variance.sqrt();
    [mean - half, mean + half]
}

#[cfg(test)]
mod tests {
    use super::{of_means, of_pairs};
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
    }
}
