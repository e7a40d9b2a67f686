//! Memory of columns: ranges of addresses that are backed by pages chunk by chunk, and a pool of chunks.
//!
//! A column does not know how long it will be, and must lie in one piece. So it reserves addresses for all that it may
//! become, which costs nothing, and gets pages as it grows. When it goes, its pages stay in the pool, and the next
//! column gets them by a change of the page table: the system clears each page once, not once for each column. Clearing
//! costs several times what writing a column does, where the system is a virtual machine that fetches pages from its
//! host.

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pages that move together, bytes.
pub(super) const CHUNK: usize = 1 << 20;
/// No system has smaller pages.
const PAGE: usize = 4 << 10;

/// Addresses of its own, the first of which are backed. It is given back to the system on drop.
#[derive(Debug)]
pub(super) struct Range {
    start: NonNull<u8>,
    /// Bytes of addresses; whole chunks, as the next.
    reserved: usize,
    backed: usize,
}

// SAFETY: a range owns its memory, and lends it out by the rules of references alone.
unsafe impl Send for Range {}
// SAFETY: as above.
unsafe impl Sync for Range {}

impl Default for Range {
    /// No addresses.
    fn default() -> Self {
        Self { start: NonNull::dangling(), reserved: 0, backed: 0 }
    }
}

impl Range {
    /// Where it starts.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Reserves addresses for at least so many bytes; nothing if the system refuses.
    pub fn reserve(bytes: usize) -> Option<Self> {
        let reserved = bytes.max(1).checked_next_multiple_of(CHUNK)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the system chooses the addresses, so no memory of others is replaced.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), reserved, ProtFlags::empty(), flags) }.ok()?;
        Some(Self { start: NonNull::new(start.cast())?, reserved, backed: 0 })
    }

    /// Bytes that are backed.
    pub fn backed(&self) -> usize {
        self.backed
    }

    /// Whether there are addresses for one chunk more.
    pub fn has_addresses(&self) -> bool {
        self.backed < self.reserved
    }

    /// Backs one chunk more by pages of the system; false if it refuses.
    pub fn back(&mut self) -> bool {
        debug_assert!(self.has_addresses());
        let flags = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: the chunk lies in our addresses behind what is backed, where nobody has a reference to.
        let backed = unsafe { mprotect(self.start.as_ptr().add(self.backed).cast(), CHUNK, flags) }.is_ok();
        self.backed += if backed { CHUNK } else { 0 };
        backed
    }

    /// Backs one chunk more by the last one of another range; false if the system refuses.
    #[cfg(target_os = "linux")]
    pub fn back_from(&mut self, other: &mut Self) -> bool {
        use rustix::mm::{MremapFlags, mremap_fixed};
        debug_assert!(self.has_addresses() && other.backed == other.reserved && other.backed > 0);
        let from = other.backed - CHUNK;
        // SAFETY: the pages of `other` are borrowed here and by nobody else. They come to addresses of ours behind what
        // is backed, where nobody has a reference to. `other` gives up the addresses with them.
        let moved = unsafe {
            let (from, to) = (other.start.as_ptr().add(from), self.start.as_ptr().add(self.backed));
            mremap_fixed(from.cast(), CHUNK, CHUNK, MremapFlags::MAYMOVE, to.cast())
        };
        if moved.is_ok() {
            (other.backed, other.reserved) = (from, from);
            self.backed += CHUNK;
        }
        moved.is_ok()
    }

    /// The same, where pages cannot be moved.
    #[cfg(not(target_os = "linux"))]
    pub fn back_from(&mut self, _other: &mut Self) -> bool {
        false
    }

    /// Has the system clear the pages of the last chunk, which nobody has written. Page by page: for all at once the system
    /// would keep others from changing the page table.
    pub fn touch_last(&mut self) {
        for at in (self.backed - CHUNK..self.backed).step_by(PAGE) {
            // SAFETY: the byte is backed, ours, and nobody has a reference to it; a write that is not volatile might be
            // left out.
            unsafe { self.start.as_ptr().add(at).write_volatile(0) };
        }
    }

    /// Gives up the addresses that are not backed.
    pub fn trim(&mut self) {
        let rest = self.reserved - self.backed;
        // SAFETY: these addresses are ours and not backed.
        if rest > 0 && unsafe { munmap(self.start.as_ptr().add(self.backed).cast(), rest) }.is_ok() {
            self.reserved = self.backed;
        }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if self.reserved > 0 {
            // SAFETY: these addresses are ours, and nobody can have a reference into them any more. There is nothing to
            // do about a failure.
            let _ = unsafe { munmap(self.start.as_ptr().cast(), self.reserved) };
        }
    }
}

