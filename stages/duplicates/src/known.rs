//! The equality graph, with the certificates computed so far.

use crate::marks::Marks;
use crate::slots::Slots;
use heaplake_kit::array::Fault;
use heaplake_kit::{ReadAt, StageError, WriteAt};
use heaplake_schemas::ids::NodeId;

/// The inputs of comparisons.
pub(crate) struct Known<P, S, V> {
    /// Certificate of each node; for a node of the current cycle, its place in the cycle.
    pub certificates: P,
    pub slots: S,
    pub values: V,
    pub marks: Marks,
}

impl<P: WriteAt<u32>, S: Slots, V: ReadAt<NodeId>> Known<P, S, V> {
    /// Returns the value by which a target is compared: its identity if it is shared, else its certificate.
    #[inline]
    pub(crate) fn code(&mut self, target: u32) -> Result<u64, Fault> {
        if self.marks.shared.contains(target as usize) {
            Ok(u64::from(target) << 1)
        } else {
            Ok(u64::from(self.certificates.get(target as usize)?) << 1 | 1)
        }
    }

    /// Whether two nodes outside cycles have equal values and targets.
    pub(crate) fn same(&mut self, left: u32, right: u32) -> Result<bool, StageError> {
        if self.values.get(left as usize)? != self.values.get(right as usize)? {
            return Ok(false);
        }
        let (a, b) = (self.slots.of(left)?, self.slots.of(right)?);
        if a.len() != b.len() {
            return Ok(false);
        }
        for (a, b) in a.zip(b) {
            let (a, b) = (self.slots.to(a)?, self.slots.to(b)?);
            if a != b && self.code(a)? != self.code(b)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
