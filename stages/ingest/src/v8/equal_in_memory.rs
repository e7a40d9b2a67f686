//! The first node with each value, for columns in memory. Used by [`super::equality`].
//!
//! One pass over the nodes, in blocks on all threads. It hashes a block's nodes, looks up the first node with each hash
//! in a table, and compares later nodes with it in place, edge by edge: nearly always both have the same labels in the
//! same order. Comparing a block and hashing a later one are one job. So most values are found in one pass, without
//! writing records.
//!
//! The hash is a sum over the slots, which need not be sorted. Nodes with equal hashes and different values are
//! compared one by one. Ordinary inputs have none of these, nor large nodes with different orders of labels; if there
//! are many, or memory does not suffice, this gives up, and the two passes of [`super::equality`] compute the same
//! result.
//!
//! Memory: 32 to 64 bytes per distinct value in the table, half as much again while it grows, and some blocks of 4,096
//! nodes per thread.

use super::equal_nodes::{Columns, Heap, Place};
use super::first_nodes::Firsts;
use super::meanings::{Aids, Outcome};
use super::shown::Texts;
use super::slots::{self, HELD, Slot};
use heaplake_kit::{ColumnWriter, Context, OrderedPool, Scratch, StageError, finish_all};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;

/// Limit of nodes per block.
const BLOCK: usize = 1 << 12;

/// Number of edges that ends a block.
const EDGES: usize = 1 << 15;

/// More threads would wait for the table.
const MOST_THREADS: usize = 16;

/// Limit of nodes with the hash of another value.
const MOST_COLLISIONS: usize = 1 << 10;

/// Prefetch distance in the table, nodes.
const AHEAD: usize = 32;

/// Reason for no result.
enum Stop {
    Error(StageError),
    GiveUp,
}

impl From<StageError> for Stop {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Budget { .. } => Self::GiveUp,
            error => Self::Error(error),
        }
    }
}

/// Finds and writes values, numbers of slots and limits of all nodes; returns false if it gave up.
pub(super) fn find(heap: &Heap<'_>, scratch: &Scratch, context: &Context<'_>) -> Result<bool, StageError> {
    match try_find(heap, scratch, context) {
        Ok(()) => Ok(true),
        Err(Stop::GiveUp) => Ok(false),
        Err(Stop::Error(error)) => Err(error),
    }
}

fn try_find(heap: &Heap<'_>, scratch: &Scratch, context: &Context<'_>) -> Result<(), Stop> {
    // A block, and the nodes to compare it with.
    let bytes = BLOCK * (size_of::<u64>() + 2 * size_of::<Place>() + size_of::<u32>() + 1);
    let sorting = if heap.follows { (EDGES + HELD) * size_of::<NodeId>() + HELD * size_of::<Slot>() } else { 0 };
    let pool = OrderedPool::plan(context, "equality: blocks", MOST_THREADS, (bytes + sorting) as u64)?;
    let found = RefCell::new(Search {
        heap,
        firsts: Firsts::new(&context.budget)?,
        pending: VecDeque::new(),
        others: FxHashMap::default(),
        collisions: 0,
        values: ColumnWriter::create(scratch, columns::EQUAL_VALUE)?,
        degrees: ColumnWriter::create(scratch, columns::EQUAL_DEGREE)?,
        limits: ColumnWriter::create(scratch, columns::EQUAL_LIMITS)?,
        to: heap.follows.then(|| ColumnWriter::create(scratch, columns::EQUAL_TO)).transpose()?,
    });
    let mut next = Place { node: 0, edges: 0 };
    pool.run::<_, Stop, _>(
        context,
        |block: &mut Block| {
            block.before = found.borrow_mut().pending.pop_front().unwrap_or_default();
            block.begin(&mut next, &heap.columns.counts, context)
        },
        || {
            let mut aids = Aids { known: heap.columns, texts: Texts::new(heap.strings), context };
            let mut followed = Vec::new();
            move |block| block.work(heap, &mut aids, &mut followed)
        },
        |block| found.borrow_mut().take(block),
    )?;
    found.into_inner().finish()
}

/// Consecutive nodes, each with the first node of its hash, possibly itself.
#[derive(Default)]
struct Claims {
    begin: u32,
    edges: u32,
    firsts: Vec<Place>,
}

/// A block in progress.
#[derive(Default)]
struct Block {
    /// The nodes to hash.
    nodes: Range<u32>,
    edges: u32,
    hashes: Vec<u64>,
    degrees: Vec<u32>,
    limits: Vec<u8>,
    /// Followed targets.
    to: Vec<NodeId>,
    /// The nodes of an earlier block to compare, and those that differ from the first node of their hash.
    before: Claims,
    different: Vec<Place>,
    failed: Option<Stop>,
}

impl Block {
    /// Takes the next nodes; returns whether there are any.
    fn begin(&mut self, next: &mut Place, counts: &[u32], context: &Context<'_>) -> Result<bool, Stop> {
        let Place { node: first, edges } = *next;
        let mut end = edges as usize;
        let mut nodes = 0;
        for &count in counts[first as usize..].iter().take(BLOCK) {
            nodes += 1;
            end += count as usize;
            if end >= edges as usize + EDGES {
                break;
            }
        }
        context.step(2 * (end as u64 - u64::from(edges)))?;
        (self.nodes, self.edges) = (first..first + nodes, edges);
        *next = Place { node: first + nodes, edges: end as u32 };
        Ok(nodes > 0 || !self.before.firsts.is_empty())
    }

