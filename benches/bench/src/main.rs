//! `heaplake-bench`: the cost of an analysis, against floors, peers and goals.
//!
//! Absolute times of a shared machine mean little, so everything compared is measured in one run, interleaved, and
//! reported as medians and ratios. CPU time and peak memory are the kernel's numbers for a child process ([`measure`]),
//! never a program's own.
//!
//! Micro-benchmarks have no framework of their own: [`kernels`] times plain loops, so that they appear in the same
//! report, beside their floors.

mod answers;
mod before_after;
mod comparison;
mod contest;
mod critical_path;
mod dumps;
mod end_to_end;
mod files;
mod fleet;
mod goals;
mod group;
mod growth;
mod kernels;
mod lakes;
mod machine;
mod measure;
mod month;
mod peers;
mod replay;
mod report;
mod scale;
mod settings;
mod shapes;
mod simulate;
mod well_formed;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Run it in the root of the repository.

Examples:
  heaplake-bench measure -- heaplake analyze Heap.heapsnapshot --out lake
  heaplake-bench end-to-end --save
  heaplake-bench end-to-end --peers --sizes 100MB production.heapsnapshot
  heaplake-bench scale --sizes 1GB,10GB --limits none,2GiB/2.5GiB --save
  heaplake-bench replay --sizes 200MB --save
  heaplake-bench shapes --nodes 250000
  heaplake-bench kernels --shrink 20";

/// Measures heaplake: end to end, at scale, and its inner loops.
#[derive(Parser)]
#[command(version, after_help = EXAMPLES, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a command and print its cost as one JSON line; its standard output goes to standard error
    Measure(measure::Options),
    /// Whole analyses against the floor, the goals and, on request, other programs
    EndToEnd(end_to_end::Options),
    /// Heap dumps of Java virtual machines: the engine, the floor, the goals, other programs
    Dumps(dumps::Options),
    /// Two builds of heaplake on the same inputs: times and memory of both
    BeforeAfter(before_after::Options),
    /// Critical path of a run on many cores, from the times of its stages
    CriticalPath(critical_path::Options),
    /// Files much larger than memory: time, memory, and correctness of the answers
    Scale(scale::Options),
    /// Comparisons of many runs, and of two snapshots object by object
    Comparison(comparison::Options),
    /// Rollups and SQL over a lake of many runs
    Fleet(fleet::Options),
    /// Lists, sums and comparisons of a lake of 50,000 small runs
    Month(month::Options),
    /// Replays of generated traces: allocations per second, memory, and correctness of the answers
    Replay(replay::Options),
    /// Traces and Java dumps of extreme shapes: time and memory as they grow
    TraceShapes(shapes::Traces),
    /// Heaps of extreme shapes: time for a million nodes as they grow, which must not rise
    Shapes(shapes::Heaps),
    /// Inner loops against the best known implementation of each
    Kernels(kernels::Options),
    /// Read a file once through a small buffer: the floor of every analysis
    #[command(hide = true)]
    Read(files::Read),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Measure(options) => return measure::main(&options),
        Command::EndToEnd(options) => end_to_end::run(&options),
        Command::Dumps(options) => dumps::run(&options),
        Command::BeforeAfter(options) => before_after::run(&options),
        Command::CriticalPath(options) => critical_path::run(&options),
        Command::Scale(options) => scale::run(&options),
        Command::Comparison(options) => comparison::run(&options),
        Command::Fleet(options) => fleet::run(&options),
        Command::Month(options) => month::run(&options),
        Command::Replay(options) => replay::run(&options),
        Command::TraceShapes(options) => shapes::traces(&options),
        Command::Shapes(options) => shapes::heaps(&options),
        Command::Kernels(options) => kernels::run(&options),
        Command::Read(options) => files::read(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("heaplake-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }
}
