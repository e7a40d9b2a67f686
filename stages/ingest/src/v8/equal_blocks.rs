//! Blocks of nodes and edges for parallel hashing and writing of records. Used by [`super::equal_on_disk`].
//!
//! Memory: 1.5 MiB per block, including the slots of one node.

use super::edges::{Edge, Edges};
use super::meanings::{self, Known, Meanings, Outcome};
use super::shown::Texts;
use super::slots::{self, Slot, Slots};
use super::value_rules::Node;
use heaplake_kit::dedup::HashPass;
use heaplake_kit::{ColumnReader, Context, Scratch, SharedLookup, StageError, StringTable, open_all};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch as columns;
use std::mem;

/// Limit of nodes per block.
const BLOCK: usize = 1 << 12;

/// Number of edges that ends a block. A node with more is a block of its own.
const EDGES: usize = 1 << 14;

/// Bytes of a block: its nodes and edges with their results, and the sorted slots of a node.
pub(super) const BLOCK_BYTES: u64 = (BLOCK * (size_of::<Own>() + 1)
    + 2 * EDGES * (size_of::<Edge>() + size_of::<NodeId>() + 2 * size_of::<u64>())
    + EDGES * size_of::<Slot>()) as u64;

/// Inputs besides the columns that are read in order.
pub(super) struct Heap<'a> {
    /// Meanings of edges.
    pub meanings: Meanings<'a>,
    /// Texts.
    pub strings: &'a StringTable,
    /// Whether targets of slots are needed.
    pub follows: bool,
}

/// Random look-ups shared by all threads.
pub(super) struct Looks {
    /// Names of nodes.
    pub names: SharedLookup<StringId>,
    /// In the hash pass, traits of nodes.
    pub traits: Option<SharedLookup<u8>>,
}

impl Known for &Looks {
    #[inline]
    fn name(&self, node: NodeId) -> Result<StringId, StageError> {
        Ok(self.names.get(node.index())?)
    }

    #[inline]
    fn traits(&self, node: usize) -> Result<u8, StageError> {
        self.traits.as_ref().map_or(Ok(0), |traits| Ok(traits.get(node)?))
    }
}

/// State of a thread.
pub(super) struct Aids<'a> {
    heap: &'a Heap<'a>,
    aids: meanings::Aids<'a, &'a Looks>,
    /// The slots of a node.
    slots: Vec<Slot>,
}

impl<'a> Aids<'a> {
    /// Creates the state of one thread.
    pub(super) fn new(heap: &'a Heap<'a>, known: &'a Looks, context: &'a Context<'a>) -> Self {
        let aids = meanings::Aids { known, texts: Texts::new(heap.strings), context };
        Self { heap, aids, slots: Vec::new() }
    }
}

/// A node of a block with its results.
pub(super) struct Own {
    /// The node's own part of its value.
    pub node: Node,
    edges: u32,
    /// Its traits, in the hash pass.
    traits: u8,
    /// Whether it is to be hashed, or its record to be written.
    pub is_wanted: bool,
    /// Its number of followed slots and its limits, in the hash pass.
    pub outcome: Outcome,
    /// Hash of its record, in the hash pass.
    pub hash: u64,
    /// Words of its record.
    pub words: u32,
}

impl Own {
    /// Whether its edges are in the block.
    #[inline]
    fn is_here(&self) -> bool {
        self.is_wanted && self.edges as usize <= EDGES
    }
}

/// A block in progress.
#[derive(Default)]
pub(super) struct Block {
    /// The first node.
    pub begin: u32,
    /// Position of the first edge.
    edge: u64,
    /// The nodes.
    pub nodes: Vec<Own>,
    kinds: Vec<u8>,
    names: Vec<u32>,
    targets: Vec<NodeId>,
    /// Followed targets.
    pub to: Vec<NodeId>,
    /// Concatenated records of the wanted nodes.
    pub records: Vec<u64>,
    /// Whether it is a single node without its edges.
    pub is_large: bool,
    /// Error of the work on it.
    pub failed: Option<StageError>,
}

impl Block {
    fn clear(&mut self, begin: u32, edge: u64) {
        (self.begin, self.edge, self.is_large) = (begin, edge, false);
        self.nodes.clear();
        self.kinds.clear();
        self.names.clear();
        self.targets.clear();
        self.to.clear();
        self.records.clear();
    }

    fn edges(&mut self) -> (&mut Vec<u8>, &mut Vec<u32>, &mut Vec<NodeId>) {
        (&mut self.kinds, &mut self.names, &mut self.targets)
    }

    /// Hashes the records of its nodes.
    pub(super) fn hash(&mut self, aids: &mut Aids<'_>) -> Result<(), StageError> {
        let Self { nodes, kinds, names, targets, to, .. } = self;
        let Aids { heap, aids, slots } = aids;
        let mut first = 0;
        for own in nodes.iter_mut().filter(|own| own.is_here()) {
            let edges = edges_of([first, first + own.edges as usize], kinds, names, targets);
            first += own.edges as usize;
            slots.clear();
            own.outcome = heap.meanings.look(own.node, own.traits, edges, aids, |slot| {
                slots.push(slot);
                Ok(())
            })?;
            slots::sort(slots);
            (own.hash, own.words) = (own.node.words().into_iter().fold(0, HashPass::with), 2);
            for slot in &*slots {
                own.hash = HashPass::with(own.hash, slot.label());
                own.words += 1;
                if let Some(value) = slot.own() {
                    own.hash = HashPass::with(own.hash, value);
                    own.words += 1;
                }
            }
            if heap.follows {
                to.extend(slots.iter().filter(|slot| slot.own().is_none()).map(|slot| slot.target()));
            }
        }
        Ok(())
    }

