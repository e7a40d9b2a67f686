//! Which nodes are entries of the user's program.

use crate::model::Snapshot;

/// Whether a node is one that DevTools counts as an entry of the user's program: anything but V8's
/// synthetic nodes, of which only the list of documents qualifies.
pub(super) fn is_user_root(snapshot: &Snapshot, node: usize) -> bool {
    snapshot.node_type(node) != "synthetic" || is_document_list(snapshot, node)
}

/// The synthetic node under which V8 hangs all documents.
pub(super) fn is_document_list(snapshot: &Snapshot, node: usize) -> bool {
    snapshot.node_type(node) == "synthetic" && *snapshot.node_name(node) == "(Document DOM trees)"
}
