//! The events of one garbage collection, recorded while it runs.
//!
//! The memory for condemned ranges, survivors and objects of a walk is counted from its first event until it has been
//! replayed.

use crate::events::{CollectionStart, Range, Reason, Root, RootKind};
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

/// A range of a generation, and how many ranges of survivors begin in it.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The range.
    pub range: Range,
    /// Survivors that were reported as moved.
    pub moved: u64,
    /// Survivors that were reported as left where they were.
    pub surviving: u64,
}

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
    ranges: Vec<Bound>,
    /// How many ranges have addresses, once they are all there; these come first, in order.
    filled: Option<usize>,
    starts: FxHashSet<u64>,
    /// Whether the generations are reported again, as they are afterwards.
    after: bool,
    /// What is reported then.
    later: Vec<Range>,
    survivals: Vec<Survival>,
    moved_ranges: u64,
    surviving_ranges: u64,
    roots: Option<[u64; 4]>,
    /// The roots themselves, where they are kept.
    held: Vec<Root>,
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
            filled: None,
            starts: FxHashSet::default(),
            after: false,
            later: Vec::new(),
            survivals: Vec::new(),
            moved_ranges: 0,
            surviving_ranges: 0,
            roots: None,
            held: Vec::new(),
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
        if !self.after {
            self.charge.make_room(&mut self.ranges, 1)?;
            self.ranges.push(Bound { range, moved: 0, surviving: 0 });
        } else if keep {
            self.charge.make_room(&mut self.later, 1)?;
            self.later.push(range);
        }
        Ok(!self.after)
    }

    /// The generations as they were at the end, where they were kept.
    #[must_use]
    pub fn later(&self) -> &[Range] {
        &self.later
    }

    /// The generations as the collection leaves them, where that was kept; the later range counts. Where nothing
    /// survived, those that were empty may be of the report at the end already.
    pub fn left(&self) -> impl Iterator<Item = Range> {
        let empty = |bound: &&Bound| {
            let nothing = self.moved_ranges + self.surviving_ranges == 0;
            nothing && !self.later.is_empty() && bound.range.used == 0
        };
        let before = self.ranges.iter().filter(empty).map(|bound| bound.range);
        before.chain(self.later.iter().copied())
    }

    /// Whether the young generations lie behind each other in one segment, as before there were regions. A collection
    /// beside the program leaves them alone there.
    #[must_use]
    pub fn in_segments(&self) -> bool {
        let ranges = || self.ranges.iter().map(|bound| bound.range);
        let of = |generation: u8| ranges().filter(move |range| range.generation == generation);
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
        if let Some(bound) = self.bound(survival.from)? {
            *(if moved { &mut bound.moved } else { &mut bound.surviving }) += 1;
        }
        self.charge.make_room(&mut self.survivals, 1)?;
        self.survivals.push(survival);
        Ok(())
    }

    /// The range that an address is in. Of two ranges that overlap, the one that begins later counts.
    fn bound(&mut self, address: u64) -> Result<Option<&mut Bound>, StageError> {
        let filled = match self.filled {
            Some(filled) => filled,
            None => {
                self.charge.sort_by_key(&mut self.ranges, |bound| (bound.range.used == 0, bound.range.start))?;
                *self.filled.insert(self.ranges.partition_point(|bound| bound.range.used > 0))
            }
        };
        let behind = self.ranges[..filled].partition_point(|bound| bound.range.start <= address);
        let bound = self.ranges[..behind].last_mut();
        Ok(bound.filter(|bound| address - bound.range.start < bound.range.used))
    }

    /// Generations that were both compacted and swept, as none may be.
    #[must_use]
    pub fn conflicts(&self) -> u64 {
        let generations = |of: fn(&Bound) -> u64| {
            let bounds = self.ranges.iter().filter(|bound| of(bound) > 0);
            bounds.fold(0_u32, |mask, bound| mask | 1 << bound.range.generation.min(31))
        };
        (generations(|bound| bound.moved) & generations(|bound| bound.surviving)).count_ones().into()
    }

    /// The generations as the collection finds them. The later range counts where two overlap: empty ones, which come
    /// first, may be of the report at the end already where nothing survived.
    pub fn found(&self) -> impl Iterator<Item = Range> {
        let ranges = || self.ranges.iter().map(|bound| bound.range);
        ranges().filter(|range| range.used == 0).chain(ranges().filter(|range| range.used > 0))
    }

    /// The ranges at the beginning and those at the end, where these were kept, both in order of their addresses.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn all_bounds(&mut self) -> Result<(&[Bound], &[Range]), StageError> {
        self.filled = None;
        self.charge.sort_by_key(&mut self.ranges, |bound| (bound.range.start, bound.range.generation))?;
        self.charge.sort_by_key(&mut self.later, |range| (range.start, range.generation))?;
        Ok((&self.ranges, &self.later))
    }

    /// A root, which is kept on demand.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn root(&mut self, root: Root, keep: bool) -> Result<(), StageError> {
        let at = match root.kind {
            RootKind::Stack => 0,
            RootKind::Finalizer => 1,
            RootKind::Handle => 2,
            RootKind::Other => 3,
        };
        self.roots.get_or_insert_default()[at] += 1;
        if keep {
            self.charge.make_room(&mut self.held, 1)?;
            self.held.push(root);
        }
        Ok(())
    }

    /// The roots, where they were kept, in order.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn held(&mut self) -> Result<&[Root], StageError> {
        self.charge.sort_by_key(&mut self.held, |root| *root)?;
        Ok(&self.held)
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
            let there =
                self.ranges.iter().fold(YOUNG_AND_OLD, |mask, bound| mask | 1 << bound.range.generation.min(31));
            self.start.condemned &= there;
        }
        let mask = self.start.condemned;
        let mut condemned = Vec::new();
        self.charge.make_room(&mut condemned, self.ranges.len())?;
        let ranges = self.ranges.iter().map(|Bound { range, .. }| Condemned {
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
