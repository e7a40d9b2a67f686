//! All nodes in order, in the batches that rules see.

use super::rule::{Extent, Node};
use heaplake_kit::{ColumnReader, Scratch, StageError};
use heaplake_schemas::ids::{ClassId, NodeId, Preorder};
use heaplake_schemas::scratch::{self as columns, Metadata};
use std::ops::Range;

/// Value of `node.detached` for a detached node.
const DETACHED: u8 = 2;

pub(super) struct Sweep {
    class: ColumnReader<ClassId>,
    kind: ColumnReader<u8>,
    detached: Option<ColumnReader<u8>>,
    edges: ColumnReader<u32>,
    dominator: ColumnReader<NodeId>,
    shallow: ColumnReader<u64>,
    native: Option<ColumnReader<u64>>,
    retained: ColumnReader<u64>,
    preorder: Option<ColumnReader<Preorder>>,
    keeps_garbage: bool,
}

impl Sweep {
    pub(super) fn open(metadata: &Metadata, scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            class: ColumnReader::open(scratch, columns::NODE_CLASS)?,
            kind: ColumnReader::open(scratch, columns::NODE_KIND)?,
            detached: ColumnReader::if_any(scratch, columns::NODE_DETACHED)?,
            edges: ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?,
            dominator: ColumnReader::open(scratch, columns::NODE_DOMINATOR)?,
            shallow: ColumnReader::open(scratch, columns::NODE_SHALLOW)?,
            native: metadata.has_native.then(|| ColumnReader::open(scratch, columns::NODE_NATIVE)).transpose()?,
            retained: ColumnReader::open(scratch, columns::NODE_RETAINED)?,
            preorder: (metadata.keeps_garbage || metadata.lists_survivors)
                .then(|| ColumnReader::open(scratch, columns::NODE_PREORDER))
                .transpose()?,
            keeps_garbage: metadata.keeps_garbage,
        })
    }

    /// Reads the next batch of nodes, at most a block; returns its zone map. Appends the nodes to `out` if the batch
    /// may match.
    pub(super) fn next(
        &mut self,
        nodes: Range<u32>,
        matters: impl FnOnce(&Extent) -> bool,
        out: &mut Vec<Node>,
    ) -> Result<Extent, StageError> {
        let count = nodes.len();
        let (class, kind, edges) = (self.class.block(count)?, self.kind.block(count)?, self.edges.block(count)?);
        let dominator = self.dominator.block(count)?;
        let (shallow, retained) = (self.shallow.block(count)?, self.retained.block(count)?);
        let detached = self.detached.as_mut().map(|detached| detached.block(count)).transpose()?;
        let native = self.native.as_mut().map(|native| native.block(count)).transpose()?;
        let order = self.preorder.as_mut().map(|order| order.block(count)).transpose()?;
        let most = |sizes: &[u64]| sizes.iter().fold(0, |most, &size| most.max(size));
        let extent = Extent {
            shallow: most(shallow),
            native: native.map_or(0, most),
            retained: most(retained),
            detached: detached.is_some_and(|detached| detached.contains(&DETACHED)),
            unreachable: order.is_some_and(|order| order.iter().any(|number| number.is_none())),
        };
        if matters(&extent) {
            let is_reachable = |at: usize| order.is_none_or(|order| !order[at].is_none());
            out.extend((0..count).zip(nodes).map(|(at, node)| Node {
                node,
                class: class[at].0,
                kind: kind[at],
                detached: detached.is_some_and(|detached| detached[at] == DETACHED),
                reachable: is_reachable(at),
                garbage: self.keeps_garbage && !is_reachable(at),
                edges: edges[at],
                dominator: dominator[at].0,
                shallow: shallow[at],
                native: native.map_or(0, |native| native[at]),
                retained: retained[at],
            }));
        }
        Ok(extent)
    }
}
