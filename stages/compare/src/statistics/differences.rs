//! Order statistics of all differences of a value of the target and a value of the base.
//!
//! With both sides sorted the differences are a matrix whose rows and columns ascend. Its k-th smallest element is found
//! without building it (selection in X + Y): keep an interval of each row that can still hold it, take a pivot, count what
//! is below and not above the pivot in one walk down the staircase between them, and cut the intervals there, until few
//! enough are left to look at.
//!
//! Johnson and Mizoguchi, "Selecting the K-th element in X + Y and X_1 + ... + X_m" (1978), take as pivot the weighted
//! median of the medians of the rows, which drops a quarter of what is left each time: O((n + m) log (n + m)) with the
//! final look. Monahan (Algorithm 616, 1984) takes random elements, which is faster in practice. Here a sample of what is
//! left gives two pivots close around the wanted rank, as in Floyd and Rivest's SELECT (1975), and the weighted median
//! stands in whenever that dropped less than a quarter. The answer is an element of the matrix, so it does not depend on
//! the pivots.

/// Elements left that are looked at one by one, if n + m is less.
const FEW: usize = 1024;

/// Elements of the sample.
const SAMPLE: usize = 256;

/// How far the pivots lie around the wanted rank, in elements of the sample.
const AROUND: usize = 8;

/// The matrix of `target[i] - base[n - 1 - j]`. Differences beyond 64 bits, which sizes cannot have, saturate.
#[derive(Clone, Copy)]
pub(super) struct Differences<'a> {
    base: &'a [i64],
    target: &'a [i64],
}

/// What can still be the wanted element: for each row `from[i] .. to[i]`.
struct Left {
    from: Vec<usize>,
    to: Vec<usize>,
    /// Elements in these intervals.
    count: usize,
    /// The rank of the wanted one among them.
    rank: usize,
}

impl<'a> Differences<'a> {
    /// Of two sides, both sorted and not empty.
    pub(super) fn new(base_sorted: &'a [i64], target_sorted: &'a [i64]) -> Self {
        Self { base: base_sorted, target: target_sorted }
    }

    /// How many there are.
    pub(super) fn len(self) -> usize {
        self.base.len() * self.target.len()
    }

    fn at(self, row: usize, column: usize) -> i64 {
        self.target[row].saturating_sub(self.base[self.base.len() - 1 - column])
    }

    /// How many are below `pivot` (or, with `not_above`, not above it), row by row.
    fn cut(
        self,
        pivot: i64,
        not_above: bool,
        bounds: impl Fn(usize) -> (usize, usize),
        cuts: &mut Vec<usize>,
    ) -> usize {
        cuts.clear();
        let (mut column, mut sum) = (self.base.len(), 0);
        for row in 0..self.target.len() {
            let (from, to) = bounds(row);
            column = column.min(to);
            while column > from {
                let value = self.at(row, column - 1);
                if value < pivot || (not_above && value == pivot) {
                    break;
                }
                column -= 1;
            }
            cuts.push(column);
            sum += column;
        }
        sum
    }

    /// How many are below `value`, and how many are equal to it.
    pub(super) fn around(self, value: i64) -> (usize, usize) {
        let mut cuts = Vec::with_capacity(self.target.len());
        let all = |_| (0, self.base.len());
        let below = self.cut(value, false, all, &mut cuts);
        (below, self.cut(value, true, all, &mut cuts) - below)
    }

    /// The least above `value`.
    fn next_above(self, value: i64) -> Option<i64> {
        let mut cuts = Vec::with_capacity(self.target.len());
        self.cut(value, true, |_| (0, self.base.len()), &mut cuts);
        cuts.iter().enumerate().filter(|&(_, &cut)| cut < self.base.len()).map(|(row, &cut)| self.at(row, cut)).min()
    }

    /// The median: the middle one, or the mean of the two in the middle.
    pub(super) fn median(self) -> f64 {
        let rank = (self.len() - 1) / 2;
        let low = self.select(rank);
        if self.len() % 2 == 1 {
            return low as f64;
        }
        let (below, equal) = self.around(low);
        let high = if rank + 1 < below + equal { low } else { self.next_above(low).unwrap_or(low) };
        (i128::from(low) + i128::from(high)) as f64 / 2.0
    }

