//! The live objects by address, through garbage collections that move ranges of them.
//!
//! Objects are in pages of 64 KiB of address space, each a list sorted by address; pages are in an ordered map. New
//! objects are buffered until the buffer is full or a garbage collection begins, and are then inserted together, since
//! objects of a thread are adjacent. A collection touches only the pages of condemned ranges: objects that stay are not
//! copied; objects that move are all removed first, then sorted and inserted again. So a collection costs time in the
//! objects condemned (and in sorting those moved), whatever the size of the heap.
//!
//! During a concurrent collection, swept memory is reused before survivors are reported. A new or moved object then
//! overlaps an older one, which must have died: it is removed, and kept in a list until its collection is known.
//!
//! Memory: [`OBJECT`] bytes per object that is alive or not known to be dead, up to twice that where lists have just
//! grown, as much again for the objects that one collection moves, and half of that if these must be sorted. All of it
//! is accounted before it is allocated.

use crate::intervals::Places;
use crate::sweep::Sweep;
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::mem;

pub use crate::sweep::{Collected, Condemned, Object, Pass, Survival};

/// Bits of an address inside a page.
const PAGE: u32 = 16;

/// Most buffered objects.
const WAITING: usize = 1 << 15;

/// Most empty pages kept for reuse.
const SPARE: usize = 64;

/// Bytes of an object.
const OBJECT: u64 = size_of::<Object>() as u64;

/// Bytes of a page without its objects.
const ENTRY: u64 = 64;

/// Memory that a concurrent collection may have swept already.
pub struct Swept {
    /// Generations of addresses.
    pub places: Places,
    /// Whether sizes belong to single objects; if not, only an equal address shows reuse.
    pub sized: bool,
}

impl Swept {
    fn end(&self, object: &Object) -> u64 {
        object.address.saturating_add(if self.sized { object.bytes.max(1) } else { 1 })
    }
}

/// All live objects.
pub struct Objects {
    pages: BTreeMap<u64, Vec<Object>>,
    waiting: Vec<Object>,
    spare: Vec<Vec<Object>>,
    /// Buffer of the objects that a collection moves.
    arrivals: Vec<Object>,
    account: MemoryAccount,
    count: u64,
    bytes: u64,
    /// Set during a concurrent collection, or until survivors are reported.
    pub swept: Option<Swept>,
    /// Objects whose memory was reused, with their generations.
    reclaimed: Vec<(Object, u8)>,
    /// Objects at an address that was allocated again without a collection that freed it.
    pub replaced: u64,
    /// Those, and objects that others were moved onto, by cell: objects and bytes.
    pub lost: FxHashMap<u32, (u64, u64)>,
}

