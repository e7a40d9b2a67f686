//! Median and quantiles of whole numbers.

/// Bits behind the point of the place of a quantile between two values.
const FRACTION_BITS: u32 = 32;

/// The median: the middle value, or the mean of the two in the middle, rounded half away from zero. 0 where there are no
/// values.
#[must_use]
pub fn median(sorted: &[i64]) -> i64 {
    quantile(sorted, 0.5)
}

/// The quantile that has `part` (0 to 1) of the values below it: type 7 of Hyndman and Fan (1996), which is the default of R
/// and NumPy: the value at place `(n - 1) * part`, linear between its neighbours, rounded half away from zero. 0 where there
/// are no values.
#[must_use]
pub fn quantile(sorted: &[i64], part: f64) -> i64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0 };
    let place = last as f64 * part.clamp(0.0, 1.0);
    let below = (place.floor() as usize).min(last);
    // Rounded to 32 bits, so that 0.1 and its like, which binary numbers only come near to, do not spoil a half.
    let fraction = ((place - below as f64) * (1u64 << FRACTION_BITS) as f64).round() as i128;
    let (low, high) = (i128::from(sorted[below]), i128::from(sorted[(below + 1).min(last)]));
    rounded((low << FRACTION_BITS) + (high - low) * fraction)
}

/// A number with [`FRACTION_BITS`] behind the point, rounded half away from zero.
fn rounded(number: i128) -> i64 {
    let half = 1i128 << (FRACTION_BITS - 1);
    let magnitude = (number.abs() + half) >> FRACTION_BITS;
    // Between two values of 64 bits, so one itself.
    (magnitude * number.signum()) as i64
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
        assert_eq!(quantile(&values, 0.1), 2);
        assert_eq!(quantile(&values, 0.9), 9);
        assert_eq!(quantile(&[1, 10, 19, 100], 0.5), 15);
        assert_eq!(quantile(&[0, 1, 8, 33, 41, 50], 0.9), 46);
        assert_eq!(quantile(&values, 0.0), 1);
        assert_eq!(quantile(&values, 1.0), 10);
    }

    proptest! {
        #[test]
        fn quantiles_lie_in_order_between_the_ends(mut values in prop::collection::vec(any::<i64>(), 1..50), a in 0.0..=1.0, b in 0.0..=1.0) {
            values.sort_unstable();
            let (a, b) = if a <= b { (a, b) } else { (b, a) };
            prop_assert!(quantile(&values, a) <= quantile(&values, b));
            prop_assert!(values[0] <= quantile(&values, a));
            prop_assert!(quantile(&values, b) <= values[values.len() - 1]);
        }
    }
}
