//! The numbers of the hashes of all nodes, from the order of hashes to that of nodes.

use super::partition::{Entry, Partition};
use super::verify_pass::{NONE, NUMBERS};
use crate::{Budget, ColumnWriter, Context, Scratch, StageError};

/// Nodes with the numbers of their hashes, in partitions by node.
pub struct Numbers {
    parts: Vec<Partition>,
    /// Shift that turns a node into the position of its partition.
    shift: u32,
    nodes: usize,
}

impl Numbers {
    /// Of so many nodes, of which none has a number yet, in so many partitions.
    pub fn new(nodes: u32, count: usize, scratch: &Scratch) -> Self {
        let shift = u64::from(nodes).div_ceil(count as u64).next_power_of_two().trailing_zeros();
        Self { parts: (0..count).map(|_| Partition::new(scratch)).collect(), shift, nodes: nodes as usize }
    }

    /// Takes the number of a node, in any order.
    #[inline]
    pub fn push(&mut self, node: u32, number: u32) -> Result<(), StageError> {
        self.parts[(u64::from(node) >> self.shift) as usize].push(Entry::new(number.into(), node))
    }

    /// Writes the column of numbers. Returns the bytes that went through files before.
    pub fn write(self, budget: &Budget, scratch: &Scratch, context: &Context<'_>) -> Result<u64, StageError> {
        let size = (1usize << self.shift).min(self.nodes);
        let mut numbers = budget.filled("values: numbers", size, NONE)?;
        let mut column = ColumnWriter::create(scratch, NUMBERS)?;
        let mut spilled = 0;
        for (at, part) in self.parts.into_iter().enumerate() {
            context.check()?;
            let first = at << self.shift;
            let numbers = &mut numbers[..size.min(self.nodes.saturating_sub(first))];
            numbers.fill(NONE);
            part.each(|entry| {
                numbers[entry.node as usize - first] = entry.hash() as u32;
                Ok(())
            })?;
            spilled += part.spilled_bytes();
            column.extend(numbers)?;
        }
        column.finish()?;
        Ok(spilled)
    }
}
