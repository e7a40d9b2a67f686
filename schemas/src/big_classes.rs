//! Which classes of a heap are big.

use serde::{Deserialize, Serialize};

/// Which classes are big: those that reach one of the thresholds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BigClasses {
    /// Least retained size, bytes, if not 1 % of the heap and at least [`LEAST_RETAINED`].
    pub min_retained: Option<u64>,
    /// Least number of instances, if not 1 % of all and at least [`LEAST_COUNT`].
    pub min_count: Option<u64>,
    /// Patterns of names; where there are some, other classes are not big.
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

/// What a class must retain to be big in a small heap, bytes.
pub const LEAST_RETAINED: u64 = 64 << 10;
/// How many instances a class must have to be big in a small heap.
pub const LEAST_COUNT: u64 = 1000;
