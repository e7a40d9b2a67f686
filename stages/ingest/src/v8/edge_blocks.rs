//! Edges in blocks, with the nodes that they leave, from columns and back into columns. Used by
//! [`super::essential_edges`].

use super::edge_rules::{Rules, Source, Special};
use heaplake_kit::{Bitset, ColumnReader, ColumnWriter, Context, Scratch, StageError};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, edge_flags};

/// Most edges of a block, and most nodes.
const BLOCK_EDGES: u32 = 1 << 15;
const BLOCK_NODES: usize = 1 << 14;

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 22 * BLOCK_EDGES as u64 + (BLOCK_NODES * size_of::<Part>()) as u64;

/// A node with its edges, or with as many of them as fit the block.
#[derive(Clone, Copy)]
struct Part {
    source: Source,
    kind: u8,
    name: StringId,
    /// Its edges in the block, and then those of them that are essential.
    edges: u32,
    /// Whether the block has the node's last edge.
    ends: bool,
}

/// Edges, many at a time, with the nodes that they leave.
#[derive(Default)]
pub struct Block {
    parts: Vec<Part>,
    kinds: Vec<u8>,
    names: Vec<u32>,
    to: Vec<NodeId>,
    flags: Vec<u8>,
    essential: Vec<NodeId>,
    /// Positions in the block of the edges that belong to a pair, and the pairs.
    paired: Vec<(u32, u32)>,
}

impl Block {
    /// Applies the rules to all edges.
    pub fn sort_out(&mut self, rules: &Rules) {
        self.flags.clear();
        self.essential.clear();
        self.paired.clear();
        let mut first = 0;
        for part in &mut self.parts {
            part.source.special = rules.special(part.kind, part.name);
            let edges = first..first + part.edges as usize;
            let held = self.essential.len();
            first = edges.end;
            for ((&kind, &name), &to) in
                self.kinds[edges.clone()].iter().zip(&self.names[edges.clone()]).zip(&self.to[edges])
            {
                let (flags, pair) = rules.judge(&part.source, kind, name, to);
                if flags & edge_flags::ESSENTIAL != 0 {
                    self.essential.push(to);
                }
                if let Some(pair) = pair {
                    self.paired.push((self.flags.len() as u32, pair));
                }
                self.flags.push(flags);
            }
            part.edges = (self.essential.len() - held) as u32;
        }
    }
}

/// The columns that are read.
pub struct Input {
    node_kind: ColumnReader<u8>,
    node_name: ColumnReader<StringId>,
    node_id: ColumnReader<u64>,
    edge_count: ColumnReader<u32>,
    edge_kind: ColumnReader<u8>,
    edge_name: ColumnReader<u32>,
    edge_to: ColumnReader<NodeId>,
    node: u32,
    /// The node whose edges did not all fit the last block, and how many are left.
    rest: Option<(Part, u32)>,
}

impl Input {
    /// Before the first edge.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            node_kind: ColumnReader::open(scratch, columns::NODE_KIND)?,
            node_name: ColumnReader::open(scratch, columns::NODE_NAME)?,
            node_id: ColumnReader::open(scratch, columns::NODE_ID)?,
            edge_count: ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?,
            edge_kind: ColumnReader::open(scratch, columns::EDGE_KIND)?,
            edge_name: ColumnReader::open(scratch, columns::EDGE_NAME)?,
            edge_to: ColumnReader::open(scratch, columns::EDGE_TO)?,
            node: 0,
            rest: None,
        })
    }

    /// The next edges; false when there are none, nor nodes.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn fill(&mut self, block: &mut Block) -> Result<bool, StageError> {
        block.parts.clear();
        block.kinds.clear();
        block.names.clear();
        block.to.clear();
        let mut room = BLOCK_EDGES;
        while room > 0 && block.parts.len() < BLOCK_NODES {
            let (part, left) = match self.rest.take() {
                Some(rest) => rest,
                None if self.node_kind.remaining() == 0 => break,
                None => self.next_node()?,
            };
            let edges = left.min(room);
            room -= edges;
            if edges < left {
                self.rest = Some((part, left - edges));
            }
            block.parts.push(Part { edges, ends: edges == left, ..part });
        }
        let edges = (BLOCK_EDGES - room) as usize;
        self.edge_kind.append_to(&mut block.kinds, edges)?;
        self.edge_name.append_to(&mut block.names, edges)?;
        self.edge_to.append_to(&mut block.to, edges)?;
        Ok(!block.parts.is_empty())
    }

    fn next_node(&mut self) -> Result<(Part, u32), StageError> {
        let (node, kind, name) = (self.node, self.node_kind.next()?, self.node_name.next()?);
        let source = Source { node, id: self.node_id.next()?, special: Special::No };
        let part = Part { source, kind, name, edges: 0, ends: false };
        self.node += 1;
        Ok((part, self.edge_count.next()?))
    }
}

/// The columns that are written.
pub struct Output {
    flags: ColumnWriter<u8>,
    degrees: ColumnWriter<u32>,
    essential: ColumnWriter<NodeId>,
    paired_edge: ColumnWriter<u64>,
    paired_pair: ColumnWriter<u32>,
    /// Essential edges so far of the node that the last block did not end.
    degree: u32,
}

impl Output {
    /// Starts them.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            flags: ColumnWriter::create(scratch, columns::EDGE_FLAGS)?,
            degrees: ColumnWriter::create(scratch, columns::ESSENTIAL_DEGREE)?,
            essential: ColumnWriter::create(scratch, columns::ESSENTIAL_TO)?,
            paired_edge: ColumnWriter::create(scratch, columns::PAIRED_EDGE)?,
            paired_pair: ColumnWriter::create(scratch, columns::PAIRED_PAIR)?,
            degree: 0,
        })
    }

    /// Writes a block, and notes the targets of essential edges.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Cancelled`].
    pub fn write(&mut self, block: &Block, held: &mut Bitset, context: &Context<'_>) -> Result<(), StageError> {
        for &(edge, pair) in &block.paired {
            self.paired_edge.push(self.flags.len() + u64::from(edge))?;
            self.paired_pair.push(pair)?;
        }
        self.flags.extend(&block.flags)?;
        self.essential.extend(&block.essential)?;
        for part in &block.parts {
            self.degree += part.edges;
            if part.ends {
                self.degrees.push(std::mem::take(&mut self.degree))?;
            }
        }
        for to in &block.essential {
            held.insert(to.index());
        }
        context.step(block.flags.len() as u64)
    }

    /// Ends them; the number of essential edges.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(self) -> Result<u64, StageError> {
        self.flags.finish()?;
        self.degrees.finish()?;
        self.paired_edge.finish()?;
        self.paired_pair.finish()?;
        self.essential.finish()
    }
}
