//! What a run would take, computed from the declarations of its stages.

use super::graph::Graph;
use super::input::setting;
use super::{liveness, registry};
use heaplake_ingest::Format;
use heaplake_kit::Stage;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_schemas::options::Options;
use serde::Serialize;

/// How large a heap is.
pub struct Heap {
    /// Format of the input.
    pub format: &'static dyn Format,
    /// Nodes.
    pub nodes: u64,
    /// Edges.
    pub edges: u64,
    /// Whether these are estimates.
    pub estimated: bool,
}

/// What an analysis would take. Sizes are bytes.
#[derive(Debug, Serialize)]
pub struct Forecast {
    /// Nodes.
    pub nodes: u64,
    /// Edges.
    pub edges: u64,
    /// Whether these are estimates.
    pub estimated: bool,
    /// The budget, bytes.
    pub memory: u64,
    /// The smallest budget that would do, bytes.
    pub least_memory: u64,
    /// The least budget at which nothing is paged, bytes.
    pub resident_memory: u64,
    /// The stages, in order.
    pub stages: Vec<StageForecast>,
    /// Most scratch at once, strings not included, bytes.
    pub scratch: u64,
}

/// What a stage will take. Sizes are bytes.
#[derive(Debug, Serialize)]
pub struct StageForecast {
    /// Its name.
    pub stage: String,
    /// Memory that it would like to have.
    pub wanted: u64,
    /// Memory that it will have.
    pub given: u64,
    /// Whether some of its arrays will be paged.
    pub paged: bool,
    /// Whether that is less than it must have.
    pub refused: bool,
    /// What it adds to scratch.
    pub scratch: u64,
    /// Its passes over disk.
    pub passes: &'static str,
}

impl Forecast {
    /// For an input.
    #[must_use]
    pub fn new(heap: &Heap, memory: u64, options: &Options) -> Self {
        let Heap { format, nodes, edges, estimated } = *heap;
        let graph = graph(format, options);
        let wanted = |stage: &Stage| stage.resident_bytes(nodes, edges) + FIXED_OVERHEAD;
        let least = |stage: &Stage| stage.least_bytes(nodes, edges) + FIXED_OVERHEAD;
        let stages: Vec<StageForecast> = graph
            .steps
            .iter()
            .map(|step| StageForecast {
                stage: step.name.clone(),
                wanted: wanted(step.stage),
                given: wanted(step.stage).min(memory),
                paged: wanted(step.stage) > memory && least(step.stage) <= memory,
                refused: least(step.stage) > memory,
                scratch: liveness::written_bytes(step, nodes, edges),
                passes: step.stage.passes,
            })
            .collect();
        Self {
            nodes,
            edges,
            estimated,
            memory,
            least_memory: graph.steps.iter().map(|step| least(step.stage)).max().unwrap_or(0),
            resident_memory: stages.iter().map(|stage| stage.wanted).max().unwrap_or(0),
            scratch: liveness::peak_bytes(&graph, nodes, edges),
            stages,
        }
    }
}

/// The graph of an analysis.
#[must_use]
pub fn graph(format: &'static dyn Format, options: &Options) -> Graph {
    Graph::new(&registry::entries(Some(format)), &setting(Some(format), options))
}
