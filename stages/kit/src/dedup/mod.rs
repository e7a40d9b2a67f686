//! Deduplication of node values, out of core.
//!
//! The value of a node is a record: a sequence of 64-bit words of any length. Deduplication finds, for each node, the
//! first node with the same record. The answer is exact and needs little memory. The caller feeds all records twice,
//! in the order of nodes:
//!
//! 1. The **hash pass** ([`HashPass`]) hashes each record and writes the hash with its node to one of a few
//!    partitions. Then it reads each partition back into a hash table. Nodes whose hashes are equal get a common
//!    number. A partition with more distinct hashes than the table holds takes several rounds. A second
//!    look at the partition gives each node its number; a [`PairSpill`](crate::spill::PairSpill) brings them to the order of nodes.
//! 2. The **verify pass** ([`VerifyPass`]) takes the records of nodes with a number only. It keeps the first record
//!    of each number and compares the later ones with it, word by word. Only these kept records are read at random.
//!
//! A record whose hash equals that of a kept record but whose words differ is a **collision**. Collisions are kept as
//! well and compared one after the other. That is slow if there are many, but 64-bit hashes collide only in
//! constructed inputs.
//!
//! A caller with several threads may hash records itself ([`HashPass::add`]), and asks which ones are wanted before it
//! makes them ([`VerifyPass::wanted`]).
//!
//! Memory: the hash pass uses 48 KiB for each of at most 64 partitions, and at its end a table of 18 to 36 bytes per hash of
//! a partition, or less if the budget is small, and the buffers of the numbers, at most a bit per node and 1 MiB. The verify
//! pass uses per repeated value 16 bytes and its record. What does not fit the budget is paged. Disk: 16 bytes per node.

mod hash_pass;
mod partition;
mod records;
#[cfg(test)]
mod tests;
mod verify_pass;

pub use hash_pass::HashPass;
pub use records::Records;
pub use verify_pass::{VerifyPass, Wanted};
