//! Expected results for a snapshot.

use crate::text::OracleString;
use std::collections::BTreeMap;

/// Expected results for a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// Per node, in file order.
    pub nodes: Vec<NodeTruth>,
    /// Per node and outgoing edge, whether the edge is essential.
    pub essential: Vec<Vec<bool>>,
    /// The class rows by class key.
    pub classes: BTreeMap<OracleString, ClassRow>,
}

/// Expected results for one node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeTruth {
    /// Shallow size, after owned nodes gave theirs to their owners.
    pub shallow: u64,
    /// Sum of the shallow sizes in the node's dominator subtree.
    pub retained: u64,
    /// Sum of the native sizes in the node's dominator subtree (0 if the file has none).
    pub retained_native: u64,
    /// Steps from the nearest user root; [`SYSTEM_DISTANCE`](super::SYSTEM_DISTANCE) and more if only the root leads
    /// there; `None` where DevTools has -5.
    pub distance: Option<i32>,
    /// Ordinal of the immediate dominator; the root is its own.
    pub dominator: usize,
    /// Name, with the prefix `Detached ` after propagation.
    pub name: OracleString,
    pub class_name: OracleString,
    /// Class key: `scriptId,line,column,name` or `,name`.
    pub class_key: OracleString,
    /// 0 unknown, 1 attached, 2 detached, after propagation.
    pub detachedness: u8,
    /// Number of incoming edges of any type.
    pub retainer_count: usize,
    /// Reachable from a window or a document, so edges from outside the page are not essential.
    pub page_owned: bool,
}

/// The nodes of one class key with a shallow size above zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassRow {
    pub name: OracleString,
    pub count: u64,
    pub shallow: u64,
    /// Their common retained size, every byte counted once (DevTools' `maxRet`).
    pub retained: u64,
    /// The largest retained size among them.
    pub max_retained: u64,
    /// The least distance; `None` as soon as one node has none, which DevTools treats as -5.
    pub distance: Option<i32>,
}
