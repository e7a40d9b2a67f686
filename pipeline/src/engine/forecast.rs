//! Forecast of a run's resources, computed from the declarations of its stages.

use super::graph::Graph;
use super::input::setting;
use super::{liveness, registry};
use heaplake_ingest::Format;
use heaplake_kit::Stage;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_schemas::options::Options;
use schemars::JsonSchema;
use serde::Serialize;

/// Size of a heap.
pub struct Heap {
    /// Format of the input.
    pub format: &'static dyn Format,
    /// Nodes.
    pub nodes: u64,
    /// Edges.
    pub edges: u64,
    /// Whether the numbers are estimates.
    pub estimated: bool,
}

/// Forecast of an analysis. Sizes are bytes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Forecast {
    /// Nodes.
    pub nodes: u64,
    /// Edges.
    pub edges: u64,
    /// Whether these numbers are estimates.
    pub estimated: bool,
    /// Memory budget.
    pub memory: u64,
    /// Smallest sufficient budget.
    pub least_memory: u64,
    /// Smallest budget without paging.
    pub resident_memory: u64,
    /// Stages, in order.
    pub stages: Vec<StageForecast>,
    /// Peak scratch size, without strings.
    pub scratch: u64,
}

/// Forecast of a stage. Sizes are bytes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StageForecast {
    /// Name of the stage.
    pub stage: String,
    /// Memory that keeps its arrays resident.
    pub wanted: u64,
    /// Memory that it gets.
    pub given: u64,
    /// Whether some of its arrays are paged.
    pub paged: bool,
    /// Whether it gets less than its minimum.
    pub refused: bool,
    /// Bytes it adds to scratch.
    pub scratch: u64,
    /// Its passes over disk.
    pub passes: &'static str,
}

impl Forecast {
    /// Computes the forecast of an input.
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

/// Returns the graph of an analysis.
pub fn graph(format: &'static dyn Format, options: &Options) -> Graph {
    Graph::new(&registry::entries(Some(format)), &setting(Some(format), options))
}
