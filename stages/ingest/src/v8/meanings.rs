//! What the edges of a node mean for its value, wherever its columns are. Used by [`super::equal_nodes`] and
//! [`super::equal_blocks`].

use super::shown::{Seen, Texts};
use super::slots::{Meaning, Slot};
use super::value_rules::{Edge, Node, Rules};
use heaplake_kit::{Bitset, Context, StageError};
use heaplake_schemas::ids::{NodeId, StringId};

/// What values depend on.
#[derive(Clone, Copy)]
pub struct Meanings<'a> {
    /// What kinds and names mean.
    pub rules: &'a Rules,
    /// Nodes that are compared by identity.
    pub opaque: &'a Bitset,
}

/// What is known of the targets of edges.
pub trait Known {
    /// The name of a node.
    ///
    /// # Errors
    /// [`StageError::Io`].
    fn name(&self, node: NodeId) -> Result<StringId, StageError>;

    /// Its [`traits`](super::survey::traits).
    ///
    /// # Errors
    /// [`StageError::Io`].
    fn traits(&self, node: usize) -> Result<u8, StageError>;
}

/// What a thread looks at.
pub struct Aids<'a, K> {
    /// Of the targets.
    pub known: K,
    /// Texts that it looked at.
    pub texts: Texts<'a>,
    /// Whether to go on.
    pub context: &'a Context<'a>,
}

/// What a node's own columns and edges give beside its slots.
#[derive(Clone, Copy, Default)]
pub struct Outcome {
    /// Slots that are followed.
    pub degree: u32,
    /// What the file does not tell.
    pub limits: u8,
}

impl Meanings<'_> {
    /// What an edge of a node of a kind means.
    ///
    /// # Errors
    /// What `known` returns.
    #[inline]
    pub fn of(&self, kind: u8, edge: Edge, known: &impl Known) -> Result<Meaning, StageError> {
        self.rules.slot(kind, edge, self.opaque, || known.name(edge.to))
    }

    /// Hands the slots of a node of a kind to `each`, in the order of its edges.
    ///
    /// # Errors
    /// What `edges`, `known` and `each` return.
    #[inline]
    pub fn slots(
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

    /// Hands the slots of a node with these traits to `each`, in the order of its edges, and sees what the file does not
    /// tell of it.
    ///
    /// # Errors
    /// [`StageError::Cancelled`]; what `edges`, `aids` and `each` return.
    #[inline]
    pub fn look<K: Known>(
        &self,
        node: Node,
        own: u8,
        edges: impl Iterator<Item = Result<Edge, StageError>>,
        aids: &mut Aids<'_, K>,
        mut each: impl FnMut(Slot) -> Result<(), StageError>,
    ) -> Result<Outcome, StageError> {
        let sees = self.rules.sees(node.kind);
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
