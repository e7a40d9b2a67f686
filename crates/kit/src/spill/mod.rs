//! Groups pairs out of core: `pairs` writes them, `groups` reads them back, `values` reads only the last value of each
//! key.
//!
//! A [`PairSpill`] takes `(key, value)` pairs in any order and returns the values grouped by key: keys descend, values
//! of one key are in insertion order. It is a radix partition: the high bits of the key select a partition, each
//! partition has a small buffer, and full buffers are appended as blocks to a file shared by several neighbouring
//! partitions. Blocks omit the key bits determined by the partition. Reading a partition back is a counting sort whose
//! scatter stays in cache.
//!
//! Memory: 16 KiB per partition while writing; while reading, 8 bytes per key and 12 per pair, for each partition being
//! processed. A partition that does not fit (keys with very many values) is split into key ranges whose values fit an
//! eighth of the free budget, with 16 KiB for each of at most 64 ranges: it is read twice, to count and to split, which
//! frees its disk space, and the ranges are written and read once. The values of a single key that does not fit are
//! streamed. Blocks stay in memory within the limit of columns ([`Residents`](crate::Residents)); on disk they take 6
//! bytes per pair if a partition has at most 65,536 keys, else 7, written once and, if a partition fits, read once.
//! Files are released one by one while groups are written, so groups replace pairs.

mod blocks;
mod groups;
mod pairs;
mod parts;
#[cfg(test)]
mod tests;
mod values;

pub use groups::From32;
pub use pairs::{Divided, Divider, PairSpill};
