//! Stage `chains`: the paths of classes that retain the instances of big classes.
//!
//! * Computes: for both trees, that of shortest paths and that of dominators, the path of classes from the root to
//!   every instance of a big class, interned and folded by [`trie`](crate::trie) and [`fold`](crate::fold); for each of
//!   those paths the number of instances, their shallow size, their retained size without double counting (as in the
//!   class rows), and the instance that retains most, the first of equals. So the chains of a class sum to its row.
//! * Resident memory: 16 bytes per node (element, parent, class, label) paged where the budget does not allow it; 1 MiB
//!   of stack; some 200 bytes per element of paths, little more than 2^17 elements. Twice as much for both trees at the
//!   same time, if the budget allows it.
//! * Passes over disk: for each tree one over the node columns in order, and their ancestors at random.
//! * Worst case: linear.
//! * Fails when: the budget is too small.
//! * Determinism: one thread for each tree; elements are made in the order of nodes, rows are in that of the table.
//! * Reference: counts and sizes equal those of an enumeration, in tests.

use crate::class_rows::counts;
use crate::fold::{Merge, fold};
use crate::trie::{NONE, Trie};
use heaplake_kit::access::{column, document, per_node, texts};
use heaplake_kit::array::Constant;
use heaplake_kit::array_plan::{filled, lookup};
use heaplake_kit::column::BLOCK;
use heaplake_kit::{
    ArrayPlan, BudgetVec, ColumnMap, ColumnReader, ColumnWriter, Job, ReadAt, Scratch, Stack, Stage, StageError, Stats,
    StringTable, WriteAt, on_resident, threads,
};
use heaplake_schemas::chains::{ChainRow, Element, label};
use heaplake_schemas::ids::{ClassId, NodeId};
use heaplake_schemas::scratch::{self as columns, Column, Metadata, STRINGS, documents};
use std::cmp::Reverse;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "chains",
    version: 2,
    when: |setting| setting.chains(),
    reads: &[
        document(documents::METADATA),
        column(columns::CLASS_BIG),
        column(columns::CLASS_ROW),
        column(columns::NODE_CLASS),
        column(columns::NODE_SHALLOW),
        column(columns::NODE_RETAINED),
        column(columns::NODE_OUTERMOST),
        column(columns::NODE_DOMINATOR),
        column(columns::NODE_PREORDER),
        column(columns::PATH_PARENT),
        column(columns::PATH_LABEL),
        column(columns::CLASS_NAME),
        texts(STRINGS),
    ],
    writes: &[column(columns::CHAIN_ROW), column(columns::CHAIN_ELEMENT)],
    arrays: &[&[per_node::<u32>(), per_node::<NodeId>(), per_node::<ClassId>(), per_node::<u32>()]],
    fixed: 40 << 20,
    shares: true,
    passes: "node columns twice, and the trees",
    run,
    ..Stage::NEW
};

/// A chain is light below one part in this many of the heap; light chains keep no edge labels.
const LIGHT: u64 = 1000;

/// The element of a node's parent is prefetched this many nodes ahead.
const AHEAD: usize = 16;

/// Sums over the instances at one element.
#[derive(Clone, Copy)]
struct Tally {
    count: u64,
    shallow_bytes: u64,
    retained_bytes: u64,
    example_node: NodeId,
    example_bytes: u64,
}

impl Merge for Tally {
    const NOTHING: Self =
        Self { count: 0, shallow_bytes: 0, retained_bytes: 0, example_node: NodeId::NONE, example_bytes: 0 };

    fn weight(&self) -> Option<u64> {
        (self.count > 0).then_some(self.retained_bytes)
    }

    fn merge(&mut self, other: &Self) -> Result<(), StageError> {
        self.count += other.count;
        self.shallow_bytes = sum(self.shallow_bytes, other.shallow_bytes)?;
        self.retained_bytes = sum(self.retained_bytes, other.retained_bytes)?;
        if (Reverse(other.example_bytes), other.example_node) < (Reverse(self.example_bytes), self.example_node) {
            (self.example_node, self.example_bytes) = (other.example_node, other.example_bytes);
        }
        Ok(())
    }
}

fn sum(a: u64, b: u64) -> Result<u64, StageError> {
    let Some(sum) = a.checked_add(b) else { return Err(StageError::Overflow("the size of a chain")) };
    Ok(sum)
}

