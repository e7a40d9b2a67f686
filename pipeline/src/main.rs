//! `heaplake`: heap snapshots in, a lake of Parquet tables out.

use std::process::ExitCode;

fn main() -> ExitCode {
    heaplake::commands::start()
}
