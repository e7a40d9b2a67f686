//! The equality graph, with the certificates made so far.

use crate::marks::Marks;
use crate::slots::Slots;
use heaplake_kit::array::Fault;
use heaplake_kit::{ReadAt, StageError, WriteAt};
use heaplake_schemas::ids::NodeId;

/// What is known.
pub struct Known<P, S, V> {
    /// Certificate of each node; of those of the cycle at hand, its place there.
    pub certificates: P,
    pub slots: S,
    pub values: V,
    pub marks: Marks,
}

impl<P: WriteAt<u32>, S: Slots, V: ReadAt<NodeId>> Known<P, S, V> {
    /// How a target counts: a shared one by its identity, any other by its certificate.
    #[inline]
    pub fn code(&mut self, target: u32) -> Result<u64, Fault> {
        if self.marks.shared.contains(target as usize) {
            Ok(u64::from(target) << 1)
        } else {
            Ok(u64::from(self.certificates.get(target as usize)?) << 1 | 1)
        }
    }

    /// Whether two nodes outside cycles have equal values and targets.
    pub fn same(&mut self, left: u32, right: u32) -> Result<bool, StageError> {
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
