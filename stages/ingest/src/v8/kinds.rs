//! Kinds of nodes and edges, by number; `None` for those that the file lacks.

use super::header::Header;

/// Numbers of node and edge kinds.
#[derive(Clone, Copy)]
pub(super) struct Kinds {
    pub array: Option<u8>,
    pub bigint: Option<u8>,
    pub closure: Option<u8>,
    pub code: Option<u8>,
    pub hidden: Option<u8>,
    pub native: Option<u8>,
    pub number: Option<u8>,
    pub object: Option<u8>,
    pub sliced: Option<u8>,
    pub string: Option<u8>,
    pub synthetic: Option<u8>,
    pub context: Option<u8>,
    pub element: Option<u8>,
    pub hidden_edge: Option<u8>,
    pub internal: Option<u8>,
    pub property: Option<u8>,
    pub shortcut: Option<u8>,
    pub weak: Option<u8>,
}

impl Kinds {
    /// Returns the kinds of a file.
    pub(super) fn of(header: &Header) -> Self {
        let (node, edge) = (|name| header.node_type(name), |name| header.edge_type(name));
        Self {
            array: node("array"),
            bigint: node("bigint"),
            closure: node("closure"),
            code: node("code"),
            hidden: node("hidden"),
            native: node("native"),
            number: node("number"),
            object: node("object"),
            sliced: node("sliced string"),
            string: node("string"),
            synthetic: node("synthetic"),
            context: edge("context"),
            element: edge("element"),
            hidden_edge: edge("hidden"),
            internal: edge("internal"),
            property: edge("property"),
            shortcut: edge("shortcut"),
            weak: edge("weak"),
        }
    }

    /// Whether nodes of a kind can be or have resources.
    pub(super) fn matter(&self, kind: Option<u8>) -> bool {
        [self.object, self.closure, self.native, self.hidden].contains(&kind)
    }
}
