//! A lake in a temporary folder, and the real binary.

#[path = "fast_folder.rs"]
mod fast_folder;

use assert_cmd::Command;
pub(crate) use fast_folder::fast_folder;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The binary with output independent of the terminal and the CI workflow of the tests.
pub(crate) fn heaplake() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    for name in ["CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "GITHUB_STEP_SUMMARY", "HEAPLAKE_PYTHON", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

/// Runs a command that must fail with this exit code and print only one line of cause and one of advice; returns both.
pub(crate) fn diagnostic(command: &mut Command, code: i32) -> (String, String) {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let [cause, advice] = lines[..] else { panic!("not two lines:\n{text}") };
    let cause = cause.strip_prefix("heaplake: ").unwrap_or_else(|| panic!("{text}"));
    let advice = advice.strip_prefix("  -> ").unwrap_or_else(|| panic!("{text}"));
    assert!(!cause.contains("panicked") && !cause.is_empty() && !advice.is_empty(), "{text}");
    (cause.to_owned(), advice.to_owned())
}

pub(crate) struct Lake {
    folder: TempDir,
}

impl Lake {
    pub(crate) fn new() -> Self {
        Self { folder: fast_folder() }
    }

    /// The folder of the lake and of the test's own files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder().join("lake")
    }

    /// Writes an input file beside the lake.
    pub(crate) fn input(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// `heaplake analyze INPUT --out LAKE --quiet`, ready for further options.
    pub(crate) fn analyze(&self, input: impl AsRef<Path>) -> Command {
        let mut command = heaplake();
        command.arg("analyze").arg(input.as_ref()).arg("--out").arg(self.path()).arg("--quiet");
        command
    }

    /// Asserts that the lake has no run, partial run, scratch or empty folder.
    pub(crate) fn assert_empty(&self) {
        let left: Vec<PathBuf> =
            fs::read_dir(self.path()).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{left:?} {:?}", self.leftovers());
    }

    /// The folders of all runs, sorted.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let list = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut runs: Vec<PathBuf> =
            list(self.path()).flat_map(list).filter(|path| path.join("run.json").exists()).collect();
        runs.sort();
        runs
    }

    pub(crate) fn run(&self) -> PathBuf {
        let mut runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    /// Everything below the lake outside of runs: must be empty after any command.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        let runs = self.runs();
        let mut left = Vec::new();
        walk(&self.path(), &mut |path| {
            if !runs.iter().any(|run| path.starts_with(run)) {
                left.push(path.to_owned());
            }
        });
        left
    }
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
