//! `heaplake plan`: what an analysis will take, told without running it.

use crate::plan;
use crate::summary::{count, size};
use heaplake_ingest::Format;
use heaplake_kit::StageInfo;
use heaplake_kit::budget::FIXED_OVERHEAD;
use heaplake_schemas::run::Options;
use serde::Serialize;
use std::fmt::Write;

/// What is known of an input beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Heap {
    /// Its format.
    pub format: Format,
    /// Nodes that it promises.
    pub nodes: u64,
    /// Edges that it promises.
    pub edges: u64,
    /// Whether the numbers are estimates, from a part of the input.
    pub estimated: bool,
}

/// What a whole analysis will take.
#[derive(Debug, Serialize)]
pub struct Forecast {
    /// Nodes that the input promises.
    pub nodes: u64,
    /// Edges that the input promises.
    pub edges: u64,
    /// Whether these are estimates.
    pub estimated: bool,
    /// The budget, bytes.
    pub memory: u64,
    /// The smallest budget that would do, bytes.
    pub least_memory: u64,
    /// The budget from which on nothing is paged, bytes.
    pub resident_memory: u64,
    /// The stages, in order.
    pub stages: Vec<StageForecast>,
    /// Scratch at its fullest, strings not included, bytes.
    pub scratch: u64,
}

/// What a stage will take. Sizes are bytes.
#[derive(Debug, Serialize)]
pub struct StageForecast {
    /// Its name.
    pub stage: &'static str,
    /// Memory that it would like to have.
    pub wanted: u64,
    /// Memory that it will have.
    pub given: u64,
    /// Whether some of its arrays will be paged.
    pub paged: bool,
    /// Whether even that is too little.
    pub refused: bool,
    /// What it adds to scratch.
    pub scratch: u64,
    /// What it goes through.
    pub passes: &'static str,
}

impl Forecast {
    /// For an input.
    #[must_use]
    pub fn new(heap: &Heap, memory: u64, options: &Options) -> Self {
        let Heap { format, nodes, edges, estimated } = *heap;
        let wanted = |stage: &StageInfo| stage.resident_bytes(nodes, edges) + FIXED_OVERHEAD;
        let least = |stage: &StageInfo| stage.least_bytes(nodes) + FIXED_OVERHEAD;
        let stages: Vec<StageForecast> = plan::stages(format, options)
            .map(|stage| StageForecast {
                stage: stage.name,
                wanted: wanted(stage),
                given: wanted(stage).min(memory),
                paged: wanted(stage) > memory && least(stage) <= memory,
                refused: least(stage) > memory,
                scratch: stage.scratch_bytes(nodes, edges),
                passes: stage.passes,
            })
            .collect();
        Self {
            nodes,
            edges,
            estimated,
            memory,
            least_memory: plan::stages(format, options).map(least).max().unwrap_or(0),
            resident_memory: stages.iter().map(|stage| stage.wanted).max().unwrap_or(0),
            scratch: plan::fullest_scratch(format, nodes, edges, options),
            stages,
        }
    }

    /// As a table.
    #[must_use]
    pub fn text(&self, input: &str) -> String {
        let mut out = String::new();
        // Writing into a string cannot fail.
        let _ = self.write(input, &mut out);
        out
    }

    fn write(&self, input: &str, out: &mut String) -> std::fmt::Result {
        let about = if self.estimated { "about " } else { "" };
        writeln!(out, "{input}: {about}{} nodes, {} edges\n", count(self.nodes), count(self.edges))?;
        writeln!(out, "  {:<17} {:>12} {:>12} {:>12}  passes", "stage", "wants", "gets", "scratch")?;
        for stage in &self.stages {
            let mark = if stage.refused { "!" } else { "*" };
            let given = format!("{}{}", size(stage.given), if stage.paged || stage.refused { mark } else { "" });
            let scratch = if stage.scratch == 0 { "-".to_owned() } else { size(stage.scratch) };
            let (name, wanted, passes) = (stage.stage, size(stage.wanted), stage.passes);
            writeln!(out, "  {name:<17} {wanted:>12} {given:>12} {scratch:>12}  {passes}")?;
        }
        let refused = if self.stages.iter().any(|stage| stage.refused) { "; ! cannot do with so little" } else { "" };
        let marks = format!("* pages, because the budget is smaller{refused}");
        writeln!(out, "\nscratch {} and the strings; {marks}", size(self.scratch))?;
        let verdict = if self.memory < self.least_memory {
            format!("too little: it needs {} at least", size(self.least_memory))
        } else if self.memory < self.resident_memory {
            format!("enough; from {} on nothing is paged", size(self.resident_memory))
        } else {
            "enough for everything to be resident".to_owned()
        };
        writeln!(out, "memory {}: {verdict}", size(self.memory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_budget() {
        let heap = Heap { format: Format::V8, nodes: 10_000_000, edges: 40_000_000, estimated: false };
        let text = |memory| Forecast::new(&heap, memory, &Options::default()).text("it");
        assert!(text(8 << 30).contains("everything to be resident") && !text(8 << 30).contains("MiB*"));
        assert!(text(128 << 20).contains("from ") && text(128 << 20).contains("128.0 MiB*"));
        assert!(text(16 << 20).contains("too little") && text(16 << 20).contains("16.0 MiB!"));
        assert!(!text(128 << 20).contains('!'));
    }
}
