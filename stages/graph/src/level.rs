//! A level of a breadth-first search. Used by [`super::distances`].
//!
//! Resident memory: 4 bytes for each node that is listed.

use heaplake_kit::{Budget, BudgetVec, ColumnReader, ColumnWriter, Scratch, StageError};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::Column;

/// Where the rest of a level and of the next one goes, if the order within a level matters.
pub(crate) const LEVELS: [Column<NodeId>; 2] = [Column::new("distances.level.a"), Column::new("distances.level.b")];

/// The nodes of a level, unless they are too many.
pub(crate) struct Level<'a> {
    pub nodes: BudgetVec<NodeId>,
    most: usize,
    /// Whether the level has more nodes, so that the list is incomplete.
    pub wide: bool,
    /// Where the other nodes go; nowhere if they are found by a pass over the distances.
    spill: Option<(Column<NodeId>, &'a Scratch)>,
    /// The other nodes.
    rest: Option<ColumnWriter<NodeId>>,
}

impl<'a> Level<'a> {
    /// An empty level that lists so many nodes.
    pub fn new(most: usize, spill: Option<(Column<NodeId>, &'a Scratch)>, budget: &Budget) -> Self {
        Self { nodes: budget.growing("distances: level"), most, wide: false, spill, rest: None }
    }

    /// Adds a node.
    #[inline]
    pub fn push(&mut self, node: NodeId) -> Result<(), StageError> {
        if self.nodes.len() < self.most {
            return self.nodes.push(node);
        }
        match (&mut self.rest, self.spill) {
            (Some(rest), _) => return rest.push(node),
            (rest, Some((column, scratch))) => rest.insert(ColumnWriter::create(scratch, column)?).push(node)?,
            (None, None) => self.wide = true,
        }
        Ok(())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        !self.wide && self.nodes.is_empty()
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.wide = false;
        self.rest = None;
    }

    /// The nodes that went to disk.
    pub fn rest(&mut self) -> Result<Option<ColumnReader<NodeId>>, StageError> {
        let (Some(rest), Some((column, scratch))) = (self.rest.take(), self.spill) else { return Ok(None) };
        rest.finish()?;
        ColumnReader::open(scratch, column).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_comes_back_from_disk_in_order_or_makes_the_level_wide() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let budget = Budget::new(1 << 20);
        let mut level = Level::new(3, Some((LEVELS[0], &scratch)), &budget);
        for round in 0..2 {
            (0..10).for_each(|node| level.push(NodeId(node * 7 % 10 + round)).unwrap());
            let mut nodes = level.nodes.to_vec();
            let mut rest = level.rest().unwrap().unwrap();
            while rest.remaining() > 0 {
                nodes.push(rest.next().unwrap());
            }
            assert_eq!(nodes, (0..10).map(|node| NodeId(node * 7 % 10 + round)).collect::<Vec<_>>());
            assert!(!level.is_empty() && !level.wide);
            level.clear();
            assert!(level.is_empty() && level.rest().unwrap().is_none());
        }
        let mut level = Level::new(3, None, &budget);
        (0..4).for_each(|node| level.push(NodeId(node)).unwrap());
        assert!(level.wide && level.nodes.len() == 3);
    }
}
