//! Hints to the machine: large pages, which reduce TLB misses; prefetches; memory that is not needed any more. Hints
//! affect only speed and memory, never the result. Besides, the signals that would end the process without a word.

use rustix::mm::{Advice, madvise};

/// Size and alignment of a large page, bytes.
const PAGE: usize = 2 << 20;

/// Requests large pages for memory that has not been touched yet. Applies only to whole large pages inside the range,
/// so no more memory is used. No effect where the system has no large pages.
pub(crate) fn large_pages<T>(memory: &mut [T]) {
    let start = memory.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE);
    let bytes = size_of_val(memory).saturating_sub(skipped) / PAGE * PAGE;
    if bytes > 0 {
        // SAFETY: the range lies inside `memory`, which this function borrows for itself, and the advice changes no
        // byte. The result is ignored: without large pages the array is only slower.
        let _ = unsafe { madvise(start.add(skipped).cast(), bytes, Advice::LinuxHugepage) };
    }
}

/// Freed memory at the end of an arena that the allocator may keep, bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT: i32 = 2 << 20;

/// Allocations of so many bytes are mapped alone, and go back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED: i32 = 4 << 20;

/// Tells the allocator of the C library to keep little of what is freed. By itself it raises its limits to 64 MiB for each
/// arena, and it has eight arenas per core, so a process that analyses many files would hold more than its budget. To be
/// called once, before there are threads. No effect with other allocators.
pub fn keep_little_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function takes its own lock and changes limits of the allocator alone.
    unsafe {
        let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
        libc::mallopt(libc::M_ARENA_MAX, i32::try_from(cores).unwrap_or(i32::MAX));
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
    }
}

/// Has allocations of so many bytes and more mapped alone, so that none of them is kept when it is freed. It costs time: the
/// system clears their pages each time. To be called before there are threads. No effect with other allocators.
pub fn map_alone(bytes: i32) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function takes its own lock and changes a limit of the allocator alone.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, bytes);
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = bytes;
}

/// Makes a write beyond the limit of the size of files (`ulimit -f`) an error, which is reported, where a signal would kill
/// the process without a word. To be called once, before there are threads.
pub fn ignore_file_size_signal() {
    #[cfg(unix)]
    // SAFETY: no handler is installed, so no code runs that could be unfit for a signal.
    unsafe {
        let _ = libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Raises the limit of open files as far as the system allows: who spills has many. What is not allowed stays as it is.
pub fn raise_open_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// Gives what was freed to the system, holes between what is still used too: one small thing that stays would keep all
/// that an arena had. To be called after much was freed. Cost: a look at each arena and one call for each hole.
pub fn give_back_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function takes the locks of the allocator and gives back only what nobody has.
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
