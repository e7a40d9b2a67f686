//! The memory of all columns of a folder: what it may take, and the tracts that columns lie in.

use super::ahead::Ahead;
use super::pages::{CHUNK, Pool, Range};
use crate::divisible;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Bytes that the pool has ahead of columns, at most.
const MOST_AHEAD: u64 = 16 << 20;
/// It has one byte ahead for so many that columns took from the system.
const TAKEN_PER_AHEAD: u64 = 4;
/// The first pages of a column are touched as it is written, for it may be short; of more, it is measured what the thread
/// would have done.
const SHORT: usize = 4 * CHUNK;

/// What memory there is for columns.
#[derive(Debug, Default)]
pub(super) struct Store {
    limit: AtomicU64,
    /// Bytes of columns and of the pool.
    used: AtomicU64,
    /// Those of them that are in the pool.
    pooled: AtomicU64,
    pool: Pool,
    /// Whether a thread may get pages ahead of columns, and the thread.
    may_hurry: AtomicBool,
    ahead: OnceLock<Option<Ahead>>,
    /// Bytes that columns took which the pool did not have, or not without the thread.
    wanted: AtomicU64,
    /// Held while pages are on their way from the system to the pool.
    stocking: Mutex<()>,
}

impl Store {
    /// Lets a thread get pages ahead of columns.
    pub fn hurry(&self) {
        self.may_hurry.store(true, Ordering::Relaxed);
    }

    /// Sets what may be used. Once it returns, nothing more is on its way to the pool.
    pub fn set_limit(&self, limit: u64) {
        let _nothing_under_way = self.stocking();
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Bytes of columns.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed).saturating_sub(self.pooled.load(Ordering::Relaxed))
    }

    /// Bytes of columns and of the pool.
    #[cfg(test)]
    pub fn taken(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
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
    fn back(self: &Arc<Self>, range: &mut Range) -> bool {
        let is_pooled = self.pool.back(range);
        if is_pooled {
            self.pooled.fetch_sub(CHUNK as u64, Ordering::Relaxed);
        }
        if self.may_hurry.load(Ordering::Relaxed) && self.pooled.load(Ordering::Relaxed) < MOST_AHEAD {
            self.wanted.fetch_add(CHUNK as u64, Ordering::Relaxed);
            // A store that is gone wants nothing.
            let store = Arc::downgrade(self);
            let stock = move || store.upgrade().is_some_and(|store| store.stock());
            self.ahead.get_or_init(|| Ahead::start(stock)).iter().for_each(Ahead::order);
        }
        is_pooled || self.back_fresh(range)
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

    /// Puts one chunk in the pool, whose pages are cleared, if columns will soon want it; whether they may want more.
    pub fn stock(&self) -> bool {
        let _under_way = self.stocking();
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

    fn stocking(&self) -> MutexGuard<'_, ()> {
        self.stocking.lock().unwrap_or_else(PoisonError::into_inner)
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
