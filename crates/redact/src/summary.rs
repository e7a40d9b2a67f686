//! The result of a redaction, for people and programs.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Number and bytes of masked things of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Masked {
    /// Their number.
    pub count: u64,
    /// Their bytes in the input: of texts in UTF-8, of values as the format has them.
    pub bytes: u64,
}

/// The result of a redaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Summary {
    /// Name of the input.
    pub input: String,
    /// Its format: `heapsnapshot` or `hprof`.
    pub format: &'static str,
    /// Bytes of the input's content, decompressed.
    pub content_bytes: u64,
    /// Bytes of the output before compression.
    pub output_bytes: u64,
    /// Masked things by kind.
    pub masked: BTreeMap<&'static str, Masked>,
    /// Observations, such as the marks of other tools.
    pub remarks: Vec<String>,
    /// Whether another tool had given all arrays of bytes and characters one value.
    #[serde(skip)]
    pub is_uniform: bool,
}

impl Summary {
    /// Adds one masked thing.
    #[inline]
    pub(crate) fn add(&mut self, kind: &'static str, bytes: u64) {
        let masked = self.masked.entry(kind).or_default();
        masked.count += 1;
        masked.bytes += bytes;
    }

    /// All masked things.
    #[must_use]
    pub fn all(&self) -> Masked {
        let sum = |of: fn(&Masked) -> u64| self.masked.values().map(of).sum();
        Masked { count: sum(|masked| masked.count), bytes: sum(|masked| masked.bytes) }
    }
}
