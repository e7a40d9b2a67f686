//! The replay: applies each event to the state of the heap and to all counts.

use crate::calls::{self, BATCH, Cells};
use crate::collection::Open;
use crate::events::{Allocation, Clock};
use crate::lifetimes::{Lifetimes, Moment};
use crate::promotions::Point;
use crate::sample::Sample;
use crate::sampling::{Counter, Sampler};
use crate::stacks::{EMPTY, Frames, Node, Stacks};
use crate::symbols::Symbols;
use crate::track::{Object, Objects};
use crate::tracks::Tracks;
use crate::types::Types;
use crate::weights::Weights;
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, BudgetVec, ColumnWriter, Reservation, Scratch, StageError};
use heaplake_schemas::collections::CollectionRow;
use heaplake_schemas::object_lifetimes::ALIVE;
use heaplake_schemas::options::{Recording, SampleMode};
use heaplake_schemas::replay::{self as columns, Coverage};

/// Bytes reserved for the work at the end, whose arrays page if they do not fit.
const HELD: u64 = 10 << 20;

/// Counts of a type that every allocation updates.
#[derive(Clone, Debug)]
pub struct TypeCounts {
    /// State of its sampling.
    pub counter: Counter,
    /// Objects allocated.
    pub allocated: u64,
    /// Their sizes, bytes.
    pub bytes: u64,
    /// Objects sampled with size and stack.
    pub sample: Sample,
    /// Objects that the sample represents: one each, unless the runtime itself samples.
    pub represented: u64,
    /// Ticks, and their bytes.
    pub ticks: (u64, u64),
}

/// An allocation that is not yet counted by stack.
struct Pending {
    object: Object,
    stack: u32,
    count: u64,
    taken: bool,
}

/// Anomalies of a trace, counted by kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anomalies {
    /// Overlapping ranges.
    pub overlapping_ranges: u64,
    /// Objects onto which another one was moved.
    pub overrun_objects: u64,
    /// Generations for which one collection reports both moved and surviving ranges.
    pub moved_and_surviving: u64,
    /// Ends of collections without start.
    pub ends_without_start: u64,
    /// Collections without end.
    pub starts_without_end: u64,
    /// Ranges, roots and walked objects outside a collection.
    pub outside_collections: u64,
    /// Referenced stacks that the trace lacks.
    pub unknown_stacks: u64,
    /// Truncated traces.
    pub without_end: u64,
    /// Events that the recorder dropped because its buffers were full.
    pub lost_events: u64,
    /// Sampled objects that a recorder did not track, since too many others were alive.
    pub untracked_samples: u64,
    /// Internal errors of a recorder.
    pub recorder_errors: u64,
    /// Objects of heap walks without allocation.
    pub unknown_objects: u64,
}

/// The state of a replay.
pub struct Replay {
    pub(crate) recording: Recording,
    pub(crate) sampler: Sampler,
    /// Types of the trace.
    pub types: Types,
    /// Stacks of the trace.
    pub stacks: Stacks,
    /// Functions of the trace.
    pub symbols: Symbols,
    /// Converts ticks to times.
    pub clock: Clock,
    /// Counts by type.
    pub counts: BudgetVec<TypeCounts>,
    /// Counts by stack and type.
    pub cells: Cells,
    /// Counts of ticks by stack and type, used only without allocations.
    cells_of_ticks: Cells,
    /// Weights of ticks, if the trace has them.
    pub weights: Option<Weights>,
    /// Ages of objects.
    pub lifetimes: Lifetimes,
    /// Anomalies of the trace.
    pub anomalies: Anomalies,
    /// Allocations recorded by the trace.
    pub coverage: Coverage,
    /// Whether ticks come at fixed numbers of bytes, each with the type of the current object.
    pub(crate) in_steps: bool,
    /// Whether any event had a stack.
    pub has_stacks: bool,
    /// Whether any collection reported survivors.
    pub has_moves: bool,
    /// Live objects.
    pub objects: Objects,
    /// Live objects that a recorder represents by its samples, and their bytes.
    pub(crate) represented: (u64, u64),
    /// The next allocations, at most [`BATCH`].
    pending: Vec<Pending>,
    /// Recorder of the addresses of each object, if wanted.
    pub tracks: Option<Tracks>,
    /// Open collections.
    pub(crate) open: Vec<Open>,
    /// Memory account of the sizes in samples.
    pub(crate) sizes: MemoryAccount,
    pub(crate) budget: Budget,
    /// Memory for the work at the end, so that a trace that was read can be finished.
    pub(crate) held: Option<Reservation>,
    pub(crate) rows: ColumnWriter<CollectionRow>,
    /// Collections that have taken effect.
    pub ended: u32,
    /// Collections with a report that take effect at the next event.
    pub(crate) reporting: u32,
    /// Objects that collections may or may not have reclaimed, over all collections.
    pub doubtful: u64,
    pub(crate) allocations: u64,
    pub(crate) last_time: u64,
    /// Events lost before the current ones.
    pub(crate) lost_before: u64,
}

