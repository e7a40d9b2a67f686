//! In which generation each object is, from one collection to the next.
//!
//! Collections report the ranges of all generations as they find them, and as they leave them. An object changes its
//! generation only where it is moved, or where a range changes its own. So at each report only three kinds of
//! addresses are looked at: those whose generation is another one than at the report before, those to which objects
//! were moved since, and all of the generations in which new objects appear. What is seen goes to disk, whether it is
//! new or not; at the end it is sorted by object, and what did not change falls together.
//!
//! An object that lies behind what a generation uses, but inside of what it reserves, was allocated since, and is in
//! it, as the runtime says too. One that is in no range any more stays where it was: it is dead, and that will be told.

use crate::events::Range;
use crate::ordered::{Ordered, Space, Unordered};
use crate::places::Places;
use crate::sweep::{Condemned, Survival};
use crate::track::Objects;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::charge::Charge;
use heaplake_kit::{Budget, ColumnReader, ColumnWriter, Scratch, StageError};
use heaplake_schemas::object_generations::GenerationRow;
use heaplake_schemas::object_lifetimes::ALIVE;
use heaplake_schemas::replay::OBJECT_GENERATIONS;
use heaplake_schemas::scratch::Column;

const SEEN: Column<Seen> = Column::new("replay.seen");
const ORDER: [Column<Seen>; 2] = [Column::new("replay.seen.a"), Column::new("replay.seen.b")];

/// Name of this in the memory budget.
const WHO: &str = "the generations of objects";

/// "None".
const NONE: u32 = u32::MAX;

/// Generations in which new objects appear: 0, large and pinned.
const NEW: [u8; 3] = [0, 3, 4];

/// When objects are looked at: a number of collections, and whether that was as the last of them ended or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point(u32);

impl Point {
    /// As the last of so many collections ended.
    #[must_use]
    pub fn after(collections: u32) -> Self {
        Self(collections.saturating_mul(2))
    }

    /// As the last of so many collections found them.
    #[must_use]
    pub fn before(collections: u32) -> Self {
        Self::now(collections.saturating_sub(1))
    }

    /// Some time after so many collections.
    #[must_use]
    pub fn now(collections: u32) -> Self {
        Self(collections.saturating_mul(2).saturating_add(1))
    }
}

/// An object in a generation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Seen {
    object: u32,
    point: u32,
    generation: u32,
    padding: u32,
}

/// Looks at objects, collection by collection.
pub struct Promotions {
    seen: ColumnWriter<Seen>,
    /// The generations at the last report, in order, apart from each other.
    known: Vec<Condemned>,
    /// Where objects were moved since: first address, and the one behind the last.
    moved: Vec<(u64, u64)>,
    charge: Charge,
    budget: Budget,
}

impl Promotions {
    /// Nothing yet.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn new(scratch: &Scratch, budget: &Budget) -> Result<Self, StageError> {
        let (seen, charge) = (ColumnWriter::create(scratch, SEEN)?, Charge::new(budget, WHO)?);
        Ok(Self { seen, known: Vec::new(), moved: Vec::new(), charge, budget: budget.clone() })
    }

    /// Objects were moved.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn moved(&mut self, survivals: &[Survival]) -> Result<(), StageError> {
        let moved = survivals.iter().filter(|range| range.from != range.to);
        self.charge.make_room(&mut self.moved, moved.clone().count())?;
        self.moved.extend(moved.map(|range| (range.to, range.to.saturating_add(range.length))));
        Ok(())
    }

    /// A collection reports its generations, the range that counts where two overlap after the other; nothing happens
    /// where it reports none. The objects have their places.
    ///
    /// # Errors
    /// [`StageError::Budget`], [`StageError::Io`].
    pub fn look(
        &mut self,
        ranges: impl Iterator<Item = Range>,
        objects: &Objects,
        point: Point,
    ) -> Result<(), StageError> {
        let mut places = Places::new(&self.budget)?;
        for range in ranges {
            places.report(Range { used: range.used.max(range.reserved), ..range })?;
        }
        let reported = places.condemned()?;
        if reported.is_empty() {
            return Ok(());
        }
        let mut now = Vec::new();
        self.charge.make_room(&mut now, reported.len())?;
        now.extend(reported);
        drop(places);
        let before = std::mem::take(&mut self.known);
        let looked = self.see((&before, &now), objects, point);
        self.charge.sub((before.capacity() * size_of::<Condemned>()) as u64);
        self.known = now;
        looked
    }

    /// The trace is over: what is new since the last report.
    ///
    /// # Errors
    /// [`StageError::Budget`], [`StageError::Io`].
    pub fn last(&mut self, objects: &Objects, point: Point) -> Result<(), StageError> {
        let known = std::mem::take(&mut self.known);
        let looked = self.see((&known, &known), objects, point);
        self.known = known;
        looked
    }

    /// Sees the objects that may be in other generations than before.
    fn see(
        &mut self,
        (before, now): (&[Condemned], &[Condemned]),
        objects: &Objects,
        Point(point): Point,
    ) -> Result<(), StageError> {
        let mut places = std::mem::take(&mut self.moved);
        // Each range before cuts at most one piece in two.
        self.charge.make_room(&mut places, now.len() + before.len())?;
        changes(before, now, &mut places);
        self.charge.sort_by_key(&mut places, |place| *place)?;
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
                // Objects beyond the last number are refused when they are allocated.
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

    /// Forgets everything.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn discard(scratch: &Scratch) -> Result<(), StageError> {
        scratch.withdraw(SEEN)
    }

    /// What was seen, by object.
    ///
    /// # Errors
    /// [`StageError::Budget`], [`StageError::Io`], [`StageError::Cancelled`].
    pub fn finish(self, space: Space<'_>) -> Result<Histories<'_>, StageError> {
        let Self { seen, charge, known, moved, .. } = self;
        drop((known, moved, charge));
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

/// Adds the addresses of ranges whose generation was another one before, and all of the generations of new objects.
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
    /// Collections up to its death, and the generation of it; nothing for one that lives.
    pub died: Option<(u32, u32)>,
    /// Whether what became of it is known.
    pub known: bool,
}

/// Makes rows of what was seen, object by object.
pub struct Histories<'a> {
    seen: Ordered<'a, Seen>,
    next: Option<Seen>,
    rows: ColumnWriter<GenerationRow>,
}

impl Histories<'_> {
    /// Writes the rows of the next object, in order of their numbers; `gc` tells the runtime's number of a collection.
    /// Gives the generation at the end, where it lives.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Cancelled`].
    pub fn object(&mut self, life: Life, gc: impl Fn(u32) -> u32) -> Result<u32, StageError> {
        let Life { object, born, died, known } = life;
        let end = died.map_or(NONE, |(gcs, _)| gcs);
        // The generation now, and since when.
        let mut now: Option<(u32, u32)> = None;
        while let Some(seen) = self.next.filter(|seen| seen.object <= object) {
            self.next = self.seen.pop()?;
            let since = seen.point / 2;
            // A collection beside the program is told late of some objects that died before.
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

    /// Ends the rows; gives the bytes that were spilled for them.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(self) -> Result<u64, StageError> {
        self.rows.finish()?;
        Ok(self.seen.spilled())
    }
}
