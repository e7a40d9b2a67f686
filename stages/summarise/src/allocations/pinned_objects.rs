//! Rule `pinned-object-churn`: short-lived objects in the heap of pinned objects.

use super::churn::churn;
use super::rule::Rule;

pub(super) const RULE: Rule = Rule {
    name: "pinned-object-churn",
    find: |trace| {
        let advice = "Allocate pinned buffers once and keep them; pin what is short-lived where it is, for as long as a \
                      call takes.";
        churn(trace, RULE.name, "pinned", advice)
    },
};
