//! The first node with each value, where all columns of nodes and edges are in memory. Used by [`super::equality`].
//!
//! One pass over the nodes, in blocks on all threads. A block's nodes are hashed; a table has the first node with each
//! hash; and the nodes that have one before them are compared with it, edge by edge where they are: nearly always
//! both have the same labels in the same order. The comparison of a block goes with the hashing of a later one. So most
//! values are settled in the pass, and none is written down.
//!
//! The hash is a sum over the slots, which need not be sorted for it. Nodes whose hashes are equal and whose values are
//! not are compared with each other, one by one. Of these, and of large nodes with other orders of labels, there are
//! none in ordinary inputs; where there are many, or where memory does not suffice, this gives up, and the two passes
//! of [`super::equality`] find the same.
//!
//! Memory: 32 to 64 bytes per distinct value in the table, half as much again while it grows, and for each thread some
//! blocks of 4,096 nodes.

use super::shown::{Seen, Texts};
use super::slots::{self, HELD, Meaning, Slot};
use super::survey::TRAITS;
use super::value_rules::{Edge, Node, Rules};
use heaplake_kit::naming::mix;
use heaplake_kit::{
    Bitset, Budget, BudgetVec, ColumnMap, ColumnWriter, Context, OrderedPool, ReadAt, Scratch, StageError, StringTable,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch as columns;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;

/// Nodes of a block, at most.
const BLOCK: usize = 1 << 12;

/// Edges after which a block ends.
const EDGES: usize = 1 << 15;

/// More threads than this wait for the table.
const MOST_THREADS: usize = 16;

/// Edges of nodes that are compared although their labels have other orders, at most.
const SORTED: usize = 1 << 12;

/// Nodes whose hash is that of another value, at most.
const MOST_COLLISIONS: usize = 1 << 10;

/// Nodes ahead of which a place of the table is fetched.
const AHEAD: usize = 16;

/// Why there is no answer.
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

/// The columns, where they are.
pub struct Columns {
    kinds: ColumnMap<u8>,
    names: ColumnMap<StringId>,
    sizes: ColumnMap<u64>,
    counts: ColumnMap<u32>,
    traits: ColumnMap<u8>,
    edge_kinds: ColumnMap<u8>,
    edge_names: ColumnMap<u32>,
    targets: ColumnMap<NodeId>,
}

impl Columns {
    /// The columns, if all are in memory, and if no node has more edges than one thread sorts where targets are to be
    /// followed.
    ///
    /// # Errors
    /// [`StageError::Scratch`] when one does not hold whole elements.
    pub fn open(scratch: &Scratch, follows: bool) -> Result<Option<Self>, StageError> {
        let bytes = [columns::NODE_KIND, columns::EDGE_KIND, TRAITS].iter().all(|&column| scratch.is_resident(column));
        let numbers = [columns::NODE_EDGE_COUNT, columns::EDGE_NAME].iter().all(|&column| scratch.is_resident(column));
        let others = scratch.is_resident(columns::NODE_NAME) && scratch.is_resident(columns::NODE_SELF);
        if !bytes || !numbers || !others || !scratch.is_resident(columns::EDGE_TO) {
            return Ok(None);
        }
        let targets = ColumnMap::uncounted(scratch, columns::EDGE_TO)?;
        let counts = ColumnMap::uncounted(scratch, columns::NODE_EDGE_COUNT)?;
        let is_large = |&count: &u32| count as usize > HELD;
        if u32::try_from(targets.len()).is_err() || (follows && counts.iter().any(is_large)) {
            return Ok(None);
        }
        Ok(Some(Self {
            kinds: ColumnMap::uncounted(scratch, columns::NODE_KIND)?,
            names: ColumnMap::uncounted(scratch, columns::NODE_NAME)?,
            sizes: ColumnMap::uncounted(scratch, columns::NODE_SELF)?,
            counts,
            traits: ColumnMap::uncounted(scratch, TRAITS)?,
            edge_kinds: ColumnMap::uncounted(scratch, columns::EDGE_KIND)?,
            edge_names: ColumnMap::uncounted(scratch, columns::EDGE_NAME)?,
            targets,
        }))
    }
}

/// A node, and where its edges begin.
#[derive(Clone, Copy)]
struct Place {
    node: u32,
    edges: u32,
}

/// The nodes and what their values consist of.
pub struct Heap<'a> {
    /// The columns.
    pub columns: &'a Columns,
    /// What kinds and names mean.
    pub rules: &'a Rules,
    /// Nodes that are compared by identity.
    pub opaque: &'a Bitset,
    /// Texts.
    pub strings: &'a StringTable,
    /// Whether the targets of slots are asked for.
    pub follows: bool,
}

