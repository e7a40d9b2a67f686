//! Stage `retainer trees`: all retainers of the instances of big classes.
//!
//! * Computes: for each big class the merged tree of all holders of its instances, as defined by
//!   [`heaplake_paths::retainer_tree`]: from the instances upward over every essential edge from a node nearer to the
//!   root, near the instances also from other nodes that do not live on them, merged by class and edge label, with the
//!   distinct instances behind each branch and those that it alone retains. The table is separate from that of chains:
//!   a chain is one path per instance, so chains sum to their class; branches do not, since an instance is in each
//!   branch that retains it.
//! * Resident memory: 36 bytes per node (positions in the preorder and back, class, distance, kind, dominator by node
//!   and by position, starts of retainers and edges, and after many climbs, places in the dominator tree) and 17 per
//!   edge, in memory as packed columns or paged where the budget does not allow it; a bit per node; the walks of as
//!   many trees as fit, bounded by constants, and a bounded number of retainers; a sorter of instances.
//! * Passes over disk: one over node columns, after many climbs two over dominators; instances sorted by class. Then
//!   retainers and edges near instances, step by step of all trees together, each step in the order of the columns: of
//!   a class at most [`INSTANCES`] instances, evenly chosen, and a bounded number of edges.
//! * Worst case: linear in nodes, and in the number of big classes times the work allowed for one.
//! * Fails when: the budget is too small, or the disk is full.
//! * Determinism: one thread grows a tree; in memory all threads grow trees. Trees are written in the order of classes.
//!   Bounds are constants, branches have a total order.
//! * Reference: "merge paths to GC roots" of Eclipse MAT, which takes one path for each object; this takes all.

mod asked;
mod details;
mod dominance;
mod heap;
mod instances;

#[cfg(test)]
mod properties;

use heap::Heap;
use heaplake_kit::access::{bits_per_node, column, document, per_edge, per_node, texts};
use heaplake_kit::{ArrayPlan, ColumnMap, ColumnWriter, Context, Job, Offsets, OrderedPool, Stage, StageError, Stats};
use heaplake_paths::retainer_tree::{Batch, Branch, Instance, Limits, grow};
use heaplake_schemas::ids::{ClassId, NodeId, Preorder};
use heaplake_schemas::retainer_trees::{ROWS as RETAINER_TREES, TreeRow};
use heaplake_schemas::scratch::{self as columns, STRINGS, documents};
use instances::Instances;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "retainer trees",
    version: 2,
    when: |setting| setting.retainer_trees(),
    reads: &[
        document(documents::METADATA),
        texts(STRINGS),
        column(columns::CLASS_BIG),
        column(columns::CLASS_ROW),
        column(columns::NODE_CLASS),
        column(columns::NODE_SHALLOW),
        column(columns::NODE_RETAINED),
        column(columns::NODE_OUTERMOST),
        column(columns::NODE_DISTANCE),
        column(columns::NODE_KIND),
        column(columns::NODE_DOMINATOR),
        column(columns::NODE_PREORDER),
        column(columns::PREORDER_NODE),
        column(columns::PREORDER_DOMINATOR),
        column(columns::RETAINERS_DEGREE),
        column(columns::RETAINERS_FROM),
        column(columns::ESSENTIAL_DEGREE).when(|setting| setting.follows_essential),
        column(columns::ESSENTIAL_TO).when(|setting| setting.follows_essential),
        column(columns::ESSENTIAL_LABEL).when(|setting| setting.follows_essential).if_any(),
        column(columns::ESSENTIAL_NAME).when(|setting| setting.follows_essential).if_any(),
        column(columns::CLASS_LABEL).when(|setting| setting.follows_essential).if_any(),
        column(columns::CLASS_LABEL_START).when(|setting| setting.follows_essential).if_any(),
        column(columns::NODE_EDGE_COUNT).when(|setting| !setting.follows_essential),
        column(columns::EDGE_KIND).when(|setting| !setting.follows_essential),
        column(columns::EDGE_NAME).when(|setting| !setting.follows_essential),
        column(columns::EDGE_TO).when(|setting| !setting.follows_essential),
        column(columns::EDGE_FLAGS).when(|setting| !setting.follows_essential),
    ],
    writes: &[column(RETAINER_TREES)],
    arrays: &[&[
        per_node::<Preorder>(),
        per_node::<NodeId>(),
        per_node::<ClassId>(),
        per_node::<i32>(),
        per_node::<u8>(),
        per_node::<NodeId>(),
        per_node::<Preorder>(),
        Offsets::SIZE,
        Offsets::SIZE,
        per_node::<[u32; 2]>(),
        per_edge::<Preorder>(),
        per_edge::<NodeId>(),
        per_edge::<u8>(),
        per_edge::<u32>(),
    ]],
    least: &[bits_per_node(1)],
    fixed: Batch::LEAST.bytes(&Limits::OF_A_CLASS) + OF_A_LIST + (8 << 20),
    shares: true,
    temporary: &[],
    passes: "node columns once; retainers, dominators and edges near instances",
    run,
    ..Stage::NEW
};

