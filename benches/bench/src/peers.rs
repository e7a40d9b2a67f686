//! Other programs on the same files. `benches/peers/install.sh` installs them.

use crate::contest::Entry;
use anyhow::{Result, ensure};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Name of the crate's rows.
pub const PARSER: &str = "v8-heap-parser";
/// Name of the worker's rows.
pub const DEVTOOLS: &str = "DevTools' worker";
/// Name of memlab's rows.
pub const MEMLAB: &str = "memlab";

/// Name of the rows of the crate that writes reports on heap dumps.
pub const ANALYZER: &str = "hprof-analyzer";
/// Name of the rows of the crate that counts what is in heap dumps.
pub const SLURP: &str = "hprof-slurp";
/// Name of Eclipse MAT's rows.
pub const MAT: &str = "Eclipse MAT";

/// Where cargo puts the crates.
const CRATES: &str = "target/peers/bin";
/// Eclipse MAT's program, measured where it is installed.
const PARSE: &str = "ParseHeapDump.sh";

/// Seconds after which a peer is given up: some never end on some files.
const PATIENCE: &str = "900";
/// Heap limit for those that run under Node.js, far above what they need, so that none collects garbage in despair.
const NODE: [&str; 2] = ["node", "--max-old-space-size=8000"];

/// The peers' commands for one file.
///
/// # Errors
/// When one is not installed.
pub fn entries(file: &Path) -> Result<Vec<Entry>> {
    let parser = "benches/peers/v8-heap-parser/target/release/peer-v8-heap-parser";
    let devtools = "benches/peers/devtools/devtools.mjs";
    let memlab = "benches/peers/memlab/measure.mjs";
    for needed in [parser, "benches/peers/devtools/node_modules", "benches/peers/memlab/node_modules"] {
        ensure!(Path::new(needed).exists(), "no {needed}: run benches/peers/install.sh first");
    }
    Ok(vec![
        entry(file, PARSER, &[parser]),
        entry(file, DEVTOOLS, &[NODE[0], NODE[1], devtools, "--measure"]),
        entry(file, MEMLAB, &[NODE[0], NODE[1], memlab]),
    ])
}

/// The commands of those that read heap dumps of Java virtual machines.
///
/// # Errors
/// When one is not installed, MAT excepted.
pub fn of_dumps(file: &Path) -> Result<Vec<Entry>> {
    let [analyzer, slurp] = [ANALYZER, SLURP].map(|name| format!("{CRATES}/{name}"));
    for needed in [&analyzer, &slurp] {
        ensure!(Path::new(needed).exists(), "no {needed}: run benches/peers/install.sh first");
    }
    let mut entries = vec![entry(file, ANALYZER, &[&analyzer]), entry(file, SLURP, &[&slurp])];
    if Command::new("sh").args(["-c", &format!("command -v {PARSE} >/dev/null")]).status()?.success() {
        entries.push(entry(file, MAT, &["benches/peers/mat.sh"]));
    }
    Ok(entries)
}

fn entry(file: &Path, name: &str, words: &[&str]) -> Entry {
    let words = ["timeout", PATIENCE].iter().chain(words).map(OsString::from);
    Entry { name: name.to_owned(), command: words.chain([file.as_os_str().to_owned()]).collect(), leaves: None }
}