/// Bytes of all instances of all classes.
fn heap_bytes(scratch: &Scratch) -> Result<u64, StageError> {
    let rows = ColumnMap::uncounted(scratch, columns::CLASS_ROW)?;
    Ok(rows.iter().map(|row| row.shallow_bytes).fold(0, u64::saturating_add))
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let metadata = &job.metadata()?;
    context.progress.begin(STAGE.name, 2 * metadata.node_count);
    let mut elements = ColumnWriter::create(scratch, columns::CHAIN_ELEMENT)?;
    let mut rows = context.budget.growing("chains: rows");
    let paths = || folded(metadata, columns::PATH_PARENT, job);
    let dominators = || folded(metadata, columns::NODE_DOMINATOR, job);
    let fit = context.budget.free() >= 2 * STAGE.resident_bytes(metadata.node_count, metadata.edge_count);
    let (paths, dominators) = if fit {
        let (paths, dominators) = threads::join(context.threads, paths, dominators);
        (paths?, dominators?)
    } else {
        (paths()?, dominators()?)
    };
    let spilled_bytes = paths.spilled_bytes + dominators.spilled_bytes;
    for (kind, tree) in [paths, dominators].iter().enumerate() {
        let first = elements.len() as u32;
        for (at, (element, tally)) in tree.elements.iter().zip(tree.tallies.iter()).enumerate() {
            let parent = if element.parent == NONE { NONE } else { element.parent + first };
            elements.push(Element { parent, ..*element })?;
            if tally.count > 0 {
                rows.push(row(kind, first + at as u32, element, tally))?;
            }
        }
    }
    elements.finish()?;
    rows.sort_unstable_by_key(|row: &ChainRow| {
        (Reverse(row.retained_bytes), Reverse(row.count), row.class_id, row.kind, row.element)
    });
    let rows = ColumnWriter::write_all(scratch, columns::CHAIN_ROW, &rows)?;
    context.progress.end();
    Ok(Stats { rows, spilled_bytes })
}

fn row(kind: usize, element: u32, of: &Element, tally: &Tally) -> ChainRow {
    ChainRow {
        kind: kind as u32,
        class_id: of.class,
        element,
        example_node: tally.example_node.0,
        count: tally.count,
        shallow_bytes: tally.shallow_bytes,
        retained_bytes: tally.retained_bytes,
    }
}

/// The folded paths in one tree, and the sums at each of their elements.
struct Folded {
    elements: BudgetVec<Element>,
    tallies: BudgetVec<Tally>,
    spilled_bytes: u64,
}

fn folded(metadata: &Metadata, parents: Column<NodeId>, job: &Job<'_>) -> Result<Folded, StageError> {
    let (trie, tallies, spilled_bytes) = walk(metadata, parents, job)?;
    // Lighter chains keep no edge labels.
    let least = heap_bytes(job.scratch)? / LIGHT;
    let (elements, tallies) = fold(trie.elements(), &tallies, least, &job.context.budget)?;
    Ok(Folded { elements, tallies, spilled_bytes })
}

/// Returns the paths in one tree, the sums at each of their elements, and the spilled bytes.
fn walk(
    metadata: &Metadata,
    parents: Column<NodeId>,
    job: &Job<'_>,
) -> Result<(Trie, BudgetVec<Tally>, u64), StageError> {
    let budget = &job.context.budget;
    let stack = Stack::new(budget, job.scratch, "chains.stack")?;
    let mut paths = Paths { root: metadata.root, stack, trie: Trie::new(common(metadata, job)?, budget)? };
    // Elements grow during the walk; their maximum is reserved before the arrays.
    let kept = budget.reserve("chains: elements", 32 << 20)?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    // The dominator tree has no edge labels.
    let named = parents.name == columns::PATH_PARENT.name;
    let (mut element, mut parent, mut class, label) = plan.make((
        filled(metadata.node_count as usize, NONE),
        lookup(parents),
        lookup(columns::NODE_CLASS),
        named.then(|| lookup(columns::PATH_LABEL)),
    ))?;
    drop(kept);
    let tallies = match label {
        Some(mut label) => on_resident!(element, parent, class, label => {
            add_up(metadata, &mut paths, Tree { element, parent, class, label }, job)
        })?,
        None => on_resident!(element, parent, class => {
            add_up(metadata, &mut paths, Tree { element, parent, class, label: Constant(label::NONE) }, job)
        })?,
    };
    Ok((paths.trie, tallies, plan.spilled_bytes()))
}

/// Returns 1 for each class common to every program, except the class of class objects, which refer to static fields.
fn common(metadata: &Metadata, job: &Job<'_>) -> Result<BudgetVec<u8>, StageError> {
    let names = ColumnMap::uncounted(job.scratch, columns::CLASS_NAME)?;
    let strings = StringTable::open(job.scratch, STRINGS)?;
    let mut common = job.context.budget.zeroed("chains: common classes", names.len())?;
    for (common, name) in common.iter_mut().zip(names.iter()) {
        let name = name.get().map(|at| strings.text(at as usize)).unwrap_or_default();
        *common = u8::from(metadata.roles.common_classes.fit(&name) && !metadata.roles.class_of_classes.fit(&name));
    }
    Ok(common)
}

struct Tree<E, P, C, L> {
    element: E,
    parent: P,
    class: C,
    label: L,
}

