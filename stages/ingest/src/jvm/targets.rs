//! Batches the references of objects on their way to the columns of edges.
//!
//! Targets are looked up in the index, and in-degrees are counted at targets; both are random accesses. So references
//! wait in a batch: adding one prefetches its place in the index, and finding its target prefetches the counter.

use super::kinds::edge_kind;
use super::layouts::{Slot, Types};
use super::references::UnlistedWriter;
use crate::index::Find;
use crate::labels::Label;
use crate::output::{EdgeCounts, Essential, Output};
use heaplake_kit::{Scratch, StageError, WriteAt};
use heaplake_schemas::ids::{ClassId, NodeId};

/// Batch size: fits the L1 cache along with the data looked up.
const MOST: usize = 256;

/// Entry of the batch.
#[derive(Clone, Copy)]
enum What {
    /// The edge to the class, possibly implied by one from the root.
    Class(Essential),
    /// A reference of an instance: edge kind and effect on reachability.
    Field(u8, Essential),
    /// An element of an array.
    Element,
    /// The end of an object of this kind.
    End(u8),
}

#[derive(Clone, Copy)]
struct Waiting {
    /// Place of an address in the index, later its target; for the end of an object its size, bytes.
    word: u64,
    /// Position of a slot or an element; for the end of an object its class.
    number: u32,
    /// For a slot, the position of its field.
    field: u32,
    what: What,
}

/// Finds the targets of references, and writes the edges, with or without a table of edges.
pub(super) struct Targets<'a, I, D, const EDGES: bool> {
    types: &'a Types,
    /// The index of all objects.
    pub index: I,
    output: Output<D>,
    unlisted: UnlistedWriter,
    waiting: Vec<Waiting>,
    /// The current object.
    pub node: NodeId,
}

impl<'a, I: Find, D: WriteAt<u8>, const EDGES: bool> Targets<'a, I, D, EDGES> {
    /// Starts at the root.
    pub(super) fn new(types: &'a Types, index: I, output: Output<D>, unlisted: UnlistedWriter) -> Self {
        Self { types, index, output, unlisted, waiting: Vec::with_capacity(MOST), node: NodeId(0) }
    }

    /// Adds the edge of an object to its class.
    #[inline]
    pub(super) fn class(&mut self, to: NodeId, edge: Essential) -> Result<(), StageError> {
        self.wait(Waiting { word: to.0.into(), number: 0, field: 0, what: What::Class(edge) })
    }

    /// Adds the reference of an instance in a slot, at this position among its references.
    #[inline]
    pub(super) fn field(&mut self, address: u64, slot: Slot, position: usize) -> Result<(), StageError> {
        let (kind, edge) = match (slot.is_referent(), slot.is_essential()) {
            (false, _) => (edge_kind::FIELD, Essential::Yes),
            (true, true) => (edge_kind::REFERENT, Essential::Avoided),
            (true, false) => (edge_kind::REFERENT, Essential::No),
        };
        let (number, field) = (position as u32, slot.field() as u32);
        self.wait(Waiting { word: self.index.place(address), number, field, what: What::Field(kind, edge) })
    }

    /// Adds an element of an array.
    #[inline]
    pub(super) fn element(&mut self, address: u64, number: u32) -> Result<(), StageError> {
        let word = self.index.place(address);
        self.wait(Waiting { word, number, field: 0, what: What::Element })
    }

    /// Adds any other edge.
    pub(super) fn edge(
        &mut self,
        to: NodeId,
        kind: u8,
        name: impl Fn() -> u32,
        meaning: (Essential, Label),
    ) -> Result<(), StageError> {
        self.write()?;
        self.output.edge::<EDGES>(to, kind, name, meaning)
    }

    /// Completes the object and starts the next.
    #[inline]
    pub(super) fn end(&mut self, kind: u8, class: ClassId, shallow: u64) -> Result<(), StageError> {
        self.node.0 += 1;
        self.wait(Waiting { word: shallow, number: class.0, field: 0, what: What::End(kind) })
    }

    #[inline]
    fn wait(&mut self, waiting: Waiting) -> Result<(), StageError> {
        if self.waiting.len() == MOST {
            self.write()?;
        }
        self.waiting.push(waiting);
        Ok(())
    }

    /// Writes the batch.
    #[inline(never)]
    fn write(&mut self) -> Result<(), StageError> {
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
            unlisted.note(output.node, number, to, edge)?;
            if !to.is_none() {
                let is_element = matches!(what, What::Element);
                let name = || if is_element { number } else { types.fields[field as usize].name.0 };
                output.edge::<EDGES>(to, kind, name, (edge, label))?;
            }
        }
        waiting.clear();
        Ok(())
    }

    /// Completes the columns; returns the numbers of edges, and the index.
    pub(super) fn finish(mut self, scratch: &Scratch) -> Result<(EdgeCounts, I), StageError> {
        self.write()?;
        self.unlisted.finish()?;
        Ok((self.output.finish(scratch)?, self.index))
    }
}
