//! The memory of all columns of a folder: what it may take, and the tracts that columns lie in.

use super::pages::{CHUNK, Pool, Range};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What memory there is for columns.
#[derive(Debug, Default)]
pub(super) struct Store {
    limit: AtomicU64,
    /// Bytes of columns and of the pool.
    used: AtomicU64,
    /// Those of them that are in the pool.
    pooled: AtomicU64,
    pool: Pool,
}

impl Store {
    /// Sets what may be used.
    pub fn set_limit(&self, limit: u64) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Bytes of columns.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed).saturating_sub(self.pooled.load(Ordering::Relaxed))
    }

    /// Takes bytes, if they fit.
    pub fn take(&self, bytes: u64) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|&sum| sum <= limit)
        });
        taken.is_ok()
    }

    /// Gives bytes back.
    pub fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Backs one more chunk of a range, with pages of the pool if it has some; false if there is no room.
    fn back(&self, range: &mut Range) -> bool {
        if self.pool.back(range) {
            self.pooled.fetch_sub(CHUNK as u64, Ordering::Relaxed);
            return true;
        }
        if self.pool.is_spent() {
            self.clear_beyond(0);
        }
        if !self.take(CHUNK as u64) {
            return false;
        }
        let backed = range.back();
        if !backed {
            self.give_back(CHUNK as u64);
        }
        backed
    }

    fn take_in(&self, range: Range) {
        // Counted first: whoever takes a chunk out counts it out.
        let bytes = range.backed() as u64;
        self.pooled.fetch_add(bytes, Ordering::Relaxed);
        if !self.pool.take_in(range) {
            self.pooled.fetch_sub(bytes, Ordering::Relaxed);
            self.give_back(bytes);
        }
    }

    /// Gives what is not used to the system, if more than this is taken.
    pub fn clear_beyond(&self, limit: u64) {
        if self.used.load(Ordering::Relaxed) > limit {
            let bytes = self.pool.clear() as u64;
            self.pooled.fetch_sub(bytes, Ordering::Relaxed);
            self.give_back(bytes);
        }
    }
}

/// Memory of a large column. It may be written further behind what others see of it: what was written is never moved
/// and never changed.
#[derive(Debug)]
pub(super) struct Tract {
    /// Of `range`.
    start: NonNull<u8>,
    range: Mutex<Range>,
    /// Bytes that were written. What is before is only read, what is behind belongs to the one who writes.
    end: AtomicUsize,
    /// Whether somebody writes.
    is_lent: AtomicBool,
    store: Arc<Store>,
}

// SAFETY: `start` points to memory of `range`, which goes where it goes; what is shared is only read.
unsafe impl Send for Tract {}
// SAFETY: as above; the one who writes does it where nobody reads.
unsafe impl Sync for Tract {}

impl Tract {
    /// A tract with room for so many bytes, and for all that may come, that begins with `first`; lent to the caller. Nothing
    /// if there is no room.
    pub fn new(store: &Arc<Store>, bytes: usize, first: Option<&[u8]>) -> Option<Arc<Self>> {
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

    fn range(&self) -> MutexGuard<'_, Range> {
        self.range.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first bytes, of those that were written.
    pub fn bytes(&self, length: usize) -> &[u8] {
        assert!(length <= self.end.load(Ordering::Acquire), "only what was written is seen");
        // SAFETY: these bytes are backed, were written, and are not written again while anybody sees them.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), length) }
    }

    /// Bytes that it takes.
    pub fn taken(&self) -> u64 {
        self.range().backed() as u64
    }

    /// Lends the end to somebody who appends to the first `length` bytes; false if others write there, or see more.
    pub fn lend(self: &Arc<Self>, length: usize) -> bool {
        if self.is_lent.swap(true, Ordering::AcqRel) {
            return false;
        }
        let is_end = self.end.load(Ordering::Acquire) == length;
        if !is_end {
            self.release();
        }
        is_end
    }

    /// Takes the end back from who wrote there.
    pub fn release(&self) {
        self.is_lent.store(false, Ordering::Release);
    }

    /// Appends bytes; false if there is no room. Only for the one to whom the end is lent.
    pub fn append(&self, bytes: &[u8]) -> bool {
        debug_assert!(self.is_lent.load(Ordering::Relaxed), "only who has the end appends");
        let at = self.end.load(Ordering::Acquire);
        if !self.back(at + bytes.len()) {
            return false;
        }
        // SAFETY: the bytes behind `end` are backed, nobody sees them, and only the caller writes there.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(at), bytes.len()) };
        self.end.store(at + bytes.len(), Ordering::Release);
        true
    }

    /// Makes sure that so many bytes are backed.
    fn back(&self, bytes: usize) -> bool {
        let mut range = self.range();
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
