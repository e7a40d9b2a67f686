//! A lake of a small fleet, and queries on it.

use assert_cmd::Command;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Runs of two releases on two hosts, one of them without a label: release, host, input.
pub(crate) const FLEET: [(&str, Option<&str>, &str); 4] = [
    ("1.0", Some("web1"), "v8/s1.heapsnapshot.zst"),
    ("1.0", Some("web2"), "v8/s2.heapsnapshot.zst"),
    ("1.1", Some("web1"), "v8/s2.heapsnapshot.zst"),
    ("1.1", None, "v8/s1.heapsnapshot.zst"),
];

/// A lake of [`FLEET`] for one test.
pub(crate) fn fleet() -> Lake {
    static FLEET_ONCE: OnceLock<PathBuf> = OnceLock::new();
    let made = FLEET_ONCE.get_or_init(|| {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sql-fleet");
        let _ = fs::remove_dir_all(&place);
        copy(&analysed().path(), &place);
        place
    });
    let lake = Lake::new();
    copy(made, &lake.path());
    lake
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() { copy(&from, &to) } else { fs::copy(&from, &to).map(drop).unwrap() }
    }
}

/// The runs of [`FLEET`].
fn analysed() -> Lake {
    let lake = Lake::new();
    for (at, (release, host, input)) in FLEET.into_iter().enumerate() {
        let mut command = lake.analyze(fixtures::path(input));
        command.args(["--release", release, "--snapshot", &format!("run{at}"), "--duplicates", "all"]);
        if let Some(host) = host {
            command.args(["--label", &format!("host={host}")]);
        }
        command.assert().success();
    }
    lake
}

pub(crate) fn sql(lake: &Path, arguments: &[&str]) -> Command {
    let mut command = heaplake();
    command.arg("sql").args(arguments).arg("--lake").arg(lake);
    command
}

pub(crate) fn rows(lake: &Lake, statement: &str) -> Vec<Value> {
    json(&mut sql(&lake.path(), &[statement, "--format", "json"]))
}

pub(crate) fn json(command: &mut Command) -> Vec<Value> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {:?}", output.stdout))
}

/// The only value of the only row of a result.
pub(crate) fn one(lake: &Lake, statement: &str) -> Value {
    let rows = rows(lake, statement);
    assert_eq!(rows.len(), 1, "{statement}");
    rows[0].as_object().unwrap().values().next().unwrap().clone()
}
