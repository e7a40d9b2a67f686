//! The events of one garbage collection, recorded while it runs.
//!
//! Memory of condemned ranges, survivors and walked objects is accounted from the first event until the replay is done
//! with them.

use crate::events::{CollectionStart, Range, Reason, Root};
use crate::track::{Condemned, Survival};
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, StageError};
use heaplake_schemas::collections::CollectionRow;
use heaplake_schemas::replay::ABSENT;
use rustc_hash::FxHashSet;

/// Bytes per entry of the set of addresses, growth included.
const ENTRY: u64 = 32;

/// Generations of every heap, as bits.
const YOUNG_AND_OLD: u32 = 0b111;

/// A range of a generation, with the number of survivor ranges that begin in it.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The range.
    pub range: Range,
    /// Survivor ranges reported as moved.
    pub moved: u64,
    /// Survivor ranges reported as in place.
    pub surviving: u64,
}

/// A garbage collection in progress.
pub(crate) struct Open {
    /// Its first event.
    pub start: CollectionStart,
    /// Allocations before it began.
    pub allocations: u64,
    /// Allocations before the first report of survivors.
    pub reported: Option<u64>,
    /// Events lost before it began.
    pub lost: u64,
    /// Its row, and the number of collections in effect with it, once it has taken effect.
    pub effect: Option<(CollectionRow, u32)>,
    /// Addresses of a heap walk.
    pub walked: Option<Vec<u64>>,
    ranges: Vec<Bound>,
    /// Number of non-empty ranges, once all are known; these come first, sorted.
    filled: Option<usize>,
    starts: FxHashSet<u64>,
    /// Whether the current ranges are those after the collection.
    after: bool,
    /// Ranges after the collection.
    later: Vec<Range>,
    survivals: Vec<Survival>,
    moved_ranges: u64,
    surviving_ranges: u64,
    roots: Option<[u64; 4]>,
    /// The roots, if kept.
    held: Vec<Root>,
    account: MemoryAccount,
}

/// The condemned ranges and the survivors, once all are known.
pub(crate) struct Closed {
    /// Condemned ranges, sorted and disjoint.
    pub condemned: Vec<Condemned>,
    /// Survivors, likewise.
    pub survivals: Vec<Survival>,
    /// Number of overlapping ranges; where two overlap, the one with the higher start counts.
    pub overlaps: u64,
}

impl Open {
    /// Starts recording a collection.
    pub(crate) fn new(
        start: CollectionStart,
        (allocations, lost): (u64, u64),
        budget: &Budget,
    ) -> Result<Self, StageError> {
        Ok(Self {
            start,
            allocations,
            reported: None,
            lost,
            effect: None,
            walked: None,
            ranges: Vec::new(),
            filled: None,
            starts: FxHashSet::default(),
            after: false,
            later: Vec::new(),
            survivals: Vec::new(),
            moved_ranges: 0,
            surviving_ranges: 0,
            roots: None,
            held: Vec::new(),
            account: MemoryAccount::new(budget, "the ranges of a collection")?,
        })
    }

    /// Adds a range of a generation. Ranges are reported at the start, which are the condemned ones, and again at the
    /// end. Returns true for the former; the latter are kept only if `keep`.
    pub(crate) fn range(&mut self, range: Range, keep: bool) -> Result<bool, StageError> {
        // Without survivors, only a repeated address marks the second report.
        if range.used > 0 {
            let first = self.starts.insert(range.start);
            self.after |= !first;
            self.account.add(if first { ENTRY } else { 0 })?;
        }
        if !self.after {
            self.account.make_room(&mut self.ranges, 1)?;
            self.ranges.push(Bound { range, moved: 0, surviving: 0 });
        } else if keep {
            self.account.make_room(&mut self.later, 1)?;
            self.later.push(range);
        }
        Ok(!self.after)
    }

    /// The ranges after the collection, if kept.
    pub(crate) fn later(&self) -> &[Range] {
        &self.later
    }

