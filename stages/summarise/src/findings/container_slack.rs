//! Rule `collection-slack`: containers with a capacity far beyond their entries.

use super::containers::{self, Judge, LARGE};
use super::rule::Rule;
use heaplake_kit::text::count;
use heaplake_schemas::containers::flags;

pub(super) const RULE: Rule = Rule { names: &[JUDGE.name], open: |_, _| Ok(Box::new(JUDGE)), ..containers::BASE };

const JUDGE: Judge = Judge {
    name: "collection-slack",
    percent: [101, 10, 2],
    next_step: "Give them the capacity that they need when they are made, and trim those that have shrunk.",
    bytes: |container| {
        let spare = container.row.spare_bytes;
        let is_slack = container.row.entries > 0
            && container.row.flags & flags::SPARSE == 0
            && container.store >= LARGE
            && spare >= container.store / 2;
        is_slack.then_some(spare)
    },
    message: |crowd, what, heap| {
        let (entries, share) = (count(crowd.entries), heap.share(crowd.bytes));
        format!("{what} have {entries} entries and room for many more: {share} of empty slots")
    },
};
