//! Stage `dominators`: the immediate dominators.
//!
//! * Computes: the immediate dominator of every node in the preorder, by the algorithm semi-NCA: semidominators from
//!   the last position down with path compression, then each dominator as the nearest common ancestor of parent and
//!   semidominator in the tree built so far. All inputs are read sequentially.
//! * Resident memory: 12 bytes per node (ancestor, label, dominator). If the budget is too small, one step at a time:
//!   4.2 bytes per node and 4 per node with several retainers ([`CompactForest`]), then 4 per node; paged if that is
//!   too much as well. 1 MiB for the path of a compression.
//! * Passes over disk: one over the retainers; semidominators once more if the steps take memory one by one.
//! * Worst case: O(m log n). The climb of the second step alone could be quadratic. So its steps are counted, and once
//!   they exceed [`PATIENCE`] per node, it continues with jump pointers (Myers, "An Applicative Random-Access Stack",
//!   IPL 17(5), 1983), which bound a climb by O(log n). The pointers reuse the array of the first step, so bad cases
//!   need neither a second algorithm nor more memory.
//! * Fails when: the budget is too small.
//! * Determinism: dominators are unique.
//! * Reference: Georgiadis, Tarjan, Werneck, "Finding Dominators in Practice", JGAA 10(1), 2006, section 2.2.

use crate::forest::{CompactForest, Link, Links};
use bytemuck::Zeroable;
use heaplake_kit::access::{bits_per_node, column, per_node};
use heaplake_kit::array_plan::filled;
use heaplake_kit::{
    ArrayPlan, ColumnReader, ColumnWriter, Job, ReverseReader, Stack, Stage, StageError, Stats, WriteAt, on_resident,
};
use heaplake_schemas::ids::Preorder;
use heaplake_schemas::scratch::{self as columns, Column, Per};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "dominators",
    reads: &[column(columns::PREORDER_PARENT), column(columns::RETAINERS_DEGREE), column(columns::RETAINERS_FROM)],
    writes: &[column(columns::PREORDER_DOMINATOR)],
    arrays: &[&[per_node::<Link>(), per_node::<Preorder>()]],
    least: &[bits_per_node(2)],
    temporary: &[per_node::<Preorder>()],
    fixed: 8 << 20,
    passes: "retainers once, parents twice",
    run,
    ..Stage::NEW
};

/// Semidominators from the last node down to position 1, if the steps take memory one by one.
const SEMI: Column<Preorder> = Column::of("dominators.semi", Per::Node);

/// A link is prefetched this many retainers ahead of its use.
const AHEAD: usize = 24;

/// Average number of steps per node that the plain climb may take.
const PATIENCE: u64 = 16;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    run_with(PATIENCE, true, job)
}

/// Runs the stage with another value of [`PATIENCE`]; in memory only if `may_fit`.
pub(crate) fn run_with(patience: u64, may_fit: bool, job: &Job<'_>) -> Result<Stats, StageError> {
    let nodes = ColumnReader::open(job.scratch, columns::PREORDER_PARENT)?.remaining();
    job.context.progress.begin(STAGE.name, 2 * nodes);
    // Before the arrays, which would take its memory.
    let path = Stack::new(&job.context.budget, job.scratch, "dominators.path")?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let count = nodes as usize;
    let requests = (filled(count, Link::zeroed()), filled(count, Preorder(0)));
    let spilled_bytes = if may_fit && plan.holds(&requests) {
        let (mut links, mut dominator) = plan.make(requests)?;
        on_resident!(links, dominator => {
            let mut forest = Forest { links, path };
            semidominators(&mut forest, |node, semi| Ok(dominator.set(node.index(), semi)?), count, job)?;
            // The first step is over; the second one reuses its array.
            nearest_common_ancestors(dominator, || Ok(forest.links), patience, job)
        })?;
        dominator.write_to(job.scratch, columns::PREORDER_DOMINATOR)?;
        0
    } else {
        one_by_one(count, path, patience, job)?
    };
    job.context.progress.end();
    Ok(Stats { rows: nodes, spilled_bytes })
}

/// Runs the steps one by one if their arrays do not fit together. Returns the bytes of arrays that do not fit alone.
fn one_by_one(nodes: usize, path: Stack<Preorder>, patience: u64, job: &Job<'_>) -> Result<u64, StageError> {
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let mut semi = ColumnWriter::create(job.scratch, SEMI)?;
    let mut forest = Forest { links: CompactForest::new(nodes, &mut plan, job)?, path };
    semidominators(&mut forest, |_, least| semi.push(least), nodes, job)?;
    drop(forest);
    semi.finish()?;
    let mut dominator = plan.one(filled(nodes, Preorder(0)))?;
    let mut semi = ReverseReader::open(job.scratch, SEMI)?;
    (1..nodes).try_for_each(|node| Ok::<_, StageError>(dominator.set(node, semi.next()?)?))?;
    drop(semi);
    job.scratch.measure();
    job.scratch.discard(SEMI);
    nearest_common_ancestors(&mut dominator, || plan.one(filled(nodes, Link::zeroed())), patience, job)?;
    dominator.write_to(job.scratch, columns::PREORDER_DOMINATOR)?;
    Ok(plan.spilled_bytes())
}

/// The nodes linked so far.
struct Forest<L> {
    links: L,
    path: Stack<Preorder>,
}

