//! State of a recording that is kept from chunk to chunk.

use super::strings::{NONE, Strings};
use crate::replay::Replay;
use crate::weights::Weights;
use heaplake_kit::memory_account::{MemoryAccount, allocated};
use heaplake_kit::{Budget, BudgetVec, ColumnWriter, Scratch, StageError};
use heaplake_schemas::collections::{CollectionDetail, CollectionRow};
use heaplake_schemas::recorded_events::RecordedEventRow;
use heaplake_schemas::replay::{self as columns, HeldPath};
use heaplake_schemas::scratch::Column;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Bytes per entry of a table, growth included.
const ENTRY: u64 = 96;

/// Bytes per unfinished collection, likewise.
const PENDING: u64 = ENTRY + size_of::<Pending>() as u64;

/// Most paths in the summary.
const MOST_PATHS: usize = 10;

/// A column that exists only with rows.
pub(crate) struct Rows<T> {
    column: Column<T>,
    writer: Option<ColumnWriter<T>>,
}

impl<T: bytemuck::Pod> Rows<T> {
    fn new(column: Column<T>) -> Self {
        Self { column, writer: None }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, scratch: &Scratch, row: T) -> Result<(), StageError> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(ColumnWriter::create(scratch, self.column)?),
        };
        writer.push(row)
    }

    fn finish(self) -> Result<u64, StageError> {
        self.writer.map_or(Ok(0), ColumnWriter::finish)
    }
}

/// An unfinished collection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    /// Its pauses.
    pub pauses: u64,
    /// Heap in use before and after it, and heap size; [`ABSENT`](columns::ABSENT) if unknown.
    pub heap: [u64; 3],
    /// End time and rows, once it has ended.
    pub ended: Option<(i64, CollectionRow, CollectionDetail)>,
}

/// A class of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    /// The replay's handle of its name.
    pub handle: u64,
    /// Its number.
    pub type_id: u32,
}

/// The recording.
pub(crate) struct Recording<'a> {
    /// The replay.
    pub replay: &'a mut Replay,
    /// Scratch of the rows.
    pub scratch: &'a Scratch,
    /// Its strings.
    pub strings: Strings,
    /// Samples by type.
    pub weights: Weights,
    /// Unfinished collections, by number.
    pub pending: BTreeMap<u32, Pending>,
    /// Old objects.
    pub old_objects: Rows<heaplake_schemas::old_objects::OldObjectRow>,
    /// Steps of their chains.
    pub chains: Rows<heaplake_schemas::old_object_chains::OldObjectChainRow>,
    /// Object counts.
    pub object_counts: Rows<heaplake_schemas::object_counts::ObjectCountRow>,
    /// Number of old objects.
    pub samples: u32,
    /// Steps of chains.
    pub steps: u64,
    /// Totals so far.
    pub kept: Kept,
    /// Sampled objects by path, a text id.
    paths: FxHashMap<u32, u64>,
    /// By event, a text id: whether it is read, count, bytes.
    events: BTreeMap<u32, (bool, u64, u64)>,
    collections: BudgetVec<(i64, CollectionRow, CollectionDetail)>,
    /// Classes by name.
    classes: FxHashMap<Box<str>, Class>,
    account: MemoryAccount,
}

impl<'a> Recording<'a> {
    /// Returns an empty recording.
    pub(crate) fn new(replay: &'a mut Replay, scratch: &'a Scratch, budget: &Budget) -> Result<Self, StageError> {
        Ok(Self {
            replay,
            scratch,
            strings: Strings::new(scratch, budget)?,
            weights: Weights::new(budget),
            pending: BTreeMap::new(),
            old_objects: Rows::new(columns::OLD_OBJECTS),
            chains: Rows::new(columns::OLD_OBJECT_CHAINS),
            object_counts: Rows::new(columns::OBJECT_COUNTS),
            samples: 0,
            steps: 0,
            kept: Kept::default(),
            paths: FxHashMap::default(),
            events: BTreeMap::new(),
            collections: budget.growing("the collections of the recording"),
            classes: FxHashMap::default(),
            account: MemoryAccount::new(budget, "the classes of the recording")?,
        })
    }

    /// Returns the class of a name: one for all loaders.
    pub(crate) fn class(&mut self, name: &str) -> Result<Class, StageError> {
        if let Some(&known) = self.classes.get(name) {
            return Ok(known);
        }
        let handle = self.classes.len() as u64;
        let type_id = self.replay.types.number(handle)?;
        self.replay.types.name(handle, name.as_bytes())?;
        let known = Class { handle, type_id };
        self.account.add(ENTRY + allocated(name.len()))?;
        self.classes.insert(name.into(), known);
        Ok(known)
    }

