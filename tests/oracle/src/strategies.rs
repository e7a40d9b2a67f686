//! Random inputs as `proptest` strategies, so that failures shrink: a draft from a seed, cut to fewer and fewer parts.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::graph::Arc;
use crate::json::Layout;
use crate::jvm;
use crate::model::Snapshot;
use crate::random::{Draft, Shape};

/// Another seed is another case, not a smaller one.
fn seeds() -> impl Strategy<Value = u64> {
    any::<u64>().no_shrink()
}

/// How many parts of a draft to keep. Half of all drafts of at most `most` parts stay whole.
fn kept(most: usize) -> std::ops::RangeInclusive<usize> {
    0..=2 * most
}

/// Snapshots of a shape. Shrinks to fewer nodes and links.
pub fn snapshots(shape: Shape) -> impl Strategy<Value = Snapshot> {
    let links = kept(shape.max_nodes * shape.max_links_per_node);
    (seeds(), kept(shape.max_nodes), links).prop_map(move |(seed, nodes, links)| {
        let mut draft = Draft::random(seed, &shape);
        draft.nodes.truncate(nodes);
        draft.links.truncate(links);
        draft.build(&shape)
    })
}

/// Ways to write a snapshot. Shrinks to V8's own.
pub fn layouts() -> impl Strategy<Value = Layout> {
    prop_oneof![1 => Just(Layout::default()), 9 => seeds().prop_map(Layout::random)]
}

/// Plain graphs of 1 to `n_max` nodes with up to `edges_per_node` edges for each; the root is node 0. Shrinks to fewer
/// nodes and edges.
pub fn graphs(n_max: usize, edges_per_node: usize) -> impl Strategy<Value = (usize, Vec<Arc>)> {
    (1..=n_max.max(1)).prop_flat_map(move |n| {
        let node = 0..n as u32;
        (Just(n), vec((node.clone(), node), 0..=n * edges_per_node))
    })
}

/// Heap dumps with up to `max_objects` objects.
pub fn dumps(max_objects: usize) -> impl Strategy<Value = jvm::Dump> {
    dump_drafts(max_objects).prop_map(|draft| draft.build())
}

/// Drafts of heap dumps. Shrinks to fewer classes, objects and roots.
pub fn dump_drafts(max_objects: usize) -> impl Strategy<Value = jvm::Draft> {
    (seeds(), kept(8), kept(max_objects), kept(12)).prop_map(move |(seed, classes, objects, roots)| {
        let mut draft = jvm::Draft::random(seed, max_objects);
        draft.classes.truncate(classes);
        draft.objects.truncate(objects);
        draft.roots.truncate(roots);
        draft
    })
}

/// Ways to write a heap dump. Shrinks to HotSpot's.
pub fn dump_layouts() -> impl Strategy<Value = jvm::Layout> {
    let version = prop_oneof![Just("1.0.2"), Just("1.0.1"), Just("1.0.3")];
    let order = prop_oneof![Just(0), Just(1), any::<u64>()];
    let segment = prop_oneof![Just(usize::MAX), Just(0), 1..9_usize];
    (version, order, segment, any::<[bool; 2]>()).prop_map(|(version, order, segment, flags)| jvm::Layout {
        version,
        order,
        segment,
        // Without its end record a segmented dump is incomplete.
        end: true,
        clutter: flags[0],
        heap_infos: flags[1],
    })
}
