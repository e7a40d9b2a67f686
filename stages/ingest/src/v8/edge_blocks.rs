//! Blocks of edges with their source nodes, read from columns and written to columns. Used by
//! [`super::essential_edges`].

use super::edge_rules::{Rules, Source};
use super::edges::Edges;
use heaplake_kit::{ColumnReader, ColumnWriter, Context, Scratch, SharedBitset, StageError, create_all, finish_all};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, edge_flags};

/// Limits of edges and nodes per block.
const BLOCK_EDGES: u32 = 1 << 15;
const BLOCK_NODES: usize = 1 << 14;

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 22 * BLOCK_EDGES as u64 + 21 * BLOCK_NODES as u64;

/// The columns of some nodes. The last node's edges may continue in the next block.
#[derive(Default)]
struct Nodes {
    first: u32,
    kinds: Vec<u8>,
    names: Vec<StringId>,
    ids: Vec<u64>,
    /// Number of edges in the block, per node.
    counts: Vec<u32>,
    is_cut: bool,
}

impl Nodes {
    fn clear(&mut self) {
        self.kinds.clear();
        self.names.clear();
        self.ids.clear();
        self.counts.clear();
    }

    /// Kind, name and id of the last node.
    fn last(&self) -> Option<(u8, StringId, u64)> {
        Some((*self.kinds.last()?, *self.names.last()?, *self.ids.last()?))
    }
}

/// A block of edges with their source nodes.
#[derive(Default)]
pub struct Block {
    nodes: Nodes,
    kinds: Vec<u8>,
    names: Vec<u32>,
    to: Vec<NodeId>,
    flags: Vec<u8>,
    essential: Vec<NodeId>,
    /// Number of essential edges per node.
    degrees: Vec<u32>,
    /// Positions in the block of paired edges, with their pairs.
    paired: Vec<(u32, u32)>,
}

impl Block {
    /// Applies the rules to all edges, and adds the targets of essential edges to `held`.
    pub fn sort_out(&mut self, rules: &Rules, held: SharedBitset<'_>) {
        self.flags.clear();
        self.essential.clear();
        self.degrees.clear();
        self.paired.clear();
        let Nodes { first, kinds, names, ids, counts, .. } = &self.nodes;
        let mut before = 0;
        for (((&kind, &name), (&id, &count)), node) in kinds.iter().zip(names).zip(ids.iter().zip(counts)).zip(*first..)
        {
            let source = Source { node, id, special: rules.special(kind, name) };
            let edges = before..before + count as usize;
            let held = self.essential.len();
            before = edges.end;
            for ((&kind, &name), &to) in
                self.kinds[edges.clone()].iter().zip(&self.names[edges.clone()]).zip(&self.to[edges])
            {
                let (flags, pair) = rules.judge(&source, kind, name, to);
                if flags & edge_flags::ESSENTIAL != 0 {
                    self.essential.push(to);
                }
                if let Some(pair) = pair {
                    self.paired.push((self.flags.len() as u32, pair));
                }
                self.flags.push(flags);
            }
            self.degrees.push((self.essential.len() - held) as u32);
        }
        self.essential.iter().for_each(|to| held.insert(to.index()));
    }
}

/// The input columns.
pub struct Input {
    node_kind: ColumnReader<u8>,
    node_name: ColumnReader<StringId>,
    node_id: ColumnReader<u64>,
    edge_count: ColumnReader<u32>,
    edges: Edges,
    node: u32,
    /// Remaining edges of the previous node, if they did not fit the last block; and its columns.
    left: u32,
    cut: Option<(u8, StringId, u64)>,
}

impl Input {
    /// Starts before the first edge.
    pub fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            node_kind: ColumnReader::open(scratch, columns::NODE_KIND)?,
            node_name: ColumnReader::open(scratch, columns::NODE_NAME)?,
            node_id: ColumnReader::open(scratch, columns::NODE_ID)?,
            edge_count: ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?,
            edges: Edges::open(scratch)?,
            node: 0,
            left: 0,
            cut: None,
        })
    }

    /// Fills a block with the next edges; returns false at the end.
    pub fn fill(&mut self, block: &mut Block) -> Result<bool, StageError> {
        let nodes = &mut block.nodes;
        nodes.clear();
        nodes.first = self.node;
        let mut room = BLOCK_EDGES;
        if let Some((kind, name, id)) = self.cut.take() {
            nodes.first -= 1;
            nodes.kinds.push(kind);
            nodes.names.push(name);
            nodes.ids.push(id);
            self.take(self.left, &mut room, nodes);
        }
        let known = nodes.counts.len();
        while room > 0 && nodes.counts.len() < BLOCK_NODES && self.edge_count.remaining() > 0 {
            let count = self.edge_count.next()?;
            self.take(count, &mut room, nodes);
        }
        let new = nodes.counts.len() - known;
        self.node += new as u32;
        self.node_kind.append_to(&mut nodes.kinds, new)?;
        self.node_name.append_to(&mut nodes.names, new)?;
        self.node_id.append_to(&mut nodes.ids, new)?;
        nodes.is_cut = self.left > 0;
        self.cut = if nodes.is_cut { nodes.last() } else { None };
        let edges = (BLOCK_EDGES - room) as usize;
        block.kinds.clear();
        block.names.clear();
        block.to.clear();
        self.edges.append_to((&mut block.kinds, &mut block.names, &mut block.to), edges)?;
        Ok(!block.nodes.counts.is_empty())
    }

    /// Takes a node with as many of its edges as fit.
    #[inline]
    fn take(&mut self, count: u32, room: &mut u32, nodes: &mut Nodes) {
        let edges = count.min(*room);
        nodes.counts.push(edges);
        *room -= edges;
        self.left = count - edges;
    }
}

/// The output columns.
pub struct Output {
    flags: ColumnWriter<u8>,
    degrees: ColumnWriter<u32>,
    essential: ColumnWriter<NodeId>,
    paired_edge: ColumnWriter<u64>,
    paired_pair: ColumnWriter<u32>,
    /// Essential edges so far of the node that continues in the next block.
    degree: u32,
}

impl Output {
    /// Creates the columns.
    pub fn create(scratch: &Scratch) -> Result<Self, StageError> {
        let (flags, degrees, essential, paired_edge, paired_pair) = create_all(
            scratch,
            (
                columns::EDGE_FLAGS,
                columns::ESSENTIAL_DEGREE,
                columns::ESSENTIAL_TO,
                columns::PAIRED_EDGE,
                columns::PAIRED_PAIR,
            ),
        )?;
        Ok(Self { flags, degrees, essential, paired_edge, paired_pair, degree: 0 })
    }

    /// Writes a block.
    pub fn write(&mut self, block: &mut Block, context: &Context<'_>) -> Result<(), StageError> {
        for &(edge, pair) in &block.paired {
            self.paired_edge.push(self.flags.len() + u64::from(edge))?;
            self.paired_pair.push(pair)?;
        }
        self.flags.extend(&block.flags)?;
        self.essential.extend(&block.essential)?;
        // A node with edges in several blocks gets its degree in the last one.
        if let Some(first) = block.degrees.first_mut() {
            *first += std::mem::take(&mut self.degree);
        }
        if block.nodes.is_cut {
            self.degree = block.degrees.pop().unwrap_or(0);
        }
        self.degrees.extend(&block.degrees)?;
        context.step(block.flags.len() as u64)
    }

    /// Completes the columns; returns the number of essential edges.
    pub fn finish(self) -> Result<u64, StageError> {
        finish_all((self.flags, self.degrees, self.paired_edge, self.paired_pair))?;
        self.essential.finish()
    }
}
