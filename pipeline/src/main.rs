//! `heaplake`: heap snapshots in, a lake of Parquet tables out.

use std::process::ExitCode;

use heaplake_kit::allocator::Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    heaplake::commands::start()
}
