//! The options of a run, as seen by the conditions in stage declarations.

use heaplake_schemas::options::{AnalysisOptions, Options, ReplayOptions, TableName, TraceTable};

/// The kind of a run: determines its stages and their columns.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The options of the user.
    pub options: &'a Options,
    /// Distances follow essential edges only, so no stage needs columns of all edges for them.
    pub follows_essential: bool,
}

impl Setting<'_> {
    /// True if the user wants this table of an analysis.
    pub fn has(&self, table: TableName) -> bool {
        self.analysis(|options| options.tables.has(table))
    }

    /// True if the user wants this table of a replay.
    pub fn traces(&self, table: TraceTable) -> bool {
        self.options.replay().is_some_and(|options| options.recording.tables.contains(&table))
    }

    /// True if the run is an analysis with options that satisfy `such`.
    pub fn analysis(&self, such: impl FnOnce(&AnalysisOptions) -> bool) -> bool {
        self.options.analysis().is_some_and(such)
    }

    /// True if the run is a replay with options that satisfy `such`.
    pub fn replay(&self, such: impl FnOnce(&ReplayOptions) -> bool) -> bool {
        self.options.replay().is_some_and(such)
    }

    /// True if chains are needed, for their table or for findings.
    pub fn chains(&self) -> bool {
        self.has(TableName::Chains) || self.findings()
    }

    /// True if retainer trees are needed, for their table, findings or the summary.
    pub fn retainer_trees(&self) -> bool {
        self.has(TableName::RetainerTrees) || self.findings()
    }

    /// True if findings are needed.
    pub fn findings(&self) -> bool {
        self.has(TableName::Findings)
    }

    /// True if names of all edges and nodes are needed: for the nodes or values table, or for rules of findings.
    pub fn node_details(&self) -> bool {
        self.has(TableName::Nodes) || self.has(TableName::Values) || self.findings()
    }

    /// True if signatures of classes are needed.
    pub fn class_signatures(&self) -> bool {
        let sets = self.has(TableName::DuplicateSets) && self.duplicates();
        sets || self.has(TableName::Classes) || self.has(TableName::AllocationTypes) || self.chains()
    }

    /// True if the run looks for duplicates.
    pub fn duplicates(&self) -> bool {
        self.analysis(AnalysisOptions::finds_duplicates)
    }

    /// True if the search for duplicates compares references.
    pub fn looks_into_references(&self) -> bool {
        self.analysis(AnalysisOptions::looks_into_references)
    }
}
