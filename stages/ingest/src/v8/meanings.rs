//! Meanings of a node's edges for its value, for columns in memory or on disk. Used by [`super::equal_nodes`] and
//! [`super::equal_blocks`].

use super::edges::Edge;
use super::shown::{Seen, Texts};
use super::slots::{Meaning, Slot};
use super::value_rules::{Node, Rules};
use heaplake_kit::{Bitset, Context, StageError};
use heaplake_schemas::ids::{NodeId, StringId};

/// Inputs that determine the meaning of edges.
#[derive(Clone, Copy)]
pub(super) struct Meanings<'a> {
    /// Rules by kinds and names.
    pub rules: &'a Rules,
    /// Nodes compared by identity.
    pub opaque: &'a Bitset,
}

/// Access to the targets of edges.
pub(super) trait Known {
    /// Returns the name of a node.
    fn name(&self, node: NodeId) -> Result<StringId, StageError>;

    /// Returns the [`traits`](super::survey::traits) of a node.
    fn traits(&self, node: usize) -> Result<u8, StageError>;
}

/// State of a thread.
pub(super) struct Aids<'a, K> {
    /// Access to the targets.
    pub known: K,
    /// Texts with their cache.
    pub texts: Texts<'a>,
    /// For cancellation.
    pub context: &'a Context<'a>,
}

/// Result for a node besides its slots.
#[derive(Clone, Copy, Default)]
pub(super) struct Outcome {
    /// Number of followed slots.
    pub degree: u32,
    /// Flags of the contents that the file omits.
    pub limits: u8,
}

impl Meanings<'_> {
    /// Returns the meaning of an edge from a node of a kind.
    #[inline]
    pub(super) fn of(&self, kind: u8, edge: Edge, known: &impl Known) -> Result<Meaning, StageError> {
        self.rules.slot(kind, edge, self.opaque, || known.name(edge.to))
    }

    /// Calls `each` with the slots of a node of a kind, in the order of its edges.
    #[inline]
    pub(super) fn slots(
        &self,
        kind: u8,
        edges: impl Iterator<Item = Result<Edge, StageError>>,
        known: &impl Known,
        mut each: impl FnMut(Slot),
    ) -> Result<(), StageError> {
        for edge in edges {
            let edge = edge?;
            Slot::new(edge.kind, edge.name, self.of(kind, edge, known)?).into_iter().for_each(&mut each);
        }
        Ok(())
    }

    /// Calls `each` with the slots of a node with these traits, in the order of its edges; returns their number and the
    /// node's limits.
    #[inline]
    pub(super) fn look<K: Known>(
        &self,
        node: Node,
        own: u8,
        edges: impl Iterator<Item = Result<Edge, StageError>>,
        aids: &mut Aids<'_, K>,
        mut each: impl FnMut(Slot) -> Result<(), StageError>,
    ) -> Result<Outcome, StageError> {
        let sees = self.rules.sees[usize::from(node.kind)];
        let mut degree = 0;
        let mut seen = Seen::default();
        for (number, edge) in edges.enumerate() {
            if (number + 1).is_multiple_of(1 << 18) {
                aids.context.check()?;
            }
            let edge = edge?;
            let meaning = self.of(node.kind, edge, &aids.known)?;
            if sees {
                self.rules.see(&mut seen, node.kind, edge, meaning, |node| aids.known.traits(node))?;
            }
            if let Some(slot) = Slot::new(edge.kind, edge.name, meaning) {
                degree += u32::from(slot.own().is_none());
                each(slot)?;
            }
        }
        let limits = self.rules.limits(node, own, &seen, degree, &mut aids.texts);
        Ok(Outcome { degree, limits })
    }
}
