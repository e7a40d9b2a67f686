//! Stage `shortest paths`: the parent of every node in a breadth-first tree, and the label of the edge from it.
//!
//! * Computes: for every node with a distance that is not a seed, a node one step nearer with an edge to it that
//!   distances follow. If paths avoid some edges, only nodes that no other path reaches have such an edge on their
//!   path. Of several edges that of the least kind is chosen, then the one of the least path, read from its end
//!   upwards: labels, classes and names (`path_keys.rs`, `path_ties.rs`); if all are equal, the one with the least
//!   source. So another run of the program, with other node numbers, has the same paths. The label of the edge is its
//!   name; all numeric names share one label, and so do all entries of weak maps, since their names contain ids.
//! * Input: all edges; if distances follow essential edges only, the essential edges, with their labels if the reader
//!   of the format wrote some.
//! * Resident memory: 16 bytes per node (distance 4, best edge so far 12), then 20 (best edge, class, name), paged
//!   where the budget does not allow it; blocks of edges, see [`crate::path_edges`]; ties, see [`crate::path_ties`].
//! * Passes over disk: one over the edges, one over the ties.
//! * Worst case: linear in nodes and edges, n log n in the ties.
//! * Fails when: the budget is too small.
//! * Determinism: threads find edges, and the calling thread applies them in order; the order above is total, and ties
//!   are sorted.
//! * Reference: none needed; any breadth-first tree is valid, and this one depends on the graph only.

use crate::path_edges::{Block, Candidate, Choice, Edges};
use crate::path_ties::{Link, Texts, Tie, Ties};
use heaplake_kit::access::{bits_per_node, column, document, per_node, texts};
use heaplake_kit::array::Fault;
use heaplake_kit::array_plan::{filled, lookup};
use heaplake_kit::{
    Array, ArrayPlan, ColumnReader, ColumnWriter, Context, Job, Lookup, OrderedPool, Stage, StageError, Stats, WriteAt,
    on_resident,
};
use heaplake_paths::chains::NumericNames;
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, Metadata, NO_DISTANCE, STRINGS, documents};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "shortest paths",
    version: 5,
    when: |setting| setting.chains(),
    reads: &[
        document(documents::METADATA),
        texts(STRINGS),
        column(columns::NODE_DISTANCE),
        column(columns::ESSENTIAL_DEGREE).when(|setting| setting.follows_essential),
        column(columns::ESSENTIAL_TO).when(|setting| setting.follows_essential),
        column(columns::ESSENTIAL_LABEL).when(|setting| setting.follows_essential).if_any(),
        column(columns::ESSENTIAL_NAME).when(|setting| setting.follows_essential).if_any(),
        column(columns::CLASS_LABEL).when(|setting| setting.follows_essential).if_any(),
        column(columns::CLASS_LABEL_START).when(|setting| setting.follows_essential).if_any(),
        column(columns::NODE_CLASS).if_any(),
        column(columns::NODE_NAME).if_any(),
        column(columns::CLASS_NAME).if_any(),
        column(columns::AVOIDED_EDGE).when(|setting| setting.follows_essential).if_any(),
        column(columns::NODE_AVOIDED).when(|setting| setting.follows_essential).if_any(),
        column(columns::NODE_EDGE_COUNT).when(|setting| !setting.follows_essential),
        column(columns::EDGE_KIND).when(|setting| !setting.follows_essential),
        column(columns::EDGE_NAME).when(|setting| !setting.follows_essential),
        column(columns::EDGE_TO).when(|setting| !setting.follows_essential),
        column(columns::EDGE_FLAGS).when(|setting| !setting.follows_essential),
    ],
    writes: &[column(columns::PATH_PARENT), column(columns::PATH_LABEL)],
    arrays: &[
        &[per_node::<i32>(), per_node::<u32>(), per_node::<Link>()],
        &[per_node::<u32>(), per_node::<Link>(), per_node::<ClassId>(), per_node::<StringId>()],
    ],
    fixed: 8 << 20,
    least: &[bits_per_node(1)],
    passes: "edges once",
    run,
    ..Stage::NEW
};

/// Nodes are prefetched this many edges ahead.
const AHEAD: usize = 16;

/// Maximum number of threads that find edges; one thread applies the results.
const MOST_THREADS: usize = 8;

/// Number of edges that justifies another thread.
const EDGES_OF_THREAD: u64 = 1 << 18;