/// First step: passes each node's semidominator to `settle`, from the last node down.
///
/// Nodes below the current one are not linked yet; each is a tree of its own.
fn semidominators<L: Links>(
    forest: &mut Forest<L>,
    mut settle: impl FnMut(Preorder, Preorder) -> Result<(), StageError>,
    nodes: usize,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let mut degrees = ColumnReader::open(job.scratch, columns::RETAINERS_DEGREE)?;
    let mut retainers = ColumnReader::open(job.scratch, columns::RETAINERS_FROM)?;
    let mut parents = ReverseReader::open(job.scratch, columns::PREORDER_PARENT)?;
    for node in (1..nodes as u32).rev().map(Preorder) {
        let mut least = node;
        let mut left = degrees.next()? as usize;
        while left > 0 {
            let (group, ahead) = retainers.next_slice_and_rest(left)?;
            left -= group.len();
            for (at, &retainer) in group.iter().enumerate() {
                if let Some(soon) = group.get(at + AHEAD).or_else(|| ahead.get(at + AHEAD - group.len())) {
                    forest.links.prefetch(*soon);
                }
                let candidate = if retainer <= node { retainer } else { forest.evaluate(retainer, node)? };
                least = least.min(candidate);
            }
        }
        settle(node, least)?;
        forest.links.add(node, Link { ancestor: parents.next()?, label: least })?;
        job.context.step_every(1 << 16, node.0)?;
    }
    Ok(())
}

impl<L: Links> Forest<L> {
    /// Returns the least semidominator on the path from `node` up to the first node at or below `unlinked`. Compresses
    /// the path.
    #[inline]
    fn evaluate(&mut self, node: Preorder, unlinked: Preorder) -> Result<Preorder, StageError> {
        let link = self.links.link(node)?;
        if link.ancestor > unlinked { self.compress(node, link, unlinked) } else { Ok(link.label) }
    }

    fn compress(&mut self, node: Preorder, link: Link, unlinked: Preorder) -> Result<Preorder, StageError> {
        let (mut top, mut link) = (node, link);
        while link.ancestor > unlinked {
            self.path.push(top)?;
            top = link.ancestor;
            link = self.links.link(top)?;
        }
        // The topmost node is already a child of an unlinked node; the others take its values.
        let (mut best, mut near) = (link, top);
        while let Some(below) = self.path.pop()? {
            self.links.shorten(below, &mut best, &mut near)?;
        }
        Ok(best.label)
    }
}

/// Second step: turns semidominators into dominators, in place, from position 1 up.
fn nearest_common_ancestors<A: WriteAt<Link>>(
    mut dominator: impl WriteAt<Preorder>,
    links: impl FnOnce() -> Result<A, StageError>,
    patience: u64,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let mut parents = ColumnReader::open(job.scratch, columns::PREORDER_PARENT)?;
    if dominator.count() == 0 {
        return Ok(());
    }
    parents.next()?;
    let limit = patience * dominator.count() as u64;
    let mut steps = 0u64;
    let (mut links, mut jumps) = (Some(links), None::<Jumps<A>>);
    for node in 1..dominator.count() as u32 {
        let semi = dominator.get(node as usize)?;
        let mut candidate = parents.next()?;
        if let Some(jumps) = &mut jumps {
            candidate = jumps.climb(candidate, semi, &mut dominator)?;
            jumps.add(node, candidate)?;
        } else {
            while candidate > semi {
                candidate = dominator.get(candidate.index())?;
                steps += 1;
            }
        }
        dominator.set(node as usize, candidate)?;
        if steps > limit
            && let Some(links) = links.take()
        {
            // The tree is deep and the climbs are long: build the jump pointers and continue with them.
            jumps.insert(Jumps { jumps: links()? }).build(&mut dominator, node)?;
        }
        job.context.step_every(1 << 16, node)?;
    }
    Ok(())
}

/// Jump pointers over the dominator tree built so far: a climb takes O(log n) steps.
struct Jumps<A> {
    /// Each link holds a jump pointer as ancestor, and a depth as label.
    jumps: A,
}

impl<A: WriteAt<Link>> Jumps<A> {
    /// Builds the pointers of all nodes up to `last`.
    fn build(&mut self, dominator: &mut impl WriteAt<Preorder>, last: u32) -> Result<(), StageError> {
        self.jumps.set(0, Link::zeroed())?;
        (1..=last).try_for_each(|node| self.add(node, dominator.get(node as usize)?))
    }

    fn add(&mut self, node: u32, dominator: Preorder) -> Result<(), StageError> {
        let near = self.jumps.get(dominator.index())?;
        let far = self.jumps.get(near.ancestor.index())?;
        let further = self.jumps.get(far.ancestor.index())?;
        let same_length = near.label.0 - far.label.0 == far.label.0 - further.label.0;
        let ancestor = if same_length { far.ancestor } else { dominator };
        Ok(self.jumps.set(node as usize, Link { ancestor, label: Preorder(near.label.0 + 1) })?)
    }

    /// Returns the first node on the path from `node` to the root with a number of at most `limit`.
    fn climb(
        &mut self,
        mut node: Preorder,
        limit: Preorder,
        dominator: &mut impl WriteAt<Preorder>,
    ) -> Result<Preorder, StageError> {
        while node > limit {
            let far = self.jumps.get(node.index())?.ancestor;
            node = if far > limit { far } else { dominator.get(node.index())? };
        }
        Ok(node)
    }
}
