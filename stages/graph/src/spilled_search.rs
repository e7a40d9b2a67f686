//! Arrays of a breadth-first search that does not fit in memory. Used by [`super::distances`].
//!
//! Nodes get their distances level by level, all over the heap, so a paged array of distances would be read and written
//! with each level. Instead, distances are pairs of node and distance, partitioned by node and written after the
//! search; the few edges that are not simply followed have a bit each; the rest of the memory holds targets.
//!
//! Resident memory: a bit per edge, [`PairSpill::MOST_BYTES`].

use heaplake_kit::array::Fault;
use heaplake_kit::array_plan::lookup;
use heaplake_kit::spill::PairSpill;
use heaplake_kit::{Array, ArrayPlan, Bitset, ColumnReader, Job, Lookup, ReadAt, Scratch, StageError, WriteAt};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column, edge_flags};

/// Sink of distances.
pub(crate) trait Distances {
    /// Sets the distance of a node; the last one counts.
    fn settle(&mut self, node: NodeId, distance: i32) -> Result<(), StageError>;

    /// The distances of all nodes, if they are a plain array in memory.
    fn all(&mut self) -> Option<&mut [i32]> {
        None
    }
}

impl Distances for &mut [i32] {
    #[inline]
    fn settle(&mut self, node: NodeId, distance: i32) -> Result<(), StageError> {
        self[node.index()] = distance;
        Ok(())
    }

    fn all(&mut self) -> Option<&mut [i32]> {
        Some(self)
    }
}

impl Distances for &mut Array<i32> {
    #[inline]
    fn settle(&mut self, node: NodeId, distance: i32) -> Result<(), StageError> {
        Ok(self.set(node.index(), distance)?)
    }
}

impl Distances for &mut PairSpill {
    #[inline]
    fn settle(&mut self, node: NodeId, distance: i32) -> Result<(), StageError> {
        self.push(node.0, distance.cast_unsigned())
    }
}

/// The flags of edges; most edges are only followed.
pub(crate) struct SpecialFlags {
    /// Edges that are not followed, or are part of a pair.
    special: Bitset,
    flags: Lookup<u8>,
}

impl SpecialFlags {
    /// Opens the flags, with one pass over them.
    pub(crate) fn open(job: &Job<'_>) -> Result<Self, StageError> {
        let mut flags = ColumnReader::open(job.scratch, columns::EDGE_FLAGS)?;
        let mut special = Bitset::new(&job.context.budget, "distances: special edges", flags.remaining() as usize)?;
        let mut edge = 0;
        while flags.remaining() > 0 {
            let some = flags.next_slice(usize::MAX)?;
            for flags in some {
                if flags & (edge_flags::FOLLOWED | edge_flags::PAIRED) != edge_flags::FOLLOWED {
                    special.insert(edge);
                }
                edge += 1;
            }
            job.context.check()?;
        }
        let flags = ArrayPlan::of(job, "distances: flags").streamed().one(lookup(columns::EDGE_FLAGS))?;
        Ok(Self { special, flags })
    }
}

impl ReadAt<u8> for SpecialFlags {
    fn count(&self) -> usize {
        self.flags.count()
    }

    #[inline]
    fn get(&mut self, edge: usize) -> Result<u8, Fault> {
        if self.special.contains(edge) { self.flags.get(edge) } else { Ok(edge_flags::FOLLOWED) }
    }
}

/// The targets of edges in order.
pub(crate) struct Sweep {
    to: ColumnReader<NodeId>,
    next: usize,
}

impl Sweep {
    /// Opens the targets at the first edge.
    pub(crate) fn open(scratch: &Scratch, to: Column<NodeId>) -> Result<Self, StageError> {
        Ok(Self { to: ColumnReader::open(scratch, to)?, next: 0 })
    }

    /// Returns the target of an edge; edges must ascend.
    #[inline]
    pub(crate) fn target(&mut self, edge: usize) -> Result<NodeId, StageError> {
        self.to.skip((edge - std::mem::replace(&mut self.next, edge + 1)) as u64)?;
        self.to.next()
    }
}
