//! All nodes in order, as rules are shown them.

use super::rule::Node;
use heaplake_kit::{ColumnReader, Scratch, StageError};
use heaplake_schemas::ids::{ClassId, NodeId, Preorder};
use heaplake_schemas::scratch::{self as columns, Facts};

/// Value of `node.detached` for a detached node.
const DETACHED: u8 = 2;

/// All nodes in order.
pub struct Sweep {
    class: ColumnReader<ClassId>,
    kind: ColumnReader<u8>,
    detached: Option<ColumnReader<u8>>,
    edges: ColumnReader<u32>,
    dominator: ColumnReader<NodeId>,
    shallow: ColumnReader<u64>,
    native: Option<ColumnReader<u64>>,
    retained: ColumnReader<u64>,
    preorder: Option<ColumnReader<Preorder>>,
}

impl Sweep {
    pub fn open(facts: &Facts, scratch: &Scratch) -> Result<Self, StageError> {
        let there = |yes: bool| yes.then_some(());
        Ok(Self {
            class: ColumnReader::open(scratch, columns::NODE_CLASS)?,
            kind: ColumnReader::open(scratch, columns::NODE_KIND)?,
            detached: there(scratch.has(columns::NODE_DETACHED))
                .map(|()| ColumnReader::open(scratch, columns::NODE_DETACHED))
                .transpose()?,
            edges: ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?,
            dominator: ColumnReader::open(scratch, columns::NODE_DOMINATOR)?,
            shallow: ColumnReader::open(scratch, columns::NODE_SHALLOW)?,
            native: there(facts.has_native).map(|()| ColumnReader::open(scratch, columns::NODE_NATIVE)).transpose()?,
            retained: ColumnReader::open(scratch, columns::NODE_RETAINED)?,
            preorder: there(facts.keeps_garbage)
                .map(|()| ColumnReader::open(scratch, columns::NODE_PREORDER))
                .transpose()?,
        })
    }

    /// Node `node`, which is the next one.
    pub fn next(&mut self, node: u32) -> Result<Node, StageError> {
        let garbage = self.preorder.as_mut().map_or(Ok(false), |order| order.next().map(Preorder::is_none))?;
        let kind = self.kind.next()?;
        Ok(Node {
            node,
            class: self.class.next()?.0,
            kind,
            detached: self.detached.as_mut().map_or(Ok(0), ColumnReader::next)? == DETACHED,
            reachable: !garbage,
            edges: self.edges.next()?,
            dominator: self.dominator.next()?.0,
            shallow: self.shallow.next()?,
            native: self.native.as_mut().map_or(Ok(0), ColumnReader::next)?,
            retained: self.retained.next()?,
        })
    }
}
