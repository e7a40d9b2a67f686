//! Bytes freed by removing all objects of an owner.
//!
//! An object is freed with an owner if every path from the root to it passes an object of the owner. Dominators do not
//! suffice: two objects of one owner may together retain a third. So each owner needs a search from the root that
//! avoids the owner's objects. Here [`AT_ONCE`](super::chosen::AT_ONCE) of these searches run as one: every node has a
//! word with one bit per owner, set when a path is found that avoids this owner. Bits are only ever set, so order does
//! not matter.
//!
//! # Sweep, check, search
//!
//! Most words follow from earlier nodes in the preorder. So a *sweep* over the retainers, in their order on disk, joins
//! for each node the words of its retainers, without its own owner. A path that avoids an owner passes the immediate
//! dominator, so the word of the dominator, without the own owner, is an upper bound; a node that reaches it is final,
//! and its other retainers are skipped.
//!
//! The remaining nodes have less and a retainer further back in the preorder, which the sweep had not reached. A second
//! pass, the *check*, visits these again, from the last one down. If it finds new bits, a *search* forward along the
//! edges spreads them. At its end, no path is missed: take the first node on a path that avoids an owner without having
//! the bit in its word, and its predecessor, which has it. If the predecessor got it after the sweep, the search has
//! followed the edge. If not, and the sweep or the check read the edge, the node has it, too. Else the node was final
//! in the sweep: its dominator lacked the bit then. But the dominator is on each path to the predecessor, and bits come
//! along paths, so it had the bit earlier still, and a sweep does not change a word behind it.
//!
//! A few wrong words may have spread to half of the heap, which a search visits edge by edge at random. So the search
//! takes few steps; if these do not suffice, another sweep continues with the current words. Each edge back in the
//! preorder may need one more sweep: after some sweeps the search runs to its end.
//!
//! The idea of searching for many sources with a word per node is that of Then et al., "The More the Merrier: Efficient
//! Multi-Source Graph Traversal", PVLDB 8(4), 2014; here the searches differ in the nodes that they avoid.

use super::chosen::{FEW, NO_PLACE, Owners, Word};
use super::rules::Code;
use super::tallies::add;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::{filled, lookup, offsets};
use heaplake_kit::column::BLOCK;
use heaplake_kit::{
    Array, ArrayPlan, Budget, ColumnReader, Context, Job, OffsetBlock, Offsets, ReadAt, ReverseReader, Scratch, Stack,
    StageError, WriteAt, on_resident,
};
use heaplake_schemas::ids::{NodeId, Preorder};
use heaplake_schemas::scratch::{self as columns, Column};
use std::marker::PhantomData;

/// Prefetch distance in edges and positions.
const AHEAD: usize = 8;

/// Number of sweeps, and length of the searches in between. Affects time only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Sweeps until the search runs to its end.
    pub sweeps: u32,
    /// Before that, it takes at most one step for this many nodes.
    pub nodes_per_step: usize,
}

impl Effort {
    /// Effort of the stage. A step of a search takes as long as a sweep over dozens of nodes.
    pub(super) const NORMAL: Self = Self { sweeps: 5, nodes_per_step: 512 };
}

/// Returns for each of these owners the bytes freed with it, and the spilled bytes. `owner_at` has the owner of the
/// node at each position of the preorder.
pub(super) fn find(
    chosen: &[u32],
    owner_at: Column<Code>,
    effort: Effort,
    who: &'static str,
    job: &Job<'_>,
) -> Result<(Vec<u64>, u64), StageError> {
    let owners = Owners::new(chosen, owner_at, job)?;
    let find = if chosen.len() <= FEW { find_in::<u8> } else { find_in::<u64> };
    find(&owners, effort, who, job)
}

fn find_in<W: Word>(
    owners: &Owners,
    effort: Effort,
    who: &'static str,
    job: &Job<'_>,
) -> Result<(Vec<u64>, u64), StageError> {
    let Job { scratch, context, .. } = *job;
    let positions = ColumnReader::open(scratch, columns::PREORDER_NODE)?.remaining() as usize;
    let mut plan = ArrayPlan::of(job, who);
    // Before the words, which may take almost all memory: the arrays of a search need at least page frames.
    let mut stacks = Stacks::new(&context.budget, scratch)?;
    let mut kept = Some(context.budget.reserve(who, KEPT)?);
    let (mut words,) = plan.make((filled(positions, W::of(0)),))?;
    for sweeps in 1.. {
        if on_resident!(words => sweep(words, owners, job))? > 0 {
            on_resident!(words => check(words, owners, &mut stacks, job))?;
        }
        if stacks.is_empty() {
            break;
        }
        let most = if sweeps < effort.sweeps { positions / effort.nodes_per_step } else { usize::MAX };
        if most > 0 {
            drop(kept.take());
            search(&mut words, owners, &mut stacks, most, &mut plan, job)?;
            if stacks.is_empty() {
                break;
            }
            kept = Some(context.budget.reserve(who, KEPT)?);
        }
        // Waiting nodes are not lost: their words have the bits, which the next sweep passes on.
        stacks.clear()?;
    }
    let bytes = on_resident!(words => sum(words, owners, job))?;
    Ok((bytes, plan.spilled_bytes()))
}