/// Maximum number of instances of a class.
const INSTANCES: u64 = 1 << 14;
/// Bytes of their list.
const OF_A_LIST: u64 = INSTANCES * size_of::<Instance>() as u64;
/// Maximum number of threads that walk at the same time.
const MOST_THREADS: usize = 16;
/// Classes with the full limits; later ones, of which only the user's request makes many, get less.
const FIRST: usize = 64;

/// Limits of a class, by its place among the big ones: instances, and limits of the walk.
fn allowed(place: usize) -> (u64, Limits) {
    match place {
        ..FIRST => (INSTANCES, Limits::OF_A_CLASS),
        _ => (INSTANCES >> 4, Limits { work: Limits::OF_A_CLASS.work >> 4, ..Limits::OF_A_CLASS }),
    }
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    run_with(allowed, |tight| tight, job)
}

/// Runs the stage with the limits `allowed` of each class; `tight` may replace whether the heap is on disk, and the
/// batch.
fn run_with(
    allowed: impl Fn(usize) -> (u64, Limits) + Sync,
    tight: impl Fn((bool, Batch)) -> (bool, Batch),
    job: &Job<'_>,
) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let metadata = &job.metadata()?;
    context.progress.begin(STAGE.name, metadata.node_count);
    let mut rows = ColumnWriter::create(scratch, RETAINER_TREES)?;
    let classes = big_classes(job)?;
    let mut spilled_bytes = 0;
    if !classes.is_empty() {
        let (nodes, edges, limits) = (metadata.node_count, metadata.edge_count, Limits::OF_A_CLASS);
        let (free, all) = (context.budget.free(), STAGE.resident_bytes(nodes, edges));
        let is_tight = free < all;
        // On disk, trees that grow together save at least as much as packed columns and page frames; in memory nothing.
        let more = if is_tight { free.saturating_sub(STAGE.least_bytes(nodes, edges)) / 4 * 3 } else { 0 };
        let batch = Batch::within(Batch::LEAST.bytes(&limits) + more, classes.len(), &limits);
        let (is_tight, batch) = tight((is_tight, batch));
        let _walks = context.budget.reserve("retainer trees: walks", batch.bytes(&limits))?;
        let _lists = context.budget.reserve("retainer trees: instances", batch.trees as u64 * OF_A_LIST)?;
        let mut instances = Instances::sorted(metadata, &classes, |place| allowed(place).0, job)?;
        spilled_bytes = instances.bytes();
        let mut plan = ArrayPlan::of(job, STAGE.name);
        let mut heap = Heap::open(metadata, is_tight, &mut plan, job)?;
        let walks = classes.iter().enumerate().map(|(place, &class)| {
            let (instances, is_part) = instances.next(place)?;
            Ok(Walk { class, instances, limits: allowed(place).1, is_part, tree: Vec::new() })
        });
        let pool = if !is_tight && heap.share().is_some() { walkers(context) } else { None };
        match pool {
            Some(pool) => one_by_one(&pool, &heap, walks, &mut rows, context)?,
            None => batch_scheduler(&mut heap, walks, batch, &mut rows)?,
        }
        spilled_bytes += plan.spilled_bytes() + heap.spilled_bytes();
    }
    context.progress.end();
    Ok(Stats { rows: rows.finish()?, spilled_bytes })
}

