//! Entry points of the user's program.

use crate::model::Snapshot;

/// Whether DevTools counts a node as an entry point of the user's program: all nodes except V8's synthetic ones, and
/// the list of documents.
pub(super) fn is_user_root(snapshot: &Snapshot, node: usize) -> bool {
    snapshot.node_type(node) != "synthetic" || is_document_list(snapshot, node)
}

/// The synthetic node under which V8 puts all documents.
pub(super) fn is_document_list(snapshot: &Snapshot, node: usize) -> bool {
    snapshot.node_type(node) == "synthetic" && *snapshot.node_name(node) == "(Document DOM trees)"
}
