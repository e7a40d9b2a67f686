//! Rule `empty-collections`: many empty containers that nevertheless have tables.

use super::containers::{self, Judge};
use super::rule::Rule;

pub(super) const RULE: Rule = Rule { names: &[JUDGE.name], open: |_, _| Ok(Box::new(JUDGE)), ..containers::BASE };

const JUDGE: Judge = Judge {
    name: "empty-collections",
    percent: [101, 10, 2],
    next_step: "Make them when the first entry comes, or share one empty immutable collection.",
    bytes: |container| (container.row.entries == 0).then_some(container.own.saturating_add(container.store)),
    message: |crowd, what, heap| format!("{what} are empty and take {}", heap.share(crowd.bytes)),
};
