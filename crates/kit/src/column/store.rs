//! Memory of all columns of a folder: limit, pool, and the tracts of large columns.

use super::pages::{CHUNK, Pool, Range};
use crate::threads::locked;
use crate::{divisible, threads};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum bytes of cleared pages in the pool.
const MOST_AHEAD: u64 = 16 << 20;
/// The pool keeps one cleared byte per this many bytes taken by columns.
const TAKEN_PER_AHEAD: u64 = 4;
/// Chunks beyond this size are cleared in a divisible part, to measure the work that the background thread would save.
/// The first ones are not: the column may be short.
const SHORT: usize = 4 * CHUNK;

/// Memory accounting for columns.
#[derive(Debug, Default)]
pub(super) struct Store {
    limit: AtomicU64,
    /// Bytes of columns and of the pool.
    used: AtomicU64,
    /// Bytes of the pool.
    pooled: AtomicU64,
    pool: Pool,
    /// Enables tasks that get pages ahead of columns; whether one is queued or running.
    may_hurry: AtomicBool,
    is_hurrying: AtomicBool,
    /// Bytes that columns took while the pool was not full.
    wanted: AtomicU64,
    /// Held while pages move from the system to the pool.
    stocking: Mutex<()>,
}

impl Store {
    /// Lets tasks get pages ahead of columns.
    pub(super) fn hurry(&self) {
        self.may_hurry.store(true, Ordering::Relaxed);
    }

    /// Sets the limit, after pending additions to the pool.
    pub(super) fn set_limit(&self, limit: u64) {
        let _nothing_under_way = locked(&self.stocking);
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Bytes of columns.
    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed).saturating_sub(self.pooled.load(Ordering::Relaxed))
    }

    /// Bytes of columns and of the pool.
    #[cfg(test)]
    pub(super) fn taken(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes bytes if they fit the limit.
    pub(super) fn take(&self, bytes: u64) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|&sum| sum <= limit)
        });
        taken.is_ok()
    }

    /// Returns bytes.
    pub(super) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Backs the next chunk of a range, from the pool if possible; false at the limit.
    fn back(self: &Arc<Self>, range: &mut Range) -> bool {
        let is_pooled = self.pool.back(range);
        if is_pooled {
            self.pooled.fetch_sub(CHUNK as u64, Ordering::Relaxed);
        }
        if self.may_hurry.load(Ordering::Relaxed) && self.pooled.load(Ordering::Relaxed) < MOST_AHEAD {
            self.wanted.fetch_add(CHUNK as u64, Ordering::Relaxed);
            self.hurry_up();
        }
        is_pooled || self.back_fresh(range)
    }

    /// Queues a task that faults pages in before columns need them: zeroing a page takes longer than writing a column to it.
    fn hurry_up(self: &Arc<Self>) {
        if self.is_hurrying.swap(true, Ordering::AcqRel) {
            return;
        }
        let store = Arc::downgrade(self);
        let is_queued = threads::detach(move || {
            while store.upgrade().is_some_and(|store| store.stock()) {}
            if let Some(store) = store.upgrade() {
                store.is_hurrying.store(false, Ordering::Release);
            }
        });
        if !is_queued {
            self.is_hurrying.store(false, Ordering::Release);
        }
    }

    /// Backs one more chunk with pages of the system.
    fn back_fresh(&self, range: &mut Range) -> bool {
        if self.pool.is_spent() {
            self.clear_beyond(0);
        }
        if !self.take(CHUNK as u64) {
            return false;
        }
        let backed = range.back();
        if !backed {
            self.give_back(CHUNK as u64);
        } else if range.backed() > SHORT && !self.may_hurry.load(Ordering::Relaxed) {
            divisible::part(|| range.touch_last());
        }
        backed
    }

    /// Adds one cleared chunk to the pool if columns will soon need it; false if the pool has enough.
    pub(super) fn stock(&self) -> bool {
        let _under_way = locked(&self.stocking);
        let enough = MOST_AHEAD.min(self.wanted.load(Ordering::Relaxed) / TAKEN_PER_AHEAD);
        if self.pool.is_spent() || self.pooled.load(Ordering::Relaxed) >= enough || !self.take(CHUNK as u64) {
            return false;
        }
        let chunk = Range::reserve(CHUNK).and_then(|mut chunk| chunk.back().then_some(chunk));
        match chunk {
            Some(mut chunk) => {
                chunk.touch_last();
                self.take_in(chunk);
                true
            }
            None => {
                self.give_back(CHUNK as u64);
                false
            }
        }
    }

    fn take_in(&self, range: Range) {
        // Added to the count first: takers subtract.
        let bytes = range.backed() as u64;
        self.pooled.fetch_add(bytes, Ordering::Relaxed);
        if !self.pool.take_in(range) {
            self.pooled.fetch_sub(bytes, Ordering::Relaxed);
            self.give_back(bytes);
        }
    }

    /// Unmaps the pool if more than `limit` is used.
    pub(super) fn clear_beyond(&self, limit: u64) {
        if self.used.load(Ordering::Relaxed) > limit {
            let bytes = self.pool.clear() as u64;
            self.pooled.fetch_sub(bytes, Ordering::Relaxed);
            self.give_back(bytes);
        }
    }
}

