//! What there is to know about a node.

use super::index::ClassId;

/// The truth about one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTruth {
    /// Address; none for the root.
    pub address: Option<u64>,
    /// `root`, `instance`, `object array`, `primitive array` or `class`.
    pub kind: &'static str,
    /// Its class; none for the root.
    pub class: Option<ClassId>,
    /// Name of its class, as in Java.
    pub class_name: String,
    /// Text of a string.
    pub name: Option<String>,
    /// Size by the layout of fields.
    pub shallow: u64,
    /// Retained size; 0 where the root does not reach it.
    pub retained: u64,
    /// The immediate dominator, as an index into the nodes; none where the root does not reach it.
    pub dominator: Option<usize>,
    /// Distance from the root.
    pub distance: Option<u32>,
    /// Whether each path from the root goes through the referent of a reference.
    pub weakly: bool,
    /// Targets of its edges and whether these are essential, repetitions kept, ascending.
    pub edges: Vec<(usize, bool)>,
}
