//! Rule `collection-slack`: collections that were made, or have once grown, for many more entries than they have.

use super::containers::{LARGE, judge};
use super::heap::Heap;
use super::{Finding, Rule};
use heaplake_kit::text::count;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::containers::flags;

/// Percent of the heap from which on a finding is high (never), medium, low.
const PERCENT: [u64; 3] = [101, 10, 2];

pub struct CollectionSlack;

impl Rule for CollectionSlack {
    fn report(&mut self, heap: &Heap, context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        let next = "Give them the capacity that they need when they are made, and trim those that have shrunk.";
        judge(
            "collection-slack",
            PERCENT,
            next,
            heap,
            context,
            |container| {
                let spare = container.row.spare_bytes;
                let minds = container.row.entries > 0
                    && container.row.flags & flags::SPARSE == 0
                    && container.store >= LARGE
                    && spare >= container.store / 2;
                minds.then_some(spare)
            },
            |crowd, what| {
                let (entries, share) = (count(crowd.entries), heap.share(crowd.bytes));
                format!("{what} have {entries} entries and room for many more: {share} of empty slots")
            },
        )
    }
}
