//! Columns of the origins of classes, for the table of owners. Memory: about 80 bytes per origin, and 8 per class with
//! a node, accounted.

use heaplake_kit::{Budget, BudgetVec, ColumnWriter, Reservation, Scratch, StageError, create_all, finish_all};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::owners::Origin;
use heaplake_schemas::scratch as columns;
use rustc_hash::FxHashMap;

/// No origin, script or loader.
pub(crate) const NONE: u32 = u32::MAX;

/// Collects the origins of classes.
pub(crate) struct OriginWriter {
    of_class: ColumnWriter<u32>,
    /// Nodes of classes, and their rows.
    nodes: BudgetVec<(NodeId, u32)>,
    rows: ColumnWriter<Origin>,
    by_row: FxHashMap<Origin, u32>,
    reservation: Reservation,
}

impl OriginWriter {
    /// Starts empty.
    pub(crate) fn create(scratch: &Scratch, budget: &Budget) -> Result<Self, StageError> {
        let (of_class, rows) = create_all(scratch, (columns::CLASS_ORIGIN, columns::ORIGIN))?;
        let (nodes, reservation) = (budget.growing("origins of classes"), budget.reserve("origins", 0)?);
        Ok(Self { of_class, nodes, rows, by_row: FxHashMap::default(), reservation })
    }

    /// Adds the next class with its origin, which is that of its node, too, if it has one.
    pub(crate) fn class(&mut self, origin: Option<Origin>, node: Option<NodeId>) -> Result<(), StageError> {
        let Some(origin) = origin else { return self.of_class.push(NONE) };
        let row = self.row(origin)?;
        self.of_class.push(row)?;
        node.map_or(Ok(()), |node| self.nodes.push((node, row)))
    }

    fn row(&mut self, origin: Origin) -> Result<u32, StageError> {
        if let Some(&known) = self.by_row.get(&origin) {
            return Ok(known);
        }
        self.reservation.grow(80)?;
        let row = self.by_row.len() as u32;
        self.by_row.insert(origin, row);
        self.rows.push(origin)?;
        Ok(row)
    }

    /// Completes the columns; `more` further classes have no origin.
    pub(crate) fn finish(mut self, more: usize, scratch: &Scratch) -> Result<(), StageError> {
        (0..more).try_for_each(|_| self.of_class.push(NONE))?;
        finish_all((self.of_class, self.rows))?;
        self.nodes.sort_unstable();
        ColumnWriter::write_each(scratch, columns::ORIGIN_NODE, self.nodes.iter().map(|&(node, _)| node))?;
        ColumnWriter::write_each(scratch, columns::ORIGIN_OF_NODE, self.nodes.iter().map(|&(_, row)| row)).map(drop)
    }
}
