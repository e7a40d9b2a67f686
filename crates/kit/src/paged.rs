//! A paged array: a file behind a fixed number of page frames.
//!
//! Frames are replaced by the clock algorithm (second chance): one bit per frame, no lists. A dirty page is written
//! back when its frame is reused. The file is allocated in full before the first access, so a full disk is detected at
//! once.

use crate::column::file::{self, Opened};
use crate::column::packed::MOST;
use crate::column::packed_blocks::Blocks;
use crate::column::packed_memory::PackedMemory;
use crate::column::packing::BLOCK;
use crate::error::Fault;
use crate::fs::File;
use crate::readahead::Readahead;
use crate::{Budget, IoAt, Reservation, Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes per page, equal to the page size of the system. Graph searches access many places at once; smaller pages keep
/// more of these places resident.
const PAGE: usize = 4 << 10;
const _: () = assert!(PAGE == BLOCK, "a page is a block of a packed column");

/// No frame, or no page.
const NONE: u32 = u32::MAX;

/// Memory for a paged array: budget, name of the reservation, bytes of page frames.
#[derive(Clone, Copy)]
pub(crate) struct Frames<'a> {
    pub budget: &'a Budget,
    pub who: &'static str,
    pub bytes: u64,
}

/// An array in a file behind page frames.
pub struct Paged<T> {
    path: PathBuf,
    store: Store,
    len: usize,
    /// Initial value of all elements of a new array.
    fill: T,
    /// Page table: the frame of each page.
    frame_of: Vec<u32>,
    /// True for each page that the file contains.
    stored: Vec<bool>,
    frames: Vec<T>,
    /// Page in each frame.
    page_in: Vec<u32>,
    used: Vec<bool>,
    changed: Vec<bool>,
    hand: usize,
    readahead: Readahead,
    budget: Budget,
    _reservation: Reservation,
}

/// Backing store of the pages.
enum Store {
    File(Arc<File>),
    /// Read-only, as is `Memory`.
    Packed(Box<Blocks>),
    Memory(Box<PackedMemory>),
}

impl<T: Pod> Paged<T> {
    const ELEMENTS: usize = PAGE / size_of::<T>();
    const SHIFT: u32 = Self::ELEMENTS.trailing_zeros();
    const WHOLE: () = assert!(Self::ELEMENTS.is_power_of_two(), "elements must divide a page");

    /// Creates an array of `len` copies of `fill`, in a temporary file.
    pub(crate) fn create(scratch: &Scratch, len: usize, fill: T, frames: Frames<'_>) -> Result<Self, StageError> {
        let (file, path) = (scratch.unnamed()?, scratch.folder());
        let bytes = (len * size_of::<T>()).next_multiple_of(PAGE) as u64;
        file.allocate(bytes).at(path, "allocate a file in")?;
        Self::new(path, Store::File(file), (len, fill), frames, false)
    }

    /// Opens a column read-only; `in_memory` keeps its packed file in memory, beside the frames.
    pub(crate) fn open(
        scratch: &Scratch,
        column: Column<T>,
        in_memory: bool,
        frames: Frames<'_>,
    ) -> Result<Self, StageError> {
        let opened = file::open(scratch, column)?;
        let len = opened.count() as usize;
        let store = match opened {
            Opened::Plain(file, _) => Store::File(Arc::new(file)),
            Opened::Packed(packed) if in_memory => {
                Store::Memory(Box::new(PackedMemory::read(packed, frames.budget, frames.who)?))
            }
            Opened::Packed(packed) => Store::Packed(Box::new(Blocks::new(packed))),
        };
        Self::new(&scratch.path(column), store, (len, T::zeroed()), frames, true)
    }

    fn new(
        path: &Path,
        store: Store,
        (len, fill): (usize, T),
        frames: Frames<'_>,
        stored: bool,
    ) -> Result<Self, StageError> {
        let () = Self::WHOLE;
        let pages = len.div_ceil(Self::ELEMENTS);
        // Tables count too: five bytes per page, six per frame, plus buffers of a packed file.
        let tables = pages * 5
            + match store {
                Store::File(_) | Store::Memory(_) => 0,
                Store::Packed(_) => pages * Blocks::BYTES_PER_BLOCK + MOST as usize,
            };
        let count = ((frames.bytes as usize).saturating_sub(tables) / (PAGE + 6)).clamp(1, pages.max(1));
        let reservation = frames.budget.reserve(frames.who, (count * (PAGE + 6) + tables) as u64)?;
        Ok(Self {
            path: path.to_owned(),
            store,
            len,
            fill,
            frame_of: vec![NONE; pages],
            stored: vec![stored; pages],
            frames: vec![fill; count * Self::ELEMENTS],
            page_in: vec![NONE; count],
            used: vec![false; count],
            changed: vec![false; count],
            hand: 0,
            readahead: Readahead::default(),
            budget: frames.budget.clone(),
            _reservation: reservation,
        })
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// True if no page comes from disk.
    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(self.store, Store::Memory(_))
    }

