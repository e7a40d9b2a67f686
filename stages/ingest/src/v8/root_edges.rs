//! Edges of the root, and distance seeds.

use super::header::Header;
use heaplake_kit::{ColumnPoints, ColumnReader, ColumnWriter, Scratch, StageError, open_all};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, DistanceSeed, SYSTEM_DISTANCE};

/// Kind and target of each of the root's edges, in order.
pub(super) struct RootEdges {
    kinds: ColumnReader<u8>,
    targets: ColumnReader<NodeId>,
    pub left: u32,
}

impl RootEdges {
    pub(super) fn open(header: &Header, scratch: &Scratch) -> Result<Self, StageError> {
        let mut counts = ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?;
        let mut first = 0;
        for _ in 0..header.root {
            first += u64::from(counts.next()?);
        }
        let (mut kinds, mut targets) = open_all(scratch, (columns::EDGE_KIND, columns::EDGE_TO))?;
        kinds.skip(first)?;
        targets.skip(first)?;
        Ok(Self { kinds, targets, left: counts.next()? })
    }

    pub(super) fn next(&mut self) -> Result<Option<(u8, NodeId)>, StageError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        Ok(Some((self.kinds.next()?, self.targets.next()?)))
    }
}

/// Writes the distance seeds: the user's roots (the root's targets that are not synthetic, and the document trees) at
/// distance 1, then the root itself far away, or at 0 if there is no user root.
pub(super) fn distance_seeds(
    header: &Header,
    document_trees: StringId,
    scratch: &Scratch,
) -> Result<Vec<DistanceSeed>, StageError> {
    let kind = ColumnPoints::open(scratch, columns::NODE_KIND)?;
    let name = ColumnPoints::open(scratch, columns::NODE_NAME)?;
    let synthetic = header.node_type("synthetic");
    let mut seeds = ColumnWriter::create(scratch, columns::DISTANCE_SEED)?;
    let mut edges = RootEdges::open(header, scratch)?;
    while let Some((_, to)) = edges.next()? {
        if Some(kind.at(to.index())) != synthetic || name.at(to.index()) == document_trees {
            seeds.push(to)?;
        }
    }
    let count = seeds.len();
    seeds.push(NodeId(header.root as u32))?;
    seeds.finish()?;
    let distance = if count == 0 { 0 } else { SYSTEM_DISTANCE };
    Ok(vec![DistanceSeed { distance: 1, count }, DistanceSeed { distance, count: 1 }])
}
