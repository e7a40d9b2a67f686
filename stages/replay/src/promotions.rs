//! The generation of each object, from one collection to the next.
//!
//! Collections report the ranges of all generations before and after. An object changes its generation only if it is
//! moved or its range changes its own. So each report examines only three kinds of addresses: those with another
//! generation than in the report before, destinations of moves since, and all of the generations where new objects
//! appear. Observations go to disk, new or not; at the end they are sorted by object, and unchanged ones are merged.
//!
//! An object beyond the used but inside the reserved part of a generation was allocated since, and is in that
//! generation, as in the runtime. An object outside all ranges stays where it was: it is dead, and its death will be
//! recorded.

use crate::events::Range;
use crate::intervals::Places;
use crate::ordered::{Ordered, Space, Unordered};
use crate::sweep::{Condemned, Survival};
use crate::track::Objects;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, ColumnReader, ColumnWriter, Scratch, StageError};
use heaplake_schemas::object_generations::GenerationRow;
use heaplake_schemas::object_lifetimes::ALIVE;
use heaplake_schemas::replay::OBJECT_GENERATIONS;
use heaplake_schemas::scratch::Column;

const SEEN: Column<Seen> = Column::new("replay.seen");
const ORDER: [Column<Seen>; 2] = [Column::new("replay.seen.a"), Column::new("replay.seen.b")];

/// Memory account.
const WHO: &str = "the generations of objects";

/// Null sentinel.
const NONE: u32 = u32::MAX;

/// Generations where new objects appear: 0, large and pinned.
const NEW: [u8; 3] = [0, 3, 4];

/// Time of an observation: a number of collections, and whether it is at the end of the last one or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point(u32);

impl Point {
    /// At the end of the last of `collections`.
    pub fn after(collections: u32) -> Self {
        Self(collections.saturating_mul(2))
    }

    /// Just before the last of `collections`.
    pub fn before(collections: u32) -> Self {
        Self::now(collections.saturating_sub(1))
    }

    /// Some time after `collections`.
    pub fn now(collections: u32) -> Self {
        Self(collections.saturating_mul(2).saturating_add(1))
    }
}

/// An observation of an object in a generation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Seen {
    object: u32,
    point: u32,
    generation: u32,
    padding: u32,
}

/// Observes objects, collection by collection.
pub struct Promotions {
    seen: ColumnWriter<Seen>,
    /// The generations at the last report, sorted and disjoint.
    known: Vec<Condemned>,
    /// Destinations of moves since: first address, exclusive end.
    moved: Vec<(u64, u64)>,
    account: MemoryAccount,
    budget: Budget,
}

impl Promotions {
    /// Returns a recorder without observations.
    pub fn new(scratch: &Scratch, budget: &Budget) -> Result<Self, StageError> {
        let (seen, account) = (ColumnWriter::create(scratch, SEEN)?, MemoryAccount::new(budget, WHO)?);
        Ok(Self { seen, known: Vec::new(), moved: Vec::new(), account, budget: budget.clone() })
    }

    /// Records moves.
    pub fn moved(&mut self, survivals: &[Survival]) -> Result<(), StageError> {
        let moved = survivals.iter().filter(|range| range.from != range.to);
        self.account.make_room(&mut self.moved, moved.clone().count())?;
        self.moved.extend(moved.map(|range| (range.to, range.to.saturating_add(range.length))));
        Ok(())
    }

    /// Observes objects at a report of generations; later ranges override, and an empty report is ignored. Objects must
    /// be settled.
    pub fn look(
        &mut self,
        ranges: impl Iterator<Item = Range>,
        objects: &Objects,
        point: Point,
    ) -> Result<(), StageError> {
        let mut places = Places::new(&self.budget, WHO)?;
        for range in ranges {
            places.report(Range { used: range.used.max(range.reserved), ..range })?;
        }
        let reported = places.condemned()?;
        if reported.is_empty() {
            return Ok(());
        }
        let mut now = Vec::new();
        self.account.make_room(&mut now, reported.len())?;
        now.extend(reported);
        drop(places);
        let before = std::mem::take(&mut self.known);
        let looked = self.see((&before, &now), objects, point);
        self.account.sub((before.capacity() * size_of::<Condemned>()) as u64);
        self.known = now;
        looked
    }

    /// At the end of the trace, observes objects that are new since the last report.
    pub fn last(&mut self, objects: &Objects, point: Point) -> Result<(), StageError> {
        let known = std::mem::take(&mut self.known);
        let looked = self.see((&known, &known), objects, point);
        self.known = known;
        looked
    }

