//! Names for signatures: a table from hashes to the first node with a signature.

use heaplake_kit::StageError;
use heaplake_kit::Store;
use heaplake_kit::array::Fault;

/// Open addressing over an array that may be paged. An entry is the upper half of the hash, the node, and whether it
/// stands for a cycle.
pub struct Names<T> {
    table: T,
    mask: usize,
}

/// Bits of an entry that are not the hash's.
const OWN: u64 = (1 << 33) - 1;

impl<T: Store<u64>> Names<T> {
    /// Elements of a table for so many names, a power of two; the array of them is zeros.
    pub fn capacity(names: u64) -> usize {
        (names + names / 2 + 2).next_power_of_two() as usize
    }

    pub fn new(table: T) -> Self {
        let mask = table.count() - 1;
        Self { table, mask }
    }

    /// The node that has the name already, if `same` says so of it; otherwise `node` has it from now on.
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
