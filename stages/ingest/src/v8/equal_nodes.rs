//! Hashes and comparisons of single nodes, for columns in memory. Used by [`super::equal_in_memory`].

use super::edges::Edge;
use super::meanings::{Aids, Known, Meanings, Outcome};
use super::slots::{self, HELD, Meaning, Slot};
use super::survey::TRAITS;
use super::value_rules::Node;
use heaplake_kit::hash_cons::mix;
use heaplake_kit::{ColumnMap, Scratch, StageError, StringTable};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch as columns;
use std::ops::Range;

/// Limit of the edges of nodes that are compared despite different orders of their labels.
const SORTED: usize = 1 << 12;

/// The columns, in memory.
pub(super) struct Columns {
    kinds: ColumnMap<u8>,
    names: ColumnMap<StringId>,
    sizes: ColumnMap<u64>,
    /// Numbers of edges.
    pub counts: ColumnMap<u32>,
    traits: ColumnMap<u8>,
    edge_kinds: ColumnMap<u8>,
    edge_names: ColumnMap<u32>,
    targets: ColumnMap<NodeId>,
}

impl Columns {
    /// Opens the columns; `None` unless all are in memory and, with `follows`, no node has more edges than one thread
    /// sorts.
    pub(super) fn open(scratch: &Scratch, follows: bool) -> Result<Option<Self>, StageError> {
        let bytes = [columns::NODE_KIND, columns::EDGE_KIND, TRAITS].iter().all(|&column| scratch.is_resident(column));
        let numbers = [columns::NODE_EDGE_COUNT, columns::EDGE_NAME].iter().all(|&column| scratch.is_resident(column));
        let others = scratch.is_resident(columns::NODE_NAME) && scratch.is_resident(columns::NODE_SELF);
        if !bytes || !numbers || !others || !scratch.is_resident(columns::EDGE_TO) {
            return Ok(None);
        }
        let targets = ColumnMap::uncounted(scratch, columns::EDGE_TO)?;
        let counts = ColumnMap::uncounted(scratch, columns::NODE_EDGE_COUNT)?;
        let is_large = |&count: &u32| count as usize > HELD;
        if u32::try_from(targets.len()).is_err() || (follows && counts.iter().any(is_large)) {
            return Ok(None);
        }
        Ok(Some(Self {
            kinds: ColumnMap::uncounted(scratch, columns::NODE_KIND)?,
            names: ColumnMap::uncounted(scratch, columns::NODE_NAME)?,
            sizes: ColumnMap::uncounted(scratch, columns::NODE_SELF)?,
            counts,
            traits: ColumnMap::uncounted(scratch, TRAITS)?,
            edge_kinds: ColumnMap::uncounted(scratch, columns::EDGE_KIND)?,
            edge_names: ColumnMap::uncounted(scratch, columns::EDGE_NAME)?,
            targets,
        }))
    }
}

/// A node with the start of its edges.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Its ordinal.
    pub node: u32,
    /// Position of its first edge.
    pub edges: u32,
}

/// The nodes and the parts of their values.
pub(super) struct Heap<'a> {
    /// The columns.
    pub columns: &'a Columns,
    /// Meanings of edges.
    pub meanings: Meanings<'a>,
    /// Texts.
    pub strings: &'a StringTable,
    /// Whether targets of slots are needed.
    pub follows: bool,
}

impl Known for &Columns {
    #[inline]
    fn name(&self, node: NodeId) -> Result<StringId, StageError> {
        Ok(self.names[node.index()])
    }

    #[inline]
    fn traits(&self, node: usize) -> Result<u8, StageError> {
        Ok(self.traits[node])
    }
}

