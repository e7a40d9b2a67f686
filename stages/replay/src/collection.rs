//! The events of one garbage collection, recorded while it runs.
//!
//! The memory for condemned ranges, survivors and objects of a walk is counted from its first event until it has been
//! replayed.

use crate::events::{CollectionStart, Range, Reason, Root};
use crate::track::{Condemned, Survival};
use heaplake_kit::charge::Charge;
use heaplake_kit::{Budget, StageError};
use heaplake_schemas::collections::CollectionRow;
use heaplake_schemas::replay::ABSENT;
use rustc_hash::FxHashSet;

/// Bytes of an entry of the table of addresses, also while it grows.
const ENTRY: u64 = 32;

/// Generations that every heap has, as bits.
const YOUNG_AND_OLD: u32 = 0b111;

/// A garbage collection that has begun.
pub struct Open {
    /// What began.
    pub start: CollectionStart,
    /// Allocations before it began.
    pub allocations: u64,
    /// Allocations before the first report of what survives.
    pub reported: Option<u64>,
    /// Events that were lost before it began.
    pub lost: u64,
    /// Its row, and how many collections had taken effect with it, once it has.
    pub effect: Option<(CollectionRow, u32)>,
    /// Addresses of a walk of the heap.
    pub walked: Option<Vec<u64>>,
    ranges: Vec<Range>,
    starts: FxHashSet<u64>,
    /// Whether the generations are reported again, as they are afterwards.
    after: bool,
    /// What is reported then.
    later: Vec<Range>,
    survivals: Vec<Survival>,
    moved_ranges: u64,
    surviving_ranges: u64,
    roots: Option<[u64; 4]>,
    charge: Charge,
}

/// The condemned ranges and the survivors, once they are all known.
pub struct Closed {
    /// Condemned ranges, in order, apart from each other.
    pub condemned: Vec<Condemned>,
    /// What survives, likewise.
    pub survivals: Vec<Survival>,
    /// Ranges that overlap others; the later one counts there.
    pub overlaps: u64,
}

impl Open {
    /// Begins.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(start: CollectionStart, (allocations, lost): (u64, u64), budget: &Budget) -> Result<Self, StageError> {
        Ok(Self {
            start,
            allocations,
            reported: None,
            lost,
            effect: None,
            walked: None,
            ranges: Vec::new(),
            starts: FxHashSet::default(),
            after: false,
            later: Vec::new(),
            survivals: Vec::new(),
            moved_ranges: 0,
            surviving_ranges: 0,
            roots: None,
            charge: Charge::new(budget, "the ranges of a collection")?,
        })
    }

    /// Addresses of a generation. They are reported at the beginning, which is what is condemned, and once more at the
    /// end. True for the former; the latter are kept only on demand.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn range(&mut self, range: Range, keep: bool) -> Result<bool, StageError> {
        // Where nothing survived, only an address that comes again tells the one from the other.
        if range.used > 0 {
            let first = self.starts.insert(range.start);
            self.after |= !first;
            self.charge.add(if first { ENTRY } else { 0 })?;
        }
        let to = if self.after { &mut self.later } else { &mut self.ranges };
        if !self.after || keep {
            self.charge.make_room(to, 1)?;
            to.push(range);
        }
        Ok(!self.after)
    }

    /// The generations as they were at the end, where they were kept.
    #[must_use]
    pub fn later(&self) -> &[Range] {
        &self.later
    }

    /// Whether the young generations lie behind each other in one segment, as before there were regions. A collection
    /// beside the program leaves them alone there.
    #[must_use]
    pub fn in_segments(&self) -> bool {
        let of = |generation: u8| self.ranges.iter().filter(move |range| range.generation == generation);
        let youngest: FxHashSet<u64> = of(0).map(|range| range.start).collect();
        of(1).any(|range| range.used > 0 && youngest.contains(&range.start.saturating_add(range.used)))
    }

    /// Objects that survive, moved or not; so many allocations were before.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn survives(&mut self, survival: Survival, moved: bool, allocations: u64) -> Result<(), StageError> {
        self.after = true;
        self.reported.get_or_insert(allocations);
        *(if moved { &mut self.moved_ranges } else { &mut self.surviving_ranges }) += 1;
        self.charge.make_room(&mut self.survivals, 1)?;
        self.survivals.push(survival);
        Ok(())
    }

    /// A root.
    pub fn root(&mut self, root: Root) {
        let at = match root {
            Root::Stack => 0,
            Root::Finalizer => 1,
            Root::Handle => 2,
            Root::Other => 3,
        };
        self.roots.get_or_insert_default()[at] += 1;
    }

    /// An object of a walk of the heap.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn walked(&mut self, address: u64) -> Result<(), StageError> {
        let walked = self.walked.get_or_insert_default();
        self.charge.make_room(walked, 1)?;
        walked.push(address);
        Ok(())
    }

    /// What it condemned and what survived, once that is reported.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn close(&mut self) -> Result<Closed, StageError> {
        let mut overlaps = 0;
        let condemned = self.condemned(&mut overlaps)?;
        let survivals = self.survivals(&mut overlaps)?;
        Ok(Closed { condemned, survivals, overlaps })
    }

    /// The condemned ranges, in order; where two overlap, the one that begins later counts.
    fn condemned(&mut self, overlaps: &mut u64) -> Result<Vec<Condemned>, StageError> {
        // Older runtimes have no pinned heap, and what is not there is not condemned.
        if !self.ranges.is_empty() {
            let there = self.ranges.iter().fold(YOUNG_AND_OLD, |mask, range| mask | 1 << range.generation.min(31));
            self.start.condemned &= there;
        }
        let mask = self.start.condemned;
        let mut condemned = Vec::new();
        self.charge.make_room(&mut condemned, self.ranges.len())?;
        let ranges = self.ranges.iter().map(|range| Condemned {
            start: range.start,
            end: range.start.saturating_add(range.used),
            generation: range.generation,
        });
        condemned.extend(ranges.filter(|range| range.start < range.end));
        self.charge.sort_by_key(&mut condemned, |range| range.start)?;
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

    /// The ranges that survive, likewise.
    fn survivals(&mut self, overlaps: &mut u64) -> Result<Vec<Survival>, StageError> {
        let mut survivals = std::mem::take(&mut self.survivals);
        survivals.retain(|range| range.length > 0);
        // What ends beyond the address space is cut: sums of addresses inside never overflow.
        for range in &mut survivals {
            range.length = range.length.min(u64::MAX - range.from).min(u64::MAX - range.to);
        }
        self.charge.sort_by_key(&mut survivals, |range| range.from)?;
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

    /// The row of the table, without what the collection did.
    #[must_use]
    pub fn row(&self) -> CollectionRow {
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