    /// The element with `rank` smaller ones, or as small ones, before it; `rank` is below [`Self::len`].
    pub(super) fn select(self, rank: usize) -> i64 {
        let rows = self.target.len();
        let mut left = Left { from: vec![0; rows], to: vec![self.base.len(); rows], count: self.len(), rank };
        let (mut cuts, mut sample) = (Vec::with_capacity(rows), Vec::with_capacity(SAMPLE + 1));
        let few = FEW.max(rows + self.base.len());
        while left.count > few {
            let before = left.count;
            self.sample(&left, &mut sample);
            let near = left.rank * sample.len() / left.count;
            let below = near.checked_sub(AROUND).map(|place| sample[place]);
            let above = sample.get(near + AROUND).copied();
            for pivot in below.into_iter().chain(above) {
                if self.narrow(&mut left, pivot, &mut cuts) {
                    return pivot;
                }
            }
            if left.count > before - before / 4 {
                let pivot = self.median_of_medians(&left);
                if self.narrow(&mut left, pivot, &mut cuts) {
                    return pivot;
                }
            }
        }
        let mut values: Vec<i64> =
            (0..rows).flat_map(|row| (left.from[row]..left.to[row]).map(move |column| self.at(row, column))).collect();
        *values.select_nth_unstable(left.rank).1
    }

    /// Drops what lies on the far side of the pivot; says whether the pivot is the wanted element.
    fn narrow(self, left: &mut Left, pivot: i64, cuts: &mut Vec<usize>) -> bool {
        let first: usize = left.from.iter().sum();
        let wanted = first + left.rank;
        let below = self.cut(pivot, false, |row| (left.from[row], left.to[row]), cuts);
        if wanted < below {
            std::mem::swap(&mut left.to, cuts);
            left.count = below - first;
            return false;
        }
        let not_above = self.cut(pivot, true, |row| (left.from[row], left.to[row]), cuts);
        if wanted < not_above {
            return true;
        }
        std::mem::swap(&mut left.from, cuts);
        left.count -= not_above - first;
        left.rank = wanted - not_above;
        false
    }

    /// Every so-manieth element of what is left, sorted.
    fn sample(self, left: &Left, sample: &mut Vec<i64>) {
        sample.clear();
        let stride = left.count / SAMPLE;
        let mut next = stride / 2;
        for row in 0..left.from.len() {
            let width = left.to[row] - left.from[row];
            while next < width {
                sample.push(self.at(row, left.from[row] + next));
                next += stride;
            }
            next -= width;
        }
        sample.sort_unstable();
    }

    /// The weighted median of the medians of the rows: a quarter of what is left is not above it, a quarter not below.
    fn median_of_medians(self, left: &Left) -> i64 {
        let mut medians: Vec<(i64, usize)> = (0..left.from.len())
            .filter(|&row| left.from[row] < left.to[row])
            .map(|row| (self.at(row, (left.from[row] + left.to[row]) / 2), left.to[row] - left.from[row]))
            .collect();
        medians.sort_unstable();
        let mut weight = 0;
        let middle = medians.iter().find(|(_, width)| {
            weight += width;
            2 * weight >= left.count
        });
        middle.map_or(0, |(median, _)| *median)
    }
}

#[cfg(test)]
mod tests {
    use super::Differences;
    use proptest::prelude::*;

    fn side() -> impl Strategy<Value = Vec<i64>> {
        let values = prop_oneof![
            Just(0i64..5).boxed().prop_flat_map(|range| prop::collection::vec(range, 1..120)),
            prop::collection::vec(-1000i64..1000, 1..120),
            prop::collection::vec((0u32..40, 1i64..9).prop_map(|(shift, small)| small << shift), 1..120),
        ];
        values.prop_map(|mut values| {
            values.sort_unstable();
            values
        })
    }

    proptest! {
        #[test]
        fn order_statistics_are_those_of_all_differences(base in side(), target in side(), part in 0.0..1.0f64) {
            let mut all: Vec<i64> = base.iter().flat_map(|b| target.iter().map(move |t| t - b)).collect();
            all.sort_unstable();
            let differences = Differences::new(&base, &target);
            for rank in [0, (part * all.len() as f64) as usize, all.len() - 1] {
                prop_assert_eq!(differences.select(rank), all[rank]);
                let below = all.partition_point(|&value| value < all[rank]);
                let equal = all.partition_point(|&value| value <= all[rank]) - below;
                prop_assert_eq!(differences.around(all[rank]), (below, equal));
            }
            let median = (all[(all.len() - 1) / 2] + all[all.len() / 2]) as f64 / 2.0;
            prop_assert_eq!(differences.median().to_bits(), median.to_bits());
        }
    }

    /// Powers of two against powers of two: samples by row say little of the matrix.
    #[test]
    fn steep_sides_are_no_trouble() {
        let base: Vec<i64> =
            (0..400).map(|i| 1i64 << (i % 50)).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
        let base: Vec<i64> = base.iter().flat_map(|&value| [value; 9]).collect();
        let target: Vec<i64> = (0..400).map(|i| i * i * i).collect();
        let mut all: Vec<i64> = base.iter().flat_map(|b| target.iter().map(move |t| t - b)).collect();
        all.sort_unstable();
        for rank in (0..all.len()).step_by(997) {
            assert_eq!(Differences::new(&base, &target).select(rank), all[rank]);
        }
    }
}
