//! A collection while its events come in.

use crate::events::{CollectionStart, Range, Reason, Root};
use crate::track::{Condemned, Survival};
use heaplake_kit::StageError;
use heaplake_kit::charge::Charge;
use heaplake_schemas::collections::CollectionRow;
use heaplake_schemas::replay::ABSENT;
use rustc_hash::FxHashSet;

/// Bytes of a range, as it is held.
const RANGE: u64 = 2 * size_of::<Survival>() as u64;

/// Generations that every heap has, as bits.
const YOUNG_AND_OLD: u32 = 0b111;

/// A collection that has begun.
pub struct Open {
    /// What began.
    pub start: CollectionStart,
    /// Allocations before it began.
    pub allocations: u64,
    ranges: Vec<Range>,
    starts: FxHashSet<u64>,
    /// Whether the generations are reported again, as they are afterwards.
    after: bool,
    survivals: Vec<Survival>,
    moved_ranges: u64,
    surviving_ranges: u64,
    roots: Option<[u64; 4]>,
    walked: Option<Vec<u64>>,
}

/// What its events came to.
pub struct Closed {
    /// Condemned ranges, in order, apart from each other.
    pub condemned: Vec<Condemned>,
    /// What survives, likewise.
    pub survivals: Vec<Survival>,
    /// Ranges that lay over others; what came later counts there.
    pub overlaps: u64,
    /// Addresses of a walk of the heap.
    pub walked: Option<Vec<u64>>,
}

impl Open {
    /// Begins.
    #[must_use]
    pub fn new(start: CollectionStart, allocations: u64) -> Self {
        Self {
            start,
            allocations,
            ranges: Vec::new(),
            starts: FxHashSet::default(),
            after: false,
            survivals: Vec::new(),
            moved_ranges: 0,
            surviving_ranges: 0,
            roots: None,
            walked: None,
        }
    }

    /// Addresses of a generation. They are reported at the beginning and once more at the end; only the former count.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn range(&mut self, range: Range, charge: &mut Charge) -> Result<(), StageError> {
        // Where nothing survived, only an address that comes again tells the one from the other.
        self.after |= range.used > 0 && !self.starts.insert(range.start);
        if self.after {
            return Ok(());
        }
        self.ranges.push(range);
        charge.add(RANGE)
    }

    /// Objects that survive, moved or not.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn survives(&mut self, survival: Survival, moved: bool, charge: &mut Charge) -> Result<(), StageError> {
        self.after = true;
        *(if moved { &mut self.moved_ranges } else { &mut self.surviving_ranges }) += 1;
        self.survivals.push(survival);
        charge.add(RANGE)
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
    pub fn walked(&mut self, address: u64, charge: &mut Charge) -> Result<(), StageError> {
        self.walked.get_or_insert_default().push(address);
        charge.add(2 * size_of::<u64>() as u64)
    }

    /// What it condemned and what survived. Gives back what was counted.
    pub fn close(&mut self, charge: &mut Charge) -> Closed {
        // Older runtimes have no pinned heap, and what is not there is not condemned.
        if !self.ranges.is_empty() {
            let there = self.ranges.iter().fold(YOUNG_AND_OLD, |mask, range| mask | 1 << range.generation.min(31));
            self.start.condemned &= there;
        }
        charge.sub((self.ranges.len() + self.survivals.len()) as u64 * RANGE);
        let mask = self.start.condemned;
        let mut condemned: Vec<Condemned> = std::mem::take(&mut self.ranges)
            .iter()
            .map(|range| Condemned {
                start: range.start,
                end: range.start.saturating_add(range.used),
                generation: range.generation,
            })
            .filter(|range| range.start < range.end)
            .collect();
        let mut overlaps = 0;
        condemned.sort_by_key(|range| range.start);
        for at in 1..condemned.len() {
            let start = condemned[at].start;
            if condemned[at - 1].end > start {
                condemned[at - 1].end = start;
                overlaps += 1;
            }
        }
        condemned.retain(|range| mask >> range.generation.min(31) & 1 == 1 && range.start < range.end);
        let mut survivals = std::mem::take(&mut self.survivals);
        survivals.retain(|range| range.length > 0);
        // What ends beyond the address space is cut: sums of addresses inside never overflow.
        for range in &mut survivals {
            range.length = range.length.min(u64::MAX - range.from).min(u64::MAX - range.to);
        }
        survivals.sort_by_key(|range| range.from);
        for at in 1..survivals.len() {
            let from = survivals[at].from;
            let before = &mut survivals[at - 1];
            if before.from + before.length > from {
                before.length = from - before.from;
                overlaps += 1;
            }
        }
        survivals.retain(|range| range.length > 0);
        let walked = self.walked.take();
        charge.sub(walked.as_ref().map_or(0, |walked| walked.len() as u64 * 2 * size_of::<u64>() as u64));
        Closed { condemned, survivals, overlaps, walked }
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
            roots: self.roots.unwrap_or([ABSENT; 4]),
            walked_objects: ABSENT,
            walk_missing: ABSENT,
            walk_extra: ABSENT,
        }
    }
}
