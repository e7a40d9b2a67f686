//! What kind of run it is, for what stages say of when they are wanted.

use heaplake_schemas::options::{AnalysisOptions, Options, ReplayOptions, TableName, TraceTable};

/// What kind of run it is: all that decides which stages it has and which columns they use.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// What the user asks for.
    pub options: &'a Options,
    /// Whether distances go along essential edges alone, so that nobody needs columns of all edges for them.
    pub follows_essential: bool,
}

impl Setting<'_> {
    /// Whether a table of an analysis is wanted.
    #[must_use]
    pub fn has(&self, table: TableName) -> bool {
        self.analysis(|options| options.tables.has(table))
    }

    /// Whether a table of a replay is wanted.
    #[must_use]
    pub fn traces(&self, table: TraceTable) -> bool {
        self.options.replay().is_some_and(|options| options.recording.tables.contains(&table))
    }

    /// Whether it is an analysis with such options.
    #[must_use]
    pub fn analysis(&self, such: impl FnOnce(&AnalysisOptions) -> bool) -> bool {
        self.options.analysis().is_some_and(such)
    }

    /// Whether it is a replay with such options.
    #[must_use]
    pub fn replay(&self, such: impl FnOnce(&ReplayOptions) -> bool) -> bool {
        self.options.replay().is_some_and(such)
    }

    /// Whether chains are wanted, in their table or in findings.
    #[must_use]
    pub fn chains(&self) -> bool {
        self.has(TableName::Chains) || self.findings()
    }

    /// Whether findings are wanted.
    #[must_use]
    pub fn findings(&self) -> bool {
        self.has(TableName::Findings)
    }

    /// Whether somebody looks at the numbers of edges and the names of all nodes: their table, and rules of findings.
    #[must_use]
    pub fn node_details(&self) -> bool {
        self.has(TableName::Nodes) || self.findings()
    }

    /// Whether duplicates are looked for.
    #[must_use]
    pub fn duplicates(&self) -> bool {
        self.analysis(AnalysisOptions::finds_duplicates)
    }

    /// Whether references are looked into for that.
    #[must_use]
    pub fn looks_into_references(&self) -> bool {
        self.analysis(AnalysisOptions::looks_into_references)
    }
}
