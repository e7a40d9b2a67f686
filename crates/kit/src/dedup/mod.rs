//! Deduplication of node values, out of core.
//!
//! The value of a node is a record: a sequence of 64-bit words of any length. Deduplication finds, for each node, the
//! first node with the same record, exactly and in little memory. The caller feeds all records twice, in node order:
//!
//! 1. The **hash pass** ([`HashPass`]) hashes each record and writes hash and node to one of a few partitions. Then it
//!    reads each partition into a hash table and numbers the repeated hashes. A partition with more distinct hashes
//!    than the table takes several rounds. A second scan of the partition gives each node its number; a
//!    [`PairSpill`](crate::spill::PairSpill) sorts the numbers by node.
//! 2. The **verify pass** ([`VerifyPass`]) takes only the records of numbered nodes. It keeps the first record of each
//!    number and compares later ones with it, word by word. Only the kept records are accessed at random.
//!
//! A **collision** is a record with the hash of a kept record but different words. Collisions are kept, too, and
//! searched linearly. That is slow if there are many, but 64-bit hashes collide only in constructed inputs.
//!
//! A caller with several threads may hash records itself ([`HashPass::add`]), and may ask which records the verify pass
//! needs ([`VerifyPass::wanted`]).
//!
//! Memory: the hash pass uses 48 KiB for each of at most 64 partitions; at its end a table of 18 to 36 bytes per hash
//! of a partition, less if the budget is small; and buffers of numbers, at most a bit per node and 1 MiB. The verify
//! pass uses 16 bytes per repeated value, plus its record; it pages what exceeds the budget. Disk: 16 bytes per node.

mod hash_pass;
mod partition;
mod records;
#[cfg(test)]
mod tests;
mod verify_pass;

pub use hash_pass::HashPass;
pub use records::Records;
pub use verify_pass::{VerifyPass, Wanted};