/// What a thread hashes with.
struct Aids<'a> {
    texts: Texts<'a>,
    /// The slots of the last node that are followed.
    followed: Vec<Slot>,
}

/// What a node's own columns and edges give.
struct Hashed {
    hash: u64,
    degree: u32,
    limits: u8,
}

impl Heap<'_> {
    /// Finds values, numbers of slots and limits of all nodes, and writes them; false if it gave up.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Cancelled`].
    pub fn find(&self, scratch: &Scratch, context: &Context<'_>) -> Result<bool, StageError> {
        match self.try_find(scratch, context) {
            Ok(()) => Ok(true),
            Err(Stop::GiveUp) => Ok(false),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    fn try_find(&self, scratch: &Scratch, context: &Context<'_>) -> Result<(), Stop> {
        // A block, and what it is compared with.
        let bytes = BLOCK * (size_of::<u64>() + 2 * size_of::<Place>() + size_of::<u32>() + 1);
        let sorting = if self.follows { (EDGES + HELD) * size_of::<NodeId>() + HELD * size_of::<Slot>() } else { 0 };
        let pool = OrderedPool::plan(context, "equality: blocks", MOST_THREADS, (bytes + sorting) as u64)?;
        let found = RefCell::new(Found {
            heap: self,
            firsts: Firsts::new(&context.budget)?,
            pending: VecDeque::new(),
            others: FxHashMap::default(),
            collisions: 0,
            values: ColumnWriter::create(scratch, columns::EQUAL_VALUE)?,
            degrees: ColumnWriter::create(scratch, columns::EQUAL_DEGREE)?,
            limits: ColumnWriter::create(scratch, columns::EQUAL_LIMITS)?,
            to: self.follows.then(|| ColumnWriter::create(scratch, columns::EQUAL_TO)).transpose()?,
        });
        let mut next = Place { node: 0, edges: 0 };
        pool.run::<_, Stop, _>(
            context,
            |block: &mut Block| {
                block.before = found.borrow_mut().pending.pop_front().unwrap_or_default();
                block.begin(&mut next, &self.columns.counts, context)
            },
            || {
                let mut aids = Aids { texts: Texts::new(self.strings), followed: Vec::new() };
                move |block| block.work(self, &mut aids, context)
            },
            |block| found.borrow_mut().take(block),
        )?;
        found.into_inner().finish()
    }

    #[inline]
    fn node(&self, node: usize) -> Node {
        let Columns { kinds, names, sizes, .. } = self.columns;
        Node { kind: kinds[node], name: names[node], bytes: sizes[node] }
    }

    /// The places of a node's edges.
    #[inline]
    fn edges(&self, at: Place) -> Range<usize> {
        at.edges as usize..at.edges as usize + self.columns.counts[at.node as usize] as usize
    }

    #[inline]
    fn edge(&self, at: usize) -> Edge {
        let Columns { edge_kinds, edge_names, targets, .. } = self.columns;
        Edge { kind: edge_kinds[at], name: edge_names[at], to: targets[at] }
    }

    #[inline]
    fn meaning(&self, kind: u8, edge: Edge) -> Result<Meaning, StageError> {
        self.rules.slot(kind, edge, self.opaque, || Ok(self.columns.names[edge.to.index()]))
    }

    /// Hashes a node, and sees what the file does not tell of it.
    #[inline]
    fn hash(&self, at: Place, aids: &mut Aids<'_>, context: &Context<'_>) -> Result<Hashed, StageError> {
        let node = self.node(at.node as usize);
        let sees = self.rules.sees(node.kind);
        let mut sum = 0u64;
        let mut degree = 0;
        let mut seen = Seen::default();
        for (number, at) in self.edges(at).enumerate() {
            if (number + 1).is_multiple_of(1 << 18) {
                context.check()?;
            }
            let edge = self.edge(at);
            let meaning = self.meaning(node.kind, edge)?;
            if sees {
                self.rules.see(&mut seen, node.kind, edge, meaning, |node| Ok(self.columns.traits[node]))?;
            }
            if let Some(slot) = Slot::new(edge.kind, edge.name, meaning) {
                let mut value = u64::MAX;
                if let Meaning::Identity(own) | Meaning::Text(own) = meaning {
                    value = own.into();
                } else {
                    degree += 1;
                    if self.follows {
                        aids.followed.push(slot);
                    }
                }
                sum = sum.wrapping_add(mix(slot.label(), value));
            }
        }
        let own = mix(u64::from(node.name.0) << 8 | u64::from(node.kind), node.bytes);
        let limits = self.rules.limits(node, self.columns.traits[at.node as usize], &seen, degree, &mut aids.texts);
        Ok(Hashed { hash: mix(own, sum), degree, limits })
    }

    /// Whether two nodes have the same value; nothing if that would take much.
    fn same(&self, left: Place, right: Place) -> Result<Option<bool>, StageError> {
        let (node, other) = (self.node(left.node as usize), self.node(right.node as usize));
        if node != other {
            return Ok(Some(false));
        }
        let (edges, others) = (self.edges(left), self.edges(right));
        if edges.len() != others.len() {
            return self.same_in_order(node, edges, others);
        }
        for (at, beside) in edges.clone().zip(others.clone()) {
            let (edge, beside) = (self.edge(at), self.edge(beside));
            if edge.kind != beside.kind || edge.name != beside.name {
                return self.same_in_order(node, edges, others);
            }
            // Of edges with one label, other targets have another meaning only where one is compared by identity.
            let is_same = edge.to == beside.to
                || match self.meaning(node.kind, edge)? {
                    Meaning::Nothing => true,
                    Meaning::Identity(_) => false,
                    Meaning::Text(text) => self.columns.names[beside.to.index()].0 == text,
                    Meaning::Followed(_) => !self.opaque.contains(beside.to.index()),
                };
            if !is_same {
                return Ok(Some(false));
            }
        }
        Ok(Some(true))
    }

    /// The same, of nodes whose edges have other labels or orders.
    #[cold]
    fn same_in_order(&self, node: Node, left: Range<usize>, right: Range<usize>) -> Result<Option<bool>, StageError> {
        if left.len().max(right.len()) > SORTED {
            return Ok(None);
        }
        let slots = |edges: Range<usize>| -> Result<Vec<Slot>, StageError> {
            let mut slots = Vec::with_capacity(edges.len());
            for at in edges {
                let edge = self.edge(at);
                slots.extend(Slot::new(edge.kind, edge.name, self.meaning(node.kind, edge)?));
            }
            slots::sort(&mut slots);
            Ok(slots)
        };
        let (left, right) = (slots(left)?, slots(right)?);
        Ok(Some(left.len() == right.len() && left.iter().zip(&right).all(|(left, right)| left.equals(*right))))
    }
}

/// The first node with each hash: an open hash table.
struct Firsts<'a> {
    budget: &'a Budget,
    entries: BudgetVec<First>,
    count: usize,
}

