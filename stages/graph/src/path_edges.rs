//! All edges in order, in blocks, with the attributes that the choice among them needs. Used by
//! [`super::shortest_paths`].
//!
//! The calling thread fills blocks; any thread finds the edges of a block that paths may take.
//!
//! Resident memory: [`Block::BYTES`] for each block.

use crate::path_keys::{KeyCache, Keys};
use heaplake_kit::array::Fault;
use heaplake_kit::{Bitset, ColumnMap, ColumnReader, Context, ReadAt, Scratch, StageError};
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, Metadata, NO_DISTANCE, edge_flags, edge_label};

/// Maximum number of edges and sources of a block.
const EDGES: usize = 1 << 12;
const SOURCES: usize = 1 << 12;

/// Distances are prefetched this many edges ahead.
const AHEAD: usize = 16;

/// Some edges in order, and those that paths may take.
#[derive(Default)]
pub(crate) struct Block {
    /// The source of the first edges.
    first: u32,
    /// Number of edges of each source in this block, from the first; and its class if labels depend on classes.
    degrees: Vec<u32>,
    classes: Vec<ClassId>,
    to: Vec<NodeId>,
    kinds: Vec<u8>,
    names: Vec<u32>,
    flags: Vec<u8>,
    labels: Vec<u8>,
    cache: KeyCache,
    /// Edges that paths may take, in order.
    pub candidates: Vec<Candidate>,
}

/// An edge that paths may take.
pub(crate) struct Candidate {
    pub to: NodeId,
    pub from: NodeId,
    pub label: u32,
    /// The edge to a node with the least key is chosen.
    pub key: u32,
    pub distance: i32,
}

impl Block {
    pub(crate) const BYTES: u64 = (SOURCES * 8 + EDGES * (11 + size_of::<Candidate>()) + KeyCache::BYTES) as u64;

    /// Number of sources. A source with more edges than a block holds counts in each of its blocks.
    pub(crate) fn sources(&self) -> u64 {
        self.degrees.len() as u64
    }

    /// Finds the edges to nodes one step further away.
    pub(crate) fn choose(&mut self, choice: &Choice<'_>, mut distance: impl ReadAt<i32>) -> Result<(), Fault> {
        self.candidates.clear();
        let mut end = 0;
        for (place, &degree) in self.degrees.iter().enumerate() {
            let edges = end..end + degree as usize;
            end = edges.end;
            let from = NodeId(self.first + place as u32);
            let far = distance.get(from.index())?;
            if far == NO_DISTANCE {
                continue;
            }
            for at in edges {
                if let Some(soon) = self.to.get(at + AHEAD) {
                    distance.prefetch(soon.index());
                }
                let (to, flags) = (self.to[at], self.flags[at]);
                let leads = flags & edge_flags::FOLLOWED != 0 && distance.get(to.index())? == far + 1;
                if leads && choice.late.may_follow(from, flags, to.index()) {
                    let label = choice.labels.of(self, at, place);
                    let key = choice.keys.of(self.kinds[at], label, &mut self.cache);
                    self.candidates.push(Candidate { to, from, label, key, distance: far + 1 });
                }
            }
        }
        Ok(())
    }
}

/// Shared data of threads that choose among edges.
pub(crate) struct Choice<'a> {
    late: Late,
    labels: LabelNames<'a>,
    keys: Keys,
}

impl<'a> Choice<'a> {
    pub(crate) fn open(metadata: &'a Metadata, scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let (late, labels) = (Late::open(scratch, context)?, LabelNames::open(metadata, scratch)?);
        Ok(Self { late, labels, keys: Keys::open(scratch)? })
    }
}

/// Nodes that only paths over avoided edges reach; `None` if no edges are avoided.
struct Late(Option<Bitset>);

impl Late {
    fn open(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let Some(mut column) = ColumnReader::if_any(scratch, columns::NODE_AVOIDED)? else { return Ok(Self(None)) };
        let nodes = column.remaining() as usize;
        let mut late = Bitset::new(&context.budget, "shortest paths: late nodes", nodes)?;
        for node in 0..nodes {
            if column.next()? != 0 {
                late.insert(node);
            }
        }
        Ok(Self(Some(late)))
    }

