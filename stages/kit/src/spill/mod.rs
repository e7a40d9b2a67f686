//! Pairs brought into groups on disk: written in `pairs`, read back in `groups`.
//!
//! A [`PairSpill`] takes `(key, value)` pairs in any order and gives the values back grouped by key, keys descending,
//! values of one key in the order in which they came. It is a radix partition: pairs go to the partition of their
//! key's high bits, each partition has one small buffer, full buffers are appended as blocks to the file of several
//! neighbouring partitions, the keys without the bits that the partition tells. Reading a partition back is a counting
//! sort whose scatter stays in cache.
//!
//! Memory: 16 KiB per partition while writing; while reading, 8 bytes per key of a partition plus 12 per pair
//! of it, for each partition that a thread is at. A partition that does not fit (keys with very many values) is read from
//! disk as often as it takes, with half of the free budget for its values, and a single key that does not fit is streamed.
//! Disk: 6 bytes per pair where a partition has at most 65,536 keys, else 7, written once and, what fits, read once; while
//! groups are written, the files go one by one, so groups take the place of pairs.

mod groups;
mod pairs;
#[cfg(test)]
mod tests;

pub use groups::From32;
pub use pairs::PairSpill;
