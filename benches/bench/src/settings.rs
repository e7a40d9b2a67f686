//! The settings in which the engine runs, which name the rows of the reports.

/// Name of the rows for reading alone.
pub const FLOOR: &str = "reading the file";
/// Name of the rows that all others are held against.
pub const ONE_THREAD: &str = "heaplake --threads 1";
/// Name of the rows with two threads.
pub const TWO_THREADS: &str = "heaplake --threads 2";
/// Name of the rows with little memory.
pub const SMALL_MEMORY: &str = "heaplake --memory 256MiB";
/// Name of the rows for what other programs compute too: sizes and classes, nothing else.
pub const SIZES_ONLY: &str = "heaplake --threads 1 --duplicates none --tables nodes,classes,snapshot";
