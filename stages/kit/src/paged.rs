//! An array in a file behind a fixed number of page frames.
//!
//! The clock algorithm (second chance) selects the frame to reuse: one bit per frame, no lists. A changed page is
//! written back when its frame is reused. The file is allocated in full before the first access, so a full disk is
//! detected at once.

use crate::column::file::{self, Opened};
use crate::column::packed::MOST;
use crate::column::packed_blocks::Blocks;
use crate::column::packed_memory::PackedMemory;
use crate::column::packing::BLOCK;
use crate::error::Fault;
use crate::fs::File;
use crate::window::Window;
use crate::{Budget, Reservation, Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a page, equal to the page size of the system. Graph searches access many places at once; with small
/// pages, more of these places are resident in the same memory.
const PAGE: usize = 4 << 10;
const _: () = assert!(PAGE == BLOCK, "a page is a block of a packed column");

/// No frame, or no page.
const NONE: u32 = u32::MAX;

/// Memory for a paged array: the budget, the name of its reservation, and the bytes of page frames.
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
    /// The initial value of all elements of an array with a file of its own.
    fill: T,
    /// Frame of each page.
    frame_of: Vec<u32>,
    /// Whether each page has been written to the file.
    stored: Vec<bool>,
    frames: Vec<T>,
    /// The page in each frame.
    page_in: Vec<u32>,
    used: Vec<bool>,
    changed: Vec<bool>,
    hand: usize,
    window: Window,
    budget: Budget,
    _reservation: Reservation,
}

/// Where pages lie that are in no frame.
enum Store {
    File(Arc<File>),
    /// Read-only, as the next.
    Packed(Box<Blocks>),
    Memory(Box<PackedMemory>),
}

impl<T: Pod> Paged<T> {
    const ELEMENTS: usize = PAGE / size_of::<T>();
    const SHIFT: u32 = Self::ELEMENTS.trailing_zeros();
    const WHOLE: () = assert!(Self::ELEMENTS.is_power_of_two(), "elements must divide a page");

    /// An array of `len` copies of `fill`, in a temporary file.
    pub(crate) fn create(scratch: &Scratch, len: usize, fill: T, frames: Frames<'_>) -> Result<Self, StageError> {
        let (file, path) = (scratch.unnamed()?, scratch.folder());
        let bytes = (len * size_of::<T>()).next_multiple_of(PAGE) as u64;
        file.allocate(bytes).map_err(|error| StageError::io(path, "allocate a file in", error))?;
        Self::new(path, Store::File(file), (len, fill), frames, false)
    }

    /// A column in a file, read-only; with `in_memory` a packed file is read whole, beside the frames.
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
        // The tables count too: five bytes per page, six per frame; and what is read of a packed file.
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
            window: Window::default(),
            budget: frames.budget.clone(),
            _reservation: reservation,
        })
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether no page comes from the disk.
    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(self.store, Store::Memory(_))
    }

    /// Position of element `i` among the frames. Never inlined, so that the check whether an array is paged stays
    /// small for resident arrays.
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

    /// Asks the system for the page of element `i`, which may be out of range, unless a frame has it: where pages must come
    /// from the disk, those that are asked for together come together. Next to what was asked for last, for many pages.
    #[inline(never)]
    pub(crate) fn prefetch(&self, i: usize) {
        let page = i >> Self::SHIFT;
        if self.frame_of.get(page) == Some(&NONE) && self.stored[page] && !self.is_in_memory() {
            let count = self.window.ask(page);
            match &self.store {
                _ if count == 0 => {}
                Store::File(file) => file.will_need((page * PAGE) as u64, (count * PAGE) as u64),
                Store::Packed(blocks) => blocks.will_need(page, count),
                Store::Memory(_) => {}
            }
        }
    }

    /// Element `i`.
    #[inline]
    pub(crate) fn get(&mut self, i: usize) -> Result<T, Fault> {
        let place = self.place(i)?;
        Ok(self.frames[place])
    }

    /// Replaces element `i`.
    #[inline]
    pub(crate) fn set(&mut self, i: usize, value: T) -> Result<(), Fault> {
        self.change(i, |element| *element = value)
    }

    /// Changes element `i` in place.
    #[inline]
    pub(crate) fn change<R>(&mut self, i: usize, change: impl FnOnce(&mut T) -> R) -> Result<R, Fault> {
        let place = self.place(i)?;
        self.changed[place >> Self::SHIFT] = true;
        Ok(change(&mut self.frames[place]))
    }

    /// Reads a page into a frame.
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

    /// The next frame that was not accessed since the clock hand last passed it; writes its page back if changed.
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