/// Chunks of columns that went.
#[derive(Debug, Default)]
pub(super) struct Pool {
    ranges: Mutex<Vec<Range>>,
    moves: AtomicUsize,
}

/// Chunks that may move. Each is a mapping of its own from then on, and the system gives a process 65,530 of them; the
/// largest inputs whose columns are in memory by default move some thousands.
const MOST_MOVES: usize = 20_000;

impl Pool {
    fn ranges(&self) -> MutexGuard<'_, Vec<Range>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no more chunks are moved.
    pub fn is_spent(&self) -> bool {
        self.moves.load(Ordering::Relaxed) >= MOST_MOVES
    }

    /// Takes in a range that is not used any more; false, with the range given to the system, if chunks are moved no
    /// more.
    pub fn take_in(&self, mut range: Range) -> bool {
        if self.is_spent() {
            return false;
        }
        range.trim();
        if range.backed() > 0 {
            self.ranges().push(range);
        }
        true
    }

    /// Backs a chunk of a range by one of the pool; false if it has none, or the system refuses.
    pub fn back(&self, range: &mut Range) -> bool {
        if self.is_spent() {
            return false;
        }
        let mut ranges = self.ranges();
        let moved = ranges.last_mut().is_some_and(|last| range.back_from(last));
        if moved && ranges.last().is_some_and(|last| last.backed() == 0) {
            ranges.pop();
        }
        self.moves.fetch_add(usize::from(moved), Ordering::Relaxed);
        moved
    }

    /// Gives all chunks to the system; returns their bytes.
    pub fn clear(&self) -> usize {
        self.ranges().drain(..).map(|range| range.backed()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Range {
        fn bytes(&self) -> &[u8] {
            // SAFETY: these bytes are mapped, readable, and initialised by the system or a former user.
            unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.backed) }
        }

        fn bytes_mut(&mut self) -> &mut [u8] {
            // SAFETY: as above; they are writable, and borrowed from here only.
            unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.backed) }
        }
    }

    #[test]
    fn chunks_move_from_range_to_range() {
        let pool = Pool::default();
        let mut first = Range::reserve(3 * CHUNK).unwrap();
        for chunk in 0..3 {
            assert!(first.has_addresses() && first.back());
            first.bytes_mut()[chunk * CHUNK..].fill(chunk as u8 + 1);
        }
        assert!(!first.has_addresses());
        assert!(pool.take_in(first));
        let mut second = Range::reserve(10 * CHUNK).unwrap();
        let moves = cfg!(target_os = "linux");
        for chunk in (0..3).rev() {
            assert_eq!(pool.back(&mut second), moves);
            let last = second.backed().saturating_sub(CHUNK);
            assert!(second.bytes()[last..].iter().all(|&byte| byte == chunk as u8 + 1));
        }
        assert!(!pool.back(&mut second) && second.back());
        second.bytes_mut().fill(9);
        second.trim();
        assert!(!second.has_addresses() && second.bytes().iter().all(|&byte| byte == 9));
        let bytes = second.backed() + if moves { 0 } else { 3 * CHUNK };
        assert!(pool.take_in(second));
        assert_eq!((pool.clear(), pool.clear()), (bytes, 0));
    }

    #[test]
    fn chunks_move_a_limited_number_of_times() {
        let pool = Pool::default();
        let mut range = Range::reserve(CHUNK).unwrap();
        assert!(range.back());
        assert!(pool.take_in(range));
        let mut moves = 0;
        while !pool.is_spent() && cfg!(target_os = "linux") {
            let mut next = Range::reserve(CHUNK).unwrap();
            assert!(pool.back(&mut next));
            moves += 1;
            assert_eq!(pool.take_in(next), moves < MOST_MOVES);
        }
        assert_eq!(pool.clear(), if moves == 0 { CHUNK } else { 0 });
    }
}
