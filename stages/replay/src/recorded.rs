//! Applies the records of an event log to a replay.
//!
//! Types have the exact counts and bytes that the recorder counted. A sample represents the objects of its block: cells of
//! stacks, lifetimes and collections count each sample with its weight. With interval 1 all weights are 1, and all numbers exact.
//!
//! A runtime that reports deaths by object, not by address, has no generations here: an object that dies in the first
//! collection after its birth counts as generation 0, in the second one as 1, later as 2. Deaths that are reported after the
//! end of a collection belong to it, until the next one starts.

use crate::lifetimes::Moment;
use crate::replay::{Replay, counts};
use crate::sampling::Sampler;
use crate::stacks::{At, EMPTY};
use crate::symbols::Function;
use crate::track::Object;
use heaplake_eventlog::record::{Count, Frames, Note, Record, Sample};
use heaplake_kit::{Budget, BudgetVec, StageError};
use heaplake_schemas::collections::CollectionRow;
use heaplake_schemas::object_lifetimes::ALIVE;
use heaplake_schemas::options::SampleMode;
use heaplake_schemas::replay::{ABSENT, Coverage};

/// How far a number may lie beyond the known ones: a damaged one must not take memory for all between.
const BEYOND: usize = 1 << 20;

/// The oldest generation.
const OLDEST: u32 = 2;

/// What the header says of a recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Mean number of objects of a class for each one with size and stack.
    pub interval: u32,
    /// Whether deaths are recorded.
    pub deaths: bool,
}

/// A tracked object; weight 0 for none.
#[derive(Clone, Copy, Debug, Default)]
struct Tracked {
    bytes: u64,
    born_at: u64,
    born: u32,
    type_id: u32,
    cell: u32,
    weight: u32,
}

/// An expectation that a record fails.
type Expected = &'static str;

/// Result of applying a record: the inner one is for records that do not fit the others.
type Applied = Result<Result<(), Expected>, StageError>;

/// A log that is being read.
pub(crate) struct Recorded<'a> {
    replay: &'a mut Replay,
    /// Frame of each method plus 1; 0 for none.
    methods: BudgetVec<u32>,
    /// Node of each stack.
    stacks: BudgetVec<u32>,
    /// Objects by tag.
    objects: BudgetVec<Tracked>,
    tracks: bool,
    /// Microseconds since the start.
    time: u64,
    /// The last collection and its start.
    collection: Option<(CollectionRow, u64)>,
    is_open: bool,
    complete: bool,
    cut_stacks: u64,
    frames: Vec<u64>,
}

impl<'a> Recorded<'a> {
    /// Begins a log.
    pub(crate) fn new(replay: &'a mut Replay, settings: Settings, budget: &Budget) -> Result<Self, StageError> {
        let Settings { interval, deaths } = settings;
        replay.sampler = Sampler::new(interval, replay.recording.sample_start, replay.recording.seed);
        replay.cells = crate::calls::Cells::new(false, budget)?;
        let tracks = deaths && replay.recording.sample_mode == SampleMode::CreationAndCollection;
        replay.has_moves = deaths;
        Ok(Self {
            replay,
            methods: budget.growing("the methods of the log"),
            stacks: budget.growing("the stacks of the log"),
            objects: budget.growing("the objects of the log"),
            tracks,
            time: 0,
            collection: None,
            is_open: false,
            complete: false,
            cut_stacks: 0,
            frames: Vec::new(),
        })
    }

    /// Applies a record.
    #[inline]
    pub(crate) fn apply(&mut self, record: Record<'_>) -> Applied {
        match record {
            Record::Sample(sample) => return self.sample(&sample),
            Record::Time(passed) => self.time = self.time.saturating_add(passed),
            Record::Counts(mut counts) => counts.try_for_each(|count| self.count(count))?,
            Record::Stack { id, cut, frames } => return self.stack(id, cut, frames),
            Record::Method { id, texts, mut lines } => {
                return self.method(id, texts, lines.next().map(|(_, line)| line));
            }
            Record::Class { id, name } => self.replay.types.name(id.into(), name)?,
            Record::Deaths(tags) => {
                for tag in tags {
                    if let Err(expected) = self.death(tag)? {
                        return Ok(Err(expected));
                    }
                }
            }
            Record::CollectionStart(number) => self.start(number)?,
            Record::CollectionEnd(number) => self.end(number),
            Record::Dropped(samples) => {
                let lost = &mut self.replay.anomalies.lost_events;
                *lost = lost.saturating_add(samples);
            }
            Record::ForgetStacks => self.stacks.clear(),
            Record::End => self.complete = true,
            Record::Note(code, count) => self.note(code, count),
            Record::Thread { .. } => {}
        }
        Ok(Ok(()))
    }