/// Memory of a large column. A writer may append past the bytes that readers see: written bytes are never moved or
/// changed.
#[derive(Debug)]
pub(super) struct Tract {
    /// Start of `range`.
    start: NonNull<u8>,
    range: Mutex<Range>,
    /// Number of written bytes. Bytes before are read-only, those behind belong to the writer.
    end: AtomicUsize,
    /// True while a writer exists.
    is_lent: AtomicBool,
    store: Arc<Store>,
}

// SAFETY: `start` points to memory owned by `range`, which moves with it; shared bytes are only read.
unsafe impl Send for Tract {}
// SAFETY: as above; the writer writes only where nobody reads.
unsafe impl Sync for Tract {}

impl Tract {
    /// Creates a tract with `bytes` backed and addresses up to the limit, which begins with `first`; the caller is its
    /// writer. `None` at the limit.
    pub(super) fn new(store: &Arc<Store>, bytes: usize, first: Option<&[u8]>) -> Option<Arc<Self>> {
        let most = store.limit.load(Ordering::Relaxed) as usize;
        let range = Range::reserve(most.max(bytes))?;
        let tract = Self {
            start: range.start(),
            range: Mutex::new(range),
            end: AtomicUsize::new(0),
            is_lent: AtomicBool::new(true),
            store: Arc::clone(store),
        };
        let first = first.unwrap_or_default();
        (tract.back(bytes) && tract.append(first)).then(|| Arc::new(tract))
    }

    /// The first `length` of the written bytes.
    pub(super) fn bytes(&self, length: usize) -> &[u8] {
        assert!(length <= self.end.load(Ordering::Acquire), "only what was written is seen");
        // SAFETY: these bytes are backed and written, and are not written again.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), length) }
    }

    /// Bytes of memory.
    pub(super) fn taken(&self) -> u64 {
        locked(&self.range).backed() as u64
    }

    /// Makes the caller the writer after the first `length` bytes; false if there is a writer, or if more was written.
    pub(super) fn lend(self: &Arc<Self>, length: usize) -> bool {
        if self.is_lent.swap(true, Ordering::AcqRel) {
            return false;
        }
        let is_end = self.end.load(Ordering::Acquire) == length;
        if !is_end {
            self.release();
        }
        is_end
    }

    /// Ends the writer's access.
    pub(super) fn release(&self) {
        self.is_lent.store(false, Ordering::Release);
    }

    /// Appends bytes; false at the limit. For the writer only.
    pub(super) fn append(&self, bytes: &[u8]) -> bool {
        debug_assert!(self.is_lent.load(Ordering::Relaxed), "only who has the end appends");
        let at = self.end.load(Ordering::Acquire);
        if !self.back(at + bytes.len()) {
            return false;
        }
        // SAFETY: the bytes past `end` are backed and unread, and only the caller writes there.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(at), bytes.len()) };
        self.end.store(at + bytes.len(), Ordering::Release);
        true
    }

    /// Backs at least `bytes`; false at the limit.
    fn back(&self, bytes: usize) -> bool {
        let mut range = locked(&self.range);
        while range.backed() < bytes {
            if !range.has_addresses() || !self.store.back(&mut range) {
                return false;
            }
        }
        true
    }
}

impl Drop for Tract {
    fn drop(&mut self) {
        let range = std::mem::take(self.range.get_mut().unwrap_or_else(PoisonError::into_inner));
        self.store.take_in(range);
    }
}