impl Replay {
    /// Starts the replay of a trace.
    pub fn new(recording: &Recording, scratch: &Scratch, budget: &Budget) -> Result<Self, StageError> {
        Ok(Self {
            recording: recording.clone(),
            sampler: Sampler::new(recording.sample_interval, recording.sample_start, recording.seed),
            types: Types::new(budget)?,
            stacks: Stacks::new(budget)?,
            symbols: Symbols::new(budget)?,
            clock: Clock::default(),
            counts: budget.growing("the counts of types"),
            cells: Cells::new(recording.sample_interval == 1, budget)?,
            cells_of_ticks: Cells::new(true, budget)?,
            weights: None,
            lifetimes: Lifetimes::new(budget),
            anomalies: Anomalies::default(),
            coverage: Coverage::None,
            in_steps: false,
            has_stacks: false,
            has_moves: false,
            objects: Objects::new(budget)?,
            represented: (0, 0),
            pending: Vec::with_capacity(BATCH),
            tracks: if recording.tracks() { Some(Tracks::new(scratch, budget)?) } else { None },
            open: Vec::new(),
            sizes: MemoryAccount::new(budget, "the sizes of objects")?,
            budget: budget.clone(),
            held: Some(budget.reserve("the call trees at the end", HELD)?),
            rows: ColumnWriter::create(scratch, columns::COLLECTIONS)?,
            ended: 0,
            reporting: 0,
            doubtful: 0,
            allocations: 0,
            last_time: 0,
            lost_before: 0,
        })
    }

    /// Handles an allocation.
    pub fn allocation(&mut self, event: &Allocation, frames: &mut impl Frames) -> Result<(), StageError> {
        let type_id = self.types.number(event.type_handle)?;
        let sampler = self.sampler;
        let counts = counts(&mut self.counts, type_id, &sampler)?;
        let taken = sampler.take(&mut counts.counter, event.bytes, (counts.allocated, counts.bytes));
        counts.allocated = counts.allocated.saturating_add(event.count);
        counts.bytes = counts.bytes.saturating_add(event.bytes);
        if event.count == 1 {
            self.coverage = if self.coverage == Coverage::Sampled { Coverage::Sampled } else { Coverage::Every };
        } else {
            self.coverage = Coverage::Sampled;
            if let Some(swept) = &mut self.objects.swept {
                swept.sized = false;
            }
        }
        // A sample of the runtime is not thinned out further.
        let taken = if event.count == 1 { taken } else { Some(1) };
        if let Some(stratum) = taken {
            if sampler.interval() == 1 {
                counts.sample.add_one_of_all(event.bytes);
            } else {
                let before = counts.sample.held();
                counts.sample.add(stratum, event.bytes);
                self.sizes.add(counts.sample.held() - before)?;
            }
            counts.represented = counts.represented.saturating_add(event.count);
        }
        let stack = self.stack(event.stack, frames)?;
        self.allocations += 1;
        self.last_time = self.last_time.max(event.time);
        let object = Object {
            address: event.address,
            bytes: event.bytes,
            born_at: event.time,
            born: self.ended + self.reporting,
            type_id,
            cell: calls::NONE,
            moves: 0,
            serial: self.allocations - 1,
        };
        self.pending.push(Pending { object, stack, count: event.count, taken: taken.is_some() });
        if self.pending.len() == BATCH { self.place() } else { Ok(()) }
    }

    /// Counts the pending allocations by stack, and places their objects.
    pub(crate) fn place(&mut self) -> Result<(), StageError> {
        let numbers = self.cells.numbers(self.pending.iter().map(|of| (of.stack, of.object.type_id)))?;
        let tracked = self.recording.sample_mode != SampleMode::Creation;
        for (mut of, cell) in self.pending.drain(..).zip(numbers) {
            self.cells.count(cell, of.count, of.object.bytes)?;
            if of.taken {
                self.cells.take(cell, of.object.bytes);
            }
            if !tracked {
                continue;
            }
            of.object.cell = cell;
            if let Some(tracks) = &mut self.tracks {
                tracks.born(&of.object)?;
            }
            self.objects.allocate(of.object)?;
        }
        Ok(())
    }

    /// Handles a tick: `bytes` allocated since the last one, at an object of this type. Ignored if the trace has single
    /// allocations.
    pub fn tick(
        &mut self,
        type_handle: u64,
        bytes: u64,
        stack: u32,
        frames: &mut impl Frames,
    ) -> Result<(), StageError> {
        self.in_steps = true;
        self.ticks(type_handle, (1, bytes), stack, frames)
    }