    /// Whether a path may take this edge.
    #[inline]
    fn may_follow(&self, from: NodeId, flags: u8, to: usize) -> bool {
        match &self.0 {
            None => true,
            Some(late) => late.contains(to) || (flags & edge_flags::AVOIDED == 0 && !late.contains(from.index())),
        }
    }
}

/// The edges that paths avoid, in order.
struct AvoidedEdges {
    edges: Option<ColumnReader<u64>>,
    /// The next avoided edge, and the next edge of all.
    next: u64,
    position: u64,
}

impl AvoidedEdges {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        let edges = ColumnReader::if_any(scratch, columns::AVOIDED_EDGE)?;
        let mut all = Self { edges, next: 0, position: 0 };
        all.advance().map(|()| all)
    }

    fn advance(&mut self) -> Result<(), StageError> {
        self.next = match &mut self.edges {
            Some(edges) if edges.remaining() > 0 => edges.next()?,
            _ => u64::MAX,
        };
        Ok(())
    }

    /// Marks avoided edges among the next edges; all edges are followed.
    fn mark(&mut self, flags: &mut [u8]) -> Result<(), StageError> {
        flags.fill(edge_flags::FOLLOWED);
        let end = self.position + flags.len() as u64;
        while self.next < end {
            flags[(self.next - self.position) as usize] |= edge_flags::AVOIDED;
            self.advance()?;
        }
        self.position = end;
        Ok(())
    }
}

/// Source of edge labels.
enum LabelNames<'a> {
    /// Names, or a label by the kind of the edge.
    Kinds(&'a Metadata),
    /// Labels of the class of the source.
    Classes {
        start: ColumnMap<u64>,
        names: ColumnMap<StringId>,
    },
    Nothing,
}

impl<'a> LabelNames<'a> {
    fn open(metadata: &'a Metadata, scratch: &Scratch) -> Result<Self, StageError> {
        Ok(if !metadata.follows_essential {
            Self::Kinds(metadata)
        } else if scratch.has(columns::ESSENTIAL_LABEL) {
            Self::Classes {
                start: ColumnMap::uncounted(scratch, columns::CLASS_LABEL_START)?,
                names: ColumnMap::uncounted(scratch, columns::CLASS_LABEL)?,
            }
        } else {
            Self::Nothing
        })
    }

    /// The label of an edge of a block; `place` is that of its source.
    fn of(&self, block: &Block, at: usize, place: usize) -> u32 {
        match self {
            Self::Nothing => label::NONE,
            Self::Kinds(_) if block.flags[at] & edge_flags::PAIRED != 0 => label::ENTRY,
            Self::Kinds(metadata) => match metadata.edge_kinds.get(usize::from(block.kinds[at])) {
                Some(kind) if kind.indexed => label::INDEX,
                _ => block.names[at],
            },
            Self::Classes { start, names } => match block.labels[at] {
                edge_label::NAMED => block.names[at],
                edge_label::INDEX => label::INDEX,
                position => {
                    let start = start.get(block.classes[place].index()).map_or(u64::MAX, |&start| start);
                    names.get((start as usize).saturating_add(position.into())).map_or(label::NONE, |name| name.0)
                }
            },
        }
    }
}

/// The attributes of edges besides their targets.
enum Details {
    /// Kind, name and flags.
    All(Box<(ColumnReader<u8>, ColumnReader<u32>, ColumnReader<u8>)>),
    /// Every edge is followed; labels, names of named edges, and the classes of the sources.
    Labels(Box<(ColumnReader<u8>, ColumnReader<u32>, ColumnReader<ClassId>)>),
    /// Every edge is followed, and labels are unknown.
    Nothing,
}

/// Reads the edges in order.
pub(crate) struct Edges {
    degrees: ColumnReader<u32>,
    targets: ColumnReader<NodeId>,
    details: Details,
    avoided: AvoidedEdges,
    source: u32,
    /// Edges left of the current source if a block did not hold them all, and its class.
    left: u32,
    class: ClassId,
}

