//! Groups pairs out of core: `pairs` writes them, `groups` reads them back, `values` only the last of each group.
//!
//! A [`PairSpill`] takes `(key, value)` pairs in any order and returns the values grouped by key: keys in descending
//! order, values of one key in the order of insertion. It is a radix partition: the high bits of the key select a
//! partition, each partition has one small buffer, and full buffers are appended as blocks to a file that several
//! neighbouring partitions share. Blocks omit the key bits that the partition determines. Reading a partition back is
//! a counting sort whose scatter stays in cache.
//!
//! Memory: 16 KiB per partition while writing; while reading, 8 bytes per key and 12 per pair of a partition, for
//! each partition that a thread is processing. A partition that does not fit (keys with very many values) is taken apart
//! into ranges of keys whose values fit an eighth of the free budget, with 16 KiB for each of at most 64 of them: it is
//! read twice, to count and to take it apart, when its disk space is freed, and the ranges are written and read once. The
//! values of a single key that does not fit are streamed. Blocks stay in memory while columns may
//! ([`Residents`](crate::Residents)); else on disk: 6 bytes per pair if a partition has at most 65,536 keys, else 7,
//! written once and, if a partition fits, read once. Files are released one by one while groups are written, so groups
//! replace pairs.

mod blocks;
mod groups;
mod pairs;
mod parts;
#[cfg(test)]
mod tests;
mod values;

pub use groups::From32;
pub use pairs::{Divided, Divider, PairSpill};
