//! Rules about a replay.

use super::trace::Trace;
use heaplake_schemas::findings::Finding;

pub(super) struct Rule {
    /// Name of its findings, as in the table.
    pub name: &'static str,
    /// Returns its findings.
    pub find: fn(&Trace) -> Vec<Finding>,
}