#[derive(Clone, Copy)]
struct First {
    hash: u64,
    /// Its node is that of another one where there is none.
    at: Place,
}

const NO_FIRST: First = First { hash: 0, at: Place { node: u32::MAX, edges: 0 } };

impl<'a> Firsts<'a> {
    fn new(budget: &'a Budget) -> Result<Self, StageError> {
        Ok(Self { budget, entries: Self::entries(budget, BLOCK)?, count: 0 })
    }

    fn entries(budget: &Budget, count: usize) -> Result<BudgetVec<First>, StageError> {
        budget.filled("equality: first nodes", count, NO_FIRST)
    }

    /// Where a hash may be found first.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.entries.len() - 1)
    }

    /// Fetches the place of a hash.
    #[inline]
    fn prefetch(&self, hash: u64) {
        self.entries[..].prefetch(self.place(hash));
    }

    /// The first node with a hash; this one, if there was none.
    #[inline]
    fn find(&mut self, hash: u64, at: Place) -> Result<Place, StageError> {
        let mut place = self.place(hash);
        loop {
            let entry = self.entries[place];
            if entry.at.node == NO_FIRST.at.node {
                break;
            }
            if entry.hash == hash {
                return Ok(entry.at);
            }
            place = (place + 1) & (self.entries.len() - 1);
        }
        self.entries[place] = First { hash, at };
        self.count += 1;
        if self.count > self.entries.len() / 2 {
            self.grow()?;
        }
        Ok(at)
    }

    #[cold]
    fn grow(&mut self) -> Result<(), StageError> {
        let larger = Self::entries(self.budget, self.entries.len() * 2)?;
        let entries = std::mem::replace(&mut self.entries, larger);
        for &entry in entries.iter().filter(|entry| entry.at.node != NO_FIRST.at.node) {
            let mut place = self.place(entry.hash);
            while self.entries[place].at.node != NO_FIRST.at.node {
                place = (place + 1) & (self.entries.len() - 1);
            }
            self.entries[place] = entry;
        }
        Ok(())
    }
}