/// A class with its instances and their retainers.
struct Walk {
    class: u32,
    instances: Vec<Instance>,
    limits: Limits,
    /// Whether the class has more instances.
    is_part: bool,
    tree: Vec<Branch>,
}

impl Walk {
    fn list(&self) -> (&[Instance], Limits) {
        (&self.instances, self.limits)
    }

    fn write(&self, rows: &mut ColumnWriter<TreeRow>) -> Result<(), StageError> {
        let first = rows.len() as u32;
        self.tree.iter().try_for_each(|branch| {
            let row = row(self.class, first, self.instances.len(), branch);
            rows.push(TreeRow { is_cut: row.is_cut | u32::from(self.is_part), ..row })
        })
    }
}

/// A walk given to a thread, then its result.
type Grown = Option<Result<Walk, StageError>>;

/// Threads that walk at the same time; `None` if only the reserved walk fits.
fn walkers(context: &Context<'_>) -> Option<OrderedPool> {
    // Half of the walks under way are at work.
    let room = Batch::LEAST.bytes(&Limits::OF_A_CLASS) / 2 + OF_A_LIST;
    OrderedPool::plan(context, "retainer trees: walks of other threads", MOST_THREADS, room).ok()
}

/// Grows the trees of a heap in memory, a tree on each thread.
fn one_by_one(
    pool: &OrderedPool,
    heap: &Heap<'_>,
    mut walks: impl Iterator<Item = Result<Walk, StageError>>,
    rows: &mut ColumnWriter<TreeRow>,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let batch = Batch::LEAST;
    pool.run(
        context,
        |grown: &mut Grown| {
            *grown = walks.next();
            Ok(grown.is_some())
        },
        || {
            let mut heap = heap.share();
            move |grown: &mut Grown| {
                if let (Some(heap), Some(Ok(walk))) = (&mut heap, &mut *grown) {
                    match grow(heap, &[walk.list()], batch) {
                        Ok(trees) => walk.tree = trees.into_iter().flatten().collect(),
                        Err(error) => *grown = Some(Err(error)),
                    }
                }
            }
        },
        |grown| grown.take().map_or(Ok(()), |walk| walk?.write(rows)),
    )
}

/// Grows the trees of a batch together.
fn batch_scheduler(
    heap: &mut Heap<'_>,
    mut walks: impl Iterator<Item = Result<Walk, StageError>>,
    batch: Batch,
    rows: &mut ColumnWriter<TreeRow>,
) -> Result<(), StageError> {
    loop {
        let mut walks: Vec<Walk> = walks.by_ref().take(batch.trees).collect::<Result<_, StageError>>()?;
        if walks.is_empty() {
            return Ok(());
        }
        let lists: Vec<_> = walks.iter().map(Walk::list).collect();
        let trees = grow(heap, &lists, batch)?;
        for (walk, tree) in walks.iter_mut().zip(trees) {
            walk.tree = tree;
            walk.write(rows)?;
        }
    }
}

/// Returns the big classes, the largest retained sizes first.
fn big_classes(job: &Job<'_>) -> Result<Vec<u32>, StageError> {
    let big = ColumnMap::uncounted(job.scratch, columns::CLASS_BIG)?;
    let rows = ColumnMap::uncounted(job.scratch, columns::CLASS_ROW)?;
    Ok(rows.iter().map(|row| row.class_id).filter(|&class| big[class as usize] != 0).collect())
}

fn row(class: u32, first: u32, looked_at: usize, branch: &Branch) -> TreeRow {
    TreeRow {
        class_id: class,
        parent: branch.parent.map_or(u32::MAX, |parent| first + parent as u32),
        level: branch.level,
        kind: branch.kind as u32,
        holder_class: branch.class,
        label: branch.label,
        distance: branch.distance,
        example_node: branch.example,
        is_cut: branch.is_cut.into(),
        unused: 0,
        looked_at: looked_at as u64,
        merged: branch.merged,
        holders: branch.holders,
        count: branch.held.count,
        shallow_bytes: branch.held.shallow_bytes,
        retained_bytes: branch.held.retained_bytes,
        exclusive_count: branch.exclusive.count,
        exclusive_shallow_bytes: branch.exclusive.shallow_bytes,
        exclusive_retained_bytes: branch.exclusive.retained_bytes,
    }
}
