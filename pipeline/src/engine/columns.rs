//! Memory grant of columns that stay resident.
//!
//! Steps come first: columns get the memory that the two largest steps leave, or half of the memory that the largest
//! one leaves, whichever is more. Columns beyond that go to files. When a step needs more than it declares, it gets all
//! memory and all columns go to files.

use super::admission;
use super::graph::Graph;
use heaplake_kit::threads::locked;
use heaplake_kit::{Budget, Reservation, Residents, Scratch, StageError};
use std::sync::Mutex;

/// With fewer threads none is idle for long, and pages are cheaper where they are written.
const FEWEST_THREADS: usize = 4;

/// Memory grant of the columns of one run.
pub struct Columns {
    /// Folder of the columns, some of which may be resident.
    scratch: Scratch,
    /// Whether columns have a grant before the heap size is known.
    from_the_start: bool,
    share: Mutex<Share>,
}

/// Resident columns of a run with this number of threads.
pub(super) fn in_memory(threads: usize) -> Residents {
    let residents = Residents::default();
    if threads >= FEWEST_THREADS { residents.hurried() } else { residents }
}

struct Share {
    held: Reservation,
    /// Heap size (nodes, edges) for which the grant was computed.
    size: Option<(u64, u64)>,
    is_given_up: bool,
}

impl Columns {
    /// Columns without a grant yet. With `from_the_start` they get one before the heap size is known; its reader may
    /// turn out to need the memory, so the input must be readable again.
    pub fn new(scratch: &Scratch, from_the_start: bool, budget: &Budget) -> Result<Self, StageError> {
        let held = budget.reserve("columns in memory", 0)?;
        Ok(Self {
            scratch: scratch.clone(),
            from_the_start,
            share: Mutex::new(Share { held, size: None, is_given_up: false }),
        })
    }

    /// Whether columns hold memory that a step may need.
    pub fn hold_memory(&self) -> bool {
        locked(&self.share).held.bytes() > 0
    }

    /// Resizes the grant for a heap of this size. Call only while no step runs.
    pub fn fit(&self, graph: &Graph, budget: &Budget, size: (u64, u64)) -> Result<(), StageError> {
        let mut share = locked(&self.share);
        if self.scratch.residents().is_none() || share.is_given_up || share.size == Some(size) {
            return Ok(());
        }
        share.size = Some(size);
        let is_early = size == (0, 0) && !self.from_the_start;
        share.become_of(if is_early { 0 } else { room(graph, budget.limit(), size) }, &self.scratch, budget)
    }

    /// Writes all columns to their files and releases the grant. Call only while no step runs.
    pub fn give_up(&self, budget: &Budget) -> Result<(), StageError> {
        let mut share = locked(&self.share);
        share.is_given_up = true;
        share.become_of(0, &self.scratch, budget)
    }
}

impl Share {
    fn become_of(&mut self, bytes: u64, scratch: &Scratch, budget: &Budget) -> Result<(), StageError> {
        let held = self.held.bytes();
        if bytes > held {
            self.held.grow((bytes - held).min(budget.free()))?;
            return scratch.limit_residents(self.held.bytes());
        }
        scratch.limit_residents(bytes)?;
        let used = scratch.residents().map_or(0, Residents::used);
        self.held.shrink(held - bytes.max(used).min(held));
        Ok(())
    }
}

/// Bytes for columns; at most half of the budget before the heap size is known.
fn room(graph: &Graph, limit: u64, size: (u64, u64)) -> u64 {
    let wanted = graph.steps.iter().map(|step| admission::wanted(step.stage, size)).max().unwrap_or(0);
    let room = limit.saturating_sub(wanted.saturating_mul(2)).max(limit.saturating_sub(wanted) / 2);
    if size == (0, 0) { room.min(limit / 2) } else { room }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::forecast;
    use heaplake_ingest::FORMATS;
    use heaplake_kit::{ColumnReader, ColumnWriter};
    use heaplake_schemas::options::{AnalysisOptions, Options};
    use heaplake_schemas::scratch::Column;

    const NUMBERS: Column<u64> = Column::new("numbers");

    #[test]
    fn steps_come_first() {
        let graph = forecast::graph(FORMATS[0], &Options::Analysis(AnalysisOptions::default()));
        let largest = |size: (u64, u64)| {
            graph.steps.iter().map(|step| step.stage.resident_bytes(size.0, size.1)).max().unwrap_or(0)
        };
        let size = (10_000_000, 50_000_000);
        for limit in [0, largest(size), largest(size) * 3 / 2, largest(size) * 4] {
            let room = room(&graph, limit, size);
            assert!(room == 0 || room + largest(size) <= limit, "{limit} {room}");
        }
        assert!(room(&graph, largest(size) * 4, size) > largest(size));
        assert!(room(&graph, 8 << 30, (0, 0)) == 4 << 30);
    }

    #[test]
    fn columns_go_to_files_when_their_share_shrinks() {
        let graph = forecast::graph(FORMATS[0], &Options::Analysis(AnalysisOptions::default()));
        let folder = tempfile::tempdir().unwrap();
        let residents = Residents::default();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap().with_residents(residents.clone());
        let budget = Budget::new(4 << 30);
        let columns = Columns::new(&scratch, true, &budget).unwrap();
        columns.fit(&graph, &budget, (0, 0)).unwrap();
        assert_eq!(budget.used(), 2 << 30);
        let mut writer = ColumnWriter::create(&scratch, NUMBERS).unwrap();
        (0..100_000).for_each(|number| writer.push(number).unwrap());
        writer.finish().unwrap();
        assert!(scratch.is_resident(NUMBERS) && !scratch.path(NUMBERS).exists());
        columns.give_up(&budget).unwrap();
        assert_eq!((budget.used(), residents.used()), (0, 0));
        assert!(!scratch.is_resident(NUMBERS) && scratch.path(NUMBERS).exists());
        let mut reader = ColumnReader::open(&scratch, NUMBERS).unwrap();
        (0..100_000).for_each(|number| assert_eq!(reader.next().unwrap(), number));
        columns.fit(&graph, &budget, (1, 1)).unwrap();
        assert_eq!(budget.used(), 0, "it was given up");
    }
}
