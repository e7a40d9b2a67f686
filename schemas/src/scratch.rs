//! The columns that the stages of a run write and read on disk: name, element type, meaning.
//!
//! A scratch column has elements of fixed width; files with an entry per node or edge are packed (see the kit), others
//! have no header. `node.*` columns have one element per node in input order, `edge.*` one per edge grouped by source
//! in node order, `essential.*` describe the *essential* edges only (those that keep their target alive), `preorder.*`
//! are indexed by [`Preorder`]. Nothing here is public: the contract with users is the Parquet tables.

use crate::chains::{ChainRow, Element};
use crate::classes::ClassRow;
use crate::containers::{ContainerRow, WeakEntryRow};
use crate::duplicate_sets::SetRow;
use crate::ids::{ClassId, NodeId, Preorder, SetId, StringId};
pub use crate::limits;
use crate::owners::{Origin, OwnerRow};
use crate::roles::Roles;
pub use crate::scratch_column::{CLASS_KEYS, Column, Per, StringColumns};
use serde::{Deserialize, Serialize};

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $element:ty = $file:literal per $per:ident;)*) => {
        $($(#[$doc])* pub const $name: Column<$element> = Column::of($file, Per::$per);)*
    };
}

/// Rows of classes, by retained size, largest first.
pub const CLASS_ROW: Column<ClassRow> = ClassRow::ROWS;

/// Rows of owners, by retained size, largest first; their names are [`OWNER_NAMES`].
pub const OWNER_ROW: Column<OwnerRow> = OwnerRow::ROWS;

columns! {
    /// Index into [`Metadata::node_kinds`].
    NODE_KIND: u8 = "node.kind" per Node;
    /// The node's own name.
    NODE_NAME: StringId = "node.name" per Node;
    /// The format's own object id or address.
    NODE_ID: u64 = "node.id" per Node;
    /// Size as the input states it, bytes.
    NODE_SELF: u64 = "node.self" per Node;
    /// Size by the format's accounting rules (owned parts count with their owner), bytes.
    NODE_SHALLOW: u64 = "node.shallow" per Node;
    /// Native memory held by the node alone, bytes. Only with [`Metadata::has_native`].
    NODE_NATIVE: u64 = "node.native" per Node;
    /// Number of outgoing edges, of every kind.
    NODE_EDGE_COUNT: u32 = "node.edge_count" per Node;
    /// Number of incoming edges, of every kind.
    NODE_RETAINER_COUNT: u32 = "node.retainer_count" per Node;
    /// 1 if only paths over [`AVOIDED_EDGE`] lead from the root to the node, else 0. Only if there are such edges.
    NODE_AVOIDED: u8 = "node.avoided" per Node;
    /// 0 unknown, 1 attached, 2 detached, after propagation.
    NODE_DETACHED: u8 = "node.detached" per Node;
    /// Node of the allocation trace tree; 0 for none. Only with [`Metadata::has_trace_nodes`].
    NODE_TRACE: u32 = "node.trace" per Node;
    /// Row of the class table.
    NODE_CLASS: ClassId = "node.class" per Node;

    /// Index into [`Metadata::edge_kinds`].
    EDGE_KIND: u8 = "edge.kind" per Edge;
    /// String id of the edge's name, or its number if the kind is indexed ([`EdgeKind::indexed`]).
    EDGE_NAME: u32 = "edge.name" per Edge;
    /// Target.
    EDGE_TO: NodeId = "edge.to" per Edge;
    /// See [`edge_flags`].
    EDGE_FLAGS: u8 = "edge.flags" per Edge;
    /// Positions of the edges with [`edge_flags::PAIRED`], ascending.
    PAIRED_EDGE: u64 = "paired.edge" per Few;
    /// For each of [`PAIRED_EDGE`]: number of its pair, from 0.
    PAIRED_PAIR: u32 = "paired.pair" per Few;

    /// Number of essential edges from each node, without self edges.
    ESSENTIAL_DEGREE: u32 = "essential.degree" per Node;
    /// Their targets, grouped by source in node order.
    ESSENTIAL_TO: NodeId = "essential.to" per Edge;
    /// Positions in [`ESSENTIAL_TO`] of edges that paths from the root avoid, ascending: those that keep their target
    /// alive only until memory runs short, or that the format merely counts as essential (weak and soft referents).
    /// Dominators count them like others. Paths and distances follow them only to nodes that no other path reaches.
    AVOIDED_EDGE: u64 = "avoided.edge" per Few;
    /// The sources of these edges.
    AVOIDED_FROM: NodeId = "avoided.from" per Few;
    /// Nodes other than the root without incoming essential edges, ascending.
    ESSENTIAL_ORPHAN: NodeId = "essential.orphan" per Few;

    /// Label of each edge of [`ESSENTIAL_TO`]: a position among the edge labels of its source's class, or one of
    /// [`edge_label`]. This and the next three columns are written only if a stage needs labels and no column of all
    /// edges has them.
    ESSENTIAL_LABEL: u8 = "essential.label" per Edge;
    /// Names of the edges with the label [`edge_label::NAMED`], in order: string ids, or
    /// [`label::NONE`](crate::chains::label::NONE).
    ESSENTIAL_NAME: u32 = "essential.name" per Few;
    /// Start of the edge labels of each class in [`CLASS_LABEL`], and the end of the last, by [`ClassId`].
    CLASS_LABEL_START: u64 = "class.label.start" per Few;
    /// Edge labels of the instances of classes, grouped by class.
    CLASS_LABEL: StringId = "class.label" per Few;

    /// Nodes with a source location, ascending.
    LOCATION_NODE: NodeId = "location.node" per Few;
    /// Their script.
    LOCATION_SCRIPT: u32 = "location.script" per Few;
    /// Their line, from 0.
    LOCATION_LINE: u32 = "location.line" per Few;
    /// Their column, from 0.
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
    /// Line, from 1; 0 if unknown.
    FUNCTION_LINE: u32 = "function.line" per Few;
    /// Column, from 1; 0 if unknown.
    FUNCTION_COLUMN: u32 = "function.column" per Few;
    /// Samples of the id counter over time: microseconds since the recording began.
    SAMPLE_TIME: u64 = "sample.time" per Few;
    /// Last object id assigned by that time.
    SAMPLE_LAST_ID: u64 = "sample.last_id" per Few;
    /// Row of the allocation trace tree with the allocating stack of each node; `u32::MAX` for none. This and the next
    /// column are written only if the input has samples or a trace tree with nodes.
    NODE_CALL: u32 = "node.call" per Node;
    /// First sample by which each node existed; `u32::MAX` for none.
    NODE_SAMPLE: u32 = "node.sample" per Node;
    /// Node of the table `allocation_callees`, by row of the trace tree.
    TRACE_PLACE: u32 = "trace.place" per Few;

    /// Start nodes of distances, grouped by [`Metadata::distance_seeds`].
    DISTANCE_SEED: NodeId = "distance.seed" per Few;
    /// The equality graph, for the search for duplicates: for each node the first node with the same value. The value
    /// is everything comparable without following a reference: type, numbers, text, the labels of the slots in their
    /// order, which slots are empty, and the targets compared by identity. The value of a node that cannot be a
    /// duplicate is the node itself.
    EQUAL_VALUE: NodeId = "equal.value" per Node;
    /// Number of slots of each node with targets compared by value.
    EQUAL_DEGREE: u32 = "equal.degree" per Node;
    /// Their targets in label order, grouped by node in node order.
    EQUAL_TO: NodeId = "equal.to" per Edge;
    /// Parts of each node's value that the input omits; see [`limits`]. Only if it omits any.
    EQUAL_LIMITS: u8 = "equal.limits" per Node;
    /// Nodes in reverse topological order of the equality graph, strongly connected components together.
    EQUAL_ORDER: NodeId = "equal.order" per Node;
    /// Number of nodes of each component.
    EQUAL_COMPONENT_SIZE: u32 = "equal.component_size" per Node;
    /// Component of each node; components are numbered in [`EQUAL_ORDER`].
    EQUAL_COMPONENT: u32 = "equal.component" per Node;
    /// Candidate class of each node, named by one of its nodes. Nodes of different classes are never duplicates.
    EQUAL_CANDIDATE: NodeId = "equal.candidate" per Node;
    /// Certificate of each node: a node that it certainly duplicates, or itself.
    EQUAL_CERTIFICATE: NodeId = "equal.certificate" per Node;
    /// Group of each node, named by one of its nodes: its duplicates, or its candidate class if undecided.
    EQUAL_GROUP: NodeId = "equal.group" per Node;
    /// Undecided groups, named as in [`EQUAL_GROUP`], ascending.
    EQUAL_UNDECIDED: NodeId = "equal.undecided" per Few;
    /// Why each of [`EQUAL_UNDECIDED`] is undecided; see [`limits`].
    EQUAL_UNDECIDED_REASON: u16 = "equal.undecided_reason" per Few;
    /// Set of duplicates of each node; [`SetId::NONE`] for none.
    EQUAL_SET: SetId = "equal.set" per Node;
    /// Rows of the sets of duplicates, by [`SetId`].
    SET_ROW: SetRow = "set.row" per Few;
    /// Members of the sets, grouped by set, ascending.
    SET_MEMBER: NodeId = "set.member" per Few;
    /// Nodes of each class in a set, by [`ClassId`].
    CLASS_DUPLICATE_COUNT: u64 = "class.duplicate_count" per Few;
    /// Their shallow sizes, bytes.
    CLASS_DUPLICATE_BYTES: u64 = "class.duplicate_bytes" per Few;

    /// Containers, by node. Only if rules of findings need them.
    CONTAINER_ROW: ContainerRow = "container.row" per Few;
    /// Entries of weak maps. Only if the format has them and rules of findings need them.
    WEAK_ENTRY_ROW: WeakEntryRow = "weak_entry.row" per Few;

    /// Threads, ascending. Only if the format has threads, like the next three columns.
    THREAD_NODE: NodeId = "thread.node" per Few;
    /// Number of references to objects from their stacks.
    THREAD_LOCALS: u64 = "thread.locals" per Few;
    /// Number of frames of their stacks.
    THREAD_FRAME_COUNT: u32 = "thread.frame_count" per Few;
    /// The frames as text, grouped by thread, innermost first; [`StringId::NONE`] for unknown ones.
    THREAD_FRAME: StringId = "thread.frame" per Few;

    /// Whether a class is big, by [`ClassId`].
    CLASS_BIG: u8 = "class.big" per Few;
    /// Whether a node's retained size counts for its class: no other instance dominates it.
    NODE_OUTERMOST: u8 = "node.outermost" per Node;
    /// Predecessor of each node on the shortest path from a root; [`NodeId::NONE`] at the start of a path.
    PATH_PARENT: NodeId = "path.parent" per Node;
    /// Label of the edge from the predecessor: a string id, or one of [`label`](crate::chains::label).
    PATH_LABEL: u32 = "path.label" per Node;
    /// Rows of chains.
    CHAIN_ROW: ChainRow = "chain.row" per Few;
    /// Elements of their paths.
    CHAIN_ELEMENT: Element = "chain.element" per Few;
    /// Classes: display name.
    CLASS_NAME: StringId = "class.name" per Few;

    /// Class loader of each class, by [`ClassId`]: a node, or [`NodeId::NONE`] for the runtime itself. Shorter than the
    /// class table if the last classes have no loader. Only if loaders are nodes.
    CLASS_LOADER: NodeId = "class.loader" per Few;
    /// Node of the class itself, likewise.
    CLASS_NODE: NodeId = "class.node" per Few;
    /// Origin of the code of each class, by [`ClassId`]: a row of [`ORIGIN`], or `u32::MAX`. Only if classes have
    /// origins.
    CLASS_ORIGIN: u32 = "class.origin" per Few;
    /// Nodes with an origin of their own, which overrides that of their class, ascending.
    ORIGIN_NODE: NodeId = "origin.node" per Few;
    /// Origin of each of them: a row of [`ORIGIN`].
    ORIGIN_OF_NODE: u32 = "origin.of_node" per Few;
    /// Origins of code.
    ORIGIN: Origin = "origin" per Few;
    /// Owner that each node counts for: a position in [`OWNER_ROW_AT`].
    NODE_OWNER: u32 = "node.owner" per Node;
    /// Row of each owner in [`OWNER_ROW`], or `u32::MAX` if it has none, since nothing counts for it.
    OWNER_ROW_AT: u32 = "owner.row_at" per Few;
    /// Origin of each trace function: a row of [`ORIGIN`], or `u32::MAX`.
    FUNCTION_ORIGIN: u32 = "function.origin" per Few;
    /// Numbers of the scripts of source locations and trace functions, ascending.
    SCRIPT_ID: u32 = "script.id" per Few;
    /// URL or path of each of them.
    SCRIPT_URL: StringId = "script.url" per Few;

    /// Node at each preorder position.
    PREORDER_NODE: NodeId = "preorder.node" per Node;
    /// Depth-first parent of each preorder position; the root's is itself.
    PREORDER_PARENT: Preorder = "preorder.parent" per Node;
    /// Preorder position of each node, [`Preorder::NONE`] if unreached.
    NODE_PREORDER: Preorder = "node.preorder" per Node;
    /// Number of predecessors of each preorder position, from the last position down to position 1.
    RETAINERS_DEGREE: u32 = "retainers.degree" per Node;
    /// The predecessors in the same order, each group ascending by source node and edge position.
    RETAINERS_FROM: Preorder = "retainers.from" per Edge;
    /// Immediate dominator of each preorder position; the root's is itself.
    PREORDER_DOMINATOR: Preorder = "preorder.dominator" per Node;
    /// Immediate dominator of each node; that of the root and of unreachable nodes is the root.
    NODE_DOMINATOR: NodeId = "node.dominator" per Node;
    /// Retained size, bytes.
    NODE_RETAINED: u64 = "node.retained" per Node;
    /// Retained native size, bytes. Only with [`Metadata::has_native`].
    NODE_RETAINED_NATIVE: u64 = "node.retained_native" per Node;
    /// Distance from the user's roots; [`NO_DISTANCE`] if unset.
    NODE_DISTANCE: i32 = "node.distance" per Node;
}

/// [`NODE_DISTANCE`] of the root of a V8 snapshot, as in Chrome DevTools, and so the least distance of nodes that only
/// the runtime reaches.
pub const SYSTEM_DISTANCE: i32 = 100_000_000;

/// [`NODE_DISTANCE`] of an unreached node.
pub const NO_DISTANCE: i32 = i32::MIN;

/// All names of nodes and edges, by [`StringId`].
pub const STRINGS: StringColumns =
    StringColumns { bytes: Column::new("string.bytes"), start: Column::new("string.start") };
/// XXH3-64 of each of [`STRINGS`].
pub const STRING_HASH: Column<u64> = Column::new("string.hash");

/// Signatures of classes, by [`ClassId`].
pub const CLASS_SIGNATURES: StringColumns =
    StringColumns { bytes: Column::new("class_signature.bytes"), start: Column::new("class_signature.start") };

/// Names of owners, in the order of their rows.
pub const OWNER_NAMES: StringColumns =
    StringColumns { bytes: Column::new("owner.name.bytes"), start: Column::new("owner.name.start") };
/// Their signatures.
pub const OWNER_SIGNATURES: StringColumns =
    StringColumns { bytes: Column::new("owner.signature.bytes"), start: Column::new("owner.signature.start") };

/// Preview of the first member of each set of duplicates, by [`SetId`]; may be empty.
pub const SET_PREVIEWS: StringColumns =
    StringColumns { bytes: Column::new("set.preview.bytes"), start: Column::new("set.preview.start") };

/// Documents beside the columns.
pub mod documents {
    /// [`Metadata`](super::Metadata).
    pub const METADATA: &str = "metadata.json";
    /// A list of [`LargeObject`](crate::run::LargeObject)s, largest first.
    pub const LARGEST: &str = "largest.json";
    /// A list of [`Finding`](crate::findings::Finding)s, the most severe first.
    pub const FINDINGS: &str = "findings.json";
    /// The [`Totals`](crate::run::Totals) of an analysis.
    pub const TOTALS: &str = "totals.json";
    /// The run's [`Summary`](crate::run::Summary), without the engine's measurements.
    pub const SUMMARY: &str = "summary.json";
    /// A [`Replay`](crate::run::Replay).
    pub const REPLAY: &str = "replay_summary.json";
}

/// Elements of [`ESSENTIAL_LABEL`] that are not positions.
pub mod edge_label {
    /// The least of them.
    pub const LEAST: u8 = 254;
    /// An element of an array.
    pub const INDEX: u8 = 254;
    /// A name: the next element of [`ESSENTIAL_NAME`](super::ESSENTIAL_NAME).
    pub const NAMED: u8 = 255;
}

/// Bits of [`EDGE_FLAGS`].
pub mod edge_flags {
    /// The edge keeps its target alive: dominators and retained sizes count it.
    pub const ESSENTIAL: u8 = 1;
    /// The search for distances follows the edge.
    pub const FOLLOWED: u8 = 2;
    /// One of two edges that keep their target alive only together (key and table of a weak map). The search for
    /// distances ignores the first edge of the pair that it meets and follows the other.
    pub const PAIRED: u8 = 4;
    /// The edge is one of [`AVOIDED_EDGE`](super::AVOIDED_EDGE). Not on disk: stages set it when they read.
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

/// A set of start nodes of the search for distances, all at the same distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DistanceSeed {
    /// Distance of these nodes, even if an earlier seed reached them.
    pub distance: i32,
    /// Their number in [`DISTANCE_SEED`], in the order of the input.
    pub count: u64,
}

/// Metadata of the input, from its reader. Besides the columns, later stages know nothing else of a format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// Name of the format, as in the `snapshot` table.
    pub format: String,
    /// Its version, if the input states one.
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
    /// Node kinds that are parts of the runtime, made by no program: never big classes.
    pub internal_kinds: Vec<u8>,
    /// Roles of its classes and kinds.
    pub roles: Roles,
    /// Start nodes of distances, in order.
    pub distance_seeds: Vec<DistanceSeed>,
    /// Whether nodes that the root does not reach are garbage. In other inputs all nodes are live, whatever edges show.
    pub keeps_garbage: bool,
    /// Whether the input lists only survivors of a collection: an unreachable object then has an unrecorded root.
    pub lists_survivors: bool,
    /// Whether class rows count nodes without size, too.
    pub counts_empty: bool,
    /// Whether distances follow only essential edges and need no columns of all edges.
    pub follows_essential: bool,
    /// Whether the input states native sizes.
    pub has_native: bool,
    /// Whether the input ties nodes to an allocation trace.
    pub has_trace_nodes: bool,
    /// When the snapshot was taken, microseconds since 1970, if the input states it.
    pub captured_at_us: Option<i64>,
    /// Left-out part of a damaged input.
    pub partial: Option<String>,
    /// Whether a tool has overwritten the contents of byte and character arrays.
    #[serde(default)]
    pub is_sanitized: bool,
    /// Further remarks of the reader about the input, a sentence each.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// Whether weak, soft and phantom references keep their referents alive (`hold`, `skip`), if there is a choice.
    pub referents: Option<String>,
}
