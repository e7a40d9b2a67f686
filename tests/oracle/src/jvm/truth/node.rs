//! Expected results for a node.

use super::index::ClassId;

/// Expected results for one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTruth {
    /// Address; `None` for the root.
    pub address: Option<u64>,
    /// `root`, `instance`, `object array`, `primitive array` or `class`.
    pub kind: &'static str,
    /// Its class; `None` for the root.
    pub class: Option<ClassId>,
    /// Name of its class, as in Java.
    pub class_name: String,
    pub name: Option<String>,
    /// Size by the layout of fields.
    pub shallow: u64,
    /// Retained size; 0 if unreachable from the root.
    pub retained: u64,
    /// Index of the immediate dominator; `None` if unreachable from the root.
    pub dominator: Option<usize>,
    /// Distance from the root.
    pub distance: Option<u32>,
    /// Whether every path from the root passes the referent of a reference.
    pub weakly: bool,
    /// Targets of its edges and whether these are essential, with repetitions, ascending.
    pub edges: Vec<(usize, bool)>,
}
