//! The live objects by address, through garbage collections that move ranges of them.
//!
//! Objects lie in pages of 64 KiB of address space, each a list in order of address; pages are in an ordered map. New
//! objects are buffered in a list until it is full or a garbage collection begins, and are then inserted into their
//! pages together, because objects that a thread allocates lie side by side. A collection touches only the pages of
//! condemned ranges: objects that stay are not copied; objects that move are all removed first, then sorted and
//! inserted again. So a collection costs time in the objects condemned (and in sorting those moved), whatever the
//! size of the heap.
//!
//! Memory: [`OBJECT`] bytes per object that is alive or whose death is not known yet, up to twice that where lists
//! have just grown, and as much again for the objects that one collection moves, and half of that where these must be
//! sorted. All of it is counted before it is allocated.

use heaplake_kit::charge::Charge;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::mem;

/// Bits of an address inside a page.
const PAGE: u32 = 16;

/// Objects in the list of new ones, at most.
const WAITING: usize = 1 << 15;

/// Pages that were emptied and are kept for new objects.
const SPARE: usize = 64;

/// Bytes of an object.
const OBJECT: u64 = size_of::<Object>() as u64;

/// Bytes of a page besides its objects.
const ENTRY: u64 = 64;

/// An object that is alive, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Where it is.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// When it was allocated, in ticks of the trace.
    pub born_at: u64,
    /// Number of collections before its allocation.
    pub born: u32,
    /// Its type.
    pub type_id: u32,
    /// Where its deaths are counted by site; `u32::MAX` where its stack was not taken.
    pub cell: u32,
    /// How often its address changed.
    pub moves: u32,
    /// Its number among all allocations.
    pub serial: u64,
}

/// A range of addresses that a collection condemns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condemned {
    /// First address.
    pub start: u64,
    /// Address behind the last.
    pub end: u64,
    /// Generation of the objects in it.
    pub generation: u8,
}

/// A range of objects that survive a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survival {
    /// Address before.
    pub from: u64,
    /// Bytes.
    pub length: u64,
    /// Address after; the same where they stay.
    pub to: u64,
}

/// What a collection did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Objects that live on.
    pub survived: u64,
    /// Objects whose address changed.
    pub moved: u64,
    /// Their sizes, bytes.
    pub moved_bytes: u64,
    /// Objects that died.
    pub dead: u64,
    /// Their sizes, bytes.
    pub dead_bytes: u64,
    /// Objects that another one was moved onto: they are taken out.
    pub overrun: u64,
}

/// All objects.
pub struct Objects {
    pages: BTreeMap<u64, Vec<Object>>,
    waiting: Vec<Object>,
    spare: Vec<Vec<Object>>,
    /// Objects that the last collection moved, kept for its memory.
    arrivals: Vec<Object>,
    charge: Charge,
    count: u64,
    bytes: u64,
    /// Objects at whose address another one was allocated without a collection that had freed it.
    pub replaced: u64,
    /// Those, and those that others were moved onto, by where their deaths would have been counted: objects and bytes.
    pub lost: FxHashMap<u32, (u64, u64)>,
}

