//! Inputs of all formats, checks of their runs, and fault injection.

use heaplake_support::fixtures;
use heaplake_support::generated::generated;
use heaplake_support::lake::Lake;
use heaplake_support::processes::{end, signal, wait_until_it_stops};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// An input, and the command that makes a run of it.
pub(crate) struct Case {
    pub name: &'static str,
    verb: &'static str,
    file: &'static str,
    options: &'static [&'static str],
}

/// One per reader.
pub(crate) const CASES: [Case; 5] = [
    Case { name: "v8", verb: "analyze", file: "a.heapsnapshot", options: &["--edges", "--duplicates", "all"] },
    Case { name: "java", verb: "analyze", file: "a.hprof", options: &["--edges", "--duplicates", "all"] },
    Case { name: "dotnet", verb: "analyze", file: "walk.nettrace", options: &[] },
    Case { name: "replay", verb: "replay", file: "a.nettrace", options: &["--tracks", "--pprof", "--collapsed"] },
    Case { name: "log", verb: "replay", file: "agent.log", options: &[] },
];

impl Case {
    pub(crate) fn input(&self, lake: &Lake) -> PathBuf {
        let content = match self.name {
            "v8" => generated(7, 60_000),
            "java" => fs::read(fixtures::path("version-1/whole.hprof")).unwrap(),
            "dotnet" => fixtures::content("dotnet/heap8_2.nettrace"),
            "replay" => fixtures::content("dotnet/both.nettrace"),
            _ => fixtures::content("dotnet/both.log"),
        };
        lake.input(self.file, &content)
    }

    /// The quiet command, ready for further options; a killed one can be resumed. It dies with the test.
    pub(crate) fn command(&self, lake: &Lake, input: &Path) -> Command {
        let mut command = heaplake(self.verb);
        command.arg(input).arg("--out").arg(lake.path()).args(self.options).args(["--quiet", "--resume", "always"]);
        command
    }
}

/// The binary with captured output.
pub(crate) fn heaplake(verb: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    command.arg(verb).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The tables of a run by name, which depend on input and options only; without `snapshot`, which has times.
pub(crate) fn tables(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let same =
        files.map(|path| (name(&path), path)).filter(|(name, _)| name != "snapshot.parquet" && name != "run.json");
    same.map(|(name, path)| (name, fs::read(path).unwrap())).collect()
}

/// Panics unless a run is complete and consistent: its tables are those that `run.json` names, of its input.
pub(crate) fn assert_whole(run: &Path, what: &str) {
    let text = fs::read(run.join("run.json")).unwrap_or_else(|error| panic!("{what}: {}: {error}", run.display()));
    let json: Value = serde_json::from_slice(&text).unwrap();
    for table in json["tables"].as_array().unwrap() {
        let path = run.join(table["file"].as_str().unwrap());
        let file = File::open(&path).unwrap_or_else(|error| panic!("{what}: {}: {error}", path.display()));
        assert_eq!(file.metadata().unwrap().len(), table["bytes"].as_u64().unwrap(), "{what}: {}", path.display());
        if path.extension().is_none_or(|ending| ending != "parquet") {
            continue;
        }
        let reader =
            SerializedFileReader::new(file).unwrap_or_else(|error| panic!("{what}: {}: {error}", path.display()));
        let of_file = reader.metadata().file_metadata();
        let values = of_file.key_value_metadata().unwrap();
        let value = |key: &str| values.iter().find(|entry| entry.key == key).and_then(|entry| entry.value.clone());
        assert_eq!(value("heaplake.input_hash").as_deref(), json["input_hash"].as_str(), "{what}: {}", path.display());
        let version = json["schema_version"].as_u64().map(|version| version.to_string());
        assert_eq!(value("heaplake.schema_version"), version, "{what}: {}", path.display());
    }
}

/// Panics unless every run of a lake is whole.
pub(crate) fn assert_all_whole(lake: &Lake, what: &str) {
    for release in fs::read_dir(lake.path()).into_iter().flatten().flatten() {
        if !release.file_name().to_string_lossy().starts_with("release=") {
            continue;
        }
        for run in fs::read_dir(release.path()).unwrap().flatten() {
            assert_whole(&run.path(), what);
        }
    }
}

/// Runs a command; fails if it does not end.
pub(crate) fn ended(command: &mut Command, what: &str) -> Output {
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
    end(&mut child);
    child.wait_with_output().unwrap()
}

/// Starts a command that stops itself before a system call, and waits until it does; `None` if it ends before.
pub(crate) fn stopped(command: &mut Command, fault: &str) -> Option<Child> {
    let mut child = command.env("HEAPLAKE_FAULT", fault).spawn().unwrap();
    wait_until_it_stops(&mut child).then_some(child)
}

/// Continues a stopped command to its end.
pub(crate) fn gone_on(child: Child) -> Output {
    signal(&child, "-CONT");
    child.wait_with_output().unwrap()
}

pub(crate) fn succeed(command: &mut Command, what: &str) {
    let output = ended(command, what);
    assert!(output.status.success(), "{what}: {:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
}

/// A case's input, and the tables of a run without faults; the lake is empty.
pub(crate) fn undisturbed(case: &Case) -> (Lake, PathBuf, BTreeMap<String, Vec<u8>>) {
    let lake = Lake::new();
    let input = case.input(&lake);
    succeed(&mut case.command(&lake, &input), case.name);
    let expected = tables(&lake.run());
    assert_whole(&lake.run(), case.name);
    fs::remove_dir_all(lake.path()).unwrap();
    (lake, input, expected)
}

/// Requests a fault. Returns a file that exists once the fault has happened.
pub(crate) fn with_fault(command: &mut Command, lake: &Lake, fault: &str) -> PathBuf {
    let hit = lake.folder().join("hit");
    let _ = fs::remove_file(&hit);
    command.env("HEAPLAKE_FAULT", fault).env("HEAPLAKE_FAULT_HIT", &hit);
    hit
}

/// Runs the command again without faults: it must give the expected tables and leave nothing else.
pub(crate) fn assert_repeats(case: &Case, lake: &Lake, input: &Path, expected: &BTreeMap<String, Vec<u8>>, what: &str) {
    succeed(&mut case.command(lake, input), what);
    assert_whole(&lake.run(), what);
    assert!(tables(&lake.run()) == *expected, "{what}: other bytes");
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new(), "{what}");
    for entry in fs::read_dir(lake.path()).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        // `leftovers` has what is wrong in the catalogue.
        assert!(name.starts_with("release=") || name == "catalogue", "{what}: {name} is left");
    }
}

/// Pseudo-random numbers from a seed.
pub(crate) struct Numbers(pub u64);

impl Numbers {
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Number of rounds: `usual`, or `HEAPLAKE_FAULTS` if set.
pub(crate) fn rounds(usual: u64) -> u64 {
    std::env::var("HEAPLAKE_FAULTS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(usual)
}
