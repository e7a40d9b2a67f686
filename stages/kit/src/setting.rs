//! The options of a run, as the conditions in stage declarations see them.

use heaplake_schemas::options::{AnalysisOptions, Options, ReplayOptions, TableName, TraceTable};

/// The kind of a run: everything that decides which stages it has and which columns they use.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The options of the user.
    pub options: &'a Options,
    /// Whether distances follow essential edges only, so that no stage needs columns of all edges for them.
    pub follows_essential: bool,
}

impl Setting<'_> {
    /// Whether the user wants this table of an analysis.
    #[must_use]
    pub fn has(&self, table: TableName) -> bool {
        self.analysis(|options| options.tables.has(table))
    }

    /// Whether the user wants this table of a replay.
    #[must_use]
    pub fn traces(&self, table: TraceTable) -> bool {
        self.options.replay().is_some_and(|options| options.recording.tables.contains(&table))
    }

    /// Whether the run is an analysis whose options satisfy `such`.
    #[must_use]
    pub fn analysis(&self, such: impl FnOnce(&AnalysisOptions) -> bool) -> bool {
        self.options.analysis().is_some_and(such)
    }

    /// Whether the run is a replay whose options satisfy `such`.
    #[must_use]
    pub fn replay(&self, such: impl FnOnce(&ReplayOptions) -> bool) -> bool {
        self.options.replay().is_some_and(such)
    }

    /// Whether chains are needed, for their table or for findings.
    #[must_use]
    pub fn chains(&self) -> bool {
        self.has(TableName::Chains) || self.findings()
    }

    /// Whether trees of all holders are needed, for their table, findings or the summary.
    #[must_use]
    pub fn retainer_trees(&self) -> bool {
        self.has(TableName::RetainerTrees) || self.findings()
    }

    /// Whether findings are needed.
    #[must_use]
    pub fn findings(&self) -> bool {
        self.has(TableName::Findings)
    }

    /// Whether the run needs the names of all edges and nodes: for the tables of nodes and of values, or for rules of
    /// findings.
    #[must_use]
    pub fn node_details(&self) -> bool {
        self.has(TableName::Nodes) || self.has(TableName::Values) || self.findings()
    }

    /// Whether signatures of classes are needed.
    #[must_use]
    pub fn class_signatures(&self) -> bool {
        let sets = self.has(TableName::DuplicateSets) && self.duplicates();
        sets || self.has(TableName::Classes) || self.has(TableName::AllocationTypes) || self.chains()
    }

    /// Whether the run looks for duplicates.
    #[must_use]
    pub fn duplicates(&self) -> bool {
        self.analysis(AnalysisOptions::finds_duplicates)
    }

    /// Whether the search for duplicates compares references.
    #[must_use]
    pub fn looks_into_references(&self) -> bool {
        self.analysis(AnalysisOptions::looks_into_references)
    }
}