    /// Counts events of a kind.
    pub(crate) fn count(&mut self, event: &str, used: bool, (count, bytes): (u64, u64)) -> Result<(), StageError> {
        let event = self.strings.position(event)?;
        if !self.events.contains_key(&event) {
            self.account.add(ENTRY)?;
        }
        let sums = self.events.entry(event).or_insert((used, 0, 0));
        (sums.1, sums.2) = (sums.1.saturating_add(count), sums.2.saturating_add(bytes));
        Ok(())
    }

    /// Counts a sampled object at the end of a path.
    pub(crate) fn held(&mut self, path: u32) -> Result<(), StageError> {
        if !self.paths.contains_key(&path) {
            self.account.add(ENTRY)?;
        }
        *self.paths.entry(path).or_default() += 1;
        Ok(())
    }

    /// Returns the state of an unfinished collection.
    pub(crate) fn pending(&mut self, gc: u32) -> Result<&mut Pending, StageError> {
        if !self.pending.contains_key(&gc) {
            self.account.add(PENDING)?;
        }
        Ok(self.pending.entry(gc).or_insert(Pending { pauses: 0, heap: [columns::ABSENT; 3], ended: None }))
    }

    /// Completes the collections that have ended; after the last chunk of a process, drops the others.
    pub(crate) fn end_of_chunk(&mut self, last: bool) -> Result<(), StageError> {
        let pending = std::mem::take(&mut self.pending);
        for (gc, of) in pending {
            match of.ended {
                Some((end, row, detail)) => {
                    self.account.sub(PENDING);
                    let [heap_used_before, heap_used_after, heap_committed] = of.heap;
                    let pauses = of.pauses;
                    let detail =
                        CollectionDetail { pauses, heap_used_before, heap_used_after, heap_committed, ..detail };
                    self.collections.push((end, row, detail))?;
                }
                None if last => self.account.sub(PENDING),
                None => drop(self.pending.insert(gc, of)),
            }
        }
        Ok(())
    }

    /// Writes the remaining rows.
    pub(crate) fn finish(mut self) -> Result<Kept, StageError> {
        self.end_of_chunk(true)?;
        self.collections.sort_unstable_by_key(|&(end, row, _)| (end, row.gc));
        let mut details = ColumnWriter::create(self.scratch, columns::COLLECTION_DETAILS)?;
        for &(_, row, detail) in self.collections.iter() {
            self.replay.rows.push(row)?;
            details.push(detail)?;
            self.replay.ended += 1;
        }
        details.finish()?;
        self.write_events()?;
        let kept = Kept { held: self.most_held(), old_objects: self.old_objects.finish()?, ..self.kept };
        self.chains.finish()?;
        self.object_counts.finish()?;
        self.strings.finish()?;
        self.replay.weights = Some(self.weights).filter(|weights| !weights.is_empty());
        Ok(kept)
    }

    fn write_events(&self) -> Result<(), StageError> {
        let names = self.strings.all();
        let mut rows: Vec<RecordedEventRow> = self
            .events
            .iter()
            .map(|(&event, &(used, count, bytes))| RecordedEventRow { event, used: u32::from(used), count, bytes })
            .collect();
        rows.sort_by_key(|row| (Reverse(row.count), names.get(&row.event).copied()));
        let mut writer = ColumnWriter::create(self.scratch, columns::RECORDED_EVENTS)?;
        writer.extend(&rows)?;
        writer.finish().map(drop)
    }

    fn most_held(&self) -> Vec<HeldPath> {
        let names = self.strings.all();
        let mut paths: Vec<(Reverse<u64>, &str)> = self
            .paths
            .iter()
            .filter(|&(&path, _)| path != NONE)
            .filter_map(|(path, &count)| Some((Reverse(count), *names.get(path)?)))
            .collect();
        paths.sort_unstable();
        paths.truncate(MOST_PATHS);
        paths.into_iter().map(|(Reverse(count), path)| HeldPath { path: path.to_owned(), count }).collect()
    }
}

/// Totals of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The most frequent paths to old objects.
    pub held: Vec<HeldPath>,
    /// Old objects.
    pub old_objects: u64,
    /// Cut chains.
    pub cut_chains: u64,
    /// Stacks without their outermost frames.
    pub truncated_stacks: u64,
    /// Bytes of events that the recorder dropped.
    pub lost_bytes: u64,
}