    /// Handles `count` ticks on one stack, with `bytes` together.
    pub fn ticks(
        &mut self,
        type_handle: u64,
        (count, bytes): (u64, u64),
        stack: u32,
        frames: &mut impl Frames,
    ) -> Result<(), StageError> {
        if self.coverage != Coverage::None {
            return Ok(());
        }
        let type_id = self.types.number(type_handle)?;
        let sampler = self.sampler;
        let (ticks, sum) = &mut counts(&mut self.counts, type_id, &sampler)?.ticks;
        (*ticks, *sum) = (ticks.saturating_add(count), sum.saturating_add(bytes));
        let stack = self.stack(stack, frames)?;
        self.cells_of_ticks.add_all(stack, type_id, count, bytes)
    }

    /// Handles `count` objects with `bytes` allocated on one stack, each counted. Nothing is left to sample.
    pub fn site(
        &mut self,
        type_handle: u64,
        (count, bytes): (u64, u64),
        frames: &mut impl Frames,
    ) -> Result<(), StageError> {
        self.sampler = Sampler::new(1, self.recording.sample_start, self.recording.seed);
        self.coverage = Coverage::Every;
        let type_id = self.types.number(type_handle)?;
        let counts = counts(&mut self.counts, type_id, &self.sampler)?;
        for (sum, more) in [
            (&mut counts.allocated, count),
            (&mut counts.bytes, bytes),
            (&mut counts.sample.count, count),
            (&mut counts.sample.bytes, bytes),
            (&mut counts.represented, count),
        ] {
            *sum = sum.saturating_add(more);
        }
        let stack = self.stack(0, frames)?;
        self.cells.add_all(stack, type_id, count, bytes)
    }

    pub(crate) fn stack(&mut self, stack: u32, frames: &mut impl Frames) -> Result<u32, StageError> {
        let node = frames.node(stack, &mut self.stacks)?;
        self.has_stacks |= node != EMPTY;
        Ok(node)
    }

    /// Ends the trace: objects that have not died are alive.
    pub fn finish(&mut self) -> Result<(), StageError> {
        self.leave_open()?;
        if self.coverage == Coverage::None && !self.cells_of_ticks.all().is_empty() {
            self.coverage = if self.weights.is_some() { Coverage::Weighted } else { Coverage::Ticks };
            std::mem::swap(&mut self.cells, &mut self.cells_of_ticks);
            for counts in self.counts.iter_mut() {
                (counts.sample.count, counts.sample.bytes) = counts.ticks;
            }
        }
        self.objects.settle()?;
        for (&cell, &(count, bytes)) in &self.objects.lost {
            self.cells.lost(cell, count, bytes)?;
        }
        let now = Moment { gcs: self.ended, time: self.last_time };
        for object in self.objects.iter() {
            self.lifetimes.add(object, ALIVE, now)?;
            self.cells.died(object.cell, ALIVE, object.bytes)?;
            if let Some(tracks) = &mut self.tracks {
                tracks.lives(object)?;
            }
        }
        match &mut self.tracks {
            Some(tracks) => tracks.promotions.last(&self.objects, Point::now(self.ended)),
            None => Ok(()),
        }
    }

    /// Releases the memory that only reading the trace needs, and the reserve for the end; returns the stacks.
    pub(crate) fn begin_end(&mut self) -> BudgetVec<Node> {
        self.held = None;
        self.objects.release();
        self.types.begin_end();
        self.symbols.begin_end();
        self.stacks.take()
    }

    /// Finishes the column of collections; call [`Self::finish`] first.
    pub fn close(self) -> Result<u64, StageError> {
        self.rows.finish()
    }

    /// Count and bytes of the live objects.
    pub fn alive(&self) -> (u64, u64) {
        let (count, bytes) = self.objects.alive();
        (count.saturating_add(self.represented.0), bytes.saturating_add(self.represented.1))
    }

    /// Mean sampling interval.
    pub fn interval(&self) -> u32 {
        self.sampler.interval()
    }

    /// A seed per type.
    pub fn seed_of(&self, type_id: u32) -> u64 {
        !self.sampler.seed_of(type_id)
    }

    /// Whether objects are followed to their deaths.
    pub fn tracks(&self) -> bool {
        let known = matches!(self.coverage, Coverage::Every | Coverage::Sampled);
        self.recording.sample_mode == SampleMode::CreationAndCollection && self.has_moves && known
    }
}

pub(crate) fn counts<'a>(
    counts: &'a mut BudgetVec<TypeCounts>,
    type_id: u32,
    sampler: &Sampler,
) -> Result<&'a mut TypeCounts, StageError> {
    let index = type_id as usize;
    while counts.len() <= index {
        let counter = sampler.counter(counts.len() as u32);
        let sample = Sample::default();
        counts.push(TypeCounts { counter, allocated: 0, bytes: 0, sample, represented: 0, ticks: (0, 0) })?;
    }
    Ok(&mut counts[index])
}
