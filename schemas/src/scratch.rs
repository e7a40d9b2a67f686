//! The columns through which stages meet on disk: name, element type, meaning, and who writes them.
//!
//! A scratch column has elements of fixed width; with an entry per node or edge its file is packed (the kit says how), else
//! it has no header. `node.*` columns have one element per node in input order, `edge.*` one per edge grouped by source in
//! node order, `essential.*` describe the *essential* edges only (those that keep their target alive), `preorder.*` are
//! indexed by [`Preorder`]. Nothing here is public: the contract with users is the Parquet tables.

use crate::chains::{ChainRow, Element};
use crate::classes::ClassRow;
use crate::containers::{ContainerRow, WeakEntryRow};
use crate::duplicate_sets::SetRow;
use crate::ids::{ClassId, NodeId, Preorder, SetId, StringId};
pub use crate::limits;
use crate::owners::{Origin, OwnerRow};
use crate::roles::Roles;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// What each element of a column or an array belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// A node.
    Node,
    /// An edge, essential or not.
    Edge,
    /// Something much rarer than nodes and edges.
    Few,
}

/// A typed name of a scratch column. `T` is the element as it lies on disk.
pub struct Column<T> {
    /// File name inside the scratch folder.
    pub name: &'static str,
    /// What each element belongs to.
    pub per: Per,
    element: PhantomData<fn() -> T>,
}

impl<T> Column<T> {
    /// Names a column of few elements.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self::of(name, Per::Few)
    }

    /// Names a column.
    #[must_use]
    pub const fn of(name: &'static str, per: Per) -> Self {
        Self { name, per, element: PhantomData }
    }
}

