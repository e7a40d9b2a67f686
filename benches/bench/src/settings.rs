//! The engine's settings, which are also row names in the reports.

/// Row name: reading the file only.
pub(crate) const FLOOR: &str = "reading the file";
/// Row name: the baseline of all ratios.
pub(crate) const ONE_THREAD: &str = "heaplake --threads 1";
/// Row name: two threads.
pub(crate) const TWO_THREADS: &str = "heaplake --threads 2";
/// Row name: little memory.
pub(crate) const SMALL_MEMORY: &str = "heaplake --memory 256MiB";
/// Row name: only the results that other programs compute too, sizes and classes.
pub(crate) const SIZES_ONLY: &str = "heaplake --threads 1 --duplicates none --tables nodes,classes,snapshot";