    /// The generations after the collection, if kept; later ranges override. Without survivors, empty ranges of the
    /// first report may belong to the second one.
    pub(crate) fn left(&self) -> impl Iterator<Item = Range> {
        let empty = |bound: &&Bound| {
            let nothing = self.moved_ranges + self.surviving_ranges == 0;
            nothing && !self.later.is_empty() && bound.range.used == 0
        };
        let before = self.ranges.iter().filter(empty).map(|bound| bound.range);
        before.chain(self.later.iter().copied())
    }

    /// Whether the young generations are adjacent in one segment, as before regions. A concurrent collection leaves
    /// them alone there.
    pub(crate) fn in_segments(&self) -> bool {
        let ranges = || self.ranges.iter().map(|bound| bound.range);
        let of = |generation: u8| ranges().filter(move |range| range.generation == generation);
        let youngest: FxHashSet<u64> = of(0).map(|range| range.start).collect();
        of(1).any(|range| range.used > 0 && youngest.contains(&range.start.saturating_add(range.used)))
    }

    /// Adds a range of survivors, moved or not, after `allocations` allocations.
    pub(crate) fn survives(&mut self, survival: Survival, moved: bool, allocations: u64) -> Result<(), StageError> {
        self.after = true;
        self.reported.get_or_insert(allocations);
        *(if moved { &mut self.moved_ranges } else { &mut self.surviving_ranges }) += 1;
        if let Some(bound) = self.bound(survival.from)? {
            *(if moved { &mut bound.moved } else { &mut bound.surviving }) += 1;
        }
        self.account.make_room(&mut self.survivals, 1)?;
        self.survivals.push(survival);
        Ok(())
    }

    /// Returns the range of an address. Of two overlapping ranges the one with the higher start counts.
    fn bound(&mut self, address: u64) -> Result<Option<&mut Bound>, StageError> {
        let filled = match self.filled {
            Some(filled) => filled,
            None => {
                self.account.sort_by_key(&mut self.ranges, |bound| (bound.range.used == 0, bound.range.start))?;
                *self.filled.insert(self.ranges.partition_point(|bound| bound.range.used > 0))
            }
        };
        let behind = self.ranges[..filled].partition_point(|bound| bound.range.start <= address);
        let bound = self.ranges[..behind].last_mut();
        Ok(bound.filter(|bound| address - bound.range.start < bound.range.used))
    }

    /// Number of generations that were both compacted and swept, which is an anomaly.
    pub(crate) fn conflicts(&self) -> u64 {
        let generations = |of: fn(&Bound) -> u64| {
            let bounds = self.ranges.iter().filter(|bound| of(bound) > 0);
            bounds.fold(0_u32, |mask, bound| mask | 1 << bound.range.generation.min(31))
        };
        (generations(|bound| bound.moved) & generations(|bound| bound.surviving)).count_ones().into()
    }

    /// The generations before the collection; later ranges override. Empty ones come first: without survivors they may
    /// belong to the second report.
    pub(crate) fn found(&self) -> impl Iterator<Item = Range> {
        let ranges = || self.ranges.iter().map(|bound| bound.range);
        ranges().filter(|range| range.used == 0).chain(ranges().filter(|range| range.used > 0))
    }

    /// Returns the ranges before the collection and those after it, if kept, both by address.
    pub(crate) fn all_bounds(&mut self) -> Result<(&[Bound], &[Range]), StageError> {
        self.filled = None;
        self.account.sort_by_key(&mut self.ranges, |bound| (bound.range.start, bound.range.generation))?;
        self.account.sort_by_key(&mut self.later, |range| (range.start, range.generation))?;
        Ok((&self.ranges, &self.later))
    }

    /// Adds a root; keeps it if `keep`.
    pub(crate) fn root(&mut self, root: Root, keep: bool) -> Result<(), StageError> {
        self.roots.get_or_insert_default()[root.kind as usize] += 1;
        if keep {
            self.account.make_room(&mut self.held, 1)?;
            self.held.push(root);
        }
        Ok(())
    }