/// Bytes reserved for the search.
const KEPT: u64 = 9 << 19;

/// Joins the words of retainers, position by position. Marks the nodes to be checked; returns their number.
fn sweep<W: Word>(mut words: impl WriteAt<W>, owners: &Owners, job: &Job<'_>) -> Result<u64, StageError> {
    let mut degree = ReverseReader::open(job.scratch, columns::RETAINERS_DEGREE)?;
    let mut from = ReverseReader::open(job.scratch, columns::RETAINERS_FROM)?;
    let mut dominators = ColumnReader::open(job.scratch, columns::PREORDER_DOMINATOR)?;
    let mut owner = ColumnReader::open(job.scratch, owners.at)?;
    let mut doubtful = 0;
    for position in 0..words.count() {
        let dominator = dominators.next()?;
        let others = owners.others(owner.next()?);
        if position == 0 {
            words.set(0, W::of(others))?;
            continue;
        }
        // A path that avoids an owner passes the dominator: this is the upper bound.
        let most = words.get(dominator.index())?.bits() & others;
        let (mut word, mut is_behind) = (words.get(position)?.bits() & others, false);
        let mut left = degree.next()? as usize;
        while left > 0 {
            let part = from.next_slice(left)?;
            left -= part.len();
            if word == most {
                continue;
            }
            // If the dominator is among them, the words of others are not needed.
            if part.contains(&dominator) {
                word = most;
                continue;
            }
            for from in part {
                word |= words.get(from.index())?.bits() & others;
                if word == most {
                    break;
                }
                is_behind |= from.index() > position;
            }
        }
        if word != most && is_behind {
            doubtful += 1;
            word |= W::WAITS;
        }
        words.set(position, W::of(word))?;
        job.context.check_every(1 << 12, position)?;
    }
    Ok(doubtful)
}

/// Checks the marked nodes again, from the last position down, so that words pass along back edges. Nodes with new bits
/// wait for their edges to be followed.
fn check<W: Word>(
    mut words: impl WriteAt<W>,
    owners: &Owners,
    stacks: &mut Stacks,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let mut degree = ColumnReader::open(job.scratch, columns::RETAINERS_DEGREE)?;
    let mut from = ColumnReader::open(job.scratch, columns::RETAINERS_FROM)?;
    let mut owner = ReverseReader::open(job.scratch, owners.at)?;
    let mut nodes = ReverseReader::open(job.scratch, columns::PREORDER_NODE)?;
    // Positions and retainers skipped since the last marked node.
    let (mut positions, mut left_out) = (0, 0);
    for position in (1..words.count()).rev() {
        job.context.check_every(1 << 12, position)?;
        let before = words.get(position)?.bits();
        let mut left = degree.next()? as usize;
        if before & W::WAITS == 0 {
            positions += 1;
            left_out += left as u64;
            continue;
        }
        from.skip(left_out)?;
        owner.skip(positions)?;
        nodes.skip(positions)?;
        (positions, left_out) = (0, 0);
        let (others, node) = (owners.others(owner.next()?), nodes.next()?);
        let before = before & !W::WAITS;
        let mut word = before;
        while left > 0 {
            let part = from.next_slice(left)?;
            left -= part.len();
            for from in part {
                word |= words.get(from.index())?.bits() & others;
            }
        }
        if word != before {
            stacks.push(Place { position: Preorder(position as u32), node }, word == owners.all)?;
            word |= W::WAITS;
        }
        words.set(position, W::of(word))?;
    }
    Ok(())
}

/// A node, and its position in the preorder.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Place {
    position: Preorder,
    node: NodeId,
}

/// Waiting nodes, apart from those that can avoid all owners: these are followed first, so that most nodes are visited
/// once, and others again only after a path that avoids more owners was found.
struct Stacks {
    partly: Stack<Place>,
    wholly: Stack<Place>,
}

impl Stacks {
    fn new(budget: &Budget, scratch: &Scratch) -> Result<Self, StageError> {
        let stack = || Stack::new(budget, scratch, "owners.waiting");
        Ok(Self { partly: stack()?, wholly: stack()? })
    }

    fn clear(&mut self) -> Result<(), StageError> {
        while self.pop()?.is_some() {}
        Ok(())
    }

    #[inline]
    fn push(&mut self, place: Place, wholly: bool) -> Result<(), StageError> {
        if wholly { self.wholly.push(place) } else { self.partly.push(place) }
    }

    #[inline]
    fn pop(&mut self) -> Result<Option<Place>, StageError> {
        match self.wholly.pop()? {
            None => self.partly.pop(),
            next => Ok(next),
        }
    }

    fn is_empty(&self) -> bool {
        self.partly.is_empty() && self.wholly.is_empty()
    }
}

