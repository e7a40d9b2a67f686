//! The bytes that would be freed if all objects of an owner were removed.
//!
//! An object is freed with an owner if every path from the root to it passes an object of the owner. Dominators do
//! not tell this: two objects of one owner may together hold a third. So each owner needs a search from the root that
//! avoids the owner's objects. Here [`AT_ONCE`] of these searches run as one: every node has a word with one bit per
//! owner, set when a path is found that avoids this owner. Bits are only ever set, so order does not matter.
//!
//! # Sweep, check, search
//!
//! Most words follow from those of nodes that come before in the preorder. So a *sweep* over the retainers, in the
//! order in which they lie on disk, joins for each node the words of its retainers, less its own owner, and stops early
//! when all other owners are avoided already, or at the immediate dominator: every path that avoids an owner passes it, so
//! whatever other retainers could add, it will have in the end as well.
//!
//! What is left are nodes whose retainers were all looked at, one of them further back in the preorder, where the sweep
//! had not been. A second pass, the *check*, looks at these again. Where it finds new bits, a *search* forward along the
//! edges spreads them. When it ends, no path is missed: take the first node on a path that avoids an owner whose word
//! lacks the bit. The one before has it, by the sweep or later. Had it got it later, the search would have followed the
//! edge. If the sweep stopped early at the dominator, that is on the path, so has the bit, and the same holds for its edge;
//! else the sweep or the check looked at the one before.
//!
//! The idea of searching for many sources with a word per node is that of Then et al., "The More the Merrier: Efficient
//! Multi-Source Graph Traversal", PVLDB 8(4), 2014; here the searches differ in where they may not go.

use super::rules::Code;
use super::tallies::add;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::{filled, lookup, offsets};
use heaplake_kit::column::BLOCK;
use heaplake_kit::{
    Array, ArrayPlan, BudgetVec, ColumnReader, Context, Job, OffsetBlock, Offsets, ReadAt, ReverseReader, Scratch,
    Stack, StageError, WriteAt, on_resident,
};
use heaplake_schemas::ids::{NodeId, Preorder};
use heaplake_schemas::scratch::{self as columns, Column};
use std::marker::PhantomData;

/// Owners per combined search.
pub const AT_ONCE: usize = 63;

/// Owners whose bits fit a byte.
pub const FEW: usize = 7;

/// What an edge or a position leads to is prefetched so many before.
const AHEAD: usize = 8;

/// One bit per owner, and one more.
trait Word: Pod {
    /// The bit that says that the node waits for its edges to be followed, or before that, to be checked.
    const WAITS: u64;

    fn of(bits: u64) -> Self;

    fn bits(self) -> u64;
}

impl Word for u8 {
    const WAITS: u64 = 1 << FEW;

    #[inline]
    fn of(bits: u64) -> Self {
        bits as Self
    }

    #[inline]
    fn bits(self) -> u64 {
        self.into()
    }
}

impl Word for u64 {
    const WAITS: u64 = 1 << AT_ONCE;

    #[inline]
    fn of(bits: u64) -> Self {
        bits
    }

    #[inline]
    fn bits(self) -> u64 {
        self
    }
}

/// For each of these owners the bytes that would be freed with it, and the spilled bytes. `owner_at` has the owner of the
/// node at each position of the preorder.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Overflow`], [`StageError::Cancelled`].
pub fn find(
    chosen: &[u32],
    owner_at: Column<Code>,
    who: &'static str,
    job: &Job<'_>,
) -> Result<(Vec<u64>, u64), StageError> {
    let owners = Owners::new(chosen, owner_at, job)?;
    if chosen.len() <= FEW { find_in::<u8>(&owners, who, job) } else { find_in::<u64>(&owners, who, job) }
}

