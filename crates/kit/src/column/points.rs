//! Columns with few accesses.

use super::file::{self, Opened};
use super::packed::width_of;
use super::packed_blocks::Blocks;
use super::packing::BLOCK;
use crate::array::Fault;
use crate::threads::locked;
use crate::{ColumnMap, ReadAt, Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use std::cmp::Ordering;
use std::sync::Mutex;

/// A column for few accesses, clustered or unrepeated: not counted against the budget. A packed file is unpacked one
/// block at a time. For many accesses use [`lookup`](crate::array_plan::lookup).
///
/// An unreadable element reads as zero; the damage is recorded with the scratch folder, and the stage fails at its end.
pub struct ColumnPoints<T> {
    scratch: Scratch,
    count: usize,
    from: From<T>,
}

enum From<T> {
    Map(ColumnMap<T>),
    Packed(Mutex<Last<T>>),
}

/// The last block accessed.
struct Last<T> {
    blocks: Blocks,
    block: Option<usize>,
    elements: Vec<T>,
}

impl<T: Pod> ColumnPoints<T> {
    /// Opens a column.
    pub fn open(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        let from = match width_of(column).filter(|_| !scratch.is_resident(column)) {
            None => From::Map(ColumnMap::uncounted(scratch, column)?),
            Some(_) => match file::open(scratch, column)? {
                Opened::Packed(packed) => {
                    let blocks = Blocks::new(packed);
                    From::Packed(Mutex::new(Last { blocks, block: None, elements: Vec::new() }))
                }
                Opened::Plain(..) => From::Map(ColumnMap::uncounted(scratch, column)?),
            },
        };
        let count = match &from {
            From::Map(map) => map.len(),
            From::Packed(last) => locked(last).blocks.packed().len() as usize,
        };
        Ok(Self { scratch: scratch.clone(), count, from })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns element `i`; `None` past the end.
    pub fn get(&self, i: usize) -> Option<T> {
        match &self.from {
            From::Map(map) => map.get(i).copied(),
            From::Packed(_) if i >= self.count => None,
            From::Packed(last) => {
                let mut last = locked(last);
                Some(last.get(i, self.count).unwrap_or_else(|error| {
                    self.scratch.note_damage(error);
                    T::zeroed()
                }))
            }
        }
    }

    /// Returns element `i`.
    ///
    /// # Panics
    /// Past the end.
    pub fn at(&self, i: usize) -> T {
        assert!(i < self.count, "element {i} of {}", self.count);
        self.get(i).unwrap_or_else(T::zeroed)
    }

    /// Returns the position of an element in an ascending column, by binary search.
    pub fn position(&self, element: T) -> Option<usize>
    where
        T: Ord,
    {
        let (mut from, mut to) = (0, self.count);
        while from < to {
            let middle = from.midpoint(to);
            match self.at(middle).cmp(&element) {
                Ordering::Less => from = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => to = middle,
            }
        }
        None
    }

    /// Drops the accessed pages of a map, see [`ColumnMap::release`].
    pub fn release(&self) {
        if let From::Map(map) = &self.from {
            map.release();
        }
    }
}

impl<T: Pod> ReadAt<T> for &ColumnPoints<T> {
    fn count(&self) -> usize {
        self.count
    }

    #[inline]
    fn get(&mut self, i: usize) -> Result<T, Fault> {
        Ok(self.at(i))
    }
}

impl<T: Pod> Last<T> {
    fn get(&mut self, i: usize, count: usize) -> Result<T, StageError> {
        let per_block = BLOCK / size_of::<T>();
        let block = i / per_block;
        if self.block != Some(block) {
            self.block = None;
            self.elements.resize(per_block.min(count - block * per_block), T::zeroed());
            self.blocks.read(block, bytemuck::cast_slice_mut(&mut self.elements))?;
            self.block = Some(block);
        }
        Ok(self.elements[i % per_block])
    }
}
