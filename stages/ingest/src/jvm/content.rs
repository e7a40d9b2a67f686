//! Random reads of the content of a dump.

use super::dump::Dump;
use heaplake_kit::fs::File;
use heaplake_kit::{Context, Reservation, StageError};
use std::path::PathBuf;

/// Bytes per page.
const PAGE: u64 = 64 << 10;

/// Number of cached pages.
pub(super) const PAGES: u64 = 64;

/// Direct-mapped page cache over the content. Reads mostly move forwards in few short jumps.
pub(super) struct Content {
    file: File,
    path: PathBuf,
    bytes: u64,
    /// Page in each slot.
    pages: Vec<u64>,
    data: Vec<u8>,
    /// Copy of a window that spans pages.
    joint: Vec<u8>,
    _reservation: Reservation,
}

impl Content {
    /// Opens the content with an empty cache.
    pub(super) fn open(dump: &Dump, context: &Context<'_>) -> Result<Self, StageError> {
        let path = dump.content.clone();
        let file = File::open(&path).map_err(|error| StageError::io(&path, "open", error))?;
        let _reservation = context.budget.reserve("pages of the content", PAGE * PAGES)?;
        Ok(Self {
            file,
            path,
            bytes: dump.content_bytes,
            pages: vec![u64::MAX; PAGES as usize],
            data: vec![0; (PAGE * PAGES) as usize],
            joint: Vec::new(),
            _reservation,
        })
    }

    /// Returns up to `count` bytes at an offset, fewer at the end of the content.
    #[inline]
    pub(super) fn window(&mut self, offset: u64, count: usize) -> Result<&[u8], StageError> {
        let (page, end) = (offset / PAGE, (offset + count as u64).min(self.bytes));
        if offset < end && (end - 1) / PAGE == page {
            let from = self.place(page)? + (offset % PAGE) as usize;
            return Ok(&self.data[from..from + (end - offset) as usize]);
        }
        self.joint.clear();
        let mut at = offset;
        while at < end {
            let page = at / PAGE;
            let part = (end - at).min((page + 1) * PAGE - at);
            let from = self.place(page)? + (at % PAGE) as usize;
            self.joint.extend_from_slice(&self.data[from..from + part as usize]);
            at += part;
        }
        Ok(&self.joint)
    }

    /// Returns the start of a page in `data`, after loading it if necessary.
    #[inline]
    fn place(&mut self, page: u64) -> Result<usize, StageError> {
        let place = page % PAGES;
        if self.pages[place as usize] != page {
            self.bring(page, place)?;
        }
        Ok((place * PAGE) as usize)
    }

    #[cold]
    fn bring(&mut self, page: u64, place: u64) -> Result<(), StageError> {
        let start = page * PAGE;
        let length = PAGE.min(self.bytes - start) as usize;
        let data = &mut self.data[(place * PAGE) as usize..][..length];
        self.pages[place as usize] = u64::MAX;
        self.file.read_exact_at(data, start).map_err(|error| StageError::io(&self.path, "read", error))?;
        self.pages[place as usize] = page;
        Ok(())
    }
}