    /// Writes the records of its nodes.
    pub(super) fn write_records(&mut self, aids: &mut Aids<'_>) -> Result<(), StageError> {
        let Self { nodes, kinds, names, targets, records, .. } = self;
        let Aids { heap, aids, slots } = aids;
        let mut first = 0;
        for own in nodes.iter_mut().filter(|own| own.is_here()) {
            let edges = edges_of([first, first + own.edges as usize], kinds, names, targets);
            first += own.edges as usize;
            slots.clear();
            heap.meanings.slots(own.node.kind, edges, &aids.known, |slot| slots.push(slot))?;
            slots::sort(slots);
            let begin = records.len();
            records.reserve(2 + 2 * slots.len());
            records.extend_from_slice(&own.node.words());
            for slot in &*slots {
                records.push(slot.label());
                if let Some(value) = slot.own() {
                    records.push(value);
                }
            }
            own.words = (records.len() - begin) as u32;
        }
        Ok(())
    }

    /// Reads and sorts the slots of its only node, if its edges are not in the block.
    pub(super) fn read_large(
        &mut self,
        aids: &mut Aids<'_>,
        slots: &mut Slots<'_>,
        scratch: &Scratch,
    ) -> Result<(), StageError> {
        let (own, Aids { heap, aids, .. }) = (&mut self.nodes[0], aids);
        let mut edges = Edges::open(scratch)?;
        edges.skip(self.edge)?;
        slots.begin(own.edges)?;
        let edges = (0..own.edges).map(|_| edges.next());
        own.outcome = heap.meanings.look(own.node, own.traits, edges, aids, |slot| slots.push(slot))?;
        slots.sort()
    }
}

/// Returns the edges of a node in a block.
#[inline]
fn edges_of<'a>(
    [first, end]: [usize; 2],
    kinds: &'a [u8],
    names: &'a [u32],
    targets: &'a [NodeId],
) -> impl Iterator<Item = Result<Edge, StageError>> + use<'a> {
    let (kinds, names, targets) = (&kinds[first..end], &names[first..end], &targets[first..end]);
    (0..end - first).map(|at| Ok(Edge { kind: kinds[at], name: names[at], to: targets[at] }))
}

/// All columns that are read in order.
pub(super) struct Input {
    kinds: ColumnReader<u8>,
    names: ColumnReader<StringId>,
    sizes: ColumnReader<u64>,
    counts: ColumnReader<u32>,
    /// Traits, in the hash pass.
    pub traits: Option<ColumnReader<u8>>,
    edges: Edges,
}

impl Input {
    /// Opens the columns, without traits.
    pub(super) fn open(scratch: &Scratch) -> Result<Self, StageError> {
        let (kinds, names, sizes, counts) =
            open_all(scratch, (columns::NODE_KIND, columns::NODE_NAME, columns::NODE_SELF, columns::NODE_EDGE_COUNT))?;
        Ok(Self { kinds, names, sizes, counts, traits: None, edges: Edges::open(scratch)? })
    }
}

/// Fills blocks in order.
pub(super) struct Filling<W> {
    input: Input,
    is_wanted: W,
    /// A node already read for the next block.
    ahead: Option<Own>,
    node: u32,
}

impl<W: FnMut(u32) -> Result<bool, StageError>> Filling<W> {
    /// Starts at the first node; `is_wanted` is called once per node, in order.
    pub(super) fn new(input: Input, is_wanted: W) -> Self {
        Self { input, is_wanted, ahead: None, node: 0 }
    }

    /// Fills a block; returns false at the end.
    pub(super) fn fill(&mut self, block: &mut Block, context: &Context<'_>) -> Result<bool, StageError> {
        block.clear(self.node, self.input.edges.position);
        block.nodes.extend(self.ahead.take());
        let mut is_read = !block.nodes.is_empty();
        // Edges of the last nodes that belong to the block but are not read yet.
        let mut waiting = 0;
        while block.nodes.len() < BLOCK && block.kinds.len() + waiting < EDGES && !block.is_large {
            if !mem::take(&mut is_read) && !self.read(block)? {
                break;
            }
            let Some(&Own { edges, is_wanted, .. }) = block.nodes.last() else { break };
            let is_large = is_wanted && edges as usize > EDGES;
            if is_large && block.nodes.len() > 1 {
                self.ahead = block.nodes.pop();
                break;
            }
            if is_wanted && !is_large {
                waiting += edges as usize;
            } else {
                self.input.edges.append_to(block.edges(), mem::take(&mut waiting))?;
                self.input.edges.skip(edges.into())?;
            }
            self.node += 1;
            block.is_large = is_large;
        }
        self.input.edges.append_to(block.edges(), waiting)?;
        context.step(self.input.edges.position - block.edge + block.nodes.len() as u64)?;
        Ok(!block.nodes.is_empty())
    }

    /// Reads the next node into a block, without its edges; returns false at the end.
    #[inline]
    fn read(&mut self, block: &mut Block) -> Result<bool, StageError> {
        if self.input.kinds.remaining() == 0 {
            return Ok(false);
        }
        let Input { kinds, names, sizes, counts, traits, .. } = &mut self.input;
        block.nodes.push(Own {
            node: Node { kind: kinds.next()?, name: names.next()?, bytes: sizes.next()? },
            edges: counts.next()?,
            traits: traits.as_mut().map_or(Ok(0), ColumnReader::next)?,
            is_wanted: (self.is_wanted)(self.node)?,
            outcome: Outcome::default(),
            hash: 0,
            words: 0,
        });
        Ok(true)
    }
}