impl Objects {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        let mut charge = Charge::new(budget, "the objects that are alive in the trace")?;
        charge.add(WAITING as u64 * OBJECT)?;
        Ok(Self {
            pages: BTreeMap::new(),
            waiting: Vec::with_capacity(WAITING),
            spare: Vec::new(),
            arrivals: Vec::new(),
            charge,
            count: 0,
            bytes: 0,
            replaced: 0,
            lost: FxHashMap::default(),
        })
    }

    /// Adds a new object.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    #[inline]
    pub fn allocate(&mut self, object: Object) -> Result<(), StageError> {
        if self.waiting.len() == WAITING {
            self.settle()?;
        }
        self.waiting.push(object);
        self.count += 1;
        self.bytes = self.bytes.wrapping_add(object.bytes);
        Ok(())
    }

    /// Objects now alive, and their sizes in bytes.
    #[must_use]
    pub fn alive(&self) -> (u64, u64) {
        (self.count, self.bytes)
    }

    /// Brings waiting objects to their pages.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn settle(&mut self) -> Result<(), StageError> {
        let mut waiting = mem::take(&mut self.waiting);
        // Stable: of two objects at one address, the one allocated later is the later one.
        self.charge.sort_by_key(&mut waiting, |object| object.address)?;
        self.replaced += self.insert(&waiting)?;
        waiting.clear();
        self.waiting = waiting;
        Ok(())
    }

    /// Inserts objects in order of address. Where there is one already, the new one takes its place; how many that are.
    fn insert(&mut self, objects: &[Object]) -> Result<u64, StageError> {
        let mut replaced = 0;
        for part in objects.chunk_by(|a, b| a.address >> PAGE == b.address >> PAGE) {
            replaced += self.insert_into_page(part)?;
        }
        Ok(replaced)
    }

    /// The same for objects of one page.
    fn insert_into_page(&mut self, part: &[Object]) -> Result<u64, StageError> {
        let page = match self.pages.entry(part[0].address >> PAGE) {
            Entry::Occupied(page) => page.into_mut(),
            Entry::Vacant(place) => {
                self.charge.add(ENTRY)?;
                place.insert(self.spare.pop().unwrap_or_default())
            }
        };
        let in_order = page.last().is_none_or(|last| last.address < part[0].address);
        self.charge.make_room(page, part.len())?;
        page.extend_from_slice(part);
        if in_order && part.is_sorted_by(|a, b| a.address < b.address) {
            return Ok(0);
        }
        self.charge.sort_by_key(page, |object| object.address)?;
        let cells = self.lost.len();
        let mut replaced = Lost { by_cell: &mut self.lost, objects: 0, bytes: 0 };
        page.dedup_by(|later, kept| {
            let same = later.address == kept.address;
            if same {
                replaced.add(kept);
                *kept = *later;
            }
            same
        });
        let Lost { objects, bytes, .. } = replaced;
        self.count -= objects;
        self.bytes = self.bytes.wrapping_sub(bytes);
        self.charge.add((self.lost.len() - cells) as u64 * ENTRY)?;
        Ok(objects)
    }

    /// Runs a garbage collection. `condemned` and `survivals` are in order and do not overlap; `died` hears of each
    /// object that dies, with its generation. Objects whose number is `before` or greater are left alone: they are
    /// younger than a collection that runs beside the program.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn collect(
        &mut self,
        condemned: &[Condemned],
        survivals: &[Survival],
        before: u64,
        mut died: impl FnMut(&Object, u8) -> Result<(), StageError>,
    ) -> Result<Collected, StageError> {
        self.settle()?;
        let mut arrivals = mem::take(&mut self.arrivals);
        let mut sweep = Sweep { condemned, survivals, before, done: Collected::default() };
        // Pages below this one are done.
        let mut next = 0;
        for range in condemned.iter().filter(|range| range.start < range.end) {
            next = next.max(range.start >> PAGE);
            let last = (range.end - 1) >> PAGE;
            while next <= last
                && let Some((&key, page)) = self.pages.range_mut(next..=last).next()
            {
                self.charge.make_room(&mut arrivals, page.len())?;
                sweep.page(page, &mut arrivals, &mut died)?;
                if page.is_empty()
                    && let Some(page) = self.pages.remove(&key)
                {
                    self.set_aside(page);
                }
                next = key + 1;
            }
        }
        let mut done = sweep.done;
        self.count -= done.dead;
        self.bytes = self.bytes.wrapping_sub(done.dead_bytes);
        self.charge.sort_by_key(&mut arrivals, |object| object.address)?;
        done.overrun = self.insert(&arrivals)?;
        arrivals.clear();
        self.arrivals = arrivals;
        Ok(done)
    }

    fn set_aside(&mut self, mut page: Vec<Object>) {
        self.charge.sub(ENTRY);
        if self.spare.len() < SPARE {
            page.clear();
            self.spare.push(page);
        } else {
            self.charge.sub(page.capacity() as u64 * OBJECT);
        }
    }

    /// All objects that have their places, in order of address; [`Self::settle`] first.
    pub fn iter(&self) -> impl Iterator<Item = &Object> {
        self.pages.values().flatten()
    }
}

/// Objects that others replaced at their address.
struct Lost<'a> {
    by_cell: &'a mut FxHashMap<u32, (u64, u64)>,
    objects: u64,
    bytes: u64,
}

impl Lost<'_> {
    fn add(&mut self, object: &Object) {
        self.objects += 1;
        self.bytes = self.bytes.wrapping_add(object.bytes);
        let (count, bytes) = self.by_cell.entry(object.cell).or_default();
        *count += 1;
        *bytes = bytes.saturating_add(object.bytes);
    }
}

/// The pass of a garbage collection over the pages, in order of address.
struct Sweep<'a> {
    /// Ranges that do not end before the objects that come.
    condemned: &'a [Condemned],
    survivals: &'a [Survival],
    before: u64,
    done: Collected,
}

/// What becomes of an object.
enum Fate {
    Stays,
    Moves(u64),
    /// With the generation that it was in.
    Dies(u8),
}

impl Sweep<'_> {
    /// Removes from a page the objects that die and those that move; the latter go to `arrivals`, which has the
    /// capacity.
    fn page(
        &mut self,
        page: &mut Vec<Object>,
        arrivals: &mut Vec<Object>,
        died: &mut impl FnMut(&Object, u8) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let mut result = Ok(());
        page.retain_mut(|object| match self.fate(object) {
            Fate::Stays => true,
            Fate::Moves(address) => {
                arrivals.push(Object { address, moves: object.moves.saturating_add(1), ..*object });
                false
            }
            Fate::Dies(generation) => {
                if result.is_ok() {
                    result = died(object, generation);
                }
                false
            }
        });
        result
    }

    #[inline]
    fn fate(&mut self, object: &Object) -> Fate {
        let &Object { address, bytes, serial, .. } = object;
        while let [range, rest @ ..] = self.condemned
            && range.end <= address
        {
            self.condemned = rest;
        }
        let Some(place) = self.condemned.first().filter(|range| range.start <= address && serial < self.before) else {
            return Fate::Stays;
        };
        while let [range, rest @ ..] = self.survivals
            && range.from + range.length <= address
        {
            self.survivals = rest;
        }
        let Some(found) = self.survivals.first().filter(|range| range.from <= address) else {
            self.done.dead += 1;
            self.done.dead_bytes = self.done.dead_bytes.wrapping_add(bytes);
            return Fate::Dies(place.generation);
        };
        self.done.survived += 1;
        if found.from == found.to {
            return Fate::Stays;
        }
        self.done.moved += 1;
        self.done.moved_bytes = self.done.moved_bytes.wrapping_add(bytes);
        Fate::Moves(found.to + (address - found.from))
    }
}
