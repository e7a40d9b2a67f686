//! Order statistics of all pairwise differences between target and base values.
//!
//! With both sides sorted the differences form a matrix with ascending rows and columns. Its k-th smallest element is
//! found without building it (selection in X + Y): keep the interval of each row that can still hold it, choose a
//! pivot, count the elements below and at most equal to it in one walk down the staircase between them, and cut the
//! intervals there, until few elements are left to scan.
//!
//! Johnson and Mizoguchi, "Selecting the K-th element in X + Y and X_1 + ... + X_m" (1978), take as pivot the weighted
//! median of the row medians, which drops a quarter of the rest each time: O((n + m) log (n + m)) with the final scan.
//! Monahan (Algorithm 616, 1984) takes random elements, which is faster in practice. Here a sample of the rest gives
//! two pivots close around the wanted rank, as in Floyd and Rivest's SELECT (1975), with the weighted median as
//! fallback whenever that dropped less than a quarter. The result is an element of the matrix, so it does not depend on
//! the pivots.

/// Once this many elements (or n + m, if more) are left, they are scanned.
const FEW: usize = 1024;

/// Sample size.
const SAMPLE: usize = 256;

/// Distance of the pivots from the wanted rank, in sample elements.
const AROUND: usize = 8;

/// The matrix of `target[i] - base[n - 1 - j]`. Differences beyond 64 bits, impossible for sizes, saturate.
#[derive(Clone, Copy)]
pub(super) struct Differences<'a> {
    base: &'a [i64],
    target: &'a [i64],
}

/// Remaining candidates: `from[i] .. to[i]` in each row.
struct Left {
    from: Vec<usize>,
    to: Vec<usize>,
    /// Elements before these intervals, over all rows: all smaller than the wanted one.
    before: usize,
    /// Elements in these intervals.
    count: usize,
    /// Rank of the wanted element in the whole matrix.
    rank: usize,
}

impl Left {
    fn drop_right(&mut self, kept: usize, cuts: &mut Vec<usize>) {
        std::mem::swap(&mut self.to, cuts);
        self.count = kept - self.before;
    }

    fn drop_left(&mut self, dropped: usize, cuts: &mut Vec<usize>) {
        std::mem::swap(&mut self.from, cuts);
        self.count -= dropped - self.before;
        self.before = dropped;
    }
}

/// An element of the matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selected {
    /// Its value.
    pub(super) value: i64,
    /// Number of smaller elements.
    pub(super) below: usize,
    /// Number of equal elements, including itself.
    pub(super) equal: usize,
    /// The next larger element, if seen.
    next: Option<i64>,
}

impl<'a> Differences<'a> {
    /// Creates the matrix of two sides, both sorted and not empty.
    pub(super) fn new(base_sorted: &'a [i64], target_sorted: &'a [i64]) -> Self {
        Self { base: base_sorted, target: target_sorted }
    }

    /// Number of elements.
    pub(super) fn len(self) -> usize {
        self.base.len() * self.target.len()
    }

    fn at(self, row: usize, column: usize) -> i64 {
        self.target[row].saturating_sub(self.base[self.base.len() - 1 - column])
    }

    /// Counts the elements below `pivot` (with `not_above`: at most `pivot`), row by row.
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

    /// The least element above `value`.
    fn next_above(self, value: i64) -> Option<i64> {
        let mut cuts = Vec::with_capacity(self.target.len());
        self.cut(value, true, |_| (0, self.base.len()), &mut cuts);
        cuts.iter().enumerate().filter(|&(_, &cut)| cut < self.base.len()).map(|(row, &cut)| self.at(row, cut)).min()
    }

    /// Median: the middle element, or the mean of the two middle ones.
    pub(super) fn median(self) -> f64 {
        let rank = (self.len() - 1) / 2;
        let low = self.select(rank);
        let high = if self.len() % 2 == 1 || rank + 1 < low.below + low.equal {
            low.value
        } else {
            low.next.or_else(|| self.next_above(low.value)).unwrap_or(low.value)
        };
        (i128::from(low.value) + i128::from(high)) as f64 / 2.0
    }

