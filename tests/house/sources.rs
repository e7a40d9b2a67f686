//! The Rust sources of the repository.

use crate::code;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Where the sources are.
const FOLDERS: [&str; 6] = ["schemas", "stages", "pipeline", "tests", "benches", "fuzz"];

/// What is not ours to shape: build outputs, and the peers' programs that the benchmarks build.
const SKIPPED: [&str; 3] = ["target", "node_modules", "benches/peers"];

/// One file.
pub struct Source {
    /// Its path from the root of the repository, with `/`.
    pub path: String,
    /// What it says.
    pub text: String,
    /// The same without comments, texts and tests, byte for byte at the same places.
    pub code: String,
}

impl Source {
    /// The file at `path`, which says `text`.
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: text.into(), code: code::without_tests(&code::blanked(text)) }
    }

    /// The number of the line at byte `at`.
    pub fn line(&self, at: usize) -> usize {
        code::line(&self.text, at)
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every source, by path; read once.
pub fn all() -> &'static [Source] {
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
