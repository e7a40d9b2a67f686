//! Labels of edges, from the attributes that the format has.

use heaplake_kit::{BudgetVec, ColumnMap, ColumnReader, Job, Lookup, ReadAt, Scratch, StageError};
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, Column, EdgeKind, Metadata, edge_flags, edge_label};
use std::sync::Arc;

const BLOCK: usize = 256;

pub(super) enum Details {
    /// Kind, name and flags of all edges.
    All {
        kinds: Vec<EdgeKind>,
        kind: Lookup<u8>,
        name: Lookup<u32>,
        flags: Lookup<u8>,
    },
    /// Labels of essential edges.
    Labels(Labels),
    Nothing,
}

/// Bytes, words and kinds of edges, if present.
pub(super) type Told = (Option<Lookup<u8>>, Option<Lookup<u32>>, Option<Lookup<u8>>);

/// Labels of essential edges.
pub(super) struct Labels {
    label: Lookup<u8>,
    named: Lookup<u32>,
    /// Named edges before each block of edges.
    before: Arc<BudgetVec<u64>>,
    start: ColumnMap<u64>,
    names: ColumnMap<StringId>,
}

/// Returns the columns of all edges, or of the essential ones: degrees, targets, bytes and words.
pub(super) fn edge_columns(all: bool) -> (Column<u32>, Column<NodeId>, Column<u8>, Column<u32>) {
    match all {
        true => (columns::NODE_EDGE_COUNT, columns::EDGE_TO, columns::EDGE_FLAGS, columns::EDGE_NAME),
        false => (columns::ESSENTIAL_DEGREE, columns::ESSENTIAL_TO, columns::ESSENTIAL_LABEL, columns::ESSENTIAL_NAME),
    }
}

/// Returns the number of named edges before each block.
pub(super) fn named_before(job: &Job<'_>) -> Result<BudgetVec<u64>, StageError> {
    let mut labels = ColumnReader::open(job.scratch, columns::ESSENTIAL_LABEL)?;
    let mut before = job.context.budget.growing("retainer trees: named edges");
    let (mut sum, mut block) = (0u64, [0; BLOCK]);
    while labels.remaining() > 0 {
        before.push(sum)?;
        let count = labels.remaining().min(BLOCK as u64) as usize;
        labels.read_into(&mut block[..count])?;
        sum += block[..count].iter().filter(|&&label| label == edge_label::NAMED).count() as u64;
    }
    Ok(before)
}

impl Labels {
    /// The label of an edge that leaves a node of this class.
    fn label(&mut self, edge: usize, class: ClassId) -> Result<u32, StageError> {
        Ok(match self.label.get(edge)? {
            edge_label::NAMED => {
                let block = edge / BLOCK * BLOCK..edge;
                let mut rank = self.before[edge / BLOCK] as usize;
                if let Lookup::Resident(labels) = &self.label {
                    rank += labels[block].iter().filter(|&&label| label == edge_label::NAMED).count();
                } else {
                    for before in block {
                        rank += usize::from(self.label.get(before)? == edge_label::NAMED);
                    }
                }
                self.named.get(rank)?
            }
            edge_label::INDEX => label::INDEX,
            position => {
                let start = self.start[..].get(class.index()).map_or(u64::MAX, |&start| start);
                let name = self.names[..].get((start as usize).saturating_add(position.into()));
                name.map_or(label::NONE, |name| name.0)
            }
        })
    }
}

impl Details {
    /// Shares the labels with another thread; `None` if they are paged.
    pub(super) fn share(&self) -> Option<Self> {
        Some(match self {
            Self::All { kinds, kind, name, flags } => {
                let (kind, name, flags) = (kind.share()?, name.share()?, flags.share()?);
                Self::All { kinds: kinds.clone(), kind, name, flags }
            }
            Self::Labels(labels) => Self::Labels(Labels {
                label: labels.label.share()?,
                named: labels.named.share()?,
                before: Arc::clone(&labels.before),
                start: labels.start.clone(),
                names: labels.names.clone(),
            }),
            Self::Nothing => Self::Nothing,
        })
    }

    /// Opens the labels from bytes, words and kinds of edges: flags and names, or labels of essential edges.
    pub(super) fn of(
        told: Told,
        before: BudgetVec<u64>,
        metadata: &Metadata,
        scratch: &Scratch,
    ) -> Result<Self, StageError> {
        Ok(match told {
            (Some(flags), Some(name), Some(kind)) => {
                Self::All { kinds: metadata.edge_kinds.clone(), kind, name, flags }
            }
            (Some(label), Some(named), None) => Self::Labels(Labels {
                label,
                named,
                before: Arc::new(before),
                start: ColumnMap::uncounted(scratch, columns::CLASS_LABEL_START)?,
                names: ColumnMap::uncounted(scratch, columns::CLASS_LABEL)?,
            }),
            _ => Self::Nothing,
        })
    }

    pub(super) fn prefetch(&self, edge: usize) {
        match self {
            Self::Nothing => {}
            Self::Labels(labels) => {
                labels.label.prefetch(edge / BLOCK * BLOCK);
                labels.label.prefetch(edge);
            }
            Self::All { kind, name, flags, .. } => {
                flags.prefetch(edge);
                kind.prefetch(edge);
                name.prefetch(edge);
            }
        }
    }

    /// The label of an edge from a node of this class; `None` if the edge is not essential.
    pub(super) fn label(&mut self, edge: usize, class: ClassId) -> Result<Option<u32>, StageError> {
        Ok(match self {
            Self::Nothing => Some(label::NONE),
            Self::Labels(labels) => Some(labels.label(edge, class)?),
            Self::All { kinds, kind, name, flags } => match flags.get(edge)? {
                flags if flags & edge_flags::ESSENTIAL == 0 => None,
                flags if flags & edge_flags::PAIRED != 0 => Some(label::ENTRY),
                _ if kinds.get(usize::from(kind.get(edge)?)).is_some_and(|kind| kind.indexed) => Some(label::INDEX),
                _ => Some(name.get(edge)?),
            },
        })
    }
}
