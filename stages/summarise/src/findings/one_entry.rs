//! Rule `one-entry-collections`: many collections that hold a single object, each with a table or an array of its own.

use super::containers::{LARGE, judge};
use super::heap::Heap;
use super::{Finding, Rule};
use heaplake_kit::{Context, StageError};
use heaplake_schemas::containers::flags;

/// Percent of the heap from which on a finding is high (never), medium, low.
const PERCENT: [u64; 3] = [101, 20, 3];

pub struct OneEntry;

impl Rule for OneEntry {
    fn report(&mut self, heap: &Heap, context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        let next = "Hold the single object itself, or an immutable collection of one, and make the real one when a second \
                    comes.";
        judge(
            "one-entry-collections",
            PERCENT,
            next,
            heap,
            context,
            |container| {
                let one = container.row.entries == 1 && container.row.flags & flags::SPARSE == 0;
                // A large one has slack, above all.
                (one && (1..LARGE).contains(&container.store)).then_some(container.own.saturating_add(container.store))
            },
            |crowd, what| format!("{what} have one entry each and take {} beside it", heap.share(crowd.bytes)),
        )
    }
}
