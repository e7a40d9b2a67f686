//! Small, adversarial random snapshots.
//!
//! A snapshot is drawn as a [`Draft`], a list of small numbers with a meaning for every value; [`Draft::build`] makes
//! the snapshot. So any part of a draft may be omitted or made smaller, which lets `proptest` shrink failures (see
//! [`crate::strategies`]).

mod build;
mod vocabulary;

use crate::model::Snapshot;
use crate::rng::SplitMix64;

/// Limits of random snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Maximum number of nodes, at least 1.
    pub max_nodes: usize,
    /// Maximum average number of links per node. A link makes one to four edges.
    pub max_links_per_node: usize,
    /// Whether strings may be repeated in the table, and nodes may be named like classes that DevTools makes up.
    /// DevTools then loses class rows; heaplake and the oracle compare content.
    pub collisions: bool,
    /// Whether the root may be the last node.
    pub root_last: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self { max_nodes: 40, max_links_per_node: 4, collisions: true, root_last: true }
    }
}

/// Draft of a snapshot. All numbers are taken modulo the number of choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The nodes without the root, which is always there.
    pub nodes: Vec<NodeDraft>,
    pub links: Vec<Link>,
    /// Properties of the whole snapshot.
    pub options: Options,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeDraft {
    pub cast: u16,
    /// Self size; zero is frequent.
    pub size: u16,
    pub state: u16,
    pub native: u16,
    pub trace: u16,
    /// Location; 0 for none.
    pub place: u16,
}

/// Draft of one or a few edges. `from`, `to` and the like choose nodes, 0 being the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Any edge between any two nodes.
    Any { from: u16, to: u16, kind: u16, label: u16 },
    /// An edge of the root, such as the shortcuts to windows.
    FromRoot { to: u16, kind: u16 },
    Entry {
        table: u16,
        /// The key, which may be the table itself.
        key: u16,
        value: u16,
        /// The names of key and value in the edges' names.
        names: u16,
        /// Defect, if any: an edge missing, a wrong table, a wrong type.
        flaw: u16,
    },
    /// Properties of an object, from the lists that make interfaces.
    Record {
        object: u16,
        record: u16,
        /// The node that all of them refer to.
        to: u16,
    },
}

/// Draft of the snapshot as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The root is the last node instead of the first.
    pub root_last: bool,
    /// The root is an ordinary object, not a synthetic node.
    pub odd_root: bool,
    /// The root has no edges to user roots.
    pub no_user_roots: bool,
    /// No node field for detachedness.
    pub no_detachedness: bool,
    /// A node field for native sizes.
    pub native_size: bool,
    /// A node field for allocation stacks.
    pub trace_node_id: bool,
    /// Names of classes made up by DevTools are names of nodes too.
    pub colliding_names: bool,
    /// Every use of a string has its own entry in the table.
    pub repeated_strings: bool,
    /// Changes the order of the ids.
    pub id_order: u16,
}

impl Snapshot {
    /// A snapshot from a seed and a shape.
    pub fn random(seed: u64, shape: &Shape) -> Self {
        Draft::random(seed, shape).build(shape)
    }
}

impl Draft {
    /// A draft from a seed and a shape.
    pub fn random(seed: u64, shape: &Shape) -> Self {
        let rng = &mut SplitMix64::new(seed);
        let n = 1 + rng.below(shape.max_nodes.max(1));
        let density = 1 + rng.below(shape.max_links_per_node.max(1));
        let links = rng.below(n * density + 2);
        // Each snapshot draws some nodes and properties more often than others. The first kind of node is the plain
        // object.
        let mut favourites = [any(rng), any(rng), any(rng)];
        if rng.one_in(2) {
            favourites[0] = 0;
        }
        Self {
            nodes: (1..n).map(|_| random_node(rng, &favourites)).collect(),
            links: (0..links).map(|_| random_link(rng, &favourites)).collect(),
            options: random_options(rng),
        }
    }
}

fn any(rng: &mut SplitMix64) -> u16 {
    rng.next_u64() as u16
}

/// One of the favourites every other time, else any number.
fn often(rng: &mut SplitMix64, favourites: &[u16; 3]) -> u16 {
    if rng.one_in(2) { favourites[rng.below(3)] } else { any(rng) }
}

fn random_node(rng: &mut SplitMix64, favourites: &[u16; 3]) -> NodeDraft {
    NodeDraft {
        cast: often(rng, favourites),
        size: if rng.one_in(4) { 0 } else { 1 + rng.small(200) },
        state: if rng.one_in(3) { any(rng) } else { 0 },
        native: if rng.one_in(2) { rng.small(1000) } else { 0 },
        trace: if rng.one_in(2) { rng.small(5) } else { 0 },
        place: if rng.one_in(4) { any(rng) } else { 0 },
    }
}

fn random_link(rng: &mut SplitMix64, favourites: &[u16; 3]) -> Link {
    match rng.below(12) {
        0 | 1 => Link::FromRoot { to: any(rng), kind: any(rng) },
        2 | 3 => Link::Record { object: any(rng), record: often(rng, favourites), to: any(rng) },
        4 => Link::Entry {
            table: any(rng),
            key: any(rng),
            value: any(rng),
            names: any(rng),
            flaw: if rng.one_in(2) { any(rng) } else { 0 },
        },
        _ => Link::Any { from: any(rng), to: any(rng), kind: any(rng), label: any(rng) },
    }
}

fn random_options(rng: &mut SplitMix64) -> Options {
    Options {
        root_last: rng.one_in(8),
        odd_root: rng.one_in(10),
        no_user_roots: rng.one_in(10),
        no_detachedness: rng.one_in(6),
        native_size: rng.one_in(4),
        trace_node_id: rng.one_in(2),
        colliding_names: rng.one_in(6),
        repeated_strings: rng.one_in(6),
        id_order: any(rng),
    }
}
