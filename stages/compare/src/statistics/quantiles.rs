//! Median and quantiles of whole numbers.

/// The median: the middle value, or the mean of the two in the middle, rounded half away from zero. 0 where there are no
/// values.
#[must_use]
pub fn median(sorted: &[i64]) -> i64 {
    quantile(sorted, 50)
}

/// The quantile that has `percent` of the values below it: type 7 of Hyndman and Fan (1996), which is the default of R
/// and NumPy: the value at place `(n - 1) * percent / 100`, linear between its neighbours, rounded half away from zero; no
/// step of it is inexact. 0 where there are no values.
#[must_use]
pub fn quantile(sorted: &[i64], percent: u8) -> i64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0 };
    let place = last * usize::from(percent.min(100));
    let (below, hundredths) = (place / 100, (place % 100) as i128);
    let (low, high) = (i128::from(sorted[below]), i128::from(sorted[(below + 1).min(last)]));
    rounded(low * 100 + (high - low) * hundredths)
}

/// A number in hundredths as a whole one, rounded half away from zero.
fn rounded(hundredths: i128) -> i64 {
    // Between two values of 64 bits, so one itself.
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
        // 842648.5, which is no binary fraction of the two.
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
