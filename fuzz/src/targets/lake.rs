//! Files that commands read back from a lake: `run.json` and tables.
//!
//! The first byte of an input chooses a file of a small lake among the fixtures; the rest replaces its content. A third
//! of the commands that read runs, chosen by the input's length, then read that lake.

use crate::analysis::{folder, told};
use crate::seeds;
use crate::subject::Target;
use heaplake::commands;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Every `run.json`.
pub(super) const RUN_JSON: Target =
    Target { name: "run_json", run: |data| run(data, &runs()), seeds: || seeds_of(&runs()), words: seeds::JSON };

/// Every table.
pub(super) const TABLES: Target =
    Target { name: "tables", run: |data| run(data, &tables()), seeds: || seeds_of(&tables()), words: &[b"PAR1"] };

pub(super) fn lake() -> PathBuf {
    seeds::fixtures().join("version-2/lake")
}

/// The folders of its runs, and the files in them, relative to the lake.
fn all() -> &'static (Vec<PathBuf>, Vec<PathBuf>) {
    static ALL: OnceLock<(Vec<PathBuf>, Vec<PathBuf>)> = OnceLock::new();
    ALL.get_or_init(|| {
        let below = |folder: &Path| -> Vec<PathBuf> {
            let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            paths
        };
        let folders: Vec<PathBuf> = below(&lake()).iter().flat_map(|release| below(release)).collect();
        let relative = |path: &PathBuf| path.strip_prefix(lake()).unwrap().to_owned();
        let files = folders.iter().flat_map(|folder| below(folder)).map(|path| relative(&path)).collect();
        (folders.iter().map(relative).collect(), files)
    })
}

fn runs() -> Vec<PathBuf> {
    all().1.iter().filter(|path| path.ends_with("run.json")).cloned().collect()
}

pub(super) fn tables() -> Vec<PathBuf> {
    all().1.iter().filter(|path| path.extension().is_some_and(|ending| ending == "parquet")).cloned().collect()
}

fn seeds_of(files: &[PathBuf]) -> Vec<Vec<u8>> {
    (0u8..).zip(files).map(|(number, path)| [vec![number], seeds::read(&lake().join(path))].concat()).collect()
}

fn run(data: &[u8], files: &[PathBuf]) -> String {
    let Some((&choice, content)) = data.split_first() else { return String::new() };
    read_with(&files[usize::from(choice) % files.len()], content, data.len())
}

/// Replaces the content of a file of the lake and runs some of the commands on it.
pub(super) fn read_with(changed: &Path, content: &[u8], choice: usize) -> String {
    let (folder, (runs, all)) = (folder(), all());
    let copy = folder.path().join("lake");
    for run in runs {
        fs::create_dir_all(copy.join(run)).unwrap();
    }
    for file in all.iter().filter(|file| *file != changed) {
        std::os::unix::fs::symlink(lake().join(file), copy.join(file)).unwrap();
    }
    fs::write(copy.join(changed), content).unwrap();
    let run = copy.join(changed.parent().unwrap_or(Path::new("")));
    let whole = lake().join(changed.parent().unwrap_or(Path::new("")));
    let all = questions(&run, &whole, &copy, folder.path());
    let asked =
        (0..).zip(&all).filter(|(number, _)| (number + choice).is_multiple_of(3)).map(|(_, words)| asked(words));
    asked.collect::<Vec<_>>().join("; ")
}

/// The command lines.
fn questions(run: &Path, whole: &Path, lake: &Path, folder: &Path) -> Vec<Vec<String>> {
    let path = |path: &Path| path.display().to_string();
    let (run, whole, lake) = (path(run), path(whole), path(lake));
    let out = |name: &str| path(&folder.join(name));
    let (page, diffs, objects, series) = (out("run.html"), out("diff"), out("objects"), out("trend"));
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    vec![
        words(&["ls", &lake]),
        words(&["ls", &lake, "--json"]),
        words(&["lake", "verify", &lake, "--threads", "1"]),
        words(&["lake", "drop", &lake, "--keep-last", "0", "--json"]),
        words(&["show", &run]),
        words(&["report", &run, "-o", &page, "-q", "--memory", "96MiB"]),
        words(&["top", &run, "--class", "*"]),
        words(&["why", &run, "7"]),
        words(&["dominators", &run, "--depth", "5"]),
        words(&["track", &run, "108@3"]),
        words(&["diff", &whole, &run, "--out", &diffs, "-q", "--memory", "96MiB", "--fail-if", "q < 0.5"]),
        words(&["diff", &run, &whole, "--out", &objects, "-q", "--memory", "96MiB", "--objects", "--kept"]),
        words(&["trend", &whole, &run, &whole, "--out", &series, "-q", "--memory", "96MiB"]),
    ]
}

fn asked(words: &[String]) -> String {
    let line = std::iter::once("heaplake").chain(words.iter().map(String::as_str));
    let done = commands::carry_out_line(line).unwrap_or_else(|error| panic!("{words:?}: {error}"));
    done.map_or_else(|diagnostic| told(&diagnostic).chars().take(40).collect(), |code| code.to_string())
}
