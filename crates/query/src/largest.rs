//! The largest of a stream of nodes, in memory that does not grow with the stream.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Entries by descending bytes, then ascending node.
pub(crate) type Entry = (Reverse<u64>, u32);

/// The `most` largest entries so far.
pub(crate) struct Largest {
    most: usize,
    /// The smallest on top.
    heap: BinaryHeap<Entry>,
}

impl Largest {
    /// No entry yet.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, heap: BinaryHeap::new() }
    }

    /// Whether an entry would stay.
    pub(crate) fn would_stay(&self, entry: Entry) -> bool {
        self.heap.len() < self.most || self.heap.peek().is_some_and(|last| entry < *last)
    }

    /// Adds an entry, if it is among the largest.
    pub(crate) fn add(&mut self, entry: Entry) {
        if self.would_stay(entry) {
            self.heap.push(entry);
            if self.heap.len() > self.most {
                self.heap.pop();
            }
        }
    }

    /// The entries from the place `first` on, largest first.
    pub(crate) fn from(self, first: usize) -> Vec<Entry> {
        let mut entries = self.heap.into_sorted_vec();
        entries.drain(..first.min(entries.len()));
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_stay_in_order() {
        let mut largest = Largest::new(4);
        for (node, bytes) in [5, 9, 1, 9, 7, 3].into_iter().enumerate() {
            largest.add((Reverse(bytes), node as u32));
        }
        let found: Vec<_> = largest.from(1).into_iter().map(|(Reverse(bytes), node)| (bytes, node)).collect();
        assert_eq!(found, [(9, 3), (7, 4), (5, 0)]);
        let mut none = Largest::new(0);
        none.add((Reverse(1), 0));
        assert!(none.from(7).is_empty());
    }
}
