//! Memory of columns: address ranges backed by pages chunk by chunk, and a pool of chunks.
//!
//! A column must be contiguous although its final length is unknown. So it reserves addresses for its maximum length,
//! which is free, and is backed by pages as it grows. Pages of dropped columns stay in the pool and are remapped into
//! the next column: the system clears each page once, not once per column. In a virtual machine that fetches pages from
//! its host, clearing costs several times as much as writing a column.

use crate::threads::locked;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Unit of backing and remapping, bytes.
pub(super) const CHUNK: usize = 1 << 20;
/// Minimum page size of any system.
const PAGE: usize = 4 << 10;

/// A reserved address range with a backed prefix. Unmapped on drop.
#[derive(Debug)]
pub(super) struct Range {
    start: NonNull<u8>,
    /// Reserved bytes; whole chunks, as is `backed`.
    reserved: usize,
    backed: usize,
}

// SAFETY: a range owns its memory and lends it only under the rules of references.
unsafe impl Send for Range {}
// SAFETY: as above.
unsafe impl Sync for Range {}

impl Default for Range {
    /// An empty range.
    fn default() -> Self {
        Self { start: NonNull::dangling(), reserved: 0, backed: 0 }
    }
}

impl Range {
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Reserves at least `bytes` of addresses; `None` if the system refuses.
    pub(super) fn reserve(bytes: usize) -> Option<Self> {
        let reserved = bytes.max(1).checked_next_multiple_of(CHUNK)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the system chooses the addresses, so no existing mapping is replaced.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), reserved, ProtFlags::empty(), flags) }.ok()?;
        Some(Self { start: NonNull::new(start.cast())?, reserved, backed: 0 })
    }

    /// Backed bytes.
    pub(super) fn backed(&self) -> usize {
        self.backed
    }

    /// True if addresses remain for another chunk.
    pub(super) fn has_addresses(&self) -> bool {
        self.backed < self.reserved
    }

    /// Backs the next chunk with pages of the system; false if it refuses.
    pub(super) fn back(&mut self) -> bool {
        debug_assert!(self.has_addresses());
        let flags = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: the chunk lies in this range past the backed prefix, where no references exist.
        let backed = unsafe { mprotect(self.start.as_ptr().add(self.backed).cast(), CHUNK, flags) }.is_ok();
        self.backed += if backed { CHUNK } else { 0 };
        backed
    }

    /// Backs the next chunk with the last one of another range; false if the system refuses.
    #[cfg(target_os = "linux")]
    pub(super) fn back_from(&mut self, other: &mut Self) -> bool {
        use rustix::mm::{MremapFlags, mremap_fixed};
        debug_assert!(self.has_addresses() && other.backed == other.reserved && other.backed > 0);
        let from = other.backed - CHUNK;
        // SAFETY: the pages of `other` are borrowed exclusively. They move to addresses of this range past its backed
        // prefix, where no references exist; `other` gives up their old addresses.
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

    /// Always false where pages cannot be remapped.
    #[cfg(not(target_os = "linux"))]
    pub fn back_from(&mut self, _other: &mut Self) -> bool {
        false
    }

    /// Has the system clear the pages of the unwritten last chunk. Page by page: a single call would block other
    /// changes of the page table.
    pub(super) fn touch_last(&mut self) {
        for at in (self.backed - CHUNK..self.backed).step_by(PAGE) {
            // SAFETY: the byte is backed, owned and unreferenced; a non-volatile write could be optimized away.
            unsafe { self.start.as_ptr().add(at).write_volatile(0) };
        }
    }

    /// Unmaps the unbacked addresses.
    pub(super) fn trim(&mut self) {
        let rest = self.reserved - self.backed;
        // SAFETY: these addresses are owned and not backed.
        if rest > 0 && unsafe { munmap(self.start.as_ptr().add(self.backed).cast(), rest) }.is_ok() {
            self.reserved = self.backed;
        }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if self.reserved > 0 {
            // SAFETY: these addresses are owned, and no references into them remain. A failure cannot be handled.
            let _ = unsafe { munmap(self.start.as_ptr().cast(), self.reserved) };
        }
    }
}

/// Chunks of dropped columns.
#[derive(Debug, Default)]
pub(super) struct Pool {
    ranges: Mutex<Vec<Range>>,
    moves: AtomicUsize,
}

/// Maximum number of remapped chunks. Each becomes a mapping of its own, and Linux limits a process to 65,530 mappings;
/// the largest inputs with columns in memory by default remap some thousands.
const MOST_MOVES: usize = 20_000;

impl Pool {
    /// True once no more chunks are remapped.
    pub(super) fn is_spent(&self) -> bool {
        self.moves.load(Ordering::Relaxed) >= MOST_MOVES
    }

    /// Takes in an unused range; false, with the range unmapped, once no more chunks are remapped.
    pub(super) fn take_in(&self, mut range: Range) -> bool {
        if self.is_spent() {
            return false;
        }
        range.trim();
        if range.backed() > 0 {
            locked(&self.ranges).push(range);
        }
        true
    }

    /// Backs the next chunk of a range from the pool; false if the pool is empty or the system refuses.
    pub(super) fn back(&self, range: &mut Range) -> bool {
        if self.is_spent() {
            return false;
        }
        let mut ranges = locked(&self.ranges);
        let moved = ranges.last_mut().is_some_and(|last| range.back_from(last));
        if moved && ranges.last().is_some_and(|last| last.backed() == 0) {
            ranges.pop();
        }
        self.moves.fetch_add(usize::from(moved), Ordering::Relaxed);
        moved
    }

    /// Unmaps all chunks; returns their bytes.
    pub(super) fn clear(&self) -> usize {
        locked(&self.ranges).drain(..).map(|range| range.backed()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Range {
        fn bytes(&self) -> &[u8] {
            // SAFETY: these bytes are mapped, readable, and initialised.
            unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.backed) }
        }

        fn bytes_mut(&mut self) -> &mut [u8] {
            // SAFETY: as above; they are writable, and borrowed exclusively.
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
