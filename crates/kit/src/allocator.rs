//! The global allocator of the binary: mimalloc for small allocations, malloc of the C library for others. A run on a
//! small snapshot makes tens of thousands of small allocations; mimalloc makes it 10 % faster.
//!
//! Large allocations stay with the C library, which returns freed memory under the limits of
//! [`keep_little_freed`](crate::keep_little_freed); mimalloc retains more, and the peak of the process must stay within
//! its budget.
//!
//! A refused allocation ends the process with two lines and exit code 3 ([`crate::memory_limit`]); the standard library
//! would abort.

use crate::memory_limit::{count, refused};
use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout, System};

/// Maximum bytes of a small allocation: the size that mimalloc serves from its 64 KiB pages.
const SMALL: usize = 8 << 10;

/// mimalloc for small allocations, the C library for others. For `#[global_allocator]` of a binary.
pub struct Allocator;

fn is_small(layout: Layout) -> bool {
    layout.size() <= SMALL
}

/// Returns `memory`, or ends the process if it is null.
#[inline]
fn given(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        refused(bytes);
    }
    memory
}

// SAFETY: both allocators keep the contract. The size in the layout alone determines the allocator; a reallocation that
// changes the allocator moves the memory.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller keeps the contract.
        given(unsafe { if is_small(layout) { MiMalloc.alloc(layout) } else { System.alloc(layout) } }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller keeps the contract.
        let memory =
            unsafe { if is_small(layout) { MiMalloc.alloc_zeroed(layout) } else { System.alloc_zeroed(layout) } };
        given(memory, layout.size())
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the caller keeps the contract, and the layout chose the same allocator when it allocated.
        unsafe { if is_small(layout) { MiMalloc.dealloc(memory, layout) } else { System.dealloc(memory, layout) } }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract: `size`, rounded up to the alignment, is a valid size.
        unsafe {
            let wanted = Layout::from_size_align_unchecked(size, layout.align());
            let stays = is_small(layout) == is_small(wanted);
            if stays {
                count(size.cast_signed() - layout.size().cast_signed());
            }
            match stays {
                true if is_small(layout) => given(MiMalloc.realloc(memory, layout, size), size),
                true => given(System.realloc(memory, layout, size), size),
                false => {
                    let moved = self.alloc(wanted);
                    if !moved.is_null() {
                        std::ptr::copy_nonoverlapping(memory, moved, layout.size().min(size));
                        self.dealloc(memory, layout);
                    }
                    moved
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_stay_when_memory_moves_between_the_allocators() {
        let layout = |size| Layout::from_size_align(size, 16).unwrap();
        let byte = |at: usize| (at % 251) as u8;
        for (size, other) in [(SMALL, SMALL + 1), (24, 4 * SMALL), (24, 48), (2 * SMALL, 5 * SMALL)] {
            for (from, to) in [(size, other), (other, size)] {
                // SAFETY: the memory has `from` bytes, then `to`; the first `from` of these were written.
                unsafe {
                    let memory = Allocator.alloc(layout(from));
                    assert_eq!(memory.addr() % 16, 0);
                    (0..from).for_each(|at| memory.add(at).write(byte(at)));
                    let moved = Allocator.realloc(memory, layout(from), to);
                    assert_eq!(moved.addr() % 16, 0);
                    assert!((0..from.min(to)).all(|at| moved.add(at).read() == byte(at)));
                    Allocator.dealloc(moved, layout(to));
                    let zeroed = Allocator.alloc_zeroed(layout(to));
                    assert!((0..to).all(|at| zeroed.add(at).read() == 0));
                    Allocator.dealloc(zeroed, layout(to));
                }
            }
        }
    }
}
