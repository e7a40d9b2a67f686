//! `heaplake lake views`: a script that makes views of a lake in another engine.

use crate::diagnostic::{Diagnostic, Done};
use crate::print;
use clap::Args;
use heaplake_kit::stop;
use heaplake_lake::output_file;
use heaplake_lake::upkeep::choice::{refuse_other, refuse_run};
use heaplake_lake::upkeep::views::{Engine, script};
use std::path::PathBuf;

const MORE: &str = "\
Examples:
  heaplake lake views lake --duckdb -o views.sql && duckdb -init views.sql
  heaplake lake views lake --spark | spark-sql -f /dev/stdin

One view per table that some run of the lake has, and `runs`. After the columns of the table come captured_at, labels and \
 host of the run. The views read the files as they are when a query runs: new runs appear as soon as they are in the \
 catalogue, which every batch extends.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake lake views lake --duckdb -o views.sql", after_long_help = MORE)]
pub(crate) struct Arguments {
    /// The lake: the --out folder of analyze
    #[arg(value_name = "LAKE")]
    lake: PathBuf,
    #[command(flatten)]
    engine: Which,
    /// Write to a file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The engine.
#[derive(Args, Clone, Copy, Debug)]
#[group(required = true, multiple = false)]
struct Which {
    /// For DuckDB
    #[arg(long)]
    duckdb: bool,
    /// For Spark SQL: temporary views
    #[arg(long)]
    spark: bool,
}

/// Writes the script.
pub(crate) fn run(arguments: &Arguments) -> Done {
    refuse_run(&arguments.lake).and_then(|()| refuse_other(&arguments.lake)).map_err(Diagnostic::of_usage)?;
    let engine = if arguments.engine.duckdb { Engine::DuckDb } else { Engine::Spark };
    let script = script(&arguments.lake, engine)?;
    match &arguments.output {
        Some(path) => output_file::write(path, script.as_bytes(), stop::flag())?,
        None => {
            print::text(&script);
        }
    }
    Ok(0)
}
