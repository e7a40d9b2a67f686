//! Rule `large-object-churn`: short-lived objects in the heap of large objects.

use super::churn::churn;
use super::rule::Rule;

pub(super) const RULE: Rule = Rule {
    name: "large-object-churn",
    find: |trace| {
        let advice = "Rent large buffers from a pool (ArrayPool), keep them, or work in pieces below the limit of large \
                      objects.";
        churn(trace, RULE.name, "large", advice)
    },
};
