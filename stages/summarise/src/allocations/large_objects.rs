//! Rule `large-object-churn`: objects in the heap of large objects that do not stay.

use super::churn::churn;
use super::rule::Rule;

/// The rule.
pub const RULE: Rule = Rule {
    name: "large-object-churn",
    find: |trace| {
        let advice = "Rent large buffers from a pool (ArrayPool), keep them, or work in pieces below the limit of large \
                      objects.";
        churn(trace, RULE.name, "large", advice)
    },
};