    /// Selects the element of a rank below [`Self::len`], from 0.
    pub(super) fn select(self, rank: usize) -> Selected {
        let rows = self.target.len();
        let mut left =
            Left { from: vec![0; rows], to: vec![self.base.len(); rows], before: 0, count: self.len(), rank };
        let (mut cuts, mut sample) = (Vec::with_capacity(rows), Vec::with_capacity(SAMPLE + 1));
        let few = FEW.max(rows + self.base.len());
        while left.count > few {
            let before = left.count;
            self.sample(&left, &mut sample);
            let near = (left.rank - left.before) * sample.len() / left.count;
            let mut found =
                near.checked_sub(AROUND).and_then(|place| self.narrow(&mut left, sample[place], true, &mut cuts));
            if let (None, Some(&above)) = (found, sample.get(near + AROUND)) {
                found = self.narrow(&mut left, above, false, &mut cuts);
            }
            if found.is_none() && left.count > before - before / 4 {
                let pivot = self.median_of_medians(&left);
                found = self.narrow(&mut left, pivot, false, &mut cuts);
            }
            if let Some(found) = found {
                return found;
            }
        }
        self.look(&left)
    }

    /// Selects among the few elements left, which include all that equal the wanted one.
    fn look(self, left: &Left) -> Selected {
        let mut values = Vec::with_capacity(left.count);
        for (row, (&from, &to)) in left.from.iter().zip(&left.to).enumerate() {
            values.extend((from..to).map(|column| self.at(row, column)));
        }
        let (smaller, &mut value, larger) = values.select_nth_unstable(left.rank - left.before);
        let below = smaller.iter().filter(|&&other| other < value).count();
        let equal = smaller.len() - below + 1 + larger.iter().filter(|&&other| other == value).count();
        let next = larger.iter().copied().filter(|&other| other > value).min();
        Selected { value, below: left.before + below, equal, next }
    }

    /// Drops the elements beyond the pivot, or finds that the pivot is the wanted element. `low` is a hint that the
    /// pivot is below it, which saves a walk.
    fn narrow(self, left: &mut Left, pivot: i64, low: bool, cuts: &mut Vec<usize>) -> Option<Selected> {
        let walk = |left: &Left, not_above, cuts: &mut Vec<usize>| {
            self.cut(pivot, not_above, |row| (left.from[row], left.to[row]), cuts)
        };
        let mut below = None;
        if !low {
            let cut = walk(left, false, cuts);
            if left.rank < cut {
                left.drop_right(cut, cuts);
                return None;
            }
            below = Some(cut);
        }
        let not_above = walk(left, true, cuts);
        if left.rank >= not_above {
            left.drop_left(not_above, cuts);
            return None;
        }
        let below = below.unwrap_or_else(|| walk(left, false, cuts));
        if left.rank < below {
            left.drop_right(below, cuts);
            return None;
        }
        Some(Selected { value: pivot, below, equal: not_above - below, next: None })
    }

    /// Samples the remaining elements at a fixed stride, sorted.
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

    /// Weighted median of the row medians: a quarter of the rest is at most this, a quarter at least.
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
                let found = differences.select(rank);
                prop_assert_eq!(found.value, all[rank]);
                let below = all.partition_point(|&value| value < all[rank]);
                let equal = all.partition_point(|&value| value <= all[rank]) - below;
                prop_assert_eq!((found.below, found.equal), (below, equal));
            }
            let median = (all[(all.len() - 1) / 2] + all[all.len() / 2]) as f64 / 2.0;
            prop_assert_eq!(differences.median().to_bits(), median.to_bits());
        }
    }

    /// Powers of two against cubes: a sample by rows represents the matrix badly.
    #[test]
    fn steep_sides_are_no_trouble() {
        let base: Vec<i64> =
            (0..400).map(|i| 1i64 << (i % 50)).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
        let base: Vec<i64> = base.iter().flat_map(|&value| [value; 9]).collect();
        let target: Vec<i64> = (0..400).map(|i| i * i * i).collect();
        let mut all: Vec<i64> = base.iter().flat_map(|b| target.iter().map(move |t| t - b)).collect();
        all.sort_unstable();
        for rank in (0..all.len()).step_by(997) {
            assert_eq!(Differences::new(&base, &target).select(rank).value, all[rank]);
        }
    }
}
