//! A lake in a temporary folder, and the real binary.

use assert_cmd::Command;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

/// Cargo builds the binary beside the folder of the tests.
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("heaplake")
}

/// A temporary folder, in memory if there is room.
pub fn fast_folder() -> TempDir {
    crate::fast_folder::fast_folder()
}

/// The binary with output independent of the terminal and the CI workflow of the tests.
pub fn heaplake() -> Command {
    let mut command = Command::new(binary());
    for name in ["CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "GITHUB_STEP_SUMMARY", "HEAPLAKE_PYTHON", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

/// Standard output of a command that must succeed.
pub fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The same, as JSON.
pub fn answer(command: &mut Command) -> Value {
    serde_json::from_str(&said(command)).unwrap()
}

/// A document in JSON, such as `run.json`.
pub fn read_json<T: DeserializeOwned>(path: impl AsRef<Path>) -> T {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Runs a command that must fail with this exit code and print only one line of cause and one of advice; returns both.
pub fn diagnostic(command: &mut Command, code: i32) -> (String, String) {
    diagnosed(command.output().unwrap(), code)
}

/// As [`diagnostic`], of a command that has run.
pub fn diagnosed(output: Output, code: i32) -> (String, String) {
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let [cause, advice] = lines[..] else { panic!("not two lines:\n{text}") };
    let cause = cause.strip_prefix("heaplake: ").unwrap_or_else(|| panic!("{text}"));
    let advice = advice.strip_prefix("  -> ").unwrap_or_else(|| panic!("{text}"));
    assert!(!cause.contains("panicked") && !cause.is_empty() && !advice.is_empty(), "{text}");
    (cause.to_owned(), advice.to_owned())
}

pub struct Lake {
    folder: TempDir,
}

impl Lake {
    pub fn new() -> Self {
        Self { folder: fast_folder() }
    }

    /// A lake with one run, and that run.
    pub fn of(input: impl AsRef<Path>, options: &[&str]) -> (Self, PathBuf) {
        let lake = Self::new();
        lake.analyze(input).args(options).assert().success();
        let run = lake.run();
        (lake, run)
    }

    /// The folder of the lake and of the test's own files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self) -> PathBuf {
        self.folder().join("lake")
    }

    /// Writes an input file beside the lake.
    pub fn input(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// `heaplake analyze INPUT --out LAKE --quiet`, ready for further options.
    pub fn analyze(&self, input: impl AsRef<Path>) -> Command {
        let mut command = heaplake();
        command.arg("analyze").arg(input.as_ref()).arg("--out").arg(self.path()).arg("--quiet");
        command
    }

    /// Asserts that the lake has no run, partial run, scratch or empty folder.
    pub fn assert_empty(&self) {
        let left: Vec<PathBuf> =
            fs::read_dir(self.path()).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{left:?} {:?}", self.leftovers());
    }

    /// The folders of all runs, sorted.
    pub fn runs(&self) -> Vec<PathBuf> {
        let list = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut runs: Vec<PathBuf> =
            list(self.path()).flat_map(list).filter(|path| path.join("run.json").exists()).collect();
        runs.sort();
        runs
    }

    pub fn run(&self) -> PathBuf {
        let mut runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    /// Everything below the lake outside of runs, segments of the catalogue and packs: must be empty after any command.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let runs = self.runs();
        let mut left = Vec::new();
        walk(&self.path(), &mut |path| {
            if !runs.iter().any(|run| path.starts_with(run)) && !is_of_segment(path) && !is_pack(path) {
                left.push(path.to_owned());
            }
        });
        left
    }
}

/// Whether a file is one of a segment of the catalogue.
fn is_of_segment(path: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let segment = path.parent().unwrap_or(path);
    let of_catalogue = segment.parent().is_some_and(|folder| name(folder) == "catalogue");
    of_catalogue && name(segment).starts_with("segment-") && name(path).starts_with("catalogue_")
}

/// Whether a file is a pack.
fn is_pack(path: &Path) -> bool {
    let names: Vec<_> = path.ancestors().skip(1).take(4).filter_map(|folder| folder.file_name()?.to_str()).collect();
    let is_partition = matches!(names[..], [night, release, _, "tables"] if night.starts_with("night=") && release.starts_with("release="));
    is_partition && path.extension().is_some_and(|end| end == "parquet")
}

fn walk(folder: &Path, each: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            walk(&entry.path(), each);
        } else {
            each(&entry.path());
        }
    }
}
