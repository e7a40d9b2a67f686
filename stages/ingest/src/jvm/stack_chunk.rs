//! Sizes of stack chunks of virtual threads. A dump has the fields of a chunk, including its length, but not its words.

use super::big_endian::u32_at;
use super::fields::Placed;
use super::hidden::{HiddenFields, STACK_CHUNK};
use super::layouts::{Position, Types};
use super::sizes::Sizes;
use super::value;
use heaplake_kit::StringTable;

/// Field of the length of a chunk, in words.
const WORDS: &str = "size";

/// The class of stack chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackChunk {
    /// Its position.
    pub class: Position,
    /// Offset of the length in an instance.
    at: u32,
    /// Bytes of an instance without a stack.
    empty: u64,
}

impl StackChunk {
    /// Finds the class, unless its sizes follow MAT's rule.
    pub(crate) fn find(types: &Types, sizes: &Sizes, strings: &StringTable) -> Option<Self> {
        let head = sizes.stack_head.filter(|_| sizes.pointer == 8)?;
        let class = types.named(STACK_CHUNK, strings)?;
        let (_, at) = types.own_field(class, WORDS, value::INT, strings)?;
        let own = &types.fields[types.descriptors[class].fields()];
        let (group, _) = HiddenFields::find(&types.descriptors, strings).groups(class, own, strings);
        let mut placed = Placed { end: head as u32, gaps: Vec::new() };
        placed.place(group, sizes.reference as u32);
        Some(Self { class, at, empty: sizes.aligned(placed.end.into()) })
    }

    /// Returns the size of an instance: its fields, the words of the stack, and one bit for each place of a reference
    /// in them.
    pub(crate) fn size(&self, body: &[u8], sizes: &Sizes) -> u64 {
        let at = self.at as usize;
        let words = if body.len() < at + 4 { 0 } else { u64::from(u32_at(body, at)) };
        let bits = (words * 8 / sizes.reference).next_multiple_of(64);
        sizes.aligned(self.empty + 8 * words + bits / 8)
    }
}
