//! Stage `chains`: through which classes the instances of big classes are held.
//!
//! * Computes: for both trees, that of shortest paths and that of dominators, the path of classes from the root to every
//!   instance of a big class, interned and folded as [`trie`](crate::trie) and [`fold`](crate::fold) say; for each of those paths the number of
//!   instances, their shallow size, their retained size with nothing counted twice (as in the class rows), and the
//!   instance that retains most, the first of equals. So the chains of a class sum to its row.
//! * Reads: `class.{big,row}`, `node.{class,shallow,retained,outermost,dominator}`, `path.{parent,label}`; `node.preorder` where
//!   the input has garbage.
//! * Writes: `chain.{row,element}`, rows in the order of the table.
//! * Resident memory: 16 bytes per node (element, parent, class, label) where the budget allows, paged where not; 1 MiB of
//!   stack; some 200 bytes per element of paths, of which there are not many more than 2^17.
//! * Passes over disk: for each tree one over the node columns in order, and their ancestors at random.
//! * Worst case: linear.
//! * Fails when: the budget is too small.
//! * Determinism: one thread; elements are made in the order of nodes.
//! * Reference: counts and sizes equal those of an enumeration, in tests.

use crate::classes::counts;
use crate::fold::{Merge, fold};
use crate::trie::{NONE, Trie};
use heaplake_kit::{
    Array, ArrayPlan, BudgetVec, ColumnMap, ColumnReader, ColumnWriter, Context, Lookup, ReadAt, Scratch, Stack,
    StageError, StageInfo, Stats, WriteAt,
};
use heaplake_schemas::chains::{ChainRow, Element, label};
use heaplake_schemas::ids::{ClassId, NodeId};
use heaplake_schemas::scratch::{self as columns, Column, Facts, documents};
use std::cmp::Reverse;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "chains",
    version: 1,
    bytes_per_node: 16,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 40 << 20,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "node columns twice, and the trees",
};

/// One part in so many of the heap is light: names of edges do not matter where no chain of such a size is behind them.
const LIGHT: u64 = 1000;

/// What the instances at one element sum to.
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
    a.checked_add(b).ok_or(StageError::Overflow("the size of a chain"))
}

/// Bytes of all instances of all classes.
fn heap_bytes(scratch: &Scratch) -> Result<u64, StageError> {
    let rows = ColumnMap::open(scratch, columns::CLASS_ROW, None)?;
    Ok(rows.iter().map(|row| row.shallow_bytes).fold(0, u64::saturating_add))
}

