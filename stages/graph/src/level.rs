//! A level of a breadth-first search. Used by [`super::distances`].
//!
//! Resident memory: 4 bytes for each node that is listed; once a level was too wide for that, a bit per node.

use heaplake_kit::{Bitset, Budget, BudgetVec, ColumnReader, ColumnWriter, Scratch, StageError};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::Column;

/// Where the rest of a level and of the next one goes, if the order within a level matters.
pub(crate) const LEVELS: [Column<NodeId>; 2] = [Column::new("distances.level.a"), Column::new("distances.level.b")];

/// The nodes of a level: a list, or a set if they are many, or if their order matters, a list of which the rest is on disk.
pub(crate) struct Level<'a> {
    pub nodes: BudgetVec<NodeId>,
    most: usize,
    /// The nodes, if they are more than are listed. Made when it is needed first.
    pub set: Option<Bitset>,
    /// Whether they are in the set.
    pub wide: bool,
    /// Where the other nodes go if their order matters.
    spill: Option<(Column<NodeId>, &'a Scratch)>,
    /// The other nodes.
    rest: Option<ColumnWriter<NodeId>>,
    space: (&'a Budget, usize),
}

impl<'a> Level<'a> {
    /// An empty level that lists so many nodes, and may have any of `nodes`.
    pub fn new(
        most: usize,
        spill: Option<(Column<NodeId>, &'a Scratch)>,
        (budget, nodes): (&'a Budget, usize),
    ) -> Self {
        let space = (budget, nodes);
        Self { nodes: budget.growing("distances: level"), most, set: None, wide: false, spill, rest: None, space }
    }

    /// Adds a node.
    #[inline]
    pub fn push(&mut self, node: NodeId) -> Result<(), StageError> {
        match &mut self.set {
            Some(set) if self.wide => {
                set.insert(node.index());
                Ok(())
            }
            _ if self.nodes.len() < self.most => self.nodes.push(node),
            _ => self.push_beyond(node),
        }
    }

    /// Adds a node beyond those that are listed.
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

    /// Becomes a set, to which threads may add, if its order does not matter.
    pub fn widen(&mut self) -> Result<Option<&mut Bitset>, StageError> {
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

    /// Becomes a list again if it has become a set and is not wide.
    pub fn narrow(&mut self) -> Result<(), StageError> {
        let Some(set) = self.set.as_mut().filter(|set| self.wide && set.count() <= self.most) else { return Ok(()) };
        for word in 0..set.words() {
            set.take_word(word).try_for_each(|node| self.nodes.push(NodeId(node as u32)))?;
        }
        self.wide = false;
        Ok(())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        !self.wide && self.nodes.is_empty()
    }

    /// Removes all; those of a set have been taken.
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
    fn what_is_not_listed_comes_back_from_disk_in_order_or_is_a_set() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let budget = Budget::new(1 << 20);
        let mut level = Level::new(3, Some((LEVELS[0], &scratch)), (&budget, 12));
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
        let mut level = Level::new(3, None, (&budget, 12));
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