    /// Compares the nodes of the earlier block, and hashes those of this one.
    fn work(&mut self, heap: &Heap<'_>, aids: &mut Aids<'_, &Columns>, followed: &mut Vec<Slot>) {
        self.different.clear();
        let compared = self.before.compare(heap, &mut self.different);
        self.failed = compared.and_then(|()| self.hash(heap, aids, followed)).err();
    }

    fn hash(&mut self, heap: &Heap<'_>, aids: &mut Aids<'_, &Columns>, followed: &mut Vec<Slot>) -> Result<(), Stop> {
        self.hashes.clear();
        self.degrees.clear();
        self.limits.clear();
        self.to.clear();
        let mut edges = self.edges;
        for node in self.nodes.clone() {
            let (mut hash, mut outcome) = (0, Outcome::default());
            if !heap.meanings.opaque.contains(node as usize) {
                (hash, outcome) = heap.hash(Place { node, edges }, aids, followed)?;
                if heap.follows {
                    slots::sort(followed);
                    self.to.extend(followed.iter().map(|slot| slot.target()));
                    followed.clear();
                }
            }
            self.hashes.push(hash);
            self.degrees.push(outcome.degree);
            self.limits.push(outcome.limits);
            edges += heap.columns.counts[node as usize];
        }
        Ok(())
    }
}

impl Claims {
    fn compare(&self, heap: &Heap<'_>, different: &mut Vec<Place>) -> Result<(), Stop> {
        let mut at = Place { node: self.begin, edges: self.edges };
        for &first in &self.firsts {
            if first.node != at.node && !heap.same(first, at)?.ok_or(Stop::GiveUp)? {
                different.push(at);
            }
            at = heap.next(at);
        }
        Ok(())
    }
}

/// State of the search.
struct Search<'a> {
    heap: &'a Heap<'a>,
    firsts: Firsts<'a>,
    /// Blocks not compared yet.
    pending: VecDeque<Claims>,
    /// By the first node with a hash, the first nodes with other values of that hash.
    others: FxHashMap<u32, Vec<Place>>,
    collisions: usize,
    values: ColumnWriter<NodeId>,
    degrees: ColumnWriter<u32>,
    limits: ColumnWriter<u8>,
    to: Option<ColumnWriter<NodeId>>,
}

impl Search<'_> {
    /// Receives a completed block.
    fn take(&mut self, block: &mut Block) -> Result<(), Stop> {
        block.failed.take().map_or(Ok(()), Err)?;
        let mut claims = std::mem::take(&mut block.before);
        self.settle(&mut claims, &block.different)?;
        self.degrees.extend(&block.degrees)?;
        self.limits.extend(&block.limits)?;
        self.to.as_mut().map(|to| to.extend(&block.to)).transpose()?;
        claims.firsts.clear();
        (claims.begin, claims.edges) = (block.nodes.start, block.edges);
        let mut at = Place { node: block.nodes.start, edges: block.edges };
        for (number, &hash) in block.hashes.iter().enumerate() {
            if let Some(&hash) = block.hashes.get(number + AHEAD) {
                self.firsts.prefetch(hash);
            }
            let is_opaque = self.heap.meanings.opaque.contains(at.node as usize);
            claims.firsts.push(if is_opaque { at } else { self.firsts.find(hash, at)? });
            at = self.heap.next(at);
        }
        self.pending.push_back(claims);
        Ok(())
    }

    /// Writes the values of compared nodes.
    fn settle(&mut self, claims: &mut Claims, different: &[Place]) -> Result<(), Stop> {
        for &at in different {
            let first = &mut claims.firsts[(at.node - claims.begin) as usize];
            *first = self.collide(first.node, at)?;
        }
        for first in &claims.firsts {
            self.values.push(NodeId(first.node))?;
        }
        Ok(())
    }

    /// Returns the first node with the value of a node that differs from the first one with its hash.
    #[cold]
    fn collide(&mut self, first: u32, at: Place) -> Result<Place, Stop> {
        self.collisions += 1;
        if self.collisions > MOST_COLLISIONS {
            return Err(Stop::GiveUp);
        }
        let others = self.others.entry(first).or_default();
        for &other in others.iter() {
            if self.heap.same(other, at)?.ok_or(Stop::GiveUp)? {
                return Ok(other);
            }
        }
        others.push(at);
        Ok(at)
    }

    /// Compares the last blocks, and completes the columns.
    fn finish(mut self) -> Result<(), Stop> {
        let mut different = Vec::new();
        while let Some(mut claims) = self.pending.pop_front() {
            different.clear();
            claims.compare(self.heap, &mut different)?;
            self.settle(&mut claims, &different)?;
        }
        finish_all((self.values, self.degrees, self.limits))?;
        self.to.map(ColumnWriter::finish).transpose()?;
        Ok(())
    }
}
