//! A wide level of a breadth-first search, on all threads. Used by [`super::distances`].
//!
//! The level and the next one are sets. Threads take ranges of words: they set the distance of each node and add its
//! unreached targets to the next level. The set of nodes reached before this level does not change meanwhile, so
//! threads may read it, and the next level does not depend on the order of additions.
//!
//! Some nodes stay in the level for the calling thread: those with a paired edge to a new target, and those with
//! avoided edges.
//!
//! Resident memory: some words for each part.

use crate::special_edges::{ALL_FOLLOWED, Avoided};
use heaplake_kit::array::Fault;
use heaplake_kit::{
    Bitset, Context, Lookup, OffsetBlock, Offsets, OrderedPool, ReadAt, SharedBitset, StageError, on_resident,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::edge_flags;

/// Words of a part, with 64 nodes each.
const WORDS: usize = 1 << 8;

/// Maximum number of threads that share a level.
const MOST_THREADS: usize = 16;

/// Bytes of a part of a level, and of its place in queues.
const PART_BYTES: u64 = 256;

/// All edges in memory, shared by threads.
pub(crate) struct SharedEdges {
    offsets: Offsets,
    to: Lookup<NodeId>,
    /// None if all edges are followed.
    flags: Option<Lookup<u8>>,
}

impl SharedEdges {
    /// Shares the edges; `None` if some are not in memory.
    pub(crate) fn of(offsets: &Offsets, to: &Lookup<NodeId>, flags: Option<&Lookup<u8>>) -> Option<Self> {
        let flags = match flags {
            None => None,
            Some(flags) => Some(flags.share()?),
        };
        Some(Self { offsets: offsets.share()?, to: to.share()?, flags })
    }

    /// Sets the distance of the nodes of a level, and adds their unreached targets to the next level. Nodes that stay
    /// in the level are for the calling thread. The array has the distances of all nodes.
    pub(crate) fn expand<'a>(
        &self,
        level: &'a mut Bitset,
        distances: &'a mut [i32],
        distance: i32,
        before: Before<'_>,
        next: &mut Bitset,
        context: &Context<'_>,
    ) -> Result<(), StageError> {
        let pool = OrderedPool::plan(context, "distances: parts of a level", MOST_THREADS, PART_BYTES)?;
        let parts = level.words_mut().chunks_mut(WORDS).zip(distances.chunks_mut(64 * WORDS));
        let mut parts = parts.zip((0..).step_by(WORDS)).filter(|((words, _), _)| words.iter().any(|&word| word != 0));
        let fill = |part: &mut Part<'a>| {
            let Some(((words, distances), first)) = parts.next() else { return Ok(false) };
            *part = Part { words, distances, first, done: 0, failed: None };
            Ok(true)
        };
        let next = next.shared();
        let worker = || {
            let mut edges = Self::of(&self.offsets, &self.to, self.flags.as_ref());
            move |part: &mut Part<'a>| {
                let expanded = edges.as_mut().map_or(Ok(()), |edges| edges.expand_part(part, distance, before, next));
                part.failed = expanded.err();
            }
        };
        pool.run(context, fill, worker, |part| match part.failed.take() {
            Some(fault) => Err(fault.into()),
            None => context.step(part.done),
        })
    }

    fn expand_part(
        &mut self,
        part: &mut Part<'_>,
        distance: i32,
        before: Before<'_>,
        next: SharedBitset<'_>,
    ) -> Result<(), Fault> {
        let Self { offsets, to, flags } = self;
        match flags {
            None => on_resident!(offsets, to => part.expand(distance, offsets, ALL_FOLLOWED, to, before, next)),
            Some(flags) => {
                on_resident!(offsets, flags, to => part.expand(distance, offsets, flags, to, before, next))
            }
        }
    }
}

/// State of the search before a level.
#[derive(Clone, Copy)]
pub(crate) struct Before<'a> {
    pub reached: &'a Bitset,
    pub avoided: Option<&'a Avoided>,
}

/// Some words of a level, and the distances of their nodes.
#[derive(Default)]
struct Part<'a> {
    words: &'a mut [u64],
    distances: &'a mut [i32],
    /// The number of the first word.
    first: usize,
    /// Nodes finished.
    done: u64,
    failed: Option<Fault>,
}

impl Part<'_> {
    /// Sets the distance of the nodes and follows their edges.
    fn expand(
        &mut self,
        distance: i32,
        mut offsets: Offsets<impl ReadAt<OffsetBlock>>,
        mut flags: impl ReadAt<u8>,
        mut to: impl ReadAt<NodeId>,
        Before { reached, avoided }: Before<'_>,
        next: SharedBitset<'_>,
    ) -> Result<(), Fault> {
        for at in 0..self.words.len() {
            let mut nodes = self.words[at];
            while nodes != 0 {
                let bit = nodes & nodes.wrapping_neg();
                nodes ^= bit;
                let place = 64 * at + bit.trailing_zeros() as usize;
                let node = 64 * self.first + place;
                if avoided.is_some_and(|avoided| avoided.leave(NodeId(node as u32))) {
                    continue;
                }
                let mut has_pair = false;
                for edge in offsets.range(node)? {
                    let (flags, target) = (flags.get(edge)?, to.get(edge)?.index());
                    if flags & edge_flags::FOLLOWED != 0 && !reached.contains(target) {
                        match flags & edge_flags::PAIRED {
                            0 => next.insert(target),
                            _ => has_pair = true,
                        }
                    }
                }
                if !has_pair {
                    self.distances[place] = distance;
                    self.words[at] ^= bit;
                    self.done += 1;
                }
            }
        }
        Ok(())
    }
}
