//! References of the objects of a dump on their way to the columns of edges, a batch at a time.
//!
//! Where a reference leads is looked up in the index, and edges are counted at their targets: both are all over memory. So
//! references wait; the place in the index is asked for when a reference comes, the counter when its target is found.

use super::kinds::edge_kind;
use super::layouts::{Slot, Types};
use super::references::UnlistedWriter;
use crate::index::Find;
use crate::labels::Label;
use crate::output::{EdgeCounts, Essential, Output};
use heaplake_kit::{Scratch, StageError, WriteAt};
use heaplake_schemas::ids::{ClassId, NodeId};

/// How many wait at most: as many as the first cache has room for beside what they are looked up in.
const MOST: usize = 256;

/// What waits.
#[derive(Clone, Copy)]
enum What {
    /// The edge to the class, and whether one from the root makes it needless.
    Class(Essential),
    /// A reference of an instance: its kind, and what it means.
    Field(u8, Essential),
    /// An element of an array.
    Element,
    /// The end of an object of this kind.
    End(u8),
}

#[derive(Clone, Copy)]
struct Waiting {
    /// The place of an address, and later its target; of the end of an object the size, bytes.
    word: u64,
    /// The position of a slot or an element; of the end of an object the class.
    number: u32,
    /// Of a slot, the position of its field.
    field: u32,
    what: What,
}

/// Finds the targets of references, and writes the edges to them.
pub(super) struct Targets<'a, I, D> {
    types: &'a Types,
    /// The index of all objects.
    pub index: I,
    output: Output<D>,
    unlisted: UnlistedWriter,
    waiting: Vec<Waiting>,
    /// The object whose references come.
    node: NodeId,
}

impl<'a, I: Find, D: WriteAt<u8>> Targets<'a, I, D> {
    /// Begins with the root.
    pub fn new(types: &'a Types, index: I, output: Output<D>, unlisted: UnlistedWriter) -> Self {
        Self { types, index, output, unlisted, waiting: Vec::with_capacity(MOST), node: NodeId(0) }
    }

    /// The object whose references come.
    #[inline]
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The edge of an object to its class.
    ///
    /// # Errors
    /// Those of [`Output::edge`].
    #[inline]
    pub fn class<const EDGES: bool>(&mut self, to: NodeId, edge: Essential) -> Result<(), StageError> {
        self.wait::<EDGES>(Waiting { word: to.0.into(), number: 0, field: 0, what: What::Class(edge) })
    }

    /// The reference of an instance in a slot, at this position among all of them.
    ///
    /// # Errors
    /// As [`Self::class`].
    #[inline]
    pub fn field<const EDGES: bool>(&mut self, address: u64, slot: Slot, position: usize) -> Result<(), StageError> {
        let (kind, edge) = match (slot.is_referent(), slot.is_essential()) {
            (false, _) => (edge_kind::FIELD, Essential::Yes),
            (true, true) => (edge_kind::REFERENT, Essential::Avoided),
            (true, false) => (edge_kind::REFERENT, Essential::No),
        };
        let (number, field) = (position as u32, slot.field() as u32);
        self.wait::<EDGES>(Waiting { word: self.index.place(address), number, field, what: What::Field(kind, edge) })
    }

    /// An element of an array.
    ///
    /// # Errors
    /// As [`Self::class`].
    #[inline]
    pub fn element<const EDGES: bool>(&mut self, address: u64, number: u32) -> Result<(), StageError> {
        let word = self.index.place(address);
        self.wait::<EDGES>(Waiting { word, number, field: 0, what: What::Element })
    }

    /// Any other edge.
    ///
    /// # Errors
    /// As [`Self::class`].
    pub fn edge<const EDGES: bool>(
        &mut self,
        to: NodeId,
        kind: u8,
        name: impl Fn() -> u32,
        meaning: (Essential, Label),
    ) -> Result<(), StageError> {
        self.write::<EDGES>()?;
        self.output.edge::<EDGES>(to, kind, name, meaning)
    }

    /// Ends the object, and begins the next.
    ///
    /// # Errors
    /// As [`Self::class`].
    #[inline]
    pub fn end<const EDGES: bool>(&mut self, kind: u8, class: ClassId, shallow: u64) -> Result<(), StageError> {
        self.node.0 += 1;
        self.wait::<EDGES>(Waiting { word: shallow, number: class.0, field: 0, what: What::End(kind) })
    }

    #[inline]
    fn wait<const EDGES: bool>(&mut self, waiting: Waiting) -> Result<(), StageError> {
        if self.waiting.len() == MOST {
            self.write::<EDGES>()?;
        }
        self.waiting.push(waiting);
        Ok(())
    }

    /// Writes all that waits.
    #[inline(never)]
    fn write<const EDGES: bool>(&mut self) -> Result<(), StageError> {
        let Self { types, index, output, unlisted, waiting, .. } = self;
        for waiting in waiting.iter_mut() {
            match waiting.what {
                What::Field(..) | What::Element => {
                    let to = index.find_at(waiting.word)?.unwrap_or(NodeId::NONE);
                    output.prefetch(to);
                    waiting.word = to.0.into();
                }
                What::Class(_) | What::End(_) => {}
            }
        }
        for &Waiting { word, number, field, what } in waiting.iter() {
            let to = NodeId(word as u32);
            let (kind, edge, label) = match what {
                What::Class(edge) => {
                    output.edge::<EDGES>(to, edge_kind::CLASS, || 0, (edge, Label::Class))?;
                    continue;
                }
                What::End(kind) => {
                    output.end(kind, ClassId(number), word)?;
                    continue;
                }
                What::Field(kind, edge) => (kind, edge, Label::Slot(number as usize)),
                What::Element => (edge_kind::ELEMENT, Essential::Yes, Label::Element),
            };
            unlisted.note(output.node(), number, to, edge)?;
            if !to.is_none() {
                let is_element = matches!(what, What::Element);
                let name = || if is_element { number } else { types.fields[field as usize].name.0 };
                output.edge::<EDGES>(to, kind, name, (edge, label))?;
            }
        }
        waiting.clear();
        Ok(())
    }

    /// Ends the columns; how many edges there are, and the index.
    ///
    /// # Errors
    /// As [`Self::class`].
    pub fn finish<const EDGES: bool>(mut self, scratch: &Scratch) -> Result<(EdgeCounts, I), StageError> {
        self.write::<EDGES>()?;
        self.unlisted.finish()?;
        Ok((self.output.finish(scratch)?, self.index))
    }
}