impl Objects {
    /// Returns an empty set.
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        let mut account = MemoryAccount::new(budget, "the objects that are alive in the trace")?;
        account.add(WAITING as u64 * OBJECT)?;
        Ok(Self {
            pages: BTreeMap::new(),
            waiting: Vec::with_capacity(WAITING),
            spare: Vec::new(),
            arrivals: Vec::new(),
            account,
            count: 0,
            bytes: 0,
            swept: None,
            reclaimed: Vec::new(),
            replaced: 0,
            lost: FxHashMap::default(),
        })
    }

    /// Adds a new object.
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

    /// Number and bytes of live objects.
    pub fn alive(&self) -> (u64, u64) {
        (self.count, self.bytes)
    }

    /// Inserts the buffered objects into their pages.
    pub fn settle(&mut self) -> Result<(), StageError> {
        let mut waiting = mem::take(&mut self.waiting);
        // Stable: of two objects at one address, the one allocated later comes later.
        self.account.sort_by_key(&mut waiting, |object| object.address)?;
        self.replaced += self.insert(&waiting)?;
        waiting.clear();
        self.waiting = waiting;
        Ok(())
    }

    /// Inserts objects sorted by address, replacing those at equal addresses; returns the number replaced.
    fn insert(&mut self, objects: &[Object]) -> Result<u64, StageError> {
        let mut replaced = 0;
        for part in objects.chunk_by(|a, b| a.address >> PAGE == b.address >> PAGE) {
            if let Some(swept) = self.swept.take() {
                let evicted = self.evict(part, &swept);
                self.swept = Some(swept);
                evicted?;
            }
            replaced += self.insert_into_page(part)?;
        }
        Ok(replaced)
    }

    /// Inserts objects of one page, likewise.
    fn insert_into_page(&mut self, part: &[Object]) -> Result<u64, StageError> {
        let page = match self.pages.entry(part[0].address >> PAGE) {
            Entry::Occupied(page) => page.into_mut(),
            Entry::Vacant(place) => {
                self.account.add(ENTRY)?;
                place.insert(self.spare.pop().unwrap_or_default())
            }
        };
        let in_order = page.last().is_none_or(|last| last.address < part[0].address);
        self.account.make_room(page, part.len())?;
        page.extend_from_slice(part);
        if in_order && part.is_sorted_by(|a, b| a.address < b.address) {
            return Ok(0);
        }
        self.account.sort_by_key(page, |object| object.address)?;
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
        self.account.add((self.lost.len() - cells) as u64 * ENTRY)?;
        Ok(objects)
    }

    /// Evicts the objects that those of a part of one page overlap.
    fn evict(&mut self, part: &[Object], swept: &Swept) -> Result<(), StageError> {
        let first = part[0].address;
        let end = part.iter().map(|object| swept.end(object)).max().unwrap_or(first);
        // Objects do not overlap, so of those that begin in earlier pages only the last can reach here.
        let before = self.pages.range(..first >> PAGE).next_back();
        let reaching = before.filter(|(_, page)| page.last().is_some_and(|last| swept.end(last) > first));
        let mut next = reaching.map_or(first >> PAGE, |(&key, _)| key);
        while next <= (end - 1) >> PAGE
            && let Some((&key, page)) = self.pages.range_mut(next..=(end - 1) >> PAGE).next()
        {
            next = key + 1;
            if page.last().is_some_and(|last| swept.end(last) <= first) {
                continue;
            }
            let (mut above, reclaimed, account) = (part, &mut self.reclaimed, &mut self.account);
            let mut room = Ok(());
            page.retain(|object| {
                while let [new, rest @ ..] = above
                    && swept.end(new) <= object.address
                {
                    above = rest;
                }
                let covered = above.first().is_some_and(|new| new.address < swept.end(object));
                let Some(generation) = swept.places.at(object.address).filter(|_| covered && room.is_ok()) else {
                    return true;
                };
                room = account.make_room(reclaimed, 1);
                if room.is_ok() {
                    reclaimed.push((*object, generation));
                    self.count -= 1;
                    self.bytes = self.bytes.wrapping_sub(object.bytes);
                }
                room.is_err()
            });
            room?;
            if page.is_empty()
                && let Some(page) = self.pages.remove(&key)
            {
                self.set_aside(page);
            }
        }
        Ok(())
    }

    /// Whether memory of any object was reused since the last call of [`Self::reclaimed`].
    pub fn has_reclaimed(&self) -> bool {
        !self.reclaimed.is_empty()
    }

    /// Passes on the objects whose memory was reused since the last call, with their generations; returns their number
    /// and bytes.
    pub fn reclaimed(
        &mut self,
        mut died: impl FnMut(&Object, u8) -> Result<(), StageError>,
    ) -> Result<(u64, u64), StageError> {
        let mut done = (0, 0_u64);
        for (object, generation) in &self.reclaimed {
            died(object, *generation)?;
            done = (done.0 + 1, done.1.wrapping_add(object.bytes));
        }
        self.reclaimed.clear();
        Ok(done)
    }

    /// Returns objects from `start` to `end`, which is greater; call [`Self::settle`] first.
    pub fn within(&self, start: u64, end: u64) -> impl Iterator<Item = &Object> {
        let pages = self.pages.range(start >> PAGE..=(end - 1) >> PAGE);
        pages.flat_map(move |(_, page)| {
            let first = page.partition_point(|object| object.address < start);
            page[first..].iter().take_while(move |object| object.address < end)
        })
    }

    /// Returns the object that contains an address; call [`Self::settle`] first.
    pub fn at(&self, address: u64) -> Option<&Object> {
        let pages = self.pages.range(..=address >> PAGE).rev();
        let mut before = pages.map(|(_, page)| &page[..page.partition_point(|object| object.address <= address)]);
        let object = before.find_map(<[Object]>::last)?;
        (address == object.address || address - object.address < object.bytes).then_some(object)
    }

    /// Counts the objects in ranges with numbers below `older`; call [`Self::settle`] first.
    pub fn older(&self, ranges: &[Condemned], older: u64) -> u64 {
        let of = |range: &Condemned| -> u64 {
            self.within(range.start, range.end).filter(|object| object.serial < older).count() as u64
        };
        ranges.iter().filter(|range| range.start < range.end).map(of).sum()
    }

    /// Runs a garbage collection; calls `died` for each object that dies, with its generation.
    pub fn collect(
        &mut self,
        pass: Pass<'_>,
        mut died: impl FnMut(&Object, u8) -> Result<(), StageError>,
    ) -> Result<Collected, StageError> {
        self.settle()?;
        let mut arrivals = mem::take(&mut self.arrivals);
        let condemned = pass.condemned;
        let mut sweep = Sweep::new(pass);
        // Pages below this one are done.
        let mut next = 0;
        for range in condemned.iter().filter(|range| range.start < range.end) {
            next = next.max(range.start >> PAGE);
            let last = (range.end - 1) >> PAGE;
            while next <= last
                && let Some((&key, page)) = self.pages.range_mut(next..=last).next()
            {
                self.account.make_room(&mut arrivals, page.len())?;
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
        self.account.sort_by_key(&mut arrivals, |object| object.address)?;
        done.overrun = self.insert(&arrivals)?;
        arrivals.clear();
        self.arrivals = arrivals;
        Ok(done)
    }

    fn set_aside(&mut self, mut page: Vec<Object>) {
        self.account.sub(ENTRY);
        if self.spare.len() < SPARE {
            page.clear();
            self.spare.push(page);
        } else {
            self.account.sub(page.capacity() as u64 * OBJECT);
        }
    }

    /// Releases all objects at the end; the totals stay.
    pub fn release(&mut self) {
        (self.pages, self.waiting, self.spare) = (BTreeMap::new(), Vec::new(), Vec::new());
        (self.arrivals, self.reclaimed, self.lost) = (Vec::new(), Vec::new(), FxHashMap::default());
        self.account.release();
    }

    /// All settled objects, by address; call [`Self::settle`] first.
    pub fn iter(&self) -> impl Iterator<Item = &Object> {
        self.pages.values().flatten()
    }
}

/// Objects replaced at their address.
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
