//! Random inputs as `proptest` strategies, so that failures shrink.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::graph::Arc;
use crate::json::{Escaping, Layout, Spacing};
use crate::jvm::{self, random as dump};
use crate::model::Snapshot;
use crate::random::{Draft, Link, NodeDraft, Options, Shape};

/// Snapshots of a shape.
pub fn snapshots(shape: Shape) -> impl Strategy<Value = Snapshot> {
    drafts(shape).prop_map(move |draft| draft.build(&shape))
}

/// Drafts of snapshots of a shape. Shrinks to fewer nodes, fewer links and smaller numbers.
pub fn drafts(shape: Shape) -> impl Strategy<Value = Draft> {
    let max_nodes = shape.max_nodes.max(1);
    let max_links = max_nodes * shape.max_links_per_node;
    (vec(node(), 0..max_nodes), vec(link(), 0..=max_links), options()).prop_map(|(nodes, links, options)| Draft {
        nodes,
        links,
        options,
    })
}

/// Mostly zero, or any number.
fn rarely() -> impl Strategy<Value = u16> {
    prop_oneof![2 => Just(0), 1 => any::<u16>()]
}

fn node() -> impl Strategy<Value = NodeDraft> {
    let size = prop_oneof![1 => Just(0), 3 => 1..200_u16];
    (any::<u16>(), size, rarely(), rarely(), 0..5_u16, rarely())
        .prop_map(|(cast, size, state, native, trace, place)| NodeDraft { cast, size, state, native, trace, place })
}

fn link() -> impl Strategy<Value = Link> {
    let number = any::<u16>;
    let entry = (number(), number(), number(), number(), rarely());
    prop_oneof![
        2 => (number(), number()).prop_map(|(to, kind)| Link::FromRoot { to, kind }),
        7 => (number(), number(), number(), number())
            .prop_map(|(from, to, kind, label)| Link::Any { from, to, kind, label }),
        2 => (number(), number(), number())
            .prop_map(|(object, record, to)| Link::Record { object, record, to }),
        1 => entry.prop_map(|(table, key, value, names, flaw)| Link::Entry {
            table, key, value, names, flaw,
        }),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let one_in = |n: u32| proptest::bool::weighted(1.0 / f64::from(n));
    let root = (one_in(8), one_in(10), one_in(10));
    let fields = (one_in(6), one_in(4), one_in(2));
    (root, fields, (one_in(6), one_in(6)), any::<u16>()).prop_map(|(root, fields, collisions, id_order)| Options {
        root_last: root.0,
        odd_root: root.1,
        no_user_roots: root.2,
        no_detachedness: fields.0,
        native_size: fields.1,
        trace_node_id: fields.2,
        colliding_names: collisions.0,
        repeated_strings: collisions.1,
        id_order,
    })
}

/// Ways to write a snapshot. Shrinks to V8's own.
pub fn layouts() -> impl Strategy<Value = Layout> {
    let order = || prop_oneof![Just(0), any::<u64>()];
    let spacing = prop_oneof![Just(Spacing::V8), Just(Spacing::None), Just(Spacing::Airy)];
    let escaping = prop_oneof![Just(Escaping::V8), Just(Escaping::Utf8), Just(Escaping::All)];
    (order(), order(), spacing, escaping, any::<[bool; 5]>()).prop_map(
        |(field_order, section_order, spacing, escaping, flags)| Layout {
            field_order,
            section_order,
            spacing,
            escaping,
            unknown_fields: flags[0],
            unknown_keys: flags[1],
            trace_tree: flags[2],
            samples: flags[3],
            wrong_function_count: flags[4],
        },
    )
}

/// Plain graphs of 1 to `n_max` nodes with up to `edges_per_node` edges for each; the root is node 0. Shrinks to fewer
/// nodes and edges.
pub fn graphs(n_max: usize, edges_per_node: usize) -> impl Strategy<Value = (usize, Vec<Arc>)> {
    (1..=n_max.max(1)).prop_flat_map(move |n| {
        let node = 0..n as u32;
        (Just(n), vec((node.clone(), node), 0..=n * edges_per_node))
    })
}

/// Heap dumps with up to `max_objects` objects. Shrinks to fewer classes, objects, values and roots.
pub fn dumps(max_objects: usize) -> impl Strategy<Value = jvm::Dump> {
    dump_drafts(max_objects).prop_map(|draft| draft.build())
}

/// Drafts of heap dumps.
pub fn dump_drafts(max_objects: usize) -> impl Strategy<Value = jvm::Draft> {
    let number = any::<u16>;
    let class = (number(), number(), rarely(), vec((number(), number()), 0..4), vec(number(), 0..5), rarely());
    let class = class.prop_map(|(name, parent, loader, statics, fields, unused)| dump::ClassDraft {
        name,
        parent,
        loader,
        statics,
        fields,
        unused,
    });
    let object = (number(), number(), vec(number(), 0..6));
    let object = object.prop_map(|(kind, class, values)| dump::ObjectDraft { kind, class, values });
    let root = (number(), number(), number());
    let root = root.prop_map(|(kind, object, thread)| dump::RootDraft { kind, object, thread });
    let roots = (1..12_usize).prop_flat_map(move |most| vec(root.clone(), 0..most));
    (vec(class, 0..8), vec(object, 0..=max_objects), roots, dump_options())
        .prop_map(|(classes, objects, roots, options)| jvm::Draft { classes, objects, roots, options })
}

fn dump_options() -> impl Strategy<Value = dump::Options> {
    let one_in = |n: u32| proptest::bool::weighted(1.0 / f64::from(n));
    let flags = (one_in(4), one_in(3), one_in(4), one_in(4), one_in(6), one_in(4));
    (flags, rarely(), rarely(), rarely()).prop_map(|(flags, alignment, start, address_order)| dump::Options {
        narrow: flags.0,
        wide_references: flags.1,
        old_strings: flags.2,
        no_sticky: flags.3,
        no_array_classes: flags.4,
        compact: flags.5,
        alignment,
        start,
        address_order,
    })
}

/// Ways to write a heap dump. Shrinks to HotSpot's.
pub fn dump_layouts() -> impl Strategy<Value = jvm::Layout> {
    let version = prop_oneof![Just("1.0.2"), Just("1.0.1"), Just("1.0.3")];
    let order = prop_oneof![Just(0), Just(1), any::<u64>()];
    let segment = prop_oneof![Just(usize::MAX), Just(0), 1..9_usize];
    (version, order, segment, any::<[bool; 3]>()).prop_map(|(version, order, segment, flags)| jvm::Layout {
        version,
        order,
        segment,
        // Without its end record a segmented dump is incomplete.
        end: true,
        clutter: flags[1],
        heap_infos: flags[2],
    })
}
