//! Rule `empty-collections`: many collections that hold nothing, with the tables that they have nevertheless.

use super::containers::judge;
use super::heap::Heap;
use super::{Finding, Rule};
use heaplake_kit::{Context, StageError};

/// Percent of the heap from which on a finding is high (never), medium, low.
const PERCENT: [u64; 3] = [101, 10, 2];

pub struct EmptyCollections;

impl Rule for EmptyCollections {
    fn report(&mut self, heap: &Heap, context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        let next = "Make them when the first entry comes, or share one empty immutable collection.";
        judge(
            "empty-collections",
            PERCENT,
            next,
            heap,
            context,
            |container| (container.row.entries == 0).then_some(container.own.saturating_add(container.store)),
            |crowd, what| format!("{what} are empty and take {}", heap.share(crowd.bytes)),
        )
    }
}
