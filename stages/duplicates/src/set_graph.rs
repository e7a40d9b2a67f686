//! Stage `set graph`: the graph of essential edges in which the first member of each set dominates the other members.
//!
//! * Computes: the essential edges, with every reference to a member of a set redirected to the first member, which
//!   gets edges to the other members. A set contracted to one node dominates exactly the nodes that its first member
//!   dominates in this graph, and node numbers do not change. An orphan in a set is no orphan in this graph, since an
//!   edge may enter the first member; the root gets an edge to the first member instead.
//! * Output: the columns of the graph, and its metadata, in a subfolder of scratch; the stages of the graph of
//!   essential edges run there as on the original.
//! * Resident memory: 4 bytes per node, 16 per set and 4 per member, paged where the budget does not allow it.
//! * Passes over disk: essential edges once.
//! * Worst case: linear.
//! * Fails when: the budget is too small.
//! * Determinism: order of the input.
//! * Reference: sets are stable: if one member refers to a node, the other members refer to it or to another member of
//!   its set. So a path through the graph with sets as single nodes is a path in the original graph, too.

use crate::first_members::{self, FirstMembers, Set};
use heaplake_kit::access::{bits_per_node, column, document, per_node};
use heaplake_kit::array_plan::{filled, lookup};
use heaplake_kit::{
    ArrayPlan, ColumnReader, ColumnWriter, Job, ReadAt, Scratch, Stage, StageError, Stats, on_resident,
};
use heaplake_schemas::ids::{NodeId, SetId};
use heaplake_schemas::scratch::{self as columns, Metadata, documents};

/// Subfolder of scratch that contains the graph.
pub const FOLDER: &str = "holders";

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "set graph",
    version: 2,
    when: |setting| setting.looks_into_references(),
    reads: &[
        document(documents::METADATA),
        column(columns::ESSENTIAL_DEGREE),
        column(columns::ESSENTIAL_TO),
        column(columns::ESSENTIAL_ORPHAN),
        column(columns::EQUAL_SET),
        column(columns::SET_ROW),
        column(columns::SET_MEMBER),
    ],
    writes: &[
        document(documents::METADATA).in_folder(FOLDER),
        column(columns::ESSENTIAL_DEGREE).in_folder(FOLDER),
        column(columns::ESSENTIAL_TO).in_folder(FOLDER),
        column(columns::ESSENTIAL_ORPHAN).in_folder(FOLDER),
    ],
    // A set has at least two members.
    arrays: &[&[per_node::<SetId>(), bits_per_node(8 * size_of::<Set>() as u64 / 2), per_node::<NodeId>()]],
    fixed: 8 << 20,
    passes: "essential edges once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let graph = scratch.within(FOLDER)?;
    let nodes = ColumnReader::open(scratch, columns::ESSENTIAL_DEGREE)?.remaining();
    context.progress.begin(STAGE.name, nodes);
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (mut set_of, mut sets, mut members) = plan.make((
        lookup(columns::EQUAL_SET),
        filled(first_members::count(scratch)?, Set::NONE),
        lookup(columns::SET_MEMBER),
    ))?;
    first_members::read(&mut sets, scratch)?;
    let root = job.metadata()?.root;
    let edges = on_resident!(set_of, sets, members => {
        lead_to_first(root, FirstMembers::new(set_of, sets), members, &graph, job)
    })?;
    let metadata = Metadata { root, node_count: nodes, ..Metadata::default() };
    graph.write_document(documents::METADATA, &metadata)?;
    context.progress.end();
    Ok(Stats { rows: edges, spilled_bytes: plan.spilled_bytes() })
}

/// Writes the edges and the orphans; returns the number of edges.
fn lead_to_first(
    root: NodeId,
    mut first: FirstMembers<impl ReadAt<SetId>, impl ReadAt<Set>>,
    mut members: impl ReadAt<NodeId>,
    graph: &Scratch,
    job: &Job<'_>,
) -> Result<u64, StageError> {
    let mut degrees = ColumnReader::open(job.scratch, columns::ESSENTIAL_DEGREE)?;
    let mut to = ColumnReader::open(job.scratch, columns::ESSENTIAL_TO)?;
    let mut new_degrees = ColumnWriter::create(graph, columns::ESSENTIAL_DEGREE)?;
    let mut new_to = ColumnWriter::create(graph, columns::ESSENTIAL_TO)?;
    let mut done = 0;
    for node in (0..degrees.remaining() as u32).map(NodeId) {
        let before = new_to.len();
        let degree = degrees.next()?;
        for _ in 0..degree {
            let target = first.lead(to.next()?)?;
            if target != node {
                new_to.push(target)?;
            }
        }
        if let Some((_, set)) = first.begun_by(node)? {
            let start = set.start as usize;
            for member in start + 1..start + set.members as usize {
                new_to.push(members.get(member)?)?;
            }
        }
        if node == root {
            lead_orphans(root, &mut first, &mut new_to, graph, job.scratch)?;
        }
        new_degrees.push((new_to.len() - before) as u32)?;
        done += u64::from(degree) + 1;
        if done >= 1 << 17 {
            job.context.step(std::mem::take(&mut done))?;
        }
    }
    new_degrees.finish()?;
    new_to.finish()
}

/// Adds an edge of the root to the first member of each orphan's set, and writes the orphans that are in no set.
fn lead_orphans(
    root: NodeId,
    first: &mut FirstMembers<impl ReadAt<SetId>, impl ReadAt<Set>>,
    new_to: &mut ColumnWriter<NodeId>,
    graph: &Scratch,
    scratch: &Scratch,
) -> Result<(), StageError> {
    let mut orphans = ColumnReader::open(scratch, columns::ESSENTIAL_ORPHAN)?;
    let mut new_orphans = ColumnWriter::create(graph, columns::ESSENTIAL_ORPHAN)?;
    while orphans.remaining() > 0 {
        let orphan = orphans.next()?;
        match first.of_set(orphan)? {
            Some(target) if target != root => new_to.push(target)?,
            Some(_) => {}
            None => new_orphans.push(orphan)?,
        }
    }
    new_orphans.finish().map(drop)
}