    /// Observes the objects whose generation may have changed.
    fn see(
        &mut self,
        (before, now): (&[Condemned], &[Condemned]),
        objects: &Objects,
        Point(point): Point,
    ) -> Result<(), StageError> {
        let mut places = std::mem::take(&mut self.moved);
        // Each earlier range splits at most one piece.
        self.account.make_room(&mut places, now.len() + before.len())?;
        changes(before, now, &mut places);
        self.account.sort_by_key(&mut places, |place| *place)?;
        let (mut behind, mut known) = (0, now);
        for &(start, end) in &places {
            let start = start.max(behind);
            if start >= end {
                continue;
            }
            behind = end;
            for object in objects.within(start, end) {
                while let [range, rest @ ..] = known
                    && range.end <= object.address
                {
                    known = rest;
                }
                // Objects beyond the last number are refused at their allocation.
                if let Some(range) = known.first().filter(|range| range.start <= object.address) {
                    let (object, generation) = (object.serial as u32, u32::from(range.generation));
                    self.seen.push(Seen { object, point, generation, padding: 0 })?;
                }
            }
        }
        places.clear();
        self.moved = places;
        Ok(())
    }

    /// Deletes the observations.
    pub fn discard(scratch: &Scratch) -> Result<(), StageError> {
        scratch.withdraw(SEEN)
    }

    /// Sorts the observations by object.
    pub fn finish(self, space: Space<'_>) -> Result<Histories<'_>, StageError> {
        let Self { seen, account, known, moved, .. } = self;
        drop((known, moved, account));
        let count = seen.finish()?;
        let mut sorted = Unordered::new(WHO, usize::try_from(count).unwrap_or(usize::MAX), ORDER, space)?;
        let mut reader = ColumnReader::open(space.scratch, SEEN)?;
        while reader.remaining() > 0 {
            sorted.push(reader.next()?)?;
        }
        space.scratch.discard(SEEN);
        let mut seen = sorted.finish()?;
        let next = seen.pop()?;
        Ok(Histories { seen, next, rows: ColumnWriter::create(space.scratch, OBJECT_GENERATIONS)? })
    }
}

/// Adds the addresses with another generation than before, and all of the generations of new objects.
fn changes(before: &[Condemned], now: &[Condemned], places: &mut Vec<(u64, u64)>) {
    let mut before = before;
    for range in now {
        if NEW.contains(&range.generation) {
            places.push((range.start, range.end));
            continue;
        }
        while let [first, rest @ ..] = before
            && first.end <= range.start
        {
            before = rest;
        }
        let mut start = range.start;
        for old in before.iter().take_while(|old| old.start < range.end) {
            if old.generation == range.generation {
                if start < old.start {
                    places.push((start, old.start));
                }
                start = old.end;
            }
        }
        if start < range.end {
            places.push((start, range.end));
        }
    }
}

/// The life of an object, in numbers of collections.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    /// Its number.
    pub object: u32,
    /// Collections before its allocation.
    pub born: u32,
    /// Collections up to its death, and its generation then; `None` if alive.
    pub died: Option<(u32, u32)>,
    /// Whether its fate is known.
    pub known: bool,
}

/// Turns observations into rows, object by object.
pub struct Histories<'a> {
    seen: Ordered<'a, Seen>,
    next: Option<Seen>,
    rows: ColumnWriter<GenerationRow>,
}

impl Histories<'_> {
    /// Writes the rows of the next object, in order of numbers; `gc` maps a count of collections to the runtime's
    /// number. Returns the generation at the end, if alive.
    pub fn object(&mut self, life: Life, gc: impl Fn(u32) -> u32) -> Result<u32, StageError> {
        let Life { object, born, died, known } = life;
        let end = died.map_or(NONE, |(gcs, _)| gcs);
        // The current generation, and since when.
        let mut now: Option<(u32, u32)> = None;
        while let Some(seen) = self.next.filter(|seen| seen.object <= object) {
            self.next = self.seen.pop()?;
            let since = seen.point / 2;
            // Events of a concurrent collection may show objects late that died before.
            if !known || since >= end {
                continue;
            }
            match now {
                None => now = Some((seen.generation, born)),
                Some((generation, _)) if generation == seen.generation => {}
                Some((generation, from)) => {
                    if from < since {
                        let (since_gc, until_gc) = (gc(from), gc(since));
                        self.rows.push(GenerationRow { object, generation, since_gc, until_gc })?;
                    }
                    now = Some((seen.generation, from.max(since)));
                }
            }
        }
        let last = now.or_else(|| died.filter(|_| known).map(|(_, generation)| (generation, born)));
        let Some((generation, from)) = last else { return Ok(NONE) };
        let until_gc = if end == NONE { NONE } else { gc(end) };
        self.rows.push(GenerationRow { object, generation, since_gc: gc(from), until_gc })?;
        debug_assert!(generation < ALIVE as u32);
        Ok(if end == NONE { generation } else { NONE })
    }

    /// Finishes the rows; returns the bytes spilled for them.
    pub fn finish(self) -> Result<u64, StageError> {
        self.rows.finish()?;
        Ok(self.seen.spilled())
    }
}