fn find_in<W: Word>(owners: &Owners, who: &'static str, job: &Job<'_>) -> Result<(Vec<u64>, u64), StageError> {
    let Job { scratch, context, .. } = *job;
    let waiting = || Stack::new(&context.budget, scratch, "owners.waiting");
    let mut stacks = Stacks { partly: waiting()?, wholly: waiting()? };
    let positions = ColumnReader::open(scratch, columns::PREORDER_NODE)?.remaining() as usize;
    let mut plan = ArrayPlan::of(job, who);
    // If the search must follow, its arrays need frames at least.
    let kept = context.budget.reserve(who, KEPT)?;
    let (mut words,) = plan.make((filled(positions, W::of(0)),))?;
    let doubtful = on_resident!(words => sweep(words, owners, job))?;
    if doubtful > 0 {
        on_resident!(words => check(words, owners, &mut stacks, job))?;
    }
    drop(kept);
    if !stacks.is_empty() {
        search(&mut words, owners, stacks, &mut plan, job)?;
    }
    let bytes = on_resident!(words => sum(words, owners, job))?;
    Ok((bytes, plan.spilled_bytes()))
}

/// Bytes that are kept for the search.
const KEPT: u64 = 9 << 19;

/// The owners that are looked at.
struct Owners {
    count: usize,
    /// The bits of all of them.
    all: u64,
    /// The bit of an owner by its number, for all but the last, which are not looked at.
    bits: BudgetVec<u64>,
    at: Column<Code>,
}

/// The place of no chosen owner among them.
const NO_PLACE: u8 = u8::MAX;

impl Owners {
    fn new(chosen: &[u32], at: Column<Code>, job: &Job<'_>) -> Result<Self, StageError> {
        let most = chosen.iter().max().map_or(0, |&most| most as usize + 1);
        let mut bits = job.context.budget.filled("owners: places", most, 0u64)?;
        chosen.iter().enumerate().for_each(|(place, &owner)| bits[owner as usize] = 1 << place);
        Ok(Self { count: chosen.len(), all: u64::MAX >> (u64::BITS as usize - chosen.len()), bits, at })
    }

    /// The bits of all but the owner of a node.
    #[inline]
    fn others(&self, code: Code) -> u64 {
        let own = code.owner().and_then(|owner| self.bits[..].get(owner as usize));
        self.all & !own.map_or(0, |&own| own)
    }

    /// Which of the chosen ones the owner of a node is.
    fn place(&self, code: Code) -> u8 {
        match self.all & !self.others(code) {
            0 => NO_PLACE,
            bit => bit.trailing_zeros() as u8,
        }
    }

    /// The bits of all but the one at a place.
    #[inline]
    fn others_than(&self, place: u8) -> u64 {
        if place == NO_PLACE { self.all } else { self.all & !(1 << place) }
    }
}

/// Retainers of one position after the other, from the first; and what both passes over them need.
struct Retainers {
    degree: ReverseReader<u32>,
    from: ReverseReader<Preorder>,
    dominator: ColumnReader<Preorder>,
    owner: ColumnReader<Code>,
}

impl Retainers {
    fn open(owners: &Owners, scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            degree: ReverseReader::open(scratch, columns::RETAINERS_DEGREE)?,
            from: ReverseReader::open(scratch, columns::RETAINERS_FROM)?,
            dominator: ColumnReader::open(scratch, columns::PREORDER_DOMINATOR)?,
            owner: ColumnReader::open(scratch, owners.at)?,
        })
    }

    /// Shows the retainers of the next position, in parts, until `look` returns true; in any order.
    #[inline]
    fn each(&mut self, mut look: impl FnMut(&[Preorder]) -> Result<bool, StageError>) -> Result<(), StageError> {
        let (mut left, mut done) = (self.degree.next()? as usize, false);
        while left > 0 {
            let part = self.from.next_slice(left)?;
            left -= part.len();
            done = done || look(part)?;
        }
        Ok(())
    }
}