impl Edges {
    pub(crate) fn open(metadata: &Metadata, scratch: &Scratch) -> Result<Self, StageError> {
        let (degrees, targets) = match metadata.follows_essential {
            true => (columns::ESSENTIAL_DEGREE, columns::ESSENTIAL_TO),
            false => (columns::NODE_EDGE_COUNT, columns::EDGE_TO),
        };
        let details = match metadata.follows_essential {
            true if scratch.has(columns::ESSENTIAL_LABEL) => Details::Labels(Box::new((
                ColumnReader::open(scratch, columns::ESSENTIAL_LABEL)?,
                ColumnReader::open(scratch, columns::ESSENTIAL_NAME)?,
                ColumnReader::open(scratch, columns::NODE_CLASS)?,
            ))),
            true => Details::Nothing,
            false => Details::All(Box::new((
                ColumnReader::open(scratch, columns::EDGE_KIND)?,
                ColumnReader::open(scratch, columns::EDGE_NAME)?,
                ColumnReader::open(scratch, columns::EDGE_FLAGS)?,
            ))),
        };
        Ok(Self {
            degrees: ColumnReader::open(scratch, degrees)?,
            targets: ColumnReader::open(scratch, targets)?,
            details,
            avoided: AvoidedEdges::open(scratch)?,
            source: 0,
            class: ClassId::NONE,
            left: 0,
        })
    }

    pub(crate) fn count(&self) -> u64 {
        self.targets.remaining()
    }

    /// Fills a block with the next edges; false at the end.
    pub(crate) fn fill(&mut self, block: &mut Block) -> Result<bool, StageError> {
        let count = self.fill_sources(block)?;
        block.to.clear();
        self.targets.append_to(&mut block.to, count)?;
        for bytes in [&mut block.kinds, &mut block.flags, &mut block.labels] {
            bytes.resize(count, 0);
        }
        block.names.resize(count, label::NONE);
        let Block { kinds, names, flags, labels, .. } = block;
        match &mut self.details {
            Details::All(columns) => {
                let (from_kinds, from_names, from_flags) = &mut **columns;
                from_kinds.read_into(kinds)?;
                from_names.read_into(names)?;
                from_flags.read_into(flags)?;
            }
            Details::Labels(columns) => {
                columns.0.read_into(labels)?;
                for (_, name) in labels.iter().zip(names).filter(|(label, _)| **label == edge_label::NAMED) {
                    *name = columns.1.next()?;
                }
                self.avoided.mark(flags)?;
            }
            Details::Nothing => self.avoided.mark(flags)?,
        }
        Ok(!block.degrees.is_empty())
    }

    /// Fills a block with the next sources; returns its number of edges. A source with more edges than a block holds
    /// has blocks of its own.
    fn fill_sources(&mut self, block: &mut Block) -> Result<usize, StageError> {
        block.degrees.clear();
        block.classes.clear();
        block.first = self.source;
        if self.left == 0 && self.degrees.remaining() > 0 {
            let (_, soon) = self.degrees.next_slice_and_rest(0)?;
            if soon[0] as usize > EDGES {
                self.left = self.degrees.next()?;
                if let Details::Labels(columns) = &mut self.details {
                    self.class = columns.2.next()?;
                }
            }
        }
        if self.left > 0 {
            let part = self.left.min(EDGES as u32);
            self.left -= part;
            self.source += u32::from(self.left == 0);
            block.degrees.push(part);
            block.classes.push(self.class);
            return Ok(part as usize);
        }
        let mut count = 0;
        while self.degrees.remaining() > 0 && block.degrees.len() < SOURCES {
            let (_, soon) = self.degrees.next_slice_and_rest(0)?;
            let soon = &soon[..soon.len().min(SOURCES - block.degrees.len())];
            let mut sources = 0;
            while sources < soon.len() && count + soon[sources] as usize <= EDGES {
                count += soon[sources] as usize;
                sources += 1;
            }
            let is_full = sources < soon.len();
            block.degrees.extend_from_slice(&soon[..sources]);
            self.degrees.skip(sources as u64)?;
            if let Details::Labels(columns) = &mut self.details {
                columns.2.append_to(&mut block.classes, sources)?;
            }
            self.source += sources as u32;
            if is_full {
                break;
            }
        }
        Ok(count)
    }
}
