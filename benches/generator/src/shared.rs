//! The nodes at the start of every file: roots, the global object, and the common targets of all blocks.
//!
//! Two independent retainers, the native context and a table of primordials, both refer to every shared node (the
//! *palette*: maps, oddballs, code, shared strings, and a constructor, map and prototype per class). So the global
//!   object
//! is the immediate dominator of each of them, no matter which blocks refer to them.

use crate::answers::{Answers, Fact};
use crate::names as n;
use crate::sink::EdgeType::{Element, Hidden, Internal, Property, Shortcut};
use crate::sink::{NodeType, Sink};

/// The classes with a constructor, a map and a prototype, by their position in [`CLASSES`].
pub(crate) mod class {
    macro_rules! classes {
        ($($id:ident,)*) => {
            $(#[doc = concat!("Place of ", stringify!($id), ".")] pub(crate) const $id: u64 = place(crate::names::$id);)*
            /// The name of each class, as a string index.
            pub(crate) const CLASSES: &[u64] = &[$(crate::names::$id,)*];
        };
    }

    classes! {
        C_OBJECT, C_FUNCTION, C_ARRAY, C_MAP, C_WEAK_MAP, C_WEAK_REF, C_REGEXP, C_SESSION,
        C_LINKED_LIST, C_LIST_NODE, C_DEQUE, C_DEQUE_NODE, C_SEARCH_TREE, C_TREE_NODE, C_RING, C_RING_NODE,
        C_CAROUSEL, C_SLIDE, C_HTML_DIV, C_CACHE_ENTRY, C_MODULE, C_ORDER_LINE, C_LOG_BUFFER,
        C_VIEW_REGISTRY, C_VIEW_KEY, C_VIEW_STATE, C_SUBJECT, C_DETAIL, C_ISLAND, C_WIDGET,
        C_DUP_FLAG, C_DUP_LIST, C_DUP_LIST_NODE, C_DUP_TREE_NODE, C_DUP_RING, C_DUP_RING_NODE, C_NEAR_MISS,
    }

    /// The position of the class of a name.
    const fn place(name: u64) -> u64 {
        let mut at = 0;
        while CLASSES[at] != name {
            at += 1;
        }
        at as u64
    }
}
pub(crate) use class::CLASSES;

pub(crate) const ROOT: u64 = 0;
const GC_ROOTS: u64 = 1;
const SUBROOTS: u64 = 2;
const SUBROOT_NAMES: [u64; 8] = [
    n::INTERNALIZED_STRINGS,
    n::EXTERNAL_STRINGS,
    n::STRONG_ROOTS,
    n::STACK_ROOTS,
    n::HANDLE_SCOPE,
    n::BUILTINS,
    n::GLOBAL_HANDLES,
    n::WEAK_COLLECTIONS,
];
const BUILTINS_ROOT: u64 = SUBROOTS + 5;
/// Refers to the attached documents.
pub(crate) const DOCUMENT_TREES: u64 = 10;
/// The global object, the root's only child visible to JavaScript.
pub(crate) const GLOBAL: u64 = 11;
/// Shared context of all functions.
pub(crate) const NATIVE_CONTEXT: u64 = 12;
const PRIMORDIALS: u64 = 13;
/// The array of all shards.
pub(crate) const REGISTRY: u64 = 14;
const REGISTRY_ELEMENTS: u64 = 15;
const DESCRIPTORS: u64 = 16;
const DESCRIPTOR_FOLLOWED: u64 = 17;
const DESCRIPTOR_SKIPPED: u64 = 18;
const SLOPPY_MAP: u64 = 19;
const FIRST_BUILTIN: u64 = 20;
const BUILTIN_COUNT: u64 = 8;

const PALETTE: u64 = FIRST_BUILTIN + BUILTIN_COUNT;
const META_MAP: u64 = PALETTE;
/// Maps of things other than JavaScript objects: hidden nodes with hundreds of thousands of retainers.
pub(crate) mod map {
    use super::PALETTE;