/// Finds the chains.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Overflow`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let facts: &Facts = &scratch.read_document(documents::FACTS)?;
    context.progress.begin(STAGE.name, 2 * facts.node_count);
    let mut elements = ColumnWriter::create(scratch, columns::CHAIN_ELEMENT)?;
    let mut rows = context.budget.growing("chains: rows");
    let mut spilled_bytes = 0;
    // Chains that weigh less keep no names of edges.
    let least = heap_bytes(scratch)? / LIGHT;
    for (kind, parents) in [columns::PATH_PARENT, columns::NODE_DOMINATOR].into_iter().enumerate() {
        let (trie, tallies, spilled) = walk(facts, parents, scratch, context)?;
        spilled_bytes += spilled;
        let (folded, tallies) = fold(trie.elements(), &tallies, least, &context.budget)?;
        let first = elements.len() as u32;
        for (at, (element, tally)) in folded.iter().zip(tallies.iter()).enumerate() {
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
    let mut column = ColumnWriter::create(scratch, columns::CHAIN_ROW)?;
    column.extend(&rows)?;
    context.progress.end();
    Ok(Stats { rows: column.finish()?, spilled_bytes })
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

/// The paths in one tree, what the instances at each of their elements sum to, and the bytes that were spilled.
fn walk(
    facts: &Facts,
    parents: Column<NodeId>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(Trie, BudgetVec<Tally>, u64), StageError> {
    let nodes = facts.node_count;
    let stack = Stack::new(&context.budget, scratch, "chains.stack")?;
    let mut paths = Paths { root: facts.root, stack, trie: Trie::new(&context.budget)? };
    // Elements come as the nodes are looked at; what they need at most is kept free of the arrays.
    let kept = context.budget.reserve("chains: elements", 32 << 20)?;
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[nodes * 4; 4]);
    let mut element = room.array(nodes as usize, NONE)?;
    let parent = room.lookup(parents)?;
    let class = room.lookup(columns::NODE_CLASS)?;
    // Dominators hold through no edge in particular.
    let named = parents.name == columns::PATH_PARENT.name;
    let label = if named { Some(room.lookup(columns::PATH_LABEL)?) } else { None };
    drop(kept);
    let mut tallies = context.budget.growing("chains: tallies");
    match (&mut element, parent, class, label) {
        (Array::Resident(element), Lookup::Mapped(parent), Lookup::Mapped(class), Some(Lookup::Mapped(label))) => {
            add_up(facts, &mut paths, &mut tallies, (element, parent, class, label), scratch, context)?;
        }
        (Array::Resident(element), Lookup::Mapped(parent), Lookup::Mapped(class), None) => {
            add_up(facts, &mut paths, &mut tallies, (element, parent, class, NoLabels), scratch, context)?;
        }
        (element, parent, class, Some(label)) => {
            add_up(facts, &mut paths, &mut tallies, (element, parent, class, label), scratch, context)?;
        }
        (element, parent, class, None) => {
            add_up(facts, &mut paths, &mut tallies, (element, parent, class, NoLabels), scratch, context)?;
        }
    }
    Ok((paths.trie, tallies, room.spilled_bytes()))
}

/// Labels where there are none.
struct NoLabels;

impl ReadAt<u32> for NoLabels {
    fn count(&self) -> usize {
        0
    }

    #[inline]
    fn get(&mut self, _node: usize) -> Result<u32, heaplake_kit::array::Fault> {
        Ok(label::NONE)
    }
}

/// Sums over all instances of big classes.
fn add_up<E: WriteAt<u32>>(
    facts: &Facts,
    paths: &mut Paths,
    tallies: &mut BudgetVec<Tally>,
    mut tree: (&mut E, impl ReadAt<NodeId>, impl ReadAt<ClassId>, impl ReadAt<u32>),
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let big = ColumnMap::open(scratch, columns::CLASS_BIG, None)?;
    let mut class = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut shallow = ColumnReader::open(scratch, columns::NODE_SHALLOW)?;
    let mut retained = ColumnReader::open(scratch, columns::NODE_RETAINED)?;
    let mut outermost = ColumnReader::open(scratch, columns::NODE_OUTERMOST)?;
    let mut numbers =
        if facts.keeps_garbage { Some(ColumnReader::open(scratch, columns::NODE_PREORDER)?) } else { None };
    for node in 0..facts.node_count as u32 {
        let (class, size, held, outermost) = (class.next()?, shallow.next()?, retained.next()?, outermost.next()?);
        let garbage = match &mut numbers {
            Some(numbers) => numbers.next()?.is_none(),
            None => false,
        };
        if node.is_multiple_of(1 << 16) {
            context.step(1 << 16)?;
        }
        if big[class.index()] == 0 || garbage || !counts(facts, node, size) {
            continue;
        }
        let element = paths.resolve(NodeId(node), &mut tree)? as usize;
        while tallies.len() <= element {
            tallies.push(Tally::NOTHING)?;
        }
        tallies[element].add(NodeId(node), size, held, outermost != 0)?;
    }
    while tallies.len() < paths.trie.elements().len() {
        tallies.push(Tally::NOTHING)?;
    }
    Ok(())
}

impl Tally {
    fn add(&mut self, node: NodeId, size: u64, held: u64, outermost: bool) -> Result<(), StageError> {
        let retained_bytes = if outermost { held } else { 0 };
        self.merge(&Self { count: 1, shallow_bytes: size, retained_bytes, example_node: node, example_bytes: held })
    }
}

/// Where nodes are in the trie, found on demand.
struct Paths {
    root: NodeId,
    stack: Stack<NodeId>,
    trie: Trie,
}

impl Paths {
    /// The element of a node. Climbs to the nearest ancestor that has one, and comes back placing those in between.
    fn resolve<E: WriteAt<u32>>(
        &mut self,
        node: NodeId,
        (element, parent, class, label): &mut (&mut E, impl ReadAt<NodeId>, impl ReadAt<ClassId>, impl ReadAt<u32>),
    ) -> Result<u32, StageError> {
        let known = element.get(node.index())?;
        if known != NONE {
            return Ok(known);
        }
        let mut at = node;
        let mut place = loop {
            self.stack.push(at)?;
            // The root is no element of paths; alone it may be one.
            let above = if at == self.root { NodeId::NONE } else { parent.get(at.index())? };
            if above.is_none() || above == self.root {
                break NONE;
            }
            let known = element.get(above.index())?;
            if known != NONE {
                break known;
            }
            at = above;
        };
        while let Some(node) = self.stack.pop()? {
            place = self.trie.place(place, label.get(node.index())?, class.get(node.index())?.0)?;
            element.set(node.index(), place)?;
        }
        Ok(place)
    }
}
