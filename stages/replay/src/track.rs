//! Objects by address, through collections that move whole ranges of them.
//!
//! Objects lie in pages of 64 KiB of address space, each a list in order of address; pages are in an ordered map. New
//! objects wait in a list of their own until it is full or a collection begins, and then go to their pages together, as
//! what threads allocate lies together. A collection touches the pages of condemned ranges and no others: objects that
//! stay are not copied, objects that move are taken out, and put in again, sorted, when all are out. So a collection costs
//! what was condemned (and the sorting of what moved), whatever the size of the heap.
//!
//! Memory: [`OBJECT`] bytes per object that is alive or whose death is not known yet, up to twice that where lists have
//! just grown, and as much again for the objects that one collection moves.

use heaplake_kit::charge::Charge;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::mem;

/// Bits of an address inside a page.
const PAGE: u32 = 16;

/// Objects that wait for their pages.
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
        waiting.sort_by_key(|object| object.address);
        let result = self.insert(&waiting);
        waiting.clear();
        self.waiting = waiting;
        self.replaced += result?;
        Ok(())
    }

    /// Inserts objects in order of address. Where there is one already, the new one takes its place; how many that are.
    fn insert(&mut self, objects: &[Object]) -> Result<u64, StageError> {
        let mut replaced = 0;
        for part in objects.chunk_by(|a, b| a.address >> PAGE == b.address >> PAGE) {
            let mut grown = 0;
            let page = self.pages.entry(part[0].address >> PAGE).or_insert_with(|| {
                grown = ENTRY;
                self.spare.pop().unwrap_or_default()
            });
            let before = page.capacity();
            let in_order = page.last().is_none_or(|last| last.address < part[0].address);
            page.extend_from_slice(part);
            grown += (page.capacity() - before) as u64 * OBJECT;
            if !in_order {
                page.sort_by_key(|object| object.address);
            }
            let mut lost_bytes = 0;
            let length = page.len();
            if !in_order || !part.is_sorted_by(|a, b| a.address < b.address) {
                // Of equal ones, keep the last.
                let mut next = page.iter().skip(1).map(|object| object.address).collect::<Vec<_>>().into_iter();
                page.retain(|object| {
                    let keep = next.next() != Some(object.address);
                    if !keep {
                        lost_bytes = object.bytes.wrapping_add(lost_bytes);
                        let lost = self.lost.entry(object.cell).or_insert_with(|| {
                            grown += ENTRY;
                            (0, 0)
                        });
                        *lost = (lost.0 + 1, lost.1.saturating_add(object.bytes));
                    }
                    keep
                });
            }
            let lost = (length - page.len()) as u64;
            replaced += lost;
            self.count -= lost;
            self.bytes = self.bytes.wrapping_sub(lost_bytes);
            self.charge.add(grown)?;
        }
        Ok(replaced)
    }

    /// Runs a collection. `condemned` and `survivals` are in order and do not overlap; `died` hears of each object that
    /// dies, with its generation. Objects whose number is `before` or greater are left alone: they are younger than a
    /// collection that runs beside the program.
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
        let mut done = Collected::default();
        let (mut range, mut survival) = (0, 0);
        let mut arrivals = mem::take(&mut self.arrivals);
        let keys = self.condemned_pages(condemned);
        let mut result = Ok(());
        for key in keys {
            let Some(page) = self.pages.get_mut(&key) else { continue };
            let capacity = arrivals.capacity();
            page.retain_mut(|object| {
                while condemned.get(range).is_some_and(|range| range.end <= object.address) {
                    range += 1;
                }
                let condemned =
                    condemned.get(range).filter(|range| range.start <= object.address && object.serial < before);
                let Some(place) = condemned else {
                    return true;
                };
                while survivals.get(survival).is_some_and(|range| range.from + range.length <= object.address) {
                    survival += 1;
                }
                let Some(found) = survivals.get(survival).filter(|range| range.from <= object.address) else {
                    done.dead += 1;
                    done.dead_bytes = done.dead_bytes.wrapping_add(object.bytes);
                    if result.is_ok() {
                        result = died(object, place.generation);
                    }
                    return false;
                };
                done.survived += 1;
                if found.from == found.to {
                    return true;
                }
                done.moved += 1;
                done.moved_bytes = done.moved_bytes.wrapping_add(object.bytes);
                let address = found.to + (object.address - found.from);
                arrivals.push(Object { address, moves: object.moves.saturating_add(1), ..*object });
                false
            });
            self.charge.add((arrivals.capacity() - capacity) as u64 * OBJECT)?;
            if page.is_empty()
                && let Some(page) = self.pages.remove(&key)
            {
                self.set_aside(page);
            }
        }
        result?;
        self.count -= done.dead;
        self.bytes = self.bytes.wrapping_sub(done.dead_bytes);
        arrivals.sort_by_key(|object| object.address);
        done.overrun = self.insert(&arrivals)?;
        arrivals.clear();
        self.arrivals = arrivals;
        Ok(done)
    }

    /// Pages that hold addresses of the ranges, in order.
    fn condemned_pages(&self, condemned: &[Condemned]) -> Vec<u64> {
        let mut keys: Vec<u64> = Vec::new();
        for range in condemned.iter().filter(|range| range.start < range.end) {
            let pages = self.pages.range(range.start >> PAGE..=(range.end - 1) >> PAGE);
            // The page in which the range before ended.
            let last = keys.last().copied();
            keys.extend(pages.map(|(&key, _)| key).filter(|&key| Some(key) != last));
        }
        keys
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
