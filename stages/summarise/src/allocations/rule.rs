//! What a rule about a replay is.

use super::trace::Trace;
use heaplake_schemas::findings::Finding;

/// All that the stage knows of a rule.
pub struct Rule {
    /// Name of its findings, as in the table.
    pub name: &'static str,
    /// Says what it found.
    pub find: fn(&Trace) -> Vec<Finding>,
}
