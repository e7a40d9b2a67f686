//! A measure over several runs: runs and hosts, sum, mean, median, 90 % quantile, maximum.

use crate::statistics::{median, quantile};
use bytemuck::{Pod, Zeroable};

/// A measure over the runs of a side, step or group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Amounts {
    /// Number of runs and of hosts with the row.
    pub with: [u32; 2],
    /// Number of runs that report the measure; the numbers below are 0 if there is none.
    pub reported: u64,
    /// Sum.
    pub sum: i64,
    /// Mean, rounded.
    pub mean: i64,
    /// Median.
    pub median: i64,
    /// 90 % quantile.
    pub p90: i64,
    /// Maximum.
    pub max: i64,
}

impl Amounts {
    /// Summary of sorted values.
    pub fn of(sorted: &[i64], with: [u32; 2]) -> Self {
        let Some(&max) = sorted.last() else { return Self { with, ..Self::default() } };
        let sum: i128 = sorted.iter().map(|&value| i128::from(value)).sum();
        let mean = (sum as f64 / sorted.len() as f64).round() as i64;
        Self {
            with,
            reported: sorted.len() as u64,
            sum: sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
            mean: if sorted.len() == 1 { max } else { mean },
            median: median(sorted),
            p90: quantile(sorted, 90),
            max,
        }
    }

    /// Whether any run reports the measure.
    pub fn is_reported(&self) -> bool {
        self.reported > 0
    }

    /// Returns `number`, or `None` if no run reports the measure.
    pub fn if_reported(&self, number: i64) -> Option<i64> {
        self.is_reported().then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::Amounts;

    #[test]
    fn values_are_summed_up() {
        assert!(!Amounts::of(&[], [0, 0]).is_reported());
        let expected = Amounts { with: [2, 1], reported: 3, sum: 13, mean: 4, median: 2, p90: 8, max: 10 };
        assert_eq!(Amounts::of(&[1, 2, 10], [2, 1]), expected);
        let large = Amounts::of(&[i64::MAX, i64::MAX], [2, 2]);
        assert_eq!((large.sum, large.mean, large.median), (i64::MAX, i64::MAX, i64::MAX));
        assert_eq!(Amounts::of(&[(1 << 60) + 1], [1, 1]).mean, (1 << 60) + 1, "one value is exact");
    }
}