    /// Returns the position of element `i` among the frames. Never inlined: keeps the residency check small in loops
    /// over resident arrays.
    #[inline(never)]
    fn place(&mut self, i: usize) -> Result<usize, Fault> {
        let page = i >> Self::SHIFT;
        let mut frame = self.frame_of[page];
        if frame == NONE {
            frame = self.bring(page)?;
        }
        self.used[frame as usize] = true;
        Ok((frame as usize) << Self::SHIFT | (i & (Self::ELEMENTS - 1)))
    }

    /// Starts readahead at the page of element `i`, which may be out of range, unless it is in a frame. Readahead grows
    /// while requests are dense.
    #[inline(never)]
    pub(crate) fn prefetch(&self, i: usize) {
        let page = i >> Self::SHIFT;
        if self.frame_of.get(page) == Some(&NONE) && self.stored[page] && !self.is_in_memory() {
            let count = self.readahead.ask(page);
            match &self.store {
                _ if count == 0 => {}
                Store::File(file) => file.will_need((page * PAGE) as u64, (count * PAGE) as u64),
                Store::Packed(blocks) => blocks.will_need(page, count),
                Store::Memory(_) => {}
            }
        }
    }

    #[inline]
    pub(crate) fn get(&mut self, i: usize) -> Result<T, Fault> {
        let place = self.place(i)?;
        Ok(self.frames[place])
    }

    #[inline]
    pub(crate) fn set(&mut self, i: usize, value: T) -> Result<(), Fault> {
        self.change(i, |element| *element = value)
    }

    #[inline]
    pub(crate) fn change<R>(&mut self, i: usize, change: impl FnOnce(&mut T) -> R) -> Result<R, Fault> {
        let place = self.place(i)?;
        self.changed[place >> Self::SHIFT] = true;
        Ok(change(&mut self.frames[place]))
    }

    /// Page fault: reads a page into a frame.
    #[cold]
    fn bring(&mut self, page: usize) -> Result<u32, Fault> {
        self.budget.check().map_err(Box::new)?;
        let frame = self.free_frame()?;
        let elements = &mut self.frames[frame << Self::SHIFT..(frame + 1) << Self::SHIFT];
        if self.stored[page] {
            let count = Self::ELEMENTS.min(self.len - (page << Self::SHIFT));
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut elements[..count]);
            match &mut self.store {
                Store::File(file) => file
                    .read_exact_at(bytes, (page * PAGE) as u64)
                    .map_err(|error| Box::new(StageError::io(&self.path, "read", error)))?,
                Store::Packed(blocks) => blocks.read(page, bytes).map_err(Box::new)?,
                Store::Memory(packed) => packed.unpack((page << Self::SHIFT) as u64, bytes).map_err(Box::new)?,
            }
        } else {
            elements.fill(self.fill);
        }
        (self.frame_of[page], self.page_in[frame]) = (frame as u32, page as u32);
        Ok(frame as u32)
    }

    /// Evicts the next frame not accessed since the clock hand passed it; writes back a dirty page.
    fn free_frame(&mut self) -> Result<usize, Fault> {
        loop {
            let frame = self.hand;
            self.hand = (self.hand + 1) % self.page_in.len();
            if std::mem::take(&mut self.used[frame]) {
                continue;
            }
            let page = self.page_in[frame];
            if page != NONE {
                if std::mem::take(&mut self.changed[frame])
                    && let Store::File(file) = &self.store
                {
                    let bytes: &[u8] =
                        bytemuck::cast_slice(&self.frames[frame << Self::SHIFT..(frame + 1) << Self::SHIFT]);
                    file.write_all_at(bytes, u64::from(page) * PAGE as u64)
                        .map_err(|error| Box::new(StageError::io(&self.path, "write", error)))?;
                    self.stored[page as usize] = true;
                }
                self.frame_of[page as usize] = NONE;
            }
            return Ok(frame);
        }
    }
}
