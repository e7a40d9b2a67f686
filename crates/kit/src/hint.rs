//! Hints to the machine: huge pages (fewer TLB misses), prefetches, release of freed memory. Hints affect speed and
//! memory only, never results. Also the limits and signals that would end the process without a message.

use rustix::mm::{Advice, madvise};

/// Size and alignment of a huge page, bytes.
const PAGE: usize = 2 << 20;

/// Requests huge pages for memory that has not been touched yet. Covers only whole huge pages inside the range, so
/// memory use does not grow. No effect where the system has no huge pages.
pub(crate) fn large_pages<T>(memory: &mut [T]) {
    let start = memory.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE);
    let bytes = size_of_val(memory).saturating_sub(skipped) / PAGE * PAGE;
    if bytes > 0 {
        // SAFETY: the range lies inside `memory`, which is borrowed exclusively, and the advice changes no byte. The
        // result is ignored: without huge pages the array is only slower.
        let _ = unsafe { madvise(start.add(skipped).cast(), bytes, Advice::LinuxHugepage) };
    }
}

/// Freed bytes at the end of an arena that the allocator may keep.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT: i32 = 2 << 20;

/// Allocations of at least this many bytes get their own mapping, which is unmapped on free.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED: i32 = 4 << 20;

/// Limits the memory that the C library keeps after free. By default its limits grow to 64 MiB per arena, with eight
/// arenas per core, so a process that analyses many files would exceed its budget. Call once, before threads start. No
/// effect with other allocators.
pub fn keep_little_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` takes its own lock and changes limits of the allocator only.
    unsafe {
        let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
        libc::mallopt(libc::M_ARENA_MAX, i32::try_from(cores).unwrap_or(i32::MAX));
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
    }
}

/// Gives allocations of at least `bytes` their own mapping, so that free returns them to the system. Slower: the system
/// clears their pages each time. Call before threads start. No effect with other allocators.
pub fn map_alone(bytes: i32) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` takes its own lock and changes a limit of the allocator only.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, bytes);
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = bytes;
}

/// Turns a write beyond the file size limit (`ulimit -f`) into an error instead of a signal that kills the process.
/// Call once, before threads start.
pub fn ignore_file_size_signal() {
    #[cfg(unix)]
    // SAFETY: no handler is installed, so no code runs in signal context.
    unsafe {
        let _ = libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Raises the soft limit of open files to the hard limit, for spills. Failure is ignored.
pub fn raise_open_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// Returns freed memory to the system, including holes between live allocations, one of which could otherwise pin an
/// arena. Call after large frees. Cost: one pass over the arenas and one call per hole.
pub fn give_back_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` takes the locks of the allocator and releases only free memory.
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
        // SAFETY: the instruction exists on every x86-64 processor, loads nothing into the program and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, i);
}
