//! The hash-cons table: maps a signature to the first node that has it.

use crate::StageError;
use crate::array::{Fault, WriteAt};

/// A hash table with open addressing over an array that may be paged. An entry holds the upper bits of the hash, the
/// node, and a flag for nodes in a cycle.
pub struct HashConsTable<T> {
    table: T,
    mask: usize,
}

/// Bits of an entry that do not belong to the hash.
const OWN: u64 = (1 << 33) - 1;

impl<T: WriteAt<u64>> HashConsTable<T> {
    /// Returns the capacity for `names` signatures, a power of two. The caller allocates the array, filled with zeros.
    pub fn capacity(names: u64) -> usize {
        (names + names / 2 + 2).next_power_of_two() as usize
    }

    /// Creates a table over an array of [`Self::capacity`] zeros.
    pub fn new(table: T) -> Self {
        let mask = table.count() - 1;
        Self { table, mask }
    }

    /// Returns the first node with the same signature, as compared by `same`, or inserts `node`. Nodes inside and
    /// outside cycles never match.
    #[inline]
    pub fn find(
        &mut self,
        hash: u64,
        node: u32,
        cyclic: bool,
        mut same: impl FnMut(u32) -> Result<bool, StageError>,
    ) -> Result<u32, StageError> {
        let entry = (hash & !OWN) | u64::from(node + 1) << 1 | u64::from(cyclic);
        let mut place = hash as usize & self.mask;
        loop {
            let known = self.entry(place)?;
            if known == 0 {
                self.table.set(place, entry)?;
                return Ok(node);
            }
            if (known ^ entry) & (!OWN | 1) == 0 {
                let known = ((known & OWN) >> 1) as u32 - 1;
                if same(known)? {
                    return Ok(known);
                }
            }
            place = (place + 1) & self.mask;
        }
    }

    #[inline]
    fn entry(&mut self, place: usize) -> Result<u64, Fault> {
        self.table.get(place)
    }
}

/// Mixes a number into a hash. Fast, not strong: equal hashes must be verified.
#[inline]
pub fn mix(hash: u64, number: u64) -> u64 {
    let product = u128::from(hash ^ 0x9e37_79b9_7f4a_7c15) * u128::from(number ^ 0xd1b5_4a32_d192_ed03);
    (product as u64).rotate_left(23) ^ (product >> 64) as u64 ^ number.wrapping_mul(0xff51_afd7_ed55_8ccd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Budget;

    #[test]
    fn hashes_propose_and_comparison_decides() {
        let budget = Budget::new(1 << 20);
        let capacity = HashConsTable::<&mut [u64]>::capacity(200);
        let mut slots = budget.zeroed("names", capacity).unwrap();
        let mut names = HashConsTable::new(&mut slots[..]);
        // All hashes are equal; only the values differ.
        for node in 0..200u32 {
            let found = names.find(7, node, false, |other| Ok(other % 100 == node % 100)).unwrap();
            assert_eq!(found, node % 100);
        }
        assert_eq!(names.find(7, 5, true, |_| Ok(true)).unwrap(), 5, "cycles are apart");
    }
}