/// Joins the words of retainers, position by position. Marks those that must be checked; how many there are.
fn sweep<W: Word>(mut words: impl WriteAt<W>, owners: &Owners, job: &Job<'_>) -> Result<u64, StageError> {
    let mut retainers = Retainers::open(owners, job.scratch)?;
    let mut doubtful = 0;
    for position in 0..words.count() {
        let dominator = retainers.dominator.next()?;
        let others = owners.others(retainers.owner.next()?);
        if position == 0 {
            words.set(0, W::of(others))?;
            continue;
        }
        let (mut word, mut is_settled, mut is_behind) = (0, false, false);
        retainers.each(|part| {
            // Where the dominator is among them, the words of others need not be looked up.
            if part.contains(&dominator) {
                word |= words.get(dominator.index())?.bits() & others;
                is_settled = true;
                return Ok(true);
            }
            for from in part {
                word |= words.get(from.index())?.bits() & others;
                if word == others {
                    is_settled = true;
                    return Ok(true);
                }
                is_behind |= from.index() > position;
            }
            Ok(false)
        })?;
        if !is_settled && is_behind {
            doubtful += 1;
            word |= W::WAITS;
        }
        words.set(position, W::of(word))?;
        if position.is_multiple_of(1 << 16) {
            job.context.check()?;
        }
    }
    Ok(doubtful)
}

/// Looks again at what the sweep left in doubt. What gets new bits waits for its edges to be followed.
fn check<W: Word>(
    mut words: impl WriteAt<W>,
    owners: &Owners,
    stacks: &mut Stacks,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let mut retainers = Retainers::open(owners, job.scratch)?;
    let mut nodes = ColumnReader::open(job.scratch, columns::PREORDER_NODE)?;
    // Positions and retainers that are left out: those before the next one in doubt.
    let (mut positions, mut left_out) = (1, 0);
    for position in 1..words.count() {
        if position.is_multiple_of(1 << 16) {
            job.context.check()?;
        }
        let before = words.get(position)?.bits();
        if before & W::WAITS == 0 {
            positions += 1;
            left_out += u64::from(retainers.degree.next()?);
            continue;
        }
        retainers.from.skip(left_out)?;
        retainers.owner.skip(positions)?;
        nodes.skip(positions)?;
        (positions, left_out) = (0, 0);
        let (others, node) = (owners.others(retainers.owner.next()?), nodes.next()?);
        let before = before & !W::WAITS;
        let mut word = before;
        retainers.each(|part| {
            for from in part {
                word |= words.get(from.index())?.bits() & others;
            }
            Ok(word == others)
        })?;
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

/// Nodes that wait, apart those that can do without all owners: these are followed first, so that most are visited
/// once, and others again only when a path that avoids more owners was found.
struct Stacks {
    partly: Stack<Place>,
    wholly: Stack<Place>,
}

impl Stacks {
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

/// Spreads what waits along the edges.
fn search<W: Word>(
    words: &mut Array<W>,
    owners: &Owners,
    stacks: Stacks,
    plan: &mut ArrayPlan<'_>,
    job: &Job<'_>,
) -> Result<(), StageError> {
    // Of an edge, its target's position and owner are anywhere, while targets of a node are side by side: so a byte for the
    // owner, and pages for targets first.
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
        Search { words, graph, owners, stacks, context: job.context, word: PhantomData }.run()
    })
}

fn fill(mut array: impl WriteAt<u8>, mut next: impl FnMut() -> Result<u8, StageError>) -> Result<(), StageError> {
    (0..array.count()).try_for_each(|at| Ok(array.set(at, next()?)?))
}

/// The essential edges by node, where nodes are in the preorder, and by position which of the chosen owners has them.
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
    stacks: Stacks,
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
    fn run(mut self) -> Result<(), StageError> {
        let mut steps = 0u64;
        while let Some(at) = self.stacks.pop()? {
            let word = self.words.get(at.position.index())?.bits();
            // One that waited on both stacks has had its turn.
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
            if steps.is_multiple_of(1 << 14) {
                self.context.check()?;
            }
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
        // One that waits among the others already has its turn sooner if it can do without all.
        if wholly || before & W::WAITS == 0 { self.stacks.push(to, wholly) } else { Ok(()) }
    }
}

/// Adds up, for each owner, the sizes of the nodes that no path avoiding it reaches. Goes by node, since a word takes less
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
