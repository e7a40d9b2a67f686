//! A measure over several runs: sum, mean, median, 90 % quantile, maximum.

use crate::cells::Cell;
use crate::statistics::{median, quantile};
use bytemuck::{Pod, Zeroable};

/// A measure over the runs of a side, step or group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Amounts {
    /// Number of runs that report the measure; the other numbers are 0 if there is none.
    pub told: u64,
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
    pub fn of(sorted: &[i64]) -> Self {
        let Some(&max) = sorted.last() else { return Self::default() };
        let sum: i128 = sorted.iter().map(|&value| i128::from(value)).sum();
        let mean = (sum as f64 / sorted.len() as f64).round() as i64;
        Self {
            told: sorted.len() as u64,
            sum: sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
            mean: if sorted.len() == 1 { max } else { mean },
            median: median(sorted),
            p90: quantile(sorted, 90),
            max,
        }
    }

    /// Whether any run reports the measure.
    pub fn is_told(&self) -> bool {
        self.told > 0
    }

    /// Returns `number`, or `None` if no run reports the measure.
    pub fn told(&self, number: i64) -> Option<i64> {
        self.is_told().then_some(number)
    }

    /// Cells of its columns: sum, mean, median, 90 % quantile, maximum.
    pub fn cells(&self) -> [Cell; 5] {
        [self.sum, self.mean, self.median, self.p90, self.max].map(|number| Cell::Number(self.told(number)))
    }
}

#[cfg(test)]
mod tests {
    use super::Amounts;

    #[test]
    fn values_are_summed_up() {
        assert!(!Amounts::of(&[]).is_told());
        assert_eq!(Amounts::of(&[1, 2, 10]), Amounts { told: 3, sum: 13, mean: 4, median: 2, p90: 8, max: 10 });
        let large = Amounts::of(&[i64::MAX, i64::MAX]);
        assert_eq!((large.sum, large.mean, large.median), (i64::MAX, i64::MAX, i64::MAX));
        assert_eq!(Amounts::of(&[(1 << 60) + 1]).mean, (1 << 60) + 1, "one value is exact");
    }
}
