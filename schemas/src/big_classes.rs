//! Thresholds of big classes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Big classes: those that reach a threshold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BigClasses {
    /// Least retained size, bytes; by default 1 % of the heap, at least [`LEAST_RETAINED`].
    pub min_retained: Option<u64>,
    /// Least number of instances; by default 1 % of all, at least [`LEAST_COUNT`].
    pub min_count: Option<u64>,
    /// Name patterns; if there are any, other classes are not big.
    pub classes: Vec<String>,
}

impl std::fmt::Display for BigClasses {
    /// As on the command line.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let least = [("--min-retained", self.min_retained), ("--min-count", self.min_count)];
        let least = least.iter().filter_map(|(name, value)| Some(format!("{name} {}", (*value)?)));
        let classes = self.classes.iter().map(|pattern| format!("--class {pattern}"));
        let given: Vec<String> = least.chain(classes).collect();
        formatter.write_str(if given.is_empty() { "the defaults" } else { "" })?;
        formatter.write_str(&given.join(" "))
    }
}

/// Least retained size of a big class in a small heap, bytes.
pub const LEAST_RETAINED: u64 = 64 << 10;
/// Least number of instances of a big class in a small heap.
pub const LEAST_COUNT: u64 = 1000;
