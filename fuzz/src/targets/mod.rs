//! All targets.

mod compressed;
mod lake;
mod rules;
mod scratch;
mod snapshots;
mod structured;
mod symbols;
mod table_values;
mod traces;

use crate::subject::Target;

/// Every target.
pub const ALL: &[Target] = &[
    snapshots::HPROF,
    snapshots::HPROF_SALVAGE,
    structured::HPROF_RECORDS,
    snapshots::HEAPSNAPSHOT,
    structured::HEAPSNAPSHOT_ROWS,
    structured::HEAPSNAPSHOT_SALVAGE,
    snapshots::GCDUMP,
    snapshots::WALK,
    structured::NETTRACE_EVENTS,
    traces::LOG,
    structured::LOG_LINES,
    traces::NETTRACE,
    traces::JFR,
    traces::HEAPPROFILE,
    traces::TRACE_TREE,
    compressed::COMPRESSED,
    lake::RUN_JSON,
    lake::TABLES,
    table_values::TABLE_VALUES,
    scratch::SCRATCH,
    rules::OWNERS,
    rules::NAMES,
    rules::GATES,
    rules::SOURCE_MAP,
    symbols::SYMBOLS,
];

/// The target of a name.
pub fn named(name: &str) -> Option<&'static Target> {
    ALL.iter().find(|target| target.name == name)
}
