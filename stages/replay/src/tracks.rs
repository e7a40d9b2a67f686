//! The addresses of each object from allocation to death, and the moved ranges.
//!
//! Births and deaths are written as they occur, in two columns. At the end each birth is joined with its death, which
//! has the number of the birth: an array of deaths is filled in order of time and read in order of birth; it pages if
//! it does not fit. Generations of objects join there, too ([`promotions`]).
//!
//! [`promotions`]: crate::promotions

use crate::ordered::Space;
use crate::promotions::{Life, Promotions};
use crate::reports::Reports;
use crate::track::{Object, Survival};
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::filled;
use heaplake_kit::{ArrayPlan, Budget, BudgetVec, ColumnReader, ColumnWriter, ReadAt, Scratch, StageError, WriteAt};
use heaplake_schemas::moved_ranges::MoveRow;
use heaplake_schemas::object_tracks::TrackRow;
use heaplake_schemas::replay::{ABSENT, MOVES, TRACKS, WALK_OBJECTS};
use heaplake_schemas::scratch::Column;
use heaplake_schemas::walk_objects::WalkRow;

const BIRTHS: Column<Birth> = Column::new("replay.birth");
const DEATHS: Column<Death> = Column::new("replay.death");

/// Null sentinel.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Birth {
    bytes: u64,
    address: u64,
    type_id: u32,
    cell: u32,
    gcs: u32,
    padding: u32,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Death {
    object: u64,
    end: End,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct End {
    address: u64,
    moves: u32,
    /// Collections up to it; [`NONE`] if alive.
    gcs: u32,
    generation: u32,
    /// Pads to a size that divides a page.
    padding: [u32; 3],
}

/// The end of a lost object.
const LOST: End = End { address: ABSENT, moves: 0, gcs: NONE, generation: NONE, padding: [0; 3] };

/// Records the fate of objects.
pub struct Tracks {
    births: ColumnWriter<Birth>,
    deaths: ColumnWriter<Death>,
    moves: ColumnWriter<MoveRow>,
    walks: ColumnWriter<WalkRow>,
    /// Numbers of collections, in order of their ends.
    gcs: BudgetVec<u32>,
    /// Generations of objects.
    pub promotions: Promotions,
    /// Reported ranges and roots.
    pub reports: Reports,
}

impl Tracks {
    /// Creates the columns.
    pub fn new(scratch: &Scratch, budget: &Budget) -> Result<Self, StageError> {
        Ok(Self {
            births: ColumnWriter::create(scratch, BIRTHS)?,
            deaths: ColumnWriter::create(scratch, DEATHS)?,
            moves: ColumnWriter::create(scratch, MOVES)?,
            walks: ColumnWriter::create(scratch, WALK_OBJECTS)?,
            gcs: budget.growing("the numbers of collections"),
            promotions: Promotions::new(scratch, budget)?,
            reports: Reports::new(scratch)?,
        })
    }

    /// Records an allocation.
    pub fn born(&mut self, object: &Object) -> Result<(), StageError> {
        if object.serial >= u64::from(NONE) {
            return Err(StageError::Overflow("the number of tracked objects"));
        }
        let &Object { bytes, address, type_id, cell, born, .. } = object;
        self.births.push(Birth { bytes, address, type_id, cell, gcs: born, padding: 0 })
    }

    /// Records a death.
    pub fn died(&mut self, object: &Object, gcs: u32, generation: u8) -> Result<(), StageError> {
        self.end(object, gcs, u32::from(generation))
    }

    /// Records an object that is alive at the end.
    pub fn lives(&mut self, object: &Object) -> Result<(), StageError> {
        self.end(object, NONE, NONE)
    }

    fn end(&mut self, object: &Object, gcs: u32, generation: u32) -> Result<(), StageError> {
        let &Object { address, moves, serial, .. } = object;
        self.deaths.push(Death { object: serial, end: End { address, moves, gcs, generation, padding: [0; 3] } })
    }

    /// Records an object of a heap walk at the end of a collection, with the tracked one at its address, if any.
    pub fn walked(&mut self, gc: u32, address: u64, object: Option<&Object>) -> Result<(), StageError> {
        let (number, type_id, bytes) =
            object.map_or((NONE, NONE, ABSENT), |object| (object.serial as u32, object.type_id, object.bytes));
        self.walks.push(WalkRow { address, bytes, gc, object: number, type_id, padding: 0 })
    }

    /// Records a collection with its moves.
    pub fn collected(&mut self, gc: u32, survivals: &[Survival]) -> Result<(), StageError> {
        self.gcs.push(gc)?;
        self.promotions.moved(survivals)?;
        let moved = survivals.iter().filter(|range| range.from != range.to);
        moved
            .map(|range| MoveRow { gc, padding: 0, from: range.from, to: range.to, bytes: range.length })
            .try_for_each(|row| self.moves.push(row))
    }

    /// Drops the objects, whose fate the trace does not have.
    pub fn discard(self, scratch: &Scratch) -> Result<(), StageError> {
        scratch.withdraw(BIRTHS)?;
        scratch.withdraw(DEATHS)?;
        scratch.withdraw(MOVES)?;
        scratch.withdraw(WALK_OBJECTS)?;
        Promotions::discard(scratch)?;
        self.reports.finish()
    }

    /// Joins births and deaths; returns the bytes spilled for it. `stack` maps a cell to its node of the call tree.
    pub fn finish(
        self,
        space: Space<'_>,
        mut stack: impl FnMut(u32) -> Result<Option<u32>, StageError>,
    ) -> Result<u64, StageError> {
        let (scratch, budget) = (space.scratch, space.budget());
        self.moves.finish()?;
        self.walks.finish()?;
        self.reports.finish()?;
        self.deaths.finish()?;
        let count = self.births.finish()?;
        let mut plan = ArrayPlan::new(budget, scratch, "object_tracks");
        let mut ends = plan.one(filled(count as usize, LOST))?;
        let mut deaths = ColumnReader::open(scratch, DEATHS)?;
        while deaths.remaining() > 0 {
            space.check(deaths.remaining() as usize)?;
            let Death { object, end } = deaths.next()?;
            ends.set(object as usize, end)?;
        }
        let numbers: &[u32] = &self.gcs;
        let gc = |gcs: u32| if gcs == 0 { 0 } else { numbers.get(gcs as usize - 1).copied().unwrap_or(NONE) };
        let mut histories = self.promotions.finish(space)?;
        let mut births = ColumnReader::open(scratch, BIRTHS)?;
        let mut rows = ColumnWriter::create(scratch, TRACKS)?;
        for object in 0..count as u32 {
            space.check(object as usize)?;
            let (birth, end) = (births.next()?, ends.get(object as usize)?);
            let died = (end.gcs != NONE).then_some((end.gcs, end.generation));
            let living = histories.object(Life { object, born: birth.gcs, died, known: end.address != ABSENT }, gc)?;
            rows.push(TrackRow {
                bytes: birth.bytes,
                first_address: birth.address,
                last_address: end.address,
                object,
                type_id: birth.type_id,
                allocated_at_gc: gc(birth.gcs),
                stack: stack(birth.cell)?.unwrap_or(NONE),
                moves: end.moves,
                died_at_gc: if end.gcs == NONE { NONE } else { gc(end.gcs) },
                generation: end.generation,
                living,
            })?;
        }
        rows.finish()?;
        scratch.discard(BIRTHS);
        scratch.discard(DEATHS);
        Ok(plan.spilled_bytes() + histories.finish()?)
    }
}
