//! The edges of a holder that lead to what is asked for.

use heaplake_kit::{Lookup, ReadAt, StageError};
use heaplake_schemas::ids::NodeId;
use std::ops::Range;

/// Bits of the filter, a power of two.
const BITS: usize = 1 << 16;

/// Edges that are compared at a time, where they are compared with one node.
const TOGETHER: usize = 32;

/// From so many edges on a filter pays.
const MANY: usize = 128;

/// Finds edges by target. Holders may have millions of edges, of which a few are asked for.
pub(super) struct Asked {
    /// Bits of what is asked for, by the last bits of its number; empty in between.
    filter: Vec<u64>,
}

impl Default for Asked {
    fn default() -> Self {
        Self { filter: vec![0; BITS / 64] }
    }
}

impl Asked {
    /// Calls `found` with each edge of a range that leads to one of `held`, which ascend, and its target.
    ///
    /// # Errors
    /// Those of reading, and those of `found`.
    pub fn each(
        &mut self,
        held: &[u32],
        range: Range<usize>,
        to: &mut Lookup<NodeId>,
        mut found: impl FnMut(usize, u32) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        match (to, held) {
            (Lookup::Mapped(all), &[only]) => {
                let first = range.start;
                for (nth, together) in all[range].chunks(TOGETHER).enumerate() {
                    // Without a branch for each edge.
                    if together.iter().fold(false, |any, to| any | (to.0 == only)) {
                        let first = first + nth * TOGETHER;
                        let theirs = (first..).zip(together).filter(|(_, to)| to.0 == only);
                        theirs.map(|(edge, _)| edge).try_for_each(|edge| found(edge, only))?;
                    }
                }
                Ok(())
            }
            (Lookup::Mapped(all), _) if range.len() >= MANY => {
                let bit = |node: u32| (node as usize % BITS / 64, 1u64 << (node % 64));
                held.iter().map(|&node| bit(node)).for_each(|(word, bit)| self.filter[word] |= bit);
                let passes = |node: u32| self.filter[bit(node).0] & bit(node).1 != 0;
                // Often edges ascend as what is asked for does.
                let mut next = 0;
                let mut passed = range.clone().zip(&all[range]).filter(|(_, to)| passes(to.0));
                let result = passed.try_for_each(|(edge, to)| {
                    if held.get(next) != Some(&to.0) {
                        let Ok(at) = held.binary_search(&to.0) else { return Ok(()) };
                        next = at;
                    }
                    next += 1;
                    found(edge, to.0)
                });
                held.iter().map(|&node| bit(node)).for_each(|(word, _)| self.filter[word] = 0);
                result
            }
            (to, _) => {
                for edge in range {
                    let to = to.get(edge)?.0;
                    if held.binary_search(&to).is_ok() {
                        found(edge, to)?;
                    }
                }
                Ok(())
            }
        }
    }
}
