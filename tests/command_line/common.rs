//! Inputs, commands and their output.

use heaplake_schemas::run;
use heaplake_support::generated::generated;
use heaplake_support::lake::{Lake, heaplake, read_json};
use serde_json::Value;
use std::path::Path;

pub(crate) fn small() -> Vec<u8> {
    generated(1, 300_000)
}

/// `heaplake analyze --out LAKE` without input.
pub(crate) fn analyze(lake: &Lake) -> assert_cmd::Command {
    let mut command = heaplake();
    command.arg("analyze").arg("--out").arg(lake.path());
    command
}

/// Runs a command that must succeed and print nothing on standard error; returns its standard output.
pub(crate) fn stdout(command: &mut assert_cmd::Command) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.is_empty(), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn run_json(run: &Path) -> Value {
    read_json(run.join(run::FILE))
}

/// Release and snapshot names in a run's path.
pub(crate) fn names(run: &Path) -> (String, String) {
    let part = |path: &Path| path.file_name().unwrap().to_str().unwrap().split_once('=').unwrap().1.to_owned();
    (part(run.parent().unwrap()), part(run))
}
