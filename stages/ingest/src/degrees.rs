//! In-degrees of the nodes.

use heaplake_kit::array::Fault;
use heaplake_kit::{Budget, ColumnWriter, Reservation, Scratch, StageError, WriteAt};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::Column;
use rustc_hash::FxHashMap;

/// In-degree counters of one byte each, since nearly all counts fit and the accesses are random; a hash table counts
/// the overflows of each counter.
pub(crate) struct InDegrees<D> {
    pub low: D,
    rounds: FxHashMap<u32, u32>,
    counted: usize,
    reservation: Reservation,
}

/// Bytes per slot of the hash table, including the smaller table that it grows out of and its sorted copy.
const BYTES_PER_ROUND: u64 = 22;

impl<D: WriteAt<u8>> InDegrees<D> {
    /// Starts with zeros.
    pub(crate) fn new(low: D, budget: &Budget) -> Result<Self, StageError> {
        let reservation = budget.reserve("in-degrees", 0)?;
        Ok(Self { low, rounds: FxHashMap::default(), counted: 0, reservation })
    }

    /// Counts an edge to a node.
    #[inline]
    pub(crate) fn add(&mut self, node: NodeId) -> Result<(), Fault> {
        let round = self.low.change(node.index(), |count| {
            *count = count.wrapping_add(1);
            *count == 0
        })?;
        if round { self.note(node) } else { Ok(()) }
    }

    #[cold]
    fn note(&mut self, node: NodeId) -> Result<(), Fault> {
        *self.rounds.entry(node.0).or_insert(0) += 1;
        if self.rounds.capacity() > self.counted {
            let more = (self.rounds.capacity() - self.counted) as u64 * BYTES_PER_ROUND;
            self.reservation.grow(more).map_err(Box::new)?;
            self.counted = self.rounds.capacity();
        }
        Ok(())
    }

    /// Writes the counts, saturated at 2^32 - 1.
    pub(crate) fn write(mut self, scratch: &Scratch, column: Column<u32>) -> Result<(), StageError> {
        let mut writer = ColumnWriter::create(scratch, column)?;
        let mut rounds: Vec<(u32, u32)> = self.rounds.drain().collect();
        rounds.sort_unstable();
        let mut rounds = rounds.into_iter().peekable();
        for node in 0..self.low.count() {
            let low = u32::from(self.low.get(node)?);
            let rounds = rounds.next_if(|&(noted, _)| noted as usize == node);
            writer.push(rounds.map_or(low, |(_, rounds)| rounds.saturating_mul(256).saturating_add(low)))?;
        }
        writer.finish().map(drop)
    }
}
