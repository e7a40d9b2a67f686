//! Replays traces with the real binary.

use crate::lake::{Lake, heaplake};
use assert_cmd::Command;
use std::path::Path;

/// `heaplake replay TRACE --out LAKE --quiet`, ready for further options.
pub fn replay(lake: &Lake, trace: impl AsRef<Path>) -> Command {
    let mut command = heaplake();
    command.arg("replay").arg(trace.as_ref()).arg("--out").arg(lake.path()).arg("--quiet");
    command
}
