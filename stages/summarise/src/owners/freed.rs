//! The bytes that would be freed if all objects of an owner were removed.
//!
//! An object is freed with an owner if every path from the root to it passes an object of the owner. Dominators do
//! not tell this: two objects of one owner may together hold a third. So each owner needs a search from the root that
//! avoids the owner's objects. Here [`AT_ONCE`] of these searches run as one: every node has a word with one bit per
//! owner, set when a path is found that avoids this owner. Bits are only ever set, so the order of the search does
//! not matter. A node with all bits set is done; such nodes are followed first, so that most nodes are visited once,
//! and others again only when a path that avoids more owners was found.
//!
//! The idea of searching for many sources with a word per node is that of Then et al., "The More the Merrier: Efficient
//! Multi-Source Graph Traversal", PVLDB 8(4), 2014; here the searches differ in where they may not go.

use super::rules::Code;
use super::tallies::add;
use heaplake_kit::array_plan::{filled, lookup, offsets};
use heaplake_kit::{ArrayPlan, ColumnReader, Context, Job, Offsets, ReadAt, Stack, StageError, WriteAt, on_resident};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column, Facts};
use std::ops::Deref;

/// Owners per combined search.
pub const AT_ONCE: usize = 63;

/// The bit of a word that says that the node waits for its edges to be followed.
const WAITS: u64 = 1 << 63;

/// Owned by none of the owners of this search.
const OTHER: u8 = u8::MAX;

/// An edge's target is prefetched this many edges ahead.
const AHEAD: usize = 8;

/// For each of these owners the bytes that would be freed with it, and the spilled bytes.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Overflow`], [`StageError::Cancelled`].
pub fn find(
    chosen: &[u32],
    owner_of: Column<Code>,
    facts: &Facts,
    who: &'static str,
    job: &Job<'_>,
) -> Result<(Vec<u64>, u64), StageError> {
    let Job { scratch, context, .. } = *job;
    let partly = Stack::new(&context.budget, scratch, "owners.partly")?;
    let wholly = Stack::new(&context.budget, scratch, "owners.wholly")?;
    let nodes = facts.node_count as usize;
    let mut plan = ArrayPlan::of(job, who);
    let (mut without, mut owner, mut offsets, mut to) = plan.make((
        filled(nodes, 0u64),
        filled(nodes, OTHER),
        offsets(columns::ESSENTIAL_DEGREE),
        lookup(columns::ESSENTIAL_TO),
    ))?;
    places(chosen, owner_of, &mut owner, job)?;
    let all = (WAITS - 1) >> (AT_ONCE - chosen.len());
    on_resident!(without, owner, offsets, to => {
        Search { all, without, owner, offsets, to, partly, wholly, context }.run(facts.root, job)
    })?;
    let bytes = on_resident!(without, owner => sum(chosen.len(), all, facts, without, owner, job))?;
    Ok((bytes, plan.spilled_bytes()))
}

/// The place of each node's owner among those that are looked at.
fn places(
    chosen: &[u32],
    owner_of: Column<Code>,
    owner: &mut impl WriteAt<u8>,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let most = chosen.iter().max().map_or(0, |&most| most as usize + 1);
    let mut place_of = context.budget.filled("owners: places", most, OTHER)?;
    for (place, &owner) in chosen.iter().enumerate() {
        place_of[owner as usize] = place as u8;
    }
    let mut codes = ColumnReader::open(scratch, owner_of)?;
    for node in 0..owner.count() {
        if let Some(&place) = codes.next()?.owner().and_then(|owner| place_of[..].get(owner as usize)) {
            owner.set(node, place)?;
        }
    }
    Ok(())
}

struct Search<'a, R, P, O, B, E> {
    /// The bits of all owners.
    all: u64,
    /// For each node, the owners that some path to it avoids, and [`WAITS`].
    without: R,
    owner: P,
    offsets: Offsets<O, B>,
    to: E,
    /// Nodes that wait, apart those that can do without all owners.
    partly: Stack<NodeId>,
    wholly: Stack<NodeId>,
    context: &'a Context<'a>,
}

impl<R, P, O, B, E> Search<'_, R, P, O, B, E>
where
    R: WriteAt<u64>,
    P: ReadAt<u8>,
    O: ReadAt<u32>,
    B: Deref<Target = [u64]>,
    E: ReadAt<NodeId>,
{
    fn run(mut self, root: NodeId, job: &Job<'_>) -> Result<(), StageError> {
        self.reach(root, self.all)?;
        // The root holds the orphans.
        let mut orphans = ColumnReader::open(job.scratch, columns::ESSENTIAL_ORPHAN)?;
        while orphans.remaining() > 0 {
            self.reach(orphans.next()?, self.all)?;
        }
        let mut steps = 0u64;
        loop {
            let node = match self.wholly.pop()? {
                Some(node) => node,
                None => match self.partly.pop()? {
                    Some(node) => node,
                    None => return Ok(()),
                },
            };
            let word = self.without.change(node.index(), |word| std::mem::replace(word, *word & !WAITS))?;
            // One that waited on both stacks has had its turn.
            if word & WAITS == 0 {
                continue;
            }
            let edges = self.offsets.range(node.index())?;
            for edge in edges.clone() {
                if edge + AHEAD < edges.end {
                    let soon = self.to.get(edge + AHEAD)?.index();
                    self.without.prefetch(soon);
                    self.owner.prefetch(soon);
                }
                let to = self.to.get(edge)?;
                self.reach(to, word & self.all)?;
            }
            steps += 1;
            if steps.is_multiple_of(1 << 14) {
                self.context.check()?;
            }
        }
    }

    /// Records a path to a node that avoids these owners.
    #[inline]
    fn reach(&mut self, node: NodeId, without: u64) -> Result<(), StageError> {
        let word = self.without.get(node.index())?;
        if without & !word == 0 {
            return Ok(());
        }
        let place = self.owner.get(node.index())?;
        let new = if place == OTHER { without } else { without & !(1 << place) } & !word;
        if new == 0 {
            return Ok(());
        }
        let now = word | new;
        self.without.set(node.index(), now | WAITS)?;
        let wholly = now & self.all == self.all;
        match (word & WAITS != 0, wholly) {
            // It waits among the others already; here its turn comes sooner.
            (_, true) => self.wholly.push(node),
            (false, false) => self.partly.push(node),
            (true, false) => Ok(()),
        }
    }
}

/// Adds up, for each owner, the sizes of the nodes that no path avoiding it reaches.
fn sum(
    count: usize,
    all: u64,
    facts: &Facts,
    mut without: impl ReadAt<u64>,
    mut owner: impl ReadAt<u8>,
    job: &Job<'_>,
) -> Result<Vec<u64>, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut bytes = vec![0; count];
    let mut sizes = ColumnReader::open(scratch, columns::NODE_SHALLOW)?;
    let mut numbers = ColumnReader::open(scratch, columns::NODE_PREORDER)?;
    for node in 0..facts.node_count as usize {
        let (size, reached) = (sizes.next()?, !numbers.next()?.is_none());
        let mut gone = if reached {
            all & !without.get(node)?
        } else {
            // Garbage belongs to nobody; other nodes out of reach hang under the root, each for itself.
            let place = owner.get(node)?;
            if place == OTHER { 0 } else { 1 << place }
        };
        while gone != 0 {
            add(&mut bytes[gone.trailing_zeros() as usize], size)?;
            gone &= gone - 1;
        }
        if node.is_multiple_of(1 << 16) {
            context.check()?;
        }
    }
    Ok(bytes)
}