/// Nodes that follow each other, and of each the first with the same hash: itself if there is none.
#[derive(Default)]
struct Claims {
    begin: u32,
    edges: u32,
    firsts: Vec<Place>,
}

/// A block at work.
struct Block {
    /// The nodes to hash.
    nodes: Range<u32>,
    edges: u32,
    hashes: Vec<u64>,
    degrees: Vec<u32>,
    limits: Vec<u8>,
    /// Targets that are followed.
    to: Vec<NodeId>,
    /// The nodes of an earlier block, and those among them that differ from what they were compared with.
    before: Claims,
    different: Vec<Place>,
    result: Result<(), Stop>,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            nodes: 0..0,
            edges: 0,
            hashes: Vec::new(),
            degrees: Vec::new(),
            limits: Vec::new(),
            to: Vec::new(),
            before: Claims::default(),
            different: Vec::new(),
            result: Ok(()),
        }
    }
}

impl Block {
    /// Takes the next nodes; whether there are any.
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
    fn work(&mut self, heap: &Heap<'_>, aids: &mut Aids<'_>, context: &Context<'_>) {
        self.different.clear();
        self.result = self.before.compare(heap, &mut self.different).and_then(|()| self.hash(heap, aids, context));
    }

    fn hash(&mut self, heap: &Heap<'_>, aids: &mut Aids<'_>, context: &Context<'_>) -> Result<(), Stop> {
        self.hashes.clear();
        self.degrees.clear();
        self.limits.clear();
        self.to.clear();
        let mut edges = self.edges;
        for node in self.nodes.clone() {
            let mut found = Hashed { hash: 0, degree: 0, limits: 0 };
            if !heap.opaque.contains(node as usize) {
                found = heap.hash(Place { node, edges }, aids, context)?;
                slots::sort(&mut aids.followed);
                self.to.extend(aids.followed.drain(..).map(Slot::target));
            }
            self.hashes.push(found.hash);
            self.degrees.push(found.degree);
            self.limits.push(found.limits);
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
            at = Place { node: at.node + 1, edges: at.edges + heap.columns.counts[at.node as usize] };
        }
        Ok(())
    }
}

/// What was found so far.
struct Found<'a> {
    heap: &'a Heap<'a>,
    firsts: Firsts<'a>,
    /// Blocks that are still to be compared.
    pending: VecDeque<Claims>,
    /// By the first node with a hash, the first nodes with other values of that hash.
    others: FxHashMap<u32, Vec<Place>>,
    collisions: usize,
    values: ColumnWriter<NodeId>,
    degrees: ColumnWriter<u32>,
    limits: ColumnWriter<u8>,
    to: Option<ColumnWriter<NodeId>>,
}

impl Found<'_> {
    /// Takes a block that was worked on.
    fn take(&mut self, block: &mut Block) -> Result<(), Stop> {
        std::mem::replace(&mut block.result, Ok(()))?;
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
            let is_opaque = self.heap.opaque.contains(at.node as usize);
            claims.firsts.push(if is_opaque { at } else { self.firsts.find(hash, at)? });
            at = Place { node: at.node + 1, edges: at.edges + self.heap.columns.counts[at.node as usize] };
        }
        self.pending.push_back(claims);
        Ok(())
    }

    /// Writes the values of nodes that were compared.
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

    /// The first node with the value of a node that differs from the first one with its hash.
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

    /// Compares the last blocks, and ends the columns.
    fn finish(mut self) -> Result<(), Stop> {
        let mut different = Vec::new();
        while let Some(mut claims) = self.pending.pop_front() {
            different.clear();
            claims.compare(self.heap, &mut different)?;
            self.settle(&mut claims, &different)?;
        }
        self.values.finish()?;
        self.degrees.finish()?;
        self.limits.finish()?;
        self.to.map(ColumnWriter::finish).transpose()?;
        Ok(())
    }
}
