//! Stage `essential edges`: classifies edges for the stages of the graph.
//!
//! * Computes: the essential edges; for every edge whether distances follow it; the nodes without an incoming essential
//!   edge; distance seeds.
//! * Resident memory: 2 bits per node; with pages, [`super::pages`] before that; three bits per string if there are
//!   weak maps; [`BLOCK_BYTES`] per block in flight.
//! * Passes over disk: one over nodes and edges.
//! * Worst case: linear, plus sorting the names of weak-map entries.
//! * Fails when: the budget is too small.
//! * Determinism: threads classify blocks of edges, which are written in input order; page ownership is a set.
//! * Reference: Chrome DevTools, "essential edges", and its filter for distances. Dropped are weak edges, self edges,
//!   the edge from a weak map's table to a value (the key's edge remains), and, except from the root, shortcuts and
//!   edges into a page from outside.

use super::edge_blocks::{BLOCK_BYTES, Block, Input, Output};
use super::edge_rules::Rules;
use super::header::Header;
use super::root_edges::{RootEdges, distance_seeds};
use super::snapshot::{DOCUMENT, EPHEMERON_SHARED, EPHEMERON_STRING, EPHEMERON_TABLE, Snapshot};
use super::{names, pages};
use heaplake_kit::access::{bits_per_node, column, document, per_edge, per_node, texts};
use heaplake_kit::{Bitset, ColumnWriter, Job, OrderedPool, Scratch, Stage, StageError, Stats};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, STRING_HASH, STRINGS, documents};
use std::sync::Arc;

/// Declaration of the stage.
pub const STAGE: Stage = Stage {
    name: "essential edges",
    version: 2,
    reads: &[
        texts(STRINGS),
        column(STRING_HASH),
        column(EPHEMERON_STRING),
        column(EPHEMERON_TABLE),
        column(EPHEMERON_SHARED),
        column(columns::NODE_KIND),
        column(columns::NODE_NAME),
        column(columns::NODE_ID),
        column(columns::NODE_EDGE_COUNT),
        column(columns::EDGE_KIND),
        column(columns::EDGE_NAME),
        column(columns::EDGE_TO),
    ],
    writes: &[
        column(columns::EDGE_FLAGS),
        column(columns::PAIRED_EDGE),
        column(columns::PAIRED_PAIR),
        column(columns::ESSENTIAL_DEGREE),
        column(columns::ESSENTIAL_TO),
        column(columns::ESSENTIAL_ORPHAN),
        column(columns::DISTANCE_SEED),
    ],
    updates: &[document(documents::METADATA), document(DOCUMENT)],
    // For page ownership.
    arrays: &[&[per_node::<u32>(), per_edge::<u8>(), per_edge::<NodeId>()]],
    least: &[bits_per_node(3)],
    fixed: 8 << 20,
    shares: true,
    passes: "nodes and edges once",
    run,
    ..Stage::NEW
};

/// Limit of useful threads: beyond it, I/O on one thread takes longer.
const MOST_THREADS: usize = 8;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut snapshot = Arc::unwrap_or_clone(Snapshot::load(scratch)?);
    let Snapshot { header, metadata } = &mut snapshot;
    context.progress.begin(STAGE.name, metadata.edge_count);
    let document_trees = names::find(scratch, ["(Document DOM trees)"])?[0];
    metadata.distance_seeds = distance_seeds(header, document_trees, scratch)?;
    let page_owned = pages::owned(header, document_trees, scratch, context)?;
    let rules = Rules::new(header, page_owned, scratch, context)?;
    let nodes = metadata.node_count as usize;
    let mut held = Bitset::new(&context.budget, "held nodes", nodes)?;
    let pool = OrderedPool::plan(context, "essential edges: edges under way", MOST_THREADS, BLOCK_BYTES)?;
    let mut input = Input::open(scratch)?;
    let mut output = Output::create(scratch)?;
    let shared = held.shared();
    pool.run(
        context,
        |block| input.fill(block),
        || |block: &mut Block| block.sort_out(&rules, shared),
        |block| output.write(block, context),
    )?;
    metadata.essential_edge_count = output.finish()?;
    write_orphans(header, &held, nodes, scratch)?;
    metadata.root_count = RootEdges::open(header, scratch)?.left.into();
    let edges = metadata.edge_count;
    snapshot.save(scratch)?;
    Ok(Stats { rows: edges, spilled_bytes: 0 })
}

/// Writes the nodes without an incoming essential edge.
fn write_orphans(header: &Header, held: &Bitset, nodes: usize, scratch: &Scratch) -> Result<(), StageError> {
    let orphans = (0..nodes).filter(|&node| !held.contains(node) && node as u64 != header.root);
    let orphans = orphans.map(|node| NodeId(node as u32));
    ColumnWriter::write_each(scratch, columns::ESSENTIAL_ORPHAN, orphans).map(drop)
}
