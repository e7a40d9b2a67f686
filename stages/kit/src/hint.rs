//! Hints to the machine: large pages, which reduce TLB misses; prefetches; memory that is not needed any more. Hints
//! affect only speed and memory, never the result.

use rustix::mm::{Advice, madvise};
use std::mem::MaybeUninit;

/// Size and alignment of a large page, bytes.
const PAGE: usize = 2 << 20;

/// Requests large pages for memory that has not been touched yet. Applies only to whole large pages inside the range,
/// so no more memory is used. No effect where the system has no large pages.
pub(crate) fn large_pages<T>(memory: &mut [MaybeUninit<T>]) {
    let start = memory.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE);
    let bytes = size_of_val(memory).saturating_sub(skipped) / PAGE * PAGE;
    if bytes > 0 {
        // SAFETY: the range lies inside `memory`, which this function borrows for itself, and the advice changes no
        // byte. The result is ignored: without large pages the array is only slower.
        let _ = unsafe { madvise(start.add(skipped).cast(), bytes, Advice::LinuxHugepage) };
    }
}

/// Gives the system the memory back that was freed. The allocator of the C library keeps it otherwise, in an arena for each
/// of many threads, so that a process that analyses many files would grow for a while. No effect with others.
pub fn release_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function takes its own locks and touches nothing but free memory.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Prefetches element `i` into the caches, if it exists.
#[inline]
pub(crate) fn prefetch<T>(items: &[T], i: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(i) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is part of every x86-64 processor, reads nothing into the program and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, i);
}