/// Returns the sums over all instances of big classes, by element.
fn add_up<E, P, C, L>(
    metadata: &Metadata,
    paths: &mut Paths,
    mut tree: Tree<E, P, C, L>,
    job: &Job<'_>,
) -> Result<BudgetVec<Tally>, StageError>
where
    E: WriteAt<u32>,
    P: ReadAt<NodeId>,
    C: ReadAt<ClassId>,
    L: ReadAt<u32>,
{
    let Job { scratch, context, .. } = *job;
    let mut tallies = context.budget.growing("chains: tallies");
    let big = ColumnMap::uncounted(scratch, columns::CLASS_BIG)?;
    let mut class = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut shallow = ColumnReader::open(scratch, columns::NODE_SHALLOW)?;
    let mut retained = ColumnReader::open(scratch, columns::NODE_RETAINED)?;
    let mut outermost = ColumnReader::open(scratch, columns::NODE_OUTERMOST)?;
    let preorder = metadata.keeps_garbage.then(|| ColumnReader::open(scratch, columns::NODE_PREORDER));
    let mut preorder = preorder.transpose()?;
    for first in (0..metadata.node_count as usize).step_by(BLOCK) {
        let count = BLOCK.min(metadata.node_count as usize - first);
        let (classes, sizes, retained) = (class.block(count)?, shallow.block(count)?, retained.block(count)?);
        let outermost = outermost.block(count)?;
        let numbers = preorder.as_mut().map(|order| order.block(count)).transpose()?;
        context.step(count as u64)?;
        for (at, class) in classes.iter().enumerate() {
            let node = (first + at) as u32;
            if first + at + AHEAD < metadata.node_count as usize {
                let soon = tree.parent.get(first + at + AHEAD)?;
                tree.element.prefetch(soon.index());
            }
            let garbage = numbers.is_some_and(|numbers| numbers[at].is_none());
            if big[class.index()] == 0 || garbage || !counts(metadata, node, sizes[at]) {
                continue;
            }
            let element = paths.resolve(NodeId(node), &mut tree)? as usize;
            while tallies.len() <= element {
                tallies.push(Tally::NOTHING)?;
            }
            tallies[element].add(NodeId(node), sizes[at], retained[at], outermost[at] != 0)?;
        }
    }
    while tallies.len() < paths.trie.elements().len() {
        tallies.push(Tally::NOTHING)?;
    }
    Ok(tallies)
}

impl Tally {
    /// Adds an instance; nodes ascend.
    #[inline]
    fn add(&mut self, node: NodeId, size: u64, held: u64, outermost: bool) -> Result<(), StageError> {
        self.shallow_bytes = sum(self.shallow_bytes, size)?;
        if outermost {
            self.retained_bytes = sum(self.retained_bytes, held)?;
        }
        if self.count == 0 || held > self.example_bytes {
            (self.example_node, self.example_bytes) = (node, held);
        }
        self.count += 1;
        Ok(())
    }
}

/// Finds the elements of nodes in the trie on demand.
struct Paths {
    root: NodeId,
    stack: Stack<NodeId>,
    trie: Trie,
}

impl Paths {
    fn resolve<E, P, C, L>(&mut self, node: NodeId, tree: &mut Tree<E, P, C, L>) -> Result<u32, StageError>
    where
        E: WriteAt<u32>,
        P: ReadAt<NodeId>,
        C: ReadAt<ClassId>,
        L: ReadAt<u32>,
    {
        let known = tree.element.get(node.index())?;
        if known != NONE {
            return Ok(known);
        }
        // Mostly the parent has an element already.
        let above = if node == self.root { NodeId::NONE } else { tree.parent.get(node.index())? };
        let is_first = above.is_none() || above == self.root;
        let before = if is_first { NONE } else { tree.element.get(above.index())? };
        if is_first || before != NONE {
            return self.place(before, node, tree);
        }
        self.climb(node, tree)
    }

    /// Sets the element of a node below that of its parent.
    #[inline]
    fn place<E, P, C, L>(&mut self, before: u32, node: NodeId, tree: &mut Tree<E, P, C, L>) -> Result<u32, StageError>
    where
        E: WriteAt<u32>,
        C: ReadAt<ClassId>,
        L: ReadAt<u32>,
    {
        let place = self.trie.place(before, tree.label.get(node.index())?, tree.class.get(node.index())?.0)?;
        tree.element.set(node.index(), place)?;
        Ok(place)
    }

    /// Climbs to the nearest ancestor with an element, and places the nodes in between on the way back.
    fn climb<E, P, C, L>(&mut self, node: NodeId, tree: &mut Tree<E, P, C, L>) -> Result<u32, StageError>
    where
        E: WriteAt<u32>,
        P: ReadAt<NodeId>,
        C: ReadAt<ClassId>,
        L: ReadAt<u32>,
    {
        let mut at = node;
        let mut place = loop {
            self.stack.push(at)?;
            // The root is no element of paths; alone it may be one.
            let above = if at == self.root { NodeId::NONE } else { tree.parent.get(at.index())? };
            if above.is_none() || above == self.root {
                break NONE;
            }
            let known = tree.element.get(above.index())?;
            if known != NONE {
                break known;
            }
            at = above;
        };
        while let Some(node) = self.stack.pop()? {
            place = self.place(place, node, tree)?;
        }
        Ok(place)
    }
}