impl<T> Clone for Column<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Column<T> {}

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $element:ty = $file:literal per $per:ident;)*) => {
        $($(#[$doc])* pub const $name: Column<$element> = Column::of($file, Per::$per);)*
    };
}

columns! {
    /// Index into [`Facts::node_kinds`].
    NODE_KIND: u8 = "node.kind" per Node;
    /// The node's own name.
    NODE_NAME: StringId = "node.name" per Node;
    /// The format's own object id or address.
    NODE_ID: u64 = "node.id" per Node;
    /// Size as the input states it, bytes.
    NODE_SELF: u64 = "node.self" per Node;
    /// Size after the format's accounting rules (owned parts counted with their owner), bytes.
    NODE_SHALLOW: u64 = "node.shallow" per Node;
    /// Native memory held by the node alone, bytes. Only where [`Facts::has_native`].
    NODE_NATIVE: u64 = "node.native" per Node;
    /// Number of outgoing edges, of every kind.
    NODE_EDGE_COUNT: u32 = "node.edge_count" per Node;
    /// Number of incoming edges, of every kind.
    NODE_RETAINER_COUNT: u32 = "node.retainer_count" per Node;
    /// 1 where only paths over [`AVOIDED_EDGE`] lead from the root to the node, else 0. Only where there are such edges.
    NODE_AVOIDED: u8 = "node.avoided" per Node;
    /// 0 unknown, 1 attached, 2 detached, after propagation.
    NODE_DETACHED: u8 = "node.detached" per Node;
    /// Node of the allocation trace tree; 0 for none. Only where [`Facts::has_trace_nodes`].
    NODE_TRACE: u32 = "node.trace" per Node;
    /// Row of the class table.
    NODE_CLASS: ClassId = "node.class" per Node;

    /// Index into [`Facts::edge_kinds`].
    EDGE_KIND: u8 = "edge.kind" per Edge;
    /// String id of the edge's name, or its number where the kind is indexed ([`EdgeKind::indexed`]).
    EDGE_NAME: u32 = "edge.name" per Edge;
    /// Target.
    EDGE_TO: NodeId = "edge.to" per Edge;
    /// See [`edge_flags`].
    EDGE_FLAGS: u8 = "edge.flags" per Edge;
    /// Positions of the edges that carry [`edge_flags::PAIRED`], ascending.
    PAIRED_EDGE: u64 = "paired.edge" per Few;
    /// For each of [`PAIRED_EDGE`]: number of its pair, 0-based.
    PAIRED_PAIR: u32 = "paired.pair" per Few;

    /// Number of essential edges that leave each node, self edges excluded.
    ESSENTIAL_DEGREE: u32 = "essential.degree" per Node;
    /// Their targets, grouped by source in node order.
    ESSENTIAL_TO: NodeId = "essential.to" per Edge;
    /// Positions in [`ESSENTIAL_TO`] of the edges that paths from the root avoid, ascending: those that hold their target
    /// only until memory runs short, or that the format merely counts as essential (weak and soft referents). They
    /// count for dominators like others. Paths and distances follow them only to nodes that no other path reaches.
    AVOIDED_EDGE: u64 = "avoided.edge" per Few;
    /// The sources of these edges.
    AVOIDED_FROM: NodeId = "avoided.from" per Few;
    /// Nodes other than the root that no essential edge enters, ascending.
    ESSENTIAL_ORPHAN: NodeId = "essential.orphan" per Few;

    /// Label of each edge of [`ESSENTIAL_TO`]: a position among the edge labels of its source's class, or one of
    /// [`edge_label`]. This and the next three columns exist only where a stage needs labels and no column of all
    /// edges has them.
    ESSENTIAL_LABEL: u8 = "essential.label" per Edge;
    /// Names of the edges with the label [`edge_label::NAMED`], in order: string ids, or
    /// [`label::NONE`](crate::chains::label::NONE).
    ESSENTIAL_NAME: u32 = "essential.name" per Few;
    /// Where the edge labels of each class begin in [`CLASS_LABEL`], and the end of the last, by [`ClassId`].
    CLASS_LABEL_START: u64 = "class.label.start" per Few;
    /// Edge labels of the instances of classes, those of one class together.
    CLASS_LABEL: StringId = "class.label" per Few;

    /// Nodes that have a source location, ascending.
    LOCATION_NODE: NodeId = "location.node" per Few;
    /// Their script.
    LOCATION_SCRIPT: u32 = "location.script" per Few;
    /// Their line, 0-based.
    LOCATION_LINE: u32 = "location.line" per Few;
    /// Their column, 0-based.
    LOCATION_COLUMN: u32 = "location.column" per Few;

    /// The allocation trace tree in preorder: id of each of its nodes.
    TRACE_ID: u32 = "trace.id" per Few;
    /// Row of the parent in these columns; `u32::MAX` for a root.
    TRACE_PARENT: u32 = "trace.parent" per Few;
    /// Row in the trace functions.
    TRACE_FUNCTION: u32 = "trace.function" per Few;
    /// Allocations counted here.
    TRACE_COUNT: u64 = "trace.count" per Few;
    /// Bytes counted here.
    TRACE_SIZE: u64 = "trace.size" per Few;
    /// Trace functions: the format's id.
    FUNCTION_ID: u32 = "function.id" per Few;
    /// Function name.
    FUNCTION_NAME: StringId = "function.name" per Few;
    /// Script name.
    FUNCTION_SCRIPT_NAME: StringId = "function.script_name" per Few;
    /// Script id.
    FUNCTION_SCRIPT: u32 = "function.script" per Few;
    /// Line, from 1; 0 for unknown.
    FUNCTION_LINE: u32 = "function.line" per Few;
    /// Column, from 1; 0 for unknown.
    FUNCTION_COLUMN: u32 = "function.column" per Few;
    /// Samples of the id counter over time: microseconds since the recording began.
    SAMPLE_TIME: u64 = "sample.time" per Few;
    /// Last object id assigned by then.
    SAMPLE_LAST_ID: u64 = "sample.last_id" per Few;
    /// Row of the allocation trace tree on whose stack each node was allocated; `u32::MAX` for none. This and the next
    /// column exist only where the input has a trace tree with nodes, or samples.
    NODE_CALL: u32 = "node.call" per Node;
    /// Sample by which each node was there, and not by the one before it; `u32::MAX` for none.
    NODE_SAMPLE: u32 = "node.sample" per Node;
    /// Node of the table `allocation_callees`, by row of the trace tree.
    TRACE_PLACE: u32 = "trace.place" per Few;

    /// Nodes from which distances start, those of each of [`Facts::distance_seeds`] one after the other.
    DISTANCE_SEED: NodeId = "distance.seed" per Few;
    /// The equality graph, by which duplicates are found: for each node the first node with the same value. The value
    /// is all that can be compared without following a reference: type, numbers, text, the labels of the slots in
    /// their order, which of them are empty, and the targets that are compared by identity. The value of a node that
    /// cannot be a duplicate is the node itself.
    EQUAL_VALUE: NodeId = "equal.value" per Node;
    /// Number of slots of each node whose targets are compared by value.
    EQUAL_DEGREE: u32 = "equal.degree" per Node;
    /// Their targets in the order of labels, grouped by node in node order.
    EQUAL_TO: NodeId = "equal.to" per Edge;
    /// What the input leaves out of each node's value; see [`limits`]. Only where it leaves something out.
    EQUAL_LIMITS: u8 = "equal.limits" per Node;
    /// Nodes in reverse topological order of the equality graph, strongly connected components together.
    EQUAL_ORDER: NodeId = "equal.order" per Node;
    /// Number of nodes of each component.
    EQUAL_COMPONENT_SIZE: u32 = "equal.component_size" per Node;
    /// Number of the component of each node; they are numbered in [`EQUAL_ORDER`].
    EQUAL_COMPONENT: u32 = "equal.component" per Node;
    /// Candidate class of each node, named by one of its nodes. Nodes of different ones are never duplicates.
    EQUAL_CANDIDATE: NodeId = "equal.candidate" per Node;
    /// Certificate of each node: a node of which it is certainly a duplicate, or the node itself.
    EQUAL_CERTIFICATE: NodeId = "equal.certificate" per Node;
    /// Group of each node, named by one of its nodes: its duplicates, or its candidate class where that is undecided.
    EQUAL_GROUP: NodeId = "equal.group" per Node;
    /// Undecided groups, each named as in [`EQUAL_GROUP`], ascending.
    EQUAL_UNDECIDED: NodeId = "equal.undecided" per Few;
    /// Why each of them is undecided; see [`limits`].
    EQUAL_UNDECIDED_REASON: u16 = "equal.undecided_reason" per Few;
    /// Set of duplicates that each node is in; [`SetId::NONE`] for none.
    EQUAL_SET: SetId = "equal.set" per Node;
    /// Rows of the sets of duplicates, by [`SetId`].
    SET_ROW: SetRow = "set.row" per Few;
    /// Members of the sets, those of a set together, ascending.
    SET_MEMBER: NodeId = "set.member" per Few;
    /// Nodes of each class that are in a set, by [`ClassId`].
    CLASS_DUPLICATE_COUNT: u64 = "class.duplicate_count" per Few;
    /// Their shallow sizes, bytes.
    CLASS_DUPLICATE_BYTES: u64 = "class.duplicate_bytes" per Few;

    /// Containers, by node. Only where rules of findings look at them.
    CONTAINER_ROW: ContainerRow = "container.row" per Few;
    /// Entries of weak maps. Only where the format has such, and rules of findings look at them.
    WEAK_ENTRY_ROW: WeakEntryRow = "weak_entry.row" per Few;

    /// Threads, ascending. Only where the format has threads, as the other columns of them.
    THREAD_NODE: NodeId = "thread.node" per Few;
    /// Number of references to objects from their stacks.
    THREAD_LOCALS: u64 = "thread.locals" per Few;
    /// How many frames their stacks have.
    THREAD_FRAME_COUNT: u32 = "thread.frame_count" per Few;
    /// The frames as text, those of one thread together, the innermost first; [`StringId::NONE`] for unknown ones.
    THREAD_FRAME: StringId = "thread.frame" per Few;

    /// Rows of classes, by retained size, largest first.
    CLASS_ROW: ClassRow = "class.row" per Few;
    /// Whether a class is a big one, by [`ClassId`].
    CLASS_BIG: u8 = "class.big" per Few;
    /// Whether a node's retained size counts for its class: it is an instance that no other instance dominates.
    NODE_OUTERMOST: u8 = "node.outermost" per Node;
    /// For each node the one before it on the shortest path from a root; [`NodeId::NONE`] where a path begins.
    PATH_PARENT: NodeId = "path.parent" per Node;
    /// Label of the edge from that node to this one: a string id, or one of [`label`](crate::chains::label).
    PATH_LABEL: u32 = "path.label" per Node;
    /// Rows of chains.
    CHAIN_ROW: ChainRow = "chain.row" per Few;
    /// Elements of their paths.
    CHAIN_ELEMENT: Element = "chain.element" per Few;
    /// Classes: display name.
    CLASS_NAME: StringId = "class.name" per Few;

    /// What loaded each class, by [`ClassId`]: a node, or [`NodeId::NONE`] for the runtime itself. Shorter than the table
    /// of classes where the last ones have no loader. Only where loaders are nodes.
    CLASS_LOADER: NodeId = "class.loader" per Few;
    /// The node that is the class itself, likewise.
    CLASS_NODE: NodeId = "class.node" per Few;
    /// Where the code of classes comes from, by [`ClassId`]: a row of [`ORIGIN`], or `u32::MAX`. Only where classes
    /// tell.
    CLASS_ORIGIN: u32 = "class.origin" per Few;
    /// Nodes with an origin of their own, which counts before that of their class, ascending.
    ORIGIN_NODE: NodeId = "origin.node" per Few;
    /// Where each of them comes from: a row of [`ORIGIN`].
    ORIGIN_OF_NODE: u32 = "origin.of_node" per Few;
    /// The places from which code comes.
    ORIGIN: Origin = "origin" per Few;
    /// Where the trace functions come from: a row of [`ORIGIN`], or `u32::MAX`.
    FUNCTION_ORIGIN: u32 = "function.origin" per Few;
    /// Scripts that source locations or trace functions name: their numbers, ascending.
    SCRIPT_ID: u32 = "script.id" per Few;
    /// URL or path of each of them.
    SCRIPT_URL: StringId = "script.url" per Few;
    /// Rows of owners, by retained size, largest first; their names are [`OWNER_NAMES`].
    OWNER_ROW: OwnerRow = "owner.row" per Few;

    /// Node at each preorder position.
    PREORDER_NODE: NodeId = "preorder.node" per Node;
    /// Depth-first parent of each preorder position; the root's is itself.
    PREORDER_PARENT: Preorder = "preorder.parent" per Node;
    /// Preorder position of each node, [`Preorder::NONE`] where the search does not reach it.
    NODE_PREORDER: Preorder = "node.preorder" per Node;
    /// Number of predecessors of each preorder position, from the last position down to position 1.
    RETAINERS_DEGREE: u32 = "retainers.degree" per Node;
    /// The predecessors themselves in the same order, each group ascending by source node and edge position.
    RETAINERS_FROM: Preorder = "retainers.from" per Edge;
    /// Immediate dominator of each preorder position; the root's is itself.
    PREORDER_DOMINATOR: Preorder = "preorder.dominator" per Node;
    /// Immediate dominator of each node; the root's, and that of nodes out of reach, is the root.
    NODE_DOMINATOR: NodeId = "node.dominator" per Node;
    /// Retained size, bytes.
    NODE_RETAINED: u64 = "node.retained" per Node;
    /// Retained native size, bytes. Only where [`Facts::has_native`].
    NODE_RETAINED_NATIVE: u64 = "node.retained_native" per Node;
    /// Distance from the user's roots; [`NO_DISTANCE`] where unset.
    NODE_DISTANCE: i32 = "node.distance" per Node;
}

/// [`NODE_DISTANCE`] of the root of a V8 snapshot, as Chrome DevTools has it, and so the least distance of nodes to which
/// only the runtime leads.
pub const SYSTEM_DISTANCE: i32 = 100_000_000;

/// [`NODE_DISTANCE`] of a node that no search reached.
pub const NO_DISTANCE: i32 = i32::MIN;

/// The two columns of a string table: the strings' bytes one after the other, and where each begins, with the end of
/// the last. Strings are UTF-8, except that a lone surrogate of the input is kept as its three-byte generalised form
/// and invalid bytes are kept as they are, so that equality is exact.
#[derive(Clone, Copy)]
pub struct StringColumns {
    /// The bytes.
    pub bytes: Column<u8>,
    /// The starts, one more than there are strings.
    pub start: Column<u64>,
}

/// All names of nodes and edges, by [`StringId`].
pub const STRINGS: StringColumns =
    StringColumns { bytes: Column::new("string.bytes"), start: Column::new("string.start") };
/// XXH3-64 of each of [`STRINGS`].
pub const STRING_HASH: Column<u64> = Column::new("string.hash");
/// Class keys, by [`ClassId`].
pub const CLASS_KEYS: StringColumns =
    StringColumns { bytes: Column::new("class_key.bytes"), start: Column::new("class_key.start") };

/// Signatures of classes, by [`ClassId`].
pub const CLASS_SIGNATURES: StringColumns =
    StringColumns { bytes: Column::new("class_signature.bytes"), start: Column::new("class_signature.start") };

/// Names of owners, in the order of their rows.
pub const OWNER_NAMES: StringColumns =
    StringColumns { bytes: Column::new("owner.name.bytes"), start: Column::new("owner.name.start") };
/// Their signatures.
pub const OWNER_SIGNATURES: StringColumns =
    StringColumns { bytes: Column::new("owner.signature.bytes"), start: Column::new("owner.signature.start") };

/// Preview of the first member of each set of duplicates, by [`SetId`]; empty where there is nothing to show.
pub const SET_PREVIEWS: StringColumns =
    StringColumns { bytes: Column::new("set.preview.bytes"), start: Column::new("set.preview.start") };

/// Documents beside the columns.
pub mod documents {
    /// [`Facts`](super::Facts).
    pub const FACTS: &str = "facts.json";
    /// A list of [`LargeObject`](crate::run::LargeObject)s, largest first.
    pub const LARGEST: &str = "largest.json";
    /// A list of [`Finding`](crate::findings::Finding)s, the most severe first.
    pub const FINDINGS: &str = "findings.json";
    /// The [`Totals`](crate::run::Totals) of an analysis.
    pub const TOTALS: &str = "totals.json";
    /// The run's [`Summary`](crate::run::Summary), without what only the engine knows.
    pub const SUMMARY: &str = "summary.json";
    /// A [`Replay`](crate::run::Replay).
    pub const REPLAY: &str = "replay_summary.json";
}

/// Elements of [`ESSENTIAL_LABEL`] that are not positions.
pub mod edge_label {
    /// The first of them.
    pub const LEAST: u8 = 254;
    /// An element of an array.
    pub const INDEX: u8 = 254;
    /// The name is the next element of [`ESSENTIAL_NAME`](super::ESSENTIAL_NAME).
    pub const NAMED: u8 = 255;
}

/// Bits of [`EDGE_FLAGS`].
pub mod edge_flags {
    /// The edge keeps its target alive: it counts for dominators and retained sizes.
    pub const ESSENTIAL: u8 = 1;
    /// The search for distances goes along this edge.
    pub const FOLLOWED: u8 = 2;
    /// One of two edges that keep their target alive only together (a weak map's key and table). The search for
    /// distances ignores the edge of the pair that it meets first and follows the other.
    pub const PAIRED: u8 = 4;
    /// The edge is one of [`AVOIDED_EDGE`](super::AVOIDED_EDGE). Not on disk: stages set it while they read.
    pub const AVOIDED: u8 = 8;
}

/// A kind of edge as the input names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeKind {
    /// Name, as in the `kind` column of the `edges` table.
    pub name: String,
    /// Whether [`EDGE_NAME`] is a number rather than a string id.
    pub indexed: bool,
}

