//! The interface of every kind of block, and a block's location.

use crate::answers::{Answers, Fact};
use crate::sink::Sink;
use crate::strings::Strings;
use std::io::Write;

/// Distance of every head that hangs from a shard: global object, registry, shard, head.
pub(crate) const HEAD_DISTANCE: u64 = 4;

/// Location and surroundings of a block.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Ordinal of the block's first node.
    pub head: u64,
    /// Index of the block's first string.
    pub string: u64,
    /// The shard's array, which refers to the head.
    pub shard: u64,
    /// An object shared by all blocks of the shard.
    pub session: u64,
    /// Key of the block's random choices.
    pub key: u64,
}

impl Place {
    /// The metadata of a head that hangs from the shard.
    pub(super) fn head_fact(&self, shallow: u64, retained: u64) -> Fact {
        fact(self.head, shallow, retained, 0, self.shard)
    }
}

/// The facts of a node; `steps` is its distance from the head.
pub(super) fn fact(ordinal: u64, shallow: u64, retained: u64, steps: u64, dominator: u64) -> Fact {
    Fact { ordinal, shallow, retained, distance: Some(HEAD_DISTANCE + steps), dominator }
}

/// Entries that something takes in each section.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    pub nodes: u64,
    pub edges: u64,
    pub strings: u64,
    pub locations: u64,
}

impl Size {
    pub fn add(&mut self, other: Size) {
        self.nodes += other.nodes;
        self.edges += other.edges;
        self.strings += other.strings;
        self.locations += other.locations;
    }
}

/// Interface of every kind of block.
pub(crate) trait Structure {
    /// The kind's name in the answers.
    fn kind(&self) -> &'static str;
    fn size(&self) -> Size;
    fn walk<S: Sink>(&self, at: &Place, out: &mut S);
    /// Writes the strings, exactly [`Size::strings`] of them.
    fn strings<W: Write>(&self, _at: &Place, _out: &mut Strings<W>) {}
    fn metadata(&self, at: &Place, out: &mut Answers);
    /// Whether the shard refers to the head; documents hang elsewhere.
    fn in_shard(&self) -> bool {
        true
    }
    /// Bytes of strings too large for an estimate of the file's size.
    fn giant_bytes(&self) -> u64 {
        0
    }
}
