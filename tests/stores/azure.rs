//! A lake in Azure Blob Storage, by its emulator (Azurite).

use crate::common::{OTHER, SMALL, fixture, local_tables, without_measurements};
use assert_cmd::Command;
use heaplake_support::lake::{Lake, heaplake};
use serde_json::Value;
use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command as Process, Stdio};

const CONTAINER: &str = "heaplake-test";
/// The account of the emulator, and its key, which are no secrets.
const ACCOUNT: [(&str, &str); 3] = [
    ("AZURE_STORAGE_USE_EMULATOR", "true"),
    ("AZURE_STORAGE_ACCOUNT_NAME", "devstoreaccount1"),
    (
        "AZURE_STORAGE_ACCOUNT_KEY",
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
    ),
];

/// The emulator with an empty container; ends when dropped.
struct Azurite {
    child: Child,
    url: String,
}

impl Azurite {
    /// Starts it; `None` where it is not installed.
    fn start() -> Option<Self> {
        let program = env::var_os("HEAPLAKE_AZURITE")?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/stores/azurite.js");
        let mut node = Process::new("node");
        node.arg(script).arg(program).arg(CONTAINER).envs(ACCOUNT).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = node.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port: u16 = line.trim().parse().unwrap_or_else(|_| panic!("the emulator did not start: {line}"));
        Some(Self { child, url: format!("http://127.0.0.1:{port}") })
    }

    fn heaplake(&self, words: &[&str]) -> Command {
        let mut command = heaplake();
        command.envs(ACCOUNT).env("AZURITE_BLOB_STORAGE_URL", &self.url).args(words);
        command
    }

    fn json(&self, words: &[&str]) -> Value {
        let output = self.heaplake(words).arg("--json").output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Azurite {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn url(key: &str) -> String {
    format!("az://{CONTAINER}/{key}")
}

#[test]
fn a_lake_in_azure_is_like_one_in_a_folder() {
    let Some(azurite) = Azurite::start() else {
        eprintln!("skipped: HEAPLAKE_AZURITE names no azurite-blob");
        return;
    };
    let lake = url("lake");
    for (release, input) in [("1", SMALL), ("2", OTHER)] {
        let input = fixture(input);
        let words =
            ["analyze", input.to_str().unwrap(), "--out", &lake, "--release", release, "--snapshot", "one", "--quiet"];
        azurite.heaplake(&words).assert().success();
        // Again: the first time because the run is there, then by a conditional put.
        azurite.heaplake(&words).assert().success();
        azurite.heaplake(&words).arg("--force").assert().success();
    }
    let verified = azurite.json(&["lake", "verify", &lake]);
    assert!(verified["runs"].as_array().unwrap().iter().all(|run| run["status"] == "whole"), "{verified}");
    assert_eq!(verified["runs"].as_array().map(Vec::len), Some(2));
    // The tables are those of a folder.
    let back = Lake::new();
    let out = back.path().display().to_string();
    azurite.heaplake(&["lake", "merge", &lake, "--out", &out, "--quiet"]).assert().success();
    let run = back.path().join("release=1/snapshot=one");
    let expected = without_measurements(local_tables(&fixture(SMALL), &["--snapshot", "one", "--release", "1"]));
    for (name, bytes) in &expected {
        assert!(std::fs::read(run.join(name)).unwrap() == *bytes, "{name}");
    }
    azurite
        .heaplake(&["diff", "release=1", "release=2", "--lake", &lake, "--out", &url("diff"), "--quiet"])
        .assert()
        .success();
    for _ in 0..2 {
        azurite.heaplake(&["fleet", "rollup", &lake, "--quiet"]).assert().success();
    }
    azurite.json(&["lake", "drop", &lake, "--release", "1", "--yes"]);
    azurite.heaplake(&["fleet", "rollup", &lake, "--quiet"]).assert().success();
    assert_eq!(azurite.json(&["ls", &lake])["runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(azurite.json(&["lake", "verify", &lake])["foreign"].as_array().map(Vec::len), Some(0));
}