    /// Adds to a count of the recorder. A later version may have further ones.
    fn note(&mut self, code: u64, count: u64) {
        let anomalies = &mut self.replay.anomalies;
        let sum = match code {
            code if code == Note::Untracked as u64 => &mut anomalies.untracked_samples,
            code if code == Note::Errors as u64 => &mut anomalies.recorder_errors,
            _ => return,
        };
        *sum = sum.saturating_add(count);
    }

    fn count(&mut self, count: Count) -> Result<(), StageError> {
        let type_id = self.replay.types.number(count.class.into())?;
        let sampler = self.replay.sampler;
        let counts = counts(&mut self.replay.counts, type_id, &sampler)?;
        counts.allocated = counts.allocated.saturating_add(count.objects);
        counts.bytes = counts.bytes.saturating_add(count.bytes);
        self.replay.coverage = Coverage::Every;
        Ok(())
    }

    #[inline]
    fn sample(&mut self, sample: &Sample) -> Applied {
        if sample.weight == 0 {
            return Ok(Err("a sample that represents an object"));
        }
        let replay = &mut *self.replay;
        let type_id = replay.types.number(sample.class.into())?;
        let sampler = replay.sampler;
        let counts = counts(&mut replay.counts, type_id, &sampler)?;
        if sampler.interval() == 1 {
            counts.sample.add_one_of_all(sample.size);
        } else {
            let before = counts.sample.held();
            counts.sample.add(sample.weight, sample.size);
            replay.sizes.add(counts.sample.held().saturating_sub(before))?;
        }
        counts.represented = counts.represented.saturating_add(sample.weight.into());
        let node = match sample.stack {
            0 => EMPTY,
            stack => self.stacks.get(stack as usize - 1).copied().unwrap_or_else(|| {
                replay.anomalies.unknown_stacks += 1;
                EMPTY
            }),
        };
        let node = replay.stack(0, &mut At(node))?;
        let cell = replay.cells.add_sample((node, type_id), sample.weight.into(), sample.size)?;
        replay.allocations += 1;
        replay.coverage = Coverage::Every;
        replay.last_time = self.time;
        if sample.tag == 0 || !self.tracks {
            return Ok(Ok(()));
        }
        let born = replay.ended + u32::from(self.is_open);
        let Sample { size: bytes, weight, tag, .. } = *sample;
        self.track(tag, Tracked { bytes, born_at: self.time, born, type_id, cell, weight })
    }

    fn track(&mut self, tag: u32, object: Tracked) -> Applied {
        let tag = tag as usize;
        if tag > self.objects.len() + BEYOND {
            return Ok(Err("a tag that follows the others"));
        }
        while self.objects.len() <= tag {
            self.objects.push(Tracked::default())?;
        }
        self.objects[tag] = object;
        let (count, bytes) = represented(&object);
        let (live, live_bytes) = self.replay.represented;
        self.replay.represented = (live.saturating_add(count), live_bytes.saturating_add(bytes));
        Ok(Ok(()))
    }

    fn death(&mut self, tag: u32) -> Applied {
        if !self.tracks {
            return Ok(Ok(()));
        }
        // The birth may be one of the dropped samples.
        let Some(slot) = self.objects.get_mut(tag as usize).filter(|object| object.weight > 0) else {
            return Ok(Ok(()));
        };
        let object = std::mem::take(slot);
        let gcs = (self.replay.ended + u32::from(self.is_open)).max(object.born.saturating_add(1));
        let generation = (gcs - object.born - 1).min(OLDEST) as usize;
        self.gone(&object, generation, gcs)?;
        let (count, bytes) = represented(&object);
        let (live, live_bytes) = self.replay.represented;
        self.replay.represented = (live.saturating_sub(count), live_bytes.saturating_sub(bytes));
        if let Some((row, _)) = &mut self.collection {
            row.dead_objects = row.dead_objects.saturating_add(count);
            row.dead_bytes = row.dead_bytes.saturating_add(bytes);
            row.live_objects = row.live_objects.saturating_sub(count);
            row.live_bytes = row.live_bytes.saturating_sub(bytes);
        }
        Ok(Ok(()))
    }

