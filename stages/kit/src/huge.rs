//! Large pages for large arrays: what is read at random all over then misses the processor's address cache far less.

use rustix::mm::{Advice, madvise};
use std::mem::MaybeUninit;

/// Size and alignment of a large page, bytes.
const PAGE: usize = 2 << 20;

/// Asks for large pages for memory that nothing has touched yet. Whole pages inside it only, so no more memory is taken
/// than without. Where the system has none, nothing changes.
pub(crate) fn advise<T>(memory: &mut [MaybeUninit<T>]) {
    let start = memory.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE);
    let bytes = size_of_val(memory).saturating_sub(skipped) / PAGE * PAGE;
    if bytes > 0 {
        // SAFETY: the range lies inside `memory`, which this function borrows for itself, and the advice changes no byte.
        // The result does not matter: without large pages the array is only slower.
        let _ = unsafe { madvise(start.add(skipped).cast(), bytes, Advice::LinuxHugepage) };
    }
}