impl Heap<'_> {
    /// Returns the next node's place.
    #[inline]
    pub(super) fn next(&self, at: Place) -> Place {
        Place { node: at.node + 1, edges: at.edges + self.columns.counts[at.node as usize] }
    }

    #[inline]
    fn node(&self, node: usize) -> Node {
        let Columns { kinds, names, sizes, .. } = self.columns;
        Node { kind: kinds[node], name: names[node], bytes: sizes[node] }
    }

    /// Returns the positions of a node's edges.
    #[inline]
    fn edges(&self, at: Place) -> Range<usize> {
        at.edges as usize..at.edges as usize + self.columns.counts[at.node as usize] as usize
    }

    #[inline]
    fn edge(&self, at: usize) -> Edge {
        let Columns { edge_kinds, edge_names, targets, .. } = self.columns;
        Edge { kind: edge_kinds[at], name: edge_names[at], to: targets[at] }
    }

    #[inline]
    fn meaning(&self, kind: u8, edge: Edge) -> Result<Meaning, StageError> {
        self.meanings.of(kind, edge, &self.columns)
    }

    /// Hashes a node (equal values have equal hashes) and determines its limits. Appends its followed slots to
    /// `followed`, if they are needed. The hash is a sum over the slots and needs no order.
    #[inline]
    pub(super) fn hash(
        &self,
        at: Place,
        aids: &mut Aids<'_, &Columns>,
        followed: &mut Vec<Slot>,
    ) -> Result<(u64, Outcome), StageError> {
        let (node, own) = (self.node(at.node as usize), self.columns.traits[at.node as usize]);
        let edges = self.edges(at).map(|at| Ok(self.edge(at)));
        let mut sum = 0u64;
        let outcome = self.meanings.look(node, own, edges, aids, |slot| {
            let own = slot.own();
            if self.follows && own.is_none() {
                followed.push(slot);
            }
            sum = sum.wrapping_add(mix(slot.label(), own.unwrap_or(u64::MAX)));
            Ok(())
        })?;
        let [head, bytes] = node.words();
        Ok((mix(mix(head, bytes), sum), outcome))
    }

    /// Whether two nodes have the same value; `None` if the comparison is too costly.
    pub(super) fn same(&self, left: Place, right: Place) -> Result<Option<bool>, StageError> {
        let (node, other) = (self.node(left.node as usize), self.node(right.node as usize));
        if node != other {
            return Ok(Some(false));
        }
        let (edges, others) = (self.edges(left), self.edges(right));
        if edges.len() != others.len() {
            return self.same_in_order(node, edges, others);
        }
        for (at, beside) in edges.clone().zip(others.clone()) {
            let (edge, beside) = (self.edge(at), self.edge(beside));
            if edge.kind != beside.kind || edge.name != beside.name {
                return self.same_in_order(node, edges, others);
            }
            // Two edges with one label and different targets differ in meaning only if a target is compared by
            // identity.
            let is_same = edge.to == beside.to
                || match self.meaning(node.kind, edge)? {
                    Meaning::Nothing => true,
                    Meaning::Identity(_) => false,
                    Meaning::Text(text) => self.columns.names[beside.to.index()].0 == text,
                    Meaning::Followed(_) => !self.meanings.opaque.contains(beside.to.index()),
                };
            if !is_same {
                return Ok(Some(false));
            }
        }
        Ok(Some(true))
    }

    /// [`Self::same`] for edges with different labels or orders.
    #[cold]
    fn same_in_order(&self, node: Node, left: Range<usize>, right: Range<usize>) -> Result<Option<bool>, StageError> {
        if left.len().max(right.len()) > SORTED {
            return Ok(None);
        }
        let slots = |edges: Range<usize>| -> Result<Vec<Slot>, StageError> {
            let mut slots = Vec::with_capacity(edges.len());
            for at in edges {
                let edge = self.edge(at);
                slots.extend(Slot::new(edge.kind, edge.name, self.meaning(node.kind, edge)?));
            }
            slots::sort(&mut slots);
            Ok(slots)
        };
        let (left, right) = (slots(left)?, slots(right)?);
        Ok(Some(left.len() == right.len() && left.iter().zip(&right).all(|(left, right)| left.equals(*right))))
    }
}
