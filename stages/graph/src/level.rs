//! A level of a breadth-first search. Used by [`super::distances`].
//!
//! Resident memory: 4 bytes for each node of a list; after the first level too wide for a list, a bit per node.

use heaplake_kit::{Bitset, Budget, BudgetVec, ColumnReader, ColumnWriter, Scratch, StageError};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::Column;

/// Overflow of the current and the next level, if the order within a level matters.
pub(crate) const LEVELS: [Column<NodeId>; 2] = [Column::new("distances.level.a"), Column::new("distances.level.b")];

/// The nodes of a level: a list, or a set if they are many; if their order matters, the rest of the list is on disk.
pub(crate) struct Level<'a> {
    pub nodes: BudgetVec<NodeId>,
    most: usize,
    /// The nodes of a wide level. Allocated on first use.
    pub set: Option<Bitset>,
    /// Whether the nodes are in the set.
    pub wide: bool,
    /// Where the rest of a list goes if the order matters.
    spill: Option<(Column<NodeId>, &'a Scratch)>,
    /// The rest of the list.
    rest: Option<ColumnWriter<NodeId>>,
    space: (&'a Budget, usize),
}

impl<'a> Level<'a> {
    /// Returns an empty level that lists `most` nodes; node numbers are below `nodes`.
    pub(crate) fn new(
        most: usize,
        spill: Option<(Column<NodeId>, &'a Scratch)>,
        budget: &'a Budget,
        nodes: usize,
    ) -> Self {
        let space = (budget, nodes);
        Self { nodes: budget.growing("distances: level"), most, set: None, wide: false, spill, rest: None, space }
    }

    #[inline]
    pub(crate) fn push(&mut self, node: NodeId) -> Result<(), StageError> {
        match &mut self.set {
            Some(set) if self.wide => {
                set.insert(node.index());
                Ok(())
            }
            _ if self.nodes.len() < self.most => self.nodes.push(node),
            _ => self.push_beyond(node),
        }
    }

    /// Adds a node to a full list.
    #[cold]
    fn push_beyond(&mut self, node: NodeId) -> Result<(), StageError> {
        match (&mut self.rest, self.spill) {
            (Some(rest), _) => rest.push(node),
            (rest, Some((column, scratch))) => rest.insert(ColumnWriter::create(scratch, column)?).push(node),
            (None, None) => {
                if let Some(set) = self.widen()? {
                    set.insert(node.index());
                }
                Ok(())
            }
        }
    }

    /// Turns the level into a set that threads may add to, if its order does not matter.
    pub(crate) fn widen(&mut self) -> Result<Option<&mut Bitset>, StageError> {
        if self.spill.is_some() {
            return Ok(None);
        }
        if !self.wide {
            let (budget, nodes) = self.space;
            let mut set = self.set.take().map_or_else(|| Bitset::new(budget, "distances: level", nodes), Ok)?;
            for node in self.nodes.iter() {
                set.insert(node.index());
            }
            self.nodes.clear();
            (self.set, self.wide) = (Some(set), true);
        }
        Ok(self.set.as_mut())
    }

    /// Turns a set of few nodes back into a list.
    pub(crate) fn narrow(&mut self) -> Result<(), StageError> {
        let Some(set) = self.set.as_mut().filter(|set| self.wide && set.count() <= self.most) else { return Ok(()) };
        for word in 0..set.words() {
            set.take_word(word).try_for_each(|node| self.nodes.push(NodeId(node as u32)))?;
        }
        self.wide = false;
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.wide && self.nodes.is_empty()
    }

    /// Removes all nodes; those of a set must have been taken.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.wide = false;
        self.rest = None;
    }

    /// Returns the nodes on disk.
    pub(crate) fn rest(&mut self) -> Result<Option<ColumnReader<NodeId>>, StageError> {
        let (Some(rest), Some((column, scratch))) = (self.rest.take(), self.spill) else { return Ok(None) };
        rest.finish()?;
        ColumnReader::open(scratch, column).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_comes_back_from_disk_in_order_or_is_a_set() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let budget = Budget::new(1 << 20);
        let mut level = Level::new(3, Some((LEVELS[0], &scratch)), &budget, 12);
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
        let mut level = Level::new(3, None, &budget, 12);
        for round in 0..2 {
            [7, 0, 11].into_iter().for_each(|node| level.push(NodeId(node)).unwrap());
            assert!(!level.wide && level.nodes.len() == 3);
            [2, 5].into_iter().for_each(|node| level.push(NodeId(node + round)).unwrap());
            assert!(level.wide && !level.is_empty());
            let set = level.set.as_mut().unwrap();
            assert_eq!(set.take_word(0).collect::<Vec<_>>(), [0, 2 + round as usize, 5 + round as usize, 7, 11]);
            level.clear();
        }
        for few in [true, false] {
            level.push(NodeId(3)).unwrap();
            let set = level.widen().unwrap().unwrap();
            assert!(!set.insert(3) && set.insert(1) && (few || (set.insert(11) && set.insert(4))));
            level.narrow().unwrap();
            assert_eq!(level.wide, !few);
            assert!(!few || level.nodes[..] == [NodeId(1), NodeId(3)]);
            level.clear();
        }
    }
}