/// Spreads the bits of waiting nodes along the edges, in at most `most` steps.
fn search<W: Word>(
    words: &mut Array<W>,
    owners: &Owners,
    stacks: &mut Stacks,
    most: usize,
    plan: &mut ArrayPlan<'_>,
    job: &Job<'_>,
) -> Result<(), StageError> {
    // Targets of a node are adjacent, but their positions and owners are scattered: so a byte for the owner, and pages
    // for targets first.
    let (mut place, mut position, mut offsets, mut to) = plan.make((
        filled(words.count(), NO_PLACE),
        lookup(columns::NODE_PREORDER),
        offsets(columns::ESSENTIAL_DEGREE, columns::ESSENTIAL_TO),
        lookup(columns::ESSENTIAL_TO),
    ))?;
    let mut codes = ColumnReader::open(job.scratch, owners.at)?;
    on_resident!(place => fill(place, || Ok(owners.place(codes.next()?))))?;
    on_resident!(words, offsets, to, position, place => {
        let graph = Graph { offsets, to, position, place };
        Search { words, graph, owners, stacks, context: job.context, word: PhantomData }.run(most)
    })
}

fn fill(mut array: impl WriteAt<u8>, mut next: impl FnMut() -> Result<u8, StageError>) -> Result<(), StageError> {
    (0..array.count()).try_for_each(|at| Ok(array.set(at, next()?)?))
}

/// The essential edges by node, positions of nodes in the preorder, and by position the place of the owner.
struct Graph<O, E, P, C> {
    offsets: Offsets<O>,
    to: E,
    position: P,
    place: C,
}

struct Search<'a, A, G, W> {
    words: A,
    graph: G,
    owners: &'a Owners,
    stacks: &'a mut Stacks,
    context: &'a Context<'a>,
    word: PhantomData<W>,
}

impl<A, O, E, P, C, W> Search<'_, A, Graph<O, E, P, C>, W>
where
    A: WriteAt<W>,
    O: ReadAt<OffsetBlock>,
    E: ReadAt<NodeId>,
    P: ReadAt<Preorder>,
    C: ReadAt<u8>,
    W: Word,
{
    fn run(mut self, most: usize) -> Result<(), StageError> {
        let mut steps = 0;
        while steps < most
            && let Some(at) = self.stacks.pop()?
        {
            let word = self.words.get(at.position.index())?.bits();
            // A node on both stacks was already visited.
            if word & W::WAITS == 0 {
                continue;
            }
            let word = word & !W::WAITS;
            self.words.set(at.position.index(), W::of(word))?;
            let edges = self.graph.offsets.range(at.node.index())?;
            for edge in edges.clone() {
                if edge + AHEAD < edges.end {
                    let soon = self.graph.to.get(edge + AHEAD)?;
                    self.graph.position.prefetch(soon.index());
                }
                let node = self.graph.to.get(edge)?;
                let position = self.graph.position.get(node.index())?;
                self.reach(Place { position, node }, word)?;
            }
            steps += 1;
            self.context.check_every(1 << 12, steps)?;
        }
        Ok(())
    }

    /// Records a path to a node that avoids these owners.
    #[inline]
    fn reach(&mut self, to: Place, without: u64) -> Result<(), StageError> {
        let at = to.position.index();
        let before = self.words.get(at)?.bits();
        if without & !before == 0 {
            return Ok(());
        }
        let new = without & self.owners.others_than(self.graph.place.get(at)?) & !before;
        if new == 0 {
            return Ok(());
        }
        self.words.set(at, W::of(before | new | W::WAITS))?;
        let wholly = (before | new) & self.owners.all == self.owners.all;
        // A node that waits on the other stack is visited earlier if it can avoid all owners.
        if wholly || before & W::WAITS == 0 { self.stacks.push(to, wholly) } else { Ok(()) }
    }
}

/// Adds up, for each owner, the sizes of the nodes without a path that avoids it. Goes by node, since a word takes less
/// memory than a size.
fn sum<W: Word>(mut words: impl ReadAt<W>, owners: &Owners, job: &Job<'_>) -> Result<Vec<u64>, StageError> {
    let mut bytes = vec![0; owners.count];
    let mut positions = ColumnReader::open(job.scratch, columns::NODE_PREORDER)?;
    let mut sizes = ColumnReader::open(job.scratch, columns::NODE_SHALLOW)?;
    while positions.remaining() > 0 {
        let count = positions.remaining().min(BLOCK as u64) as usize;
        let (positions, sizes) = (positions.block(count)?, sizes.block(count)?);
        for (at, (position, &size)) in positions.iter().zip(sizes).enumerate() {
            if let Some(soon) = positions.get(at + AHEAD) {
                words.prefetch(soon.index());
            }
            if position.is_none() {
                continue;
            }
            let mut gone = owners.all & !words.get(position.index())?.bits();
            while gone != 0 {
                add(&mut bytes[gone.trailing_zeros() as usize], size)?;
                gone &= gone - 1;
            }
        }
        job.context.check()?;
    }
    Ok(bytes)
}
