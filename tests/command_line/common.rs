//! Inputs, commands and their output.

use crate::generated::generated;
use crate::lake::{Lake, heaplake};
use heaplake_schemas::run;
use serde_json::Value;
use std::fs;
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
    serde_json::from_slice(&fs::read(run.join(run::FILE)).unwrap()).unwrap()
}

/// Release and snapshot names in a run's path.
pub(crate) fn names(run: &Path) -> (String, String) {
    let part = |path: &Path| path.file_name().unwrap().to_str().unwrap().split_once('=').unwrap().1.to_owned();
    (part(run.parent().unwrap()), part(run))
}
