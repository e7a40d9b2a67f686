//! What rules about collections share: the collections that a rule minds, by their class and by whoever holds them.

use super::heap::{CLASS, Heap, about_class};
use super::severity;
use heaplake_kit::text::count;
use heaplake_kit::{ColumnMap, ColumnReader, Context, StageError};
use heaplake_schemas::containers::ContainerRow;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;
use std::collections::BTreeMap;

/// Pairs of class and holder that are told apart.
const PAIRS: usize = 1 << 14;
/// Dominators among which the holder of a collection is looked for.
const STEPS: usize = 64;

/// Bytes of a store from which on it is more than what a collection begins with.
pub const LARGE: u64 = 256;

/// A collection with the sizes of its parts.
pub struct Container {
    /// The row.
    pub row: ContainerRow,
    /// Bytes of the object itself, its store apart.
    pub own: u64,
    /// Bytes of the store; 0 where it is not the collection's alone.
    pub store: u64,
}

/// Who holds collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    /// Objects of a class.
    Class(u32),
    /// One object that stands for itself: a class with its static fields.
    Node(u32),
    /// Nobody alone.
    Many,
}

/// Collections of one class that are held alike.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crowd {
    /// How many they are.
    pub count: u64,
    /// Their entries.
    pub entries: u64,
    /// What the rule says of them, bytes.
    pub bytes: u64,
    /// Whether the input does not show all that they may hold.
    pub unsure: bool,
    /// The one of which it says most.
    largest: (u64, u32),
}

/// The findings of a rule that minds so many bytes of a collection, or does not mind it.
pub fn judge(
    rule: &str,
    percent: [u64; 3],
    next_step: &str,
    heap: &Heap,
    context: &Context<'_>,
    mut minds: impl FnMut(&Container) -> Option<u64>,
    says: impl Fn(&Crowd, &str) -> String,
) -> Result<Vec<Finding>, StageError> {
    if !heap.scratch.has(columns::CONTAINER_ROW) {
        return Ok(Vec::new());
    }
    let own = ColumnMap::open(heap.scratch, columns::NODE_SELF, None)?;
    let mut rows = ColumnReader::open(heap.scratch, columns::CONTAINER_ROW)?;
    let mut crowds: BTreeMap<(u32, Holder), Crowd> = BTreeMap::new();
    while rows.remaining() > 0 {
        let row = rows.next()?;
        if rows.remaining().is_multiple_of(1 << 10) {
            context.check()?;
            own.release();
            heap.nodes.release();
        }
        let alone = heap.nodes.dominator[..].get(row.store as usize).is_some_and(|dominator| dominator.0 == row.node);
        let store = if alone { own[row.store as usize] } else { 0 };
        let container = Container { row, own: own[row.node as usize], store };
        let Some(bytes) = minds(&container) else { continue };
        let key = (heap.nodes.class[row.node as usize].0, holder(row.node, heap));
        if crowds.len() == PAIRS && !crowds.contains_key(&key) {
            continue;
        }
        let crowd = crowds.entry(key).or_default();
        crowd.count += 1;
        crowd.entries += u64::from(row.entries);
        crowd.bytes = crowd.bytes.saturating_add(bytes);
        crowd.unsure |= row.flags & heaplake_schemas::containers::flags::UNSURE != 0;
        if crowd.count == 1 || bytes > crowd.largest.0 {
            crowd.largest = (bytes, row.node);
        }
    }
    let found = crowds.iter().filter_map(|(&(class, holder), crowd)| {
        let mut finding = about_class(rule, severity(crowd.bytes, heap.bytes, percent)?, class, heap);
        finding.node = Some(crowd.largest.1);
        finding.count = crowd.count;
        finding.bytes = crowd.bytes;
        let held = match holder {
            Holder::Class(class) => format!(", held by {}", heap.shown_class(class)),
            Holder::Node(node) => format!(", held by {}", heap.nodes.label(NodeId(node))),
            Holder::Many => String::new(),
        };
        let what = format!("{} × {}{held},", count(crowd.count), finding.subject);
        finding.message = format!("{}; for example {}", says(crowd, &what), heap.chain(crowd.largest.1));
        if crowd.unsure {
            finding.message += ". Small integers among the entries are not in the file";
        }
        finding.next_step = next_step.to_owned();
        Some(finding)
    });
    Ok(found.collect())
}

/// The nearest dominator that is an object of the program and no collection.
fn holder(node: u32, heap: &Heap) -> Holder {
    let mut at = node;
    for _ in 0..STEPS {
        at = heap.nodes.dominator[at as usize].0;
        if at == heap.facts.root.0 {
            return Holder::Many;
        }
        if heap.kind(heap.nodes.kind[at as usize]) == CLASS {
            return Holder::Node(at);
        }
        let class = heap.nodes.class[at as usize].0;
        if !heap.is_internal(at) && !is_collection(&heap.class_name(class)) {
            return Holder::Class(class);
        }
    }
    Holder::Many
}

/// Whether classes of this name are collections, or parts of them.
fn is_collection(name: &str) -> bool {
    name.starts_with("java.util.") || matches!(name, "Map" | "Set" | "Array" | "Object")
}

/// Whether classes of this name are entries of collections, each of which leads to what the collection holds.
pub fn is_entry(name: &str) -> bool {
    let part = name.strip_prefix("java.util.").and_then(|name| name.split_once('$'));
    part.is_some_and(|(_, part)| part.ends_with("Node") || part.ends_with("Entry"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_collections_by_their_names() {
        for name in [
            "java.util.HashMap$Node",
            "java.util.HashMap$TreeNode",
            "java.util.LinkedHashMap$Entry",
            "java.util.concurrent.ConcurrentHashMap$Node",
            "java.util.LinkedList$Node",
        ] {
            assert!(is_entry(name), "{name}");
        }
        for name in ["java.util.HashMap$Node[]", "java.util.HashMap", "com.example.Tree$Node", "java.util.Entry"] {
            assert!(!is_entry(name), "{name}");
        }
    }
}
