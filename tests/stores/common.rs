//! A server, a proxy before it, and the binary with both.

use crate::proxy::Proxy;
use crate::server::{BUCKET, Server};
use assert_cmd::Command;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A snapshot of a hundred kilobytes, for most tests.
pub(crate) const SMALL: &str = "v8/s1.heapsnapshot.zst";
/// Another one.
pub(crate) const OTHER: &str = "v8/s2.heapsnapshot.zst";

/// Server, proxy and scratch of a test.
pub(crate) struct World {
    pub server: Server,
    pub proxy: Proxy,
    scratch: TempDir,
}

impl World {
    /// An empty bucket.
    pub(crate) fn new() -> Self {
        let server = Server::start();
        let proxy = Proxy::start(server.port);
        Self { proxy, server, scratch: TempDir::new().unwrap() }
    }

    pub(crate) fn url(&self, key: &str) -> String {
        format!("s3://{BUCKET}/{key}")
    }

    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// The binary, which reaches the server through the proxy.
    pub(crate) fn heaplake(&self) -> Command {
        let mut command = heaplake();
        for (name, value) in self.environment() {
            command.env(name, value);
        }
        command
    }

    /// Variables with the server's address and credentials.
    pub(crate) fn environment(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.proxy.port)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ]
    }

    /// `heaplake analyze INPUT --out LAKE --quiet` with a lake in the bucket.
    pub(crate) fn analyze(&self, input: impl AsRef<Path>) -> Command {
        let mut command = self.heaplake();
        command.arg("analyze").arg(input.as_ref()).args(["--out", &self.url("lake"), "--quiet", "--scratch"]);
        command.arg(self.scratch());
        command
    }

    /// Output of a command as JSON; the command must exit with this code.
    pub(crate) fn json(&self, arguments: &[&str], code: i32) -> Value {
        let output = self.heaplake().args(arguments).arg("--json").output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Fails unless every run of the lake is whole; returns the names of the runs.
    pub(crate) fn verified(&self, what: &str) -> Vec<String> {
        let answer = self.json(&["lake", "verify", &self.url("lake")], 0);
        let runs = answer["runs"].as_array().unwrap().iter();
        runs.map(|run| {
            assert_eq!(run["status"], "whole", "{what}: {run}");
            run["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()
        })
        .collect()
    }

    /// The tables of the only run of the lake by name, without those of failed attempts.
    pub(crate) fn tables(&self) -> BTreeMap<String, Vec<u8>> {
        let keys = self.server.keys("lake/");
        let description = keys.iter().find(|key| key.ends_with("/run.json")).unwrap();
        let run: Value = serde_json::from_slice(&self.server.get(description)).unwrap();
        let folder = format!("/{}/", run["folder"].as_str().unwrap());
        let tables = keys.iter().filter_map(|key| Some((key.split_once(&folder)?.1, key)));
        let tables = tables.filter(|(name, _)| *name != "heaplake-attempt.json");
        tables.map(|(name, key)| (name.to_owned(), self.server.get(key))).collect()
    }
}

/// The tables of a local run of the same input, without measurements.
pub(crate) fn local_tables(input: &Path, options: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let lake = Lake::new();
    lake.analyze(input).args(options).assert().success();
    let files = fs::read_dir(lake.run()).unwrap().flatten().map(|entry| entry.path());
    let named = |path: PathBuf| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap());
    without_measurements(files.map(named).collect())
}

/// Tables that depend on the input alone.
pub(crate) fn without_measurements(mut tables: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    tables.remove("snapshot.parquet");
    tables.remove("run.json");
    tables
}

/// Fails unless a run has exactly these tables, besides measurements.
pub(crate) fn assert_same(run: &BTreeMap<String, Vec<u8>>, expected: &BTreeMap<String, Vec<u8>>, what: &str) {
    let run = without_measurements(run.clone());
    let names = |tables: &BTreeMap<String, Vec<u8>>| tables.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&run), names(expected), "{what}");
    let other: Vec<&String> = run.keys().filter(|name| run[*name] != expected[*name]).collect();
    assert_eq!(other, Vec::<&String>::new(), "{what}: tables that differ");
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    fixtures::path(name)
}

pub(crate) fn content(name: &str) -> Vec<u8> {
    fs::read(fixtures::path(name)).unwrap()
}
