//! Arguments of `plan`.

use crate::commands::choices::{Chosen, DuplicateOptions, Trust, one_of};
use crate::engine::picture::Language;
use crate::memory::Size;
use clap::Args;

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake plan Heap.heapsnapshot --memory 512MiB",
    after_long_help = "Examples:\n  heaplake plan Heap.heapsnapshot\n  heaplake plan Heap.heapsnapshot.zst --memory 512MiB --edges\n  heaplake plan nightly/ --each | jq .scratch\n  heaplake plan Heap.heapsnapshot --graph dot | dot -Tsvg > stages.svg"
)]
pub(crate) struct Arguments {
    /// The snapshot, or - for standard input; several with --each
    ///
    /// Only its beginning is read.
    #[arg(required = true, value_name = "FILE")]
    pub(super) inputs: Vec<String>,
    /// Memory budget of the analysis [default: a quarter]
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<Size>,
    #[command(flatten)]
    pub(super) tables: Chosen,
    #[command(flatten)]
    pub(super) duplicates: DuplicateOptions,
    #[command(flatten)]
    pub(super) trust: Trust,
    /// Print the graph of the stages instead, as mermaid or dot
    ///
    /// It shows the dependencies of the stages.
    #[arg(long, value_name = "LANGUAGE", hide_possible_values = true, num_args = 0..=1, default_missing_value = "mermaid", value_parser = one_of(Language::ALL, Language::name))]
    pub(super) graph: Option<Language>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Print a line of JSON for each of several inputs
    ///
    /// Inputs are then files, folders and glob patterns, as in analyze. A line has the name of the input, its stored
    /// size and its forecast, or an error. Lines are printed as they come, for a scheduler.
    #[arg(long, conflicts_with_all = ["graph", "json"])]
    pub(super) each: bool,
}