    pub(crate) const STRING: u64 = PALETTE + 1;
    pub(crate) const CONS_STRING: u64 = PALETTE + 2;
    pub(crate) const NUMBER: u64 = PALETTE + 3;
    pub(crate) const FIXED_ARRAY: u64 = PALETTE + 4;
    /// Map of true, false, null and undefined.
    pub(crate) const ODDBALL: u64 = PALETTE + 5;
    pub(crate) const CODE: u64 = PALETTE + 6;
    pub(crate) const SYMBOL: u64 = PALETTE + 7;
    pub(crate) const BIGINT: u64 = PALETTE + 8;
    pub(crate) const HASH_TABLE: u64 = PALETTE + 9;
    pub(crate) const EPHEMERON_TABLE: u64 = PALETTE + 10;
    pub(crate) const PROPERTY_ARRAY: u64 = PALETTE + 11;
    pub(crate) const ACCESSOR_PAIR: u64 = PALETTE + 12;
    pub(crate) const CONTEXT: u64 = PALETTE + 13;
    pub(crate) const SLICED_STRING: u64 = PALETTE + 14;
}
const HIDDEN_MAPS: u64 = 15;
const FIRST_ODDBALL: u64 = PALETTE + HIDDEN_MAPS;
const ODDBALLS: u64 = 4;
/// Function info, shared by all functions.
pub(crate) const FUNCTION_INFO: u64 = FIRST_ODDBALL + ODDBALLS;
/// Code, shared by all functions.
pub(crate) const FUNCTION_CODE: u64 = FUNCTION_INFO + 1;
/// Variable names, shared by all contexts.
pub(crate) const SCOPE_INFO: u64 = FUNCTION_INFO + 2;
const FIRST_NUMERAL: u64 = FUNCTION_INFO + 3;
const FIRST_COMMON: u64 = FIRST_NUMERAL + n::NUMERALS;
const FIRST_CLASS: u64 = FIRST_COMMON + n::COMMON_TEXTS;
const CLASS_COUNT: u64 = CLASSES.len() as u64;
const PALETTE_END: u64 = FIRST_CLASS + 3 * CLASS_COUNT;
/// The first node after the shared ones.
pub(crate) const FIRST_BLOCK_NODE: u64 = PALETTE_END;

/// Self size of a shared string.
pub(crate) const COMMON_SIZE: u64 = 32;
/// Self size of prototypes and of plain objects without own properties.
pub(crate) const PROTOTYPE_SIZE: u64 = 56;

/// One of true, false, null and undefined.
#[inline]
pub(crate) fn oddball(draw: u64) -> u64 {
    FIRST_ODDBALL + draw % ODDBALLS
}

/// The text of a captured number.
#[inline]
pub(crate) fn numeral(draw: u64) -> u64 {
    FIRST_NUMERAL + draw % n::NUMERALS
}

#[inline]
pub(crate) fn common(draw: u64) -> u64 {
    FIRST_COMMON + draw % n::COMMON_TEXTS
}

#[inline]
pub(crate) const fn constructor_of(class: u64) -> u64 {
    FIRST_CLASS + 3 * class
}

/// The map (hidden class) of a class's instances.
#[inline]
pub(crate) const fn map_of(class: u64) -> u64 {
    FIRST_CLASS + 3 * class + 1
}

/// The prototype of a class's instances.
#[inline]
pub(crate) const fn prototype_of(class: u64) -> u64 {
    FIRST_CLASS + 3 * class + 2
}

/// The last two edges of every JavaScript object.
#[inline]
pub(crate) fn instance_of<S: Sink>(class: u64, out: &mut S) {
    out.edge(Property, n::PROTO, prototype_of(class));
    out.edge(Internal, n::MAP, map_of(class));
}

/// An elements array's slot: named as V8 does while there are names, numbered after that.
#[inline]
pub(crate) fn slot<S: Sink>(i: u64, to: u64, out: &mut S) {
    if i < n::INDEX_NAMES {
        out.edge(Internal, n::index(i), to);
    } else {
        out.edge(Hidden, i, to);
    }
}

/// Self size of an array with `slots` slots.
pub(crate) const fn array_size(slots: u64) -> u64 {
    16 + 8 * slots
}

/// Edges of the shared nodes, without the children of the registry and the document trees.
const FIXED_EDGES: u64 = {
    let roots = 3 + 8 + HIDDEN_MAPS + n::COMMON_TEXTS + BUILTIN_COUNT + 1;
    let global = CLASS_COUNT + 5;
    let palette = PALETTE_END - PALETTE;
    let context = palette + 1;
    let primordials = palette + 3;
    let registry = 3 + 1;
    let descriptors = 3;
    let leaves = 1 + 2 + BUILTIN_COUNT; // the skipped, followed and builtin nodes' maps
    let shared = HIDDEN_MAPS + ODDBALLS + 3 + n::COMMON_TEXTS + CLASS_COUNT * (6 + 3 + 3);
    roots + global + context + primordials + registry + descriptors + leaves + shared
};

/// Edges of the shared nodes in a file with this many shards and documents.
pub(crate) fn edge_count(shards: u64, documents: u64) -> u64 {
    // Every shard is an element of the registry and a slot of the registry's array.
    FIXED_EDGES + 2 * shards + documents
}

/// Emits the shared nodes and their edges; the caller computes the children of registry and document trees.
pub(crate) fn walk<S: Sink>(
    shard_count: u64,
    shards: impl Iterator<Item = u64> + Clone,
    documents: impl Iterator<Item = u64>,
    out: &mut S,
) {
    walk_roots(documents, out);
    walk_global(out);
    walk_registry(shard_count, shards, out);
    walk_planted(out);
    walk_palette(out);
}

fn walk_roots<S: Sink>(documents: impl Iterator<Item = u64>, out: &mut S) {
    use NodeType::Synthetic;
    out.node(Synthetic, n::EMPTY, 0);
    out.edge(Element, 1, GC_ROOTS);
    out.edge(Shortcut, n::WINDOW, GLOBAL);
    out.edge(Element, 3, DOCUMENT_TREES);
    out.node(Synthetic, n::GC_ROOTS, 0);
    for i in 0..8 {
        out.edge(Element, i + 1, SUBROOTS + i);
    }
    for name in SUBROOT_NAMES {
        out.node(Synthetic, name, 0);
        // Most of these nodes are also reachable from the global object, which makes these edges non-essential.
        let held = match name {
            n::INTERNALIZED_STRINGS => FIRST_COMMON..FIRST_CLASS,
            n::STRONG_ROOTS => PALETTE..FIRST_ODDBALL,
            n::BUILTINS => FIRST_BUILTIN..PALETTE,
            n::GLOBAL_HANDLES => GLOBAL..GLOBAL + 1,
            _ => 0..0,
        };
        for (i, to) in held.enumerate() {
            out.edge(Internal, n::index(i as u64), to);
        }
    }
    out.node(Synthetic, n::DOCUMENT_TREES, 0);
    for (i, document) in documents.enumerate() {
        out.edge(Element, i as u64 + 1, document);
    }
}

fn walk_global<S: Sink>(out: &mut S) {
    out.node(NodeType::Object, n::WINDOW, 40);
    for (i, name) in CLASSES.iter().enumerate() {
        out.edge(Property, *name, constructor_of(i as u64));
    }
    out.edge(Property, n::REGISTRY, REGISTRY);
    out.edge(Property, n::EDGE_PRIMORDIALS, PRIMORDIALS);
    out.edge(Internal, n::NATIVE_CONTEXT, NATIVE_CONTEXT);
    instance_of(class::C_OBJECT, out);

    out.node(NodeType::Hidden, n::SYSTEM_NATIVE_CONTEXT, 2264);
    for to in PALETTE..PALETTE_END {
        out.edge(Internal, n::index(to - PALETTE), to);
    }
    out.edge(Internal, n::EDGE_SLOPPY, SLOPPY_MAP);

    out.node(NodeType::Object, n::PRIMORDIALS, 32);
    for to in PALETTE..PALETTE_END {
        out.edge(Property, n::index(to - PALETTE), to);
    }
    out.edge(Property, n::DESCRIPTORS, DESCRIPTORS);
    instance_of(class::C_OBJECT, out);
}

fn walk_registry<S: Sink>(count: u64, shards: impl Iterator<Item = u64> + Clone, out: &mut S) {
    out.node(NodeType::Object, n::C_ARRAY, 32);
    for (i, to) in shards.clone().enumerate() {
        out.edge(Element, i as u64, to);
    }
    instance_of(class::C_ARRAY, out);
    out.edge(Internal, n::ELEMENTS, REGISTRY_ELEMENTS);
    out.node(NodeType::Array, n::OBJECT_ELEMENTS, array_size(count));
    for (i, to) in shards.enumerate() {
        slot(i as u64, to, out);
    }
    out.edge(Internal, n::MAP, map::FIXED_ARRAY);
}

/// Nodes that each test one rule: the two edge filters of the distances, and nodes retained by GC roots only.
fn walk_planted<S: Sink>(out: &mut S) {
    out.node(NodeType::Array, n::MAP_DESCRIPTORS, array_size(5));
    out.edge(Internal, n::index(0), DESCRIPTOR_FOLLOWED);
    out.edge(Internal, n::index(4), DESCRIPTOR_SKIPPED);
    out.edge(Internal, n::MAP, map::FIXED_ARRAY);
    out.node(NodeType::Code, n::SYSTEM_SCOPE_INFO, 24);
    out.edge(Internal, n::MAP, map::CODE);
    out.node(NodeType::Object, n::SKIPPED_DESCRIPTOR, 72);
    out.edge(Internal, n::MAP, META_MAP);
    out.node(NodeType::Object, n::SLOPPY_FUNCTION_MAP, 72);
    out.edge(Internal, n::MAP, META_MAP);
    for _ in 0..BUILTIN_COUNT {
        out.node(NodeType::Code, n::BUILTIN_HANDLE, 88);
        out.edge(Internal, n::MAP, map::CODE);
    }
}

fn walk_palette<S: Sink>(out: &mut S) {
    for _ in 0..HIDDEN_MAPS {
        out.node(NodeType::Hidden, n::SYSTEM_MAP, 72);
        out.edge(Internal, n::MAP, META_MAP);
    }
    for _ in 0..ODDBALLS {
        out.node(NodeType::Hidden, n::SYSTEM_ODDBALL, 48);
        out.edge(Internal, n::MAP, map::ODDBALL);
    }
    for name in [n::SHARED_FUNCTION_INFO, n::BUILTIN_HANDLE, n::SYSTEM_SCOPE_INFO] {
        out.node(NodeType::Code, name, 56);
        out.edge(Internal, n::MAP, map::CODE);
    }
    for i in 0..n::NUMERALS {
        // V8 shows the value of a number as a string of size 0 that exists only in the snapshot.
        out.node(NodeType::String, n::FIRST_NUMERAL + i, 0);
    }
    for i in 0..n::COMMON_TEXTS {
        out.node(NodeType::String, n::FIRST_COMMON + i, COMMON_SIZE);
        out.edge(Internal, n::MAP, map::STRING);
    }
    for (class, name) in CLASSES.iter().enumerate() {
        walk_class(class as u64, *name, out);
    }
}

fn walk_class<S: Sink>(class: u64, name: u64, out: &mut S) {
    out.node(NodeType::Closure, name, 64);
    out.edge(Property, n::PROTOTYPE, prototype_of(class));
    out.edge(Internal, n::SHARED, FUNCTION_INFO);
    out.edge(Internal, n::CONTEXT, NATIVE_CONTEXT);
    out.edge(Internal, n::CODE, FUNCTION_CODE);
    instance_of(class::C_FUNCTION, out);
    out.location(1, 10 + class, 4);

    out.node(NodeType::ObjectShape, n::SYSTEM_MAP, 72);
    out.edge(Internal, n::PROTOTYPE, prototype_of(class));
    out.edge(Internal, n::CONSTRUCTOR, constructor_of(class));
    out.edge(Internal, n::MAP, META_MAP);

    out.node(NodeType::Object, n::C_OBJECT, PROTOTYPE_SIZE);
    out.edge(Property, n::CONSTRUCTOR, constructor_of(class));
    instance_of(class::C_OBJECT, out);
}

/// Adds the answers of the shared nodes; the blocks' answers must have been added before.
pub(crate) fn metadata(shards: u64, out: &mut Answers) {
    classes(out);
    // Every other array hangs from the registry, so it alone counts; the sum of its blocks is complete by now.
    let registry_size = 32 + array_size(shards);
    let registry = registry_size + out.in_registry();
    out.class(",Array", 1, registry_size, registry, 2);
    let window = out.window(",Window / https://example.test", 40, BUILTINS_SIZE);
    let (total, documents) = (out.total_bytes(), out.in_documents());
    let beyond = crate::answers::BEYOND;
    for fact in [
        known(ROOT, 0, total, beyond, ROOT),
        known(GC_ROOTS, 0, BUILTINS_SIZE, beyond + 1, ROOT),
        known(BUILTINS_ROOT, 0, BUILTINS_SIZE, beyond + 2, GC_ROOTS),
        known(FIRST_BUILTIN, 88, 88, beyond + 3, BUILTINS_ROOT),
        known(DOCUMENT_TREES, 0, documents, 1, ROOT),
        known(GLOBAL, 40, window, 1, ROOT),
        known(REGISTRY, registry_size, registry, 2, GLOBAL),
        known(REGISTRY_ELEMENTS, 0, 0, 3, REGISTRY),
    ] {
        out.checkpoint(fact);
    }
    below_global(out);
}

/// Bytes of all builtins.
const BUILTINS_SIZE: u64 = BUILTIN_COUNT * 88;

fn known(ordinal: u64, shallow: u64, retained: u64, distance: u64, dominator: u64) -> Fact {
    Fact { ordinal, shallow, retained, distance: Some(distance), dominator }
}

fn primordials_size() -> u64 {
    32 + array_size(5)
}

fn classes(out: &mut Answers) {
    let system = HIDDEN_MAPS * 72 + ODDBALLS * 48;
    let primordials = primordials_size();
    out.class(",(system)", HIDDEN_MAPS + ODDBALLS + 1, system + 2264, system + 2264 + 72, 2);
    let code = 3 * 56 + 24 + BUILTINS_SIZE;
    out.class(",(compiled code)", 3 + 1 + BUILTIN_COUNT, code, code, 3);
    out.class(",(string)", n::COMMON_TEXTS, n::COMMON_TEXTS * COMMON_SIZE, n::COMMON_TEXTS * COMMON_SIZE, 3);
    out.class(",Function", CLASS_COUNT, CLASS_COUNT * 64, CLASS_COUNT * 64, 2);
    // The global object has a map and a prototype itself, which are therefore nearer than the others.
    out.class(",(object shape)", CLASS_COUNT, CLASS_COUNT * 72, CLASS_COUNT * 72, 2);
    out.prototypes(CLASS_COUNT, PROTOTYPE_SIZE, 2);
    out.class(",Primordials", 1, primordials, primordials + 24 + 72, 2);
    out.class_unset(",SkippedDescriptor", 1, 72, 72);
    out.class_unset(",SloppyFunctionMap", 1, 72, 72);
}

/// Answers of the nodes below the global object, without the registry.
fn below_global(out: &mut Answers) {
    let primordials = primordials_size();
    for fact in [
        known(NATIVE_CONTEXT, 2264, 2264 + 72, 2, GLOBAL),
        known(PRIMORDIALS, primordials, primordials + 24 + 72, 2, GLOBAL),
        known(DESCRIPTORS, 0, 24 + 72, 3, PRIMORDIALS),
        known(DESCRIPTOR_FOLLOWED, 24, 24, 4, DESCRIPTORS),
        Fact { ordinal: DESCRIPTOR_SKIPPED, shallow: 72, retained: 72, distance: None, dominator: DESCRIPTORS },
        Fact { ordinal: SLOPPY_MAP, shallow: 72, retained: 72, distance: None, dominator: NATIVE_CONTEXT },
        known(META_MAP, 72, 72, 3, GLOBAL),
        known(map::STRING, 72, 72, 3, GLOBAL),
        known(FIRST_ODDBALL, 48, 48, 3, GLOBAL),
        known(common(0), COMMON_SIZE, COMMON_SIZE, 3, GLOBAL),
        known(numeral(0), 0, 0, 3, GLOBAL),
        known(constructor_of(0), 64, 64, 2, GLOBAL),
        known(map_of(5), 72, 72, 3, GLOBAL),
        known(prototype_of(5), PROTOTYPE_SIZE, PROTOTYPE_SIZE, 3, GLOBAL),
    ] {
        out.checkpoint(fact);
    }
}
