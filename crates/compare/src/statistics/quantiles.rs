//! Median and quantiles of whole numbers.

/// Median: the middle value, or the mean of the two middle ones, rounded half away from zero; 0 without values.
pub fn median(sorted: &[i64]) -> i64 {
    quantile(sorted, 50)
}

/// Quantile of type 7 (Hyndman and Fan 1996), the default of R and NumPy: the value at position `(n - 1) * percent /
/// 100`, interpolated linearly, rounded half away from zero, in exact arithmetic. 0 without values.
pub fn quantile(sorted: &[i64], percent: u8) -> i64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0 };
    let place = last * usize::from(percent.min(100));
    let (below, hundredths) = (place / 100, (place % 100) as i128);
    let (low, high) = (i128::from(sorted[below]), i128::from(sorted[(below + 1).min(last)]));
    rounded(low * 100 + (high - low) * hundredths)
}

/// Rounds hundredths to a whole number, half away from zero.
fn rounded(hundredths: i128) -> i64 {
    // Between two 64-bit values, so it fits.
    ((hundredths.abs() + 50) / 100 * hundredths.signum()) as i64
}

#[cfg(test)]
mod tests {
    use super::{median, quantile};
    use proptest::prelude::*;

    #[test]
    fn halves_are_rounded_away_from_zero() {
        assert_eq!(median(&[]), 0);
        assert_eq!(median(&[7]), 7);
        assert_eq!(median(&[1, 2]), 2);
        assert_eq!(median(&[-2, -1]), -2);
        assert_eq!(median(&[1, 5, 100]), 5);
        assert_eq!(median(&[i64::MIN, i64::MAX]), -1);
        assert_eq!(median(&[i64::MAX - 1, i64::MAX]), i64::MAX);
    }

    /// `numpy.quantile(values, part)` of NumPy 2.4: 1.9, 9.1, 14.5 and 45.5.
    #[test]
    fn quantiles_are_those_of_numpy() {
        let values: Vec<i64> = (1..=10).collect();
        assert_eq!(quantile(&values, 10), 2);
        assert_eq!(quantile(&values, 90), 9);
        assert_eq!(quantile(&[1, 10, 19, 100], 50), 15);
        assert_eq!(quantile(&[0, 1, 8, 33, 41, 50], 90), 46);
        assert_eq!(quantile(&values, 0), 1);
        assert_eq!(quantile(&values, 100), 10);
        // 842648.5, which is no exact binary fraction of the two.
        assert_eq!(quantile(&[205_535, 763_195, 844_270], 99), 842_649);
    }

    proptest! {
        #[test]
        fn quantiles_lie_in_order_between_the_ends(mut values in prop::collection::vec(any::<i64>(), 1..50), a in 0..=100_u8, b in 0..=100_u8) {
            values.sort_unstable();
            let (a, b) = if a <= b { (a, b) } else { (b, a) };
            prop_assert!(quantile(&values, a) <= quantile(&values, b));
            prop_assert!(values[0] <= quantile(&values, a));
            prop_assert!(quantile(&values, b) <= values[values.len() - 1]);
        }
    }
}