/// Greater than all keys: no edge yet. Only a format with 256 kinds would have a greater key.
const NO_KEY: u32 = u32::MAX;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let metadata = &job.metadata()?;
    let nodes = metadata.node_count as usize;
    job.context.progress.begin(STAGE.name, metadata.node_count);
    let choice = Choice::open(metadata, job.scratch, job.context)?;
    let edges = Edges::open(metadata, job.scratch)?;
    let threads = (edges.count() / EDGES_OF_THREAD).clamp(1, MOST_THREADS as u64) as usize;
    let pool = OrderedPool::plan(job.context, "shortest paths: edges", threads, Block::BYTES)?;
    let mut ties = Ties::new(edges.count(), job)?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (distance, mut keys, mut links) = plan.make((
        lookup(columns::NODE_DISTANCE),
        filled(nodes, NO_KEY),
        filled(nodes, Link { from: NodeId::NONE, label: label::NONE }),
    ))?;
    let input = Input { edges, choice, pool, distance };
    on_resident!(keys, links => search(input, keys, links, &mut ties, job.context))?;
    let sorted = resolve(ties, &mut keys, &mut links, &mut plan, job)?;
    write(metadata, &mut links, job)?;
    job.context.progress.end();
    Ok(Stats { rows: metadata.node_count, spilled_bytes: plan.spilled_bytes() + sorted })
}

/// Resolves the ties if nodes have classes and names.
fn resolve(
    ties: Ties<'_>,
    keys: &mut Array<u32>,
    links: &mut Array<Link>,
    plan: &mut ArrayPlan<'_>,
    job: &Job<'_>,
) -> Result<u64, StageError> {
    if !job.scratch.has(columns::NODE_CLASS) || !job.scratch.has(columns::NODE_NAME) {
        return Ok(0);
    }
    let (classes, names) = plan.make((lookup(columns::NODE_CLASS), lookup(columns::NODE_NAME)))?;
    let mut texts = Texts::open(classes, names, job.scratch)?;
    on_resident!(keys, links => ties.resolve(keys, links, &mut texts))
}

/// The edges, the choice among them, and distances.
struct Input<'a> {
    edges: Edges,
    choice: Choice<'a>,
    pool: OrderedPool,
    distance: Lookup<i32>,
}

/// Visits every edge. The calling thread looks up distances that are not in memory.
fn search(
    Input { mut edges, choice, pool, mut distance }: Input<'_>,
    mut best: impl WriteAt<u32>,
    mut links: impl WriteAt<Link>,
    ties: &mut Ties<'_>,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let shared = distance.share();
    let worker = || {
        let mut distance = shared.as_ref().and_then(Lookup::share);
        let choice = &choice;
        move |(block, failed): &mut (Block, Option<Fault>)| {
            if let Some(distance) = &mut distance {
                *failed = on_resident!(distance => block.choose(choice, distance)).err();
            }
        }
    };
    let apply = |(block, failed): &mut (Block, Option<Fault>)| {
        if shared.is_none() {
            *failed = block.choose(&choice, &mut distance).err();
        }
        failed.take().map_or(Ok(()), Err)?;
        let candidates = &block.candidates;
        for (at, &Candidate { to, from, label, key, distance }) in candidates.iter().enumerate() {
            if let Some(soon) = candidates.get(at + AHEAD) {
                best.prefetch(soon.to.index());
                links.prefetch(soon.to.index());
            }
            let known = best.get(to.index())?;
            if key < known {
                best.set(to.index(), key)?;
                links.set(to.index(), Link { from, label })?;
            } else if key == known && links.get(to.index())? != (Link { from, label }) {
                ties.push(Tie { distance, to: to.0, from: from.0, label, key })?;
            }
        }
        context.step(block.sources())
    };
    pool.run(context, |(block, _)| edges.fill(block), worker, apply)
}

fn write(metadata: &Metadata, links: &mut impl WriteAt<Link>, job: &Job<'_>) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let mut distance = ColumnReader::open(scratch, columns::NODE_DISTANCE)?;
    let mut parent = ColumnWriter::create(scratch, columns::PATH_PARENT)?;
    let mut labels = ColumnWriter::create(scratch, columns::PATH_LABEL)?;
    let mut numbers = NumericNames::open(scratch)?;
    for node in 0..metadata.node_count as usize {
        let link = links.get(node)?;
        parent.push(link.from)?;
        labels.push(if distance.next()? == NO_DISTANCE { label::NO_PATH } else { numbers.label(link.label) })?;
        context.check_every(1 << 12, node)?;
    }
    parent.finish()?;
    labels.finish().map(drop)
}
