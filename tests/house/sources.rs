//! The Rust sources of the repository.

use crate::code;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Folders with sources.
const FOLDERS: [&str; 8] = ["schemas", "crates", "stages", "recorders", "pipeline", "tests", "benches", "fuzz"];

/// Folders excluded from the checks: build outputs, and the peers' programs that the benchmarks build.
const SKIPPED: [&str; 3] = ["target", "node_modules", "benches/peers"];

pub(crate) struct Source {
    /// Its path from the root of the repository, with `/`.
    pub path: String,
    pub text: String,
    /// The text with comments, strings and tests blanked; all positions are equal.
    pub code: String,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: text.into(), code: code::without_tests(&code::blanked(text)) }
    }

    /// The number of the line at byte `at`.
    pub(crate) fn line(&self, at: usize) -> usize {
        code::line(&self.text, at)
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every source, by path; read once.
pub(crate) fn all() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(read)
}

fn read() -> Vec<Source> {
    let root = root();
    let mut paths = Vec::new();
    for folder in FOLDERS {
        walk(&root, folder, &mut paths);
    }
    paths.sort();
    let read = |path: &String| fs::read_to_string(root.join(path)).ok().map(|text| Source::new(path, &text));
    let sources: Vec<_> = paths.iter().filter_map(read).collect();
    assert!(sources.len() > 100, "the sources are not where they are looked for: {}", root.display());
    sources
}

fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{folder}/{name}");
        if SKIPPED.contains(&name.as_str()) || SKIPPED.contains(&path.as_str()) {
            continue;
        }
        if entry.path().is_dir() {
            walk(root, &path, paths);
        } else if name.ends_with(".rs") {
            paths.push(path);
        }
    }
}
