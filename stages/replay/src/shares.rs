//! What each cell stands for, so that all cells of a type together stand for what was allocated of it, and nothing more.
//!
//! A sample alone says of each cell how many objects it stands for. Where the trace has the count and the bytes of each
//! type, that is corrected by them (ratio estimation: Cochran, Sampling Techniques, 1977, 6.1): a cell has what was seen
//! of it, and the rest of its type is divided among the cells in proportion to what the sample says of each beyond what
//! was seen. Each cell gets the difference of two running sums, rounded down, so that nothing is lost or made: sums of
//! cells, and with them call trees, are exact for each type that has a sample.

use crate::calls::{Amount, Cell};
use crate::ordered::Space;
use heaplake_kit::array_plan::filled;
use heaplake_kit::{Array, ArrayPlan, BudgetVec, ReadAt, StageError, WriteAt};

/// Name of these arrays in the memory budget.
const WHO: &str = "what cells stand for";

/// Objects and bytes that each cell stands for.
pub struct Shares {
    shares: Array<[u64; 2]>,
}

/// A whole that is divided.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    /// How much there is to divide.
    left: u64,
    /// Sum of the weights, and of those that count where there are none.
    weights: [u128; 2],
    /// Sum of the weights so far.
    running: u128,
    /// How much was given.
    given: u64,
}

impl Rest {
    /// The part of an item, which has been weighed before.
    fn take(&mut self, weights: [u64; 2]) -> u64 {
        let at = usize::from(self.weights[0] == 0);
        if self.weights[at] == 0 {
            return 0;
        }
        self.running += u128::from(weights[at]);
        let until = product(self.left, self.running, self.weights[at]);
        let part = until - self.given;
        self.given = until;
        part
    }
}

/// `whole` times `part` over `of`, rounded down, where `part` is at most `of`, which is not 0. Of weights that sum to
/// more than 2^64, the last bits do not count, for all parts alike, so that a larger part never gives less.
fn product(whole: u64, part: u128, of: u128) -> u64 {
    let shift = (u128::BITS - of.leading_zeros()).saturating_sub(u64::BITS);
    (u128::from(whole) * (part >> shift) / (of >> shift)) as u64
}

impl Shares {
    /// Divides what was allocated of each type, `totals`: objects and bytes, nothing where the trace does not say it.
    /// `estimate` says what the sample says of a cell.
    ///
    /// # Errors
    /// [`StageError::Budget`], [`StageError::Io`], [`StageError::Cancelled`].
    pub fn new(
        cells: &[Cell],
        totals: impl Iterator<Item = Option<(u64, u64)>>,
        estimate: impl Fn(&Cell) -> Amount,
        space: Space<'_>,
    ) -> Result<Self, StageError> {
        let mut rests: BudgetVec<Option<[Rest; 2]>> = space.budget().growing(WHO);
        for total in totals {
            let rest = |left| Rest { left, ..Rest::default() };
            rests.push(total.map(|(count, bytes)| [rest(count), rest(bytes)]))?;
        }
        for (at, cell) in cells.iter().enumerate() {
            space.check(at)?;
            let Some(Some(rests)) = rests.get_mut(cell.type_id as usize) else { continue };
            for ((rest, seen), weights) in rests.iter_mut().zip(seen(cell)).zip(weights(cell, &estimate(cell))) {
                rest.left = rest.left.saturating_sub(seen);
                rest.weights[0] += u128::from(weights[0]);
                rest.weights[1] += u128::from(weights[1]);
            }
        }
        let mut shares = ArrayPlan::new(space.budget(), space.scratch, WHO).one(filled(cells.len(), [0_u64; 2]))?;
        for (at, cell) in cells.iter().enumerate() {
            space.check(at)?;
            let estimate = estimate(cell);
            let share = match rests.get_mut(cell.type_id as usize) {
                Some(Some([count, bytes])) => {
                    let ([seen_count, seen_bytes], weights) = (seen(cell), weights(cell, &estimate));
                    [
                        seen_count.saturating_add(count.take(weights[0])),
                        seen_bytes.saturating_add(bytes.take(weights[1])),
                    ]
                }
                _ => [estimate.count, estimate.bytes],
            };
            shares.set(at, share)?;
        }
        Ok(Self { shares })
    }

    /// What a cell, which has that number, stands for.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn of(&mut self, number: usize, cell: &Cell) -> Result<Amount, StageError> {
        let [count, bytes] = self.shares.get(number)?;
        Ok(Amount { samples: cell.samples, sampled_bytes: cell.bytes, count, bytes })
    }
}

/// Objects and bytes of a cell that were seen.
fn seen(cell: &Cell) -> [u64; 2] {
    [cell.count, cell.bytes]
}

/// By what objects and bytes of a cell weigh: beyond what was seen; and where no cell of the type has anything beyond,
/// by samples.
fn weights(cell: &Cell, estimate: &Amount) -> [[u64; 2]; 2] {
    let beyond = |all: u64, seen: u64| all.saturating_sub(seen);
    [[beyond(estimate.count, cell.count), cell.samples], [beyond(estimate.bytes, cell.bytes), cell.samples]]
}

#[cfg(test)]
mod tests {
    use super::{Rest, product};

    /// Parts sum to the whole, and each is within one of its share.
    #[test]
    fn a_whole_is_divided_without_rest() {
        for left in [0, 1, 7, 1000, u64::MAX] {
            for weights in [vec![1], vec![0, 3, 0, 4], vec![5; 13], vec![u64::MAX, 1, u64::MAX], vec![0, 0]] {
                let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
                // Where nothing weighs, all weigh the same.
                let mut rest = Rest { left, weights: [sum, weights.len() as u128], ..Rest::default() };
                let parts: Vec<u64> = weights.iter().map(|&weight| rest.take([weight, 1])).collect();
                assert_eq!(parts.iter().sum::<u64>(), left, "{left} by {weights:?}");
                for (&part, &weight) in parts.iter().zip(&weights).filter(|_| sum > 0 && left < 1 << 32) {
                    let share = left as f64 * weight as f64 / sum as f64;
                    assert!((part as f64 - share).abs() <= 1.0, "{part} of {left} by {weights:?}");
                }
            }
        }
        assert_eq!(Rest::default().take([0, 0]), 0);
    }

    #[test]
    fn products_do_not_overflow() {
        assert_eq!(product(u64::MAX, 1, 3), u64::MAX / 3);
        assert_eq!(product(u64::MAX, u128::MAX, u128::MAX), u64::MAX);
        assert_eq!(product(100, 1 << 100, 1 << 101), 50);
        assert_eq!(product(7, 0, 5), 0);
    }
}
