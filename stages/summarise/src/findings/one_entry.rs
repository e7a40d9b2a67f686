//! Rule `one-entry-collections`: many containers with a single entry, each with a table or an array of its own.

use super::containers::{self, Judge, LARGE};
use super::rule::Rule;
use heaplake_schemas::containers::flags;

pub(super) const RULE: Rule = Rule { names: &[JUDGE.name], open: |_, _| Ok(Box::new(JUDGE)), ..containers::BASE };

const JUDGE: Judge = Judge {
    name: "one-entry-collections",
    percent: [101, 20, 3],
    next_step: "Hold the single object itself, or an immutable collection of one, and make the real one when a second \
                comes.",
    bytes: |container| {
        let one = container.row.entries == 1 && container.row.flags & flags::SPARSE == 0;
        // The problem of a large one is its slack.
        (one && (1..LARGE).contains(&container.store)).then_some(container.own.saturating_add(container.store))
    },
    message: |crowd, what, heap| format!("{what} have one entry each and take {} beside it", heap.share(crowd.bytes)),
};
