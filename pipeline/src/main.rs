//! `heaplake`: heap snapshots in, a lake of Parquet tables out.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    heaplake::commands::run(heaplake::commands::Cli::parse())
}