    /// Counts the end of an object: its death in a generation, or the end of the log.
    fn gone(&mut self, object: &Tracked, generation: usize, gcs: u32) -> Result<(), StageError> {
        let Tracked { bytes, born_at, born, type_id, cell, weight } = *object;
        let whole = Object { address: 0, bytes, born_at, born, type_id, cell, moves: 0, serial: 0 };
        let now = Moment { gcs, time: self.time };
        self.replay.lifetimes.add_together(&whole, weight.into(), generation, now)?;
        self.replay.cells.died_together(cell, generation, represented(object))
    }

    fn start(&mut self, number: u32) -> Result<(), StageError> {
        self.close()?;
        let started_at_us = self.replay.clock.absolute_us(self.time).unwrap_or(i64::MIN);
        self.collection = Some((row(number, started_at_us), self.time));
        self.is_open = true;
        Ok(())
    }

    fn end(&mut self, number: u32) {
        let open = self.collection.as_mut().filter(|(row, _)| self.is_open && row.gc == number);
        let Some((row, started)) = open else {
            self.replay.anomalies.ends_without_start += 1;
            return;
        };
        if let Some(pause) = self.replay.clock.seconds(*started, self.time) {
            row.pause_seconds = pause;
        }
        // Deaths that are reported later are subtracted then.
        (row.live_objects, row.live_bytes) = self.replay.represented;
        self.is_open = false;
        self.replay.ended += 1;
    }

    /// Writes the row of the last collection.
    fn close(&mut self) -> Result<(), StageError> {
        let Some((mut row, _)) = self.collection.take() else { return Ok(()) };
        if std::mem::take(&mut self.is_open) {
            self.replay.anomalies.starts_without_end += 1;
            return Ok(());
        }
        row.survived_objects = row.live_objects;
        self.replay.rows.push(row)
    }

    fn stack(&mut self, id: u32, cut: bool, frames: Frames<'_>) -> Applied {
        if id as usize != self.stacks.len() + 1 {
            return Ok(Err("a stack whose number follows the last one's"));
        }
        self.frames.clear();
        for frame in frames {
            let known = self.methods.get(frame.method as usize).copied().unwrap_or(0);
            // Frames of unknown methods have a number that no function has.
            self.frames.push(known.checked_sub(1).map_or(u64::MAX, u64::from));
        }
        let node = self.replay.stacks.whole(self.frames.iter().rev().copied())?;
        self.stacks.push(node)?;
        self.cut_stacks += u64::from(cut);
        Ok(Ok(()))
    }

    fn method(&mut self, id: u32, texts: [&[u8]; 4], line: Option<u32>) -> Applied {
        let id = id as usize;
        if id > self.methods.len() + BEYOND {
            return Ok(Err("a method whose number follows the others"));
        }
        let [class, name, signature, file] = texts.map(|text| String::from_utf8_lossy(text).into_owned());
        let name = if class.is_empty() { name } else { format!("{class}.{name}") };
        let line = line.filter(|_| !file.is_empty());
        let frame = self.replay.symbols.frame(Function { name, signature, file, line, ..Function::default() })?;
        while self.methods.len() <= id {
            self.methods.push(0)?;
        }
        self.methods[id] = u32::try_from(frame + 1).unwrap_or(0);
        Ok(Ok(()))
    }

    /// Ends the log: tracked objects that have not died are alive. Returns whether the log is complete, and its cut stacks.
    pub(crate) fn finish(mut self) -> Result<(bool, u64), StageError> {
        self.close()?;
        let gcs = self.replay.ended;
        for at in 0..self.objects.len() {
            let object = self.objects[at];
            if object.weight > 0 {
                self.gone(&object, ALIVE, gcs)?;
            }
        }
        self.replay.last_time = self.time;
        Ok((self.complete, self.cut_stacks))
    }
}

/// Objects and bytes that a tracked object represents.
fn represented(object: &Tracked) -> (u64, u64) {
    (object.weight.into(), object.bytes.saturating_mul(object.weight.into()))
}

fn row(number: u32, started_at_us: i64) -> CollectionRow {
    CollectionRow {
        gc: number,
        condemned: 0b111,
        reason: u32::MAX,
        profiler_reason: 0,
        started_at_us,
        pause_seconds: f64::NAN,
        moved_ranges: 0,
        surviving_ranges: 0,
        moved_objects: 0,
        moved_bytes: 0,
        survived_objects: 0,
        dead_objects: 0,
        dead_bytes: 0,
        live_objects: 0,
        live_bytes: 0,
        doubtful_objects: 0,
        roots: [ABSENT; 4],
        walked_objects: ABSENT,
        walk_missing: ABSENT,
        walk_extra: ABSENT,
    }
}