    /// Returns the kept roots, sorted.
    pub(crate) fn held(&mut self) -> Result<&[Root], StageError> {
        self.account.sort_by_key(&mut self.held, |root| *root)?;
        Ok(&self.held)
    }

    /// Adds an object of a heap walk.
    pub(crate) fn walked(&mut self, address: u64) -> Result<(), StageError> {
        let walked = self.walked.get_or_insert_default();
        self.account.make_room(walked, 1)?;
        walked.push(address);
        Ok(())
    }

    /// Returns condemned ranges and survivors, once all are reported.
    pub(crate) fn close(&mut self) -> Result<Closed, StageError> {
        let mut overlaps = 0;
        let condemned = self.condemned(&mut overlaps)?;
        let survivals = self.survivals(&mut overlaps)?;
        Ok(Closed { condemned, survivals, overlaps })
    }

    /// Returns the condemned ranges, sorted; of two overlapping ones that with the higher start counts.
    fn condemned(&mut self, overlaps: &mut u64) -> Result<Vec<Condemned>, StageError> {
        // Older runtimes have no pinned heap; generations without ranges are not condemned.
        if !self.ranges.is_empty() {
            let there =
                self.ranges.iter().fold(YOUNG_AND_OLD, |mask, bound| mask | 1 << bound.range.generation.min(31));
            self.start.condemned &= there;
        }
        let mask = self.start.condemned;
        let mut condemned = Vec::new();
        self.account.make_room(&mut condemned, self.ranges.len())?;
        let ranges = self.ranges.iter().map(|Bound { range, .. }| Condemned {
            start: range.start,
            end: range.start.saturating_add(range.used),
            generation: range.generation,
        });
        condemned.extend(ranges.filter(|range| range.start < range.end));
        self.account.sort_by_key(&mut condemned, |range| range.start)?;
        for at in 1..condemned.len() {
            let start = condemned[at].start;
            if condemned[at - 1].end > start {
                condemned[at - 1].end = start;
                *overlaps += 1;
            }
        }
        condemned.retain(|range| mask >> range.generation.min(31) & 1 == 1 && range.start < range.end);
        Ok(condemned)
    }

    /// Returns the survivor ranges, likewise.
    fn survivals(&mut self, overlaps: &mut u64) -> Result<Vec<Survival>, StageError> {
        let mut survivals = std::mem::take(&mut self.survivals);
        survivals.retain(|range| range.length > 0);
        // Cut at the end of the address space, so that sums of addresses never overflow.
        for range in &mut survivals {
            range.length = range.length.min(u64::MAX - range.from).min(u64::MAX - range.to);
        }
        self.account.sort_by_key(&mut survivals, |range| range.from)?;
        for at in 1..survivals.len() {
            let from = survivals[at].from;
            let before = &mut survivals[at - 1];
            if before.from + before.length > from {
                before.length = from - before.from;
                *overlaps += 1;
            }
        }
        survivals.retain(|range| range.length > 0);
        Ok(survivals)
    }

    /// Returns the row of the table, without the effects of the collection.
    pub(crate) fn row(&self) -> CollectionRow {
        let (reason, profiler_reason) = match self.start.reason {
            Reason::Profiler(code) => (code, 1),
            Reason::Runtime(code) => (code, 0),
        };
        CollectionRow {
            gc: self.start.number,
            condemned: self.start.condemned,
            reason,
            profiler_reason,
            started_at_us: i64::MIN,
            pause_seconds: f64::NAN,
            moved_ranges: self.moved_ranges,
            surviving_ranges: self.surviving_ranges,
            moved_objects: 0,
            moved_bytes: 0,
            survived_objects: 0,
            dead_objects: 0,
            dead_bytes: 0,
            live_objects: 0,
            live_bytes: 0,
            doubtful_objects: 0,
            roots: self.roots.unwrap_or([ABSENT; 4]),
            walked_objects: ABSENT,
            walk_missing: ABSENT,
            walk_extra: ABSENT,
        }
    }
}