/// A set of nodes from which the search for distances starts, all at the same distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DistanceSeed {
    /// Distance of these nodes, also of those that the search from an earlier seed reached.
    pub distance: i32,
    /// How many of [`DISTANCE_SEED`] they are, in the order of the input.
    pub count: u64,
}

/// What a reader learned about the input as a whole. Besides the columns, later stages know nothing else of a format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Name of the format, as in the `snapshot` table.
    pub format: String,
    /// Its version, where the input states one.
    pub format_version: Option<String>,
    /// Bytes of the input as stored.
    pub input_bytes: u64,
    /// Bytes after decompression.
    pub content_bytes: u64,
    /// XXH3-128 of the input as stored, hexadecimal.
    pub input_hash: String,
    /// Number of nodes.
    pub node_count: u64,
    /// Number of edges.
    pub edge_count: u64,
    /// Number of essential edges.
    pub essential_edge_count: u64,
    /// Number of strings in the input.
    pub string_count: u64,
    /// Number of root references.
    pub root_count: u64,
    /// The root of the graph of essential edges.
    pub root: NodeId,
    /// Names of node kinds, by [`NODE_KIND`].
    pub node_kinds: Vec<String>,
    /// Kinds of edges, by [`EDGE_KIND`].
    pub edge_kinds: Vec<EdgeKind>,
    /// Node kinds of the runtime itself rather than of objects of the program.
    pub synthetic_kinds: Vec<u8>,
    /// Node kinds that are parts of the runtime, which no program made: never big classes.
    pub internal_kinds: Vec<u8>,
    /// The roles of its classes and kinds.
    pub roles: Roles,
    /// Where distances start, in order.
    pub distance_seeds: Vec<DistanceSeed>,
    /// Whether nodes that the root does not reach are garbage. Of other inputs all nodes are live, whatever edges show.
    pub keeps_garbage: bool,
    /// Whether the input lists only survivors of a collection: an object that no root reaches has an unrecorded root.
    pub lists_survivors: bool,
    /// Whether nodes without size count in class rows, too.
    pub counts_empty: bool,
    /// Whether distances follow only essential edges, so that they need no columns of all edges.
    pub follows_essential: bool,
    /// Whether the input states native sizes.
    pub has_native: bool,
    /// Whether the input ties nodes to an allocation trace.
    pub has_trace_nodes: bool,
    /// When the snapshot was taken, microseconds since 1970, where the input says so.
    pub captured_at_us: Option<i64>,
    /// What the analysis leaves out, where it covers only the readable part of a damaged input.
    pub partial: Option<String>,
    /// Whether a tool has overwritten the contents of arrays of bytes and characters.
    #[serde(default)]
    pub is_sanitized: bool,
    /// What else the reader has to say of the input, a sentence each.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// Whether weak, soft and phantom references hold what they refer to (`hold`, `skip`), where that is a choice.
    pub referents: Option<String>,
}
