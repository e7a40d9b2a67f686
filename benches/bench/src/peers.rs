//! Other programs on the same files, installed by `benches/peers/install.sh`.

use crate::contest::Entry;
use anyhow::{Result, ensure};
use std::path::Path;
use std::process::Command;

/// Row name of the crate v8-heap-parser.
pub(crate) const PARSER: &str = "v8-heap-parser";
/// Row name of DevTools' worker.
pub(crate) const DEVTOOLS: &str = "DevTools' worker";
/// Row name of memlab.
pub(crate) const MEMLAB: &str = "memlab";

/// Row name of the crate that writes reports on heap dumps.
pub(crate) const ANALYZER: &str = "hprof-analyzer";
/// Row name of the crate that counts the content of heap dumps.
pub(crate) const SLURP: &str = "hprof-slurp";
/// Row name of Eclipse MAT.
pub(crate) const MAT: &str = "Eclipse MAT";

/// Cargo's install folder for the crates.
const CRATES: &str = "target/peers/bin";
/// Eclipse MAT's program, measured if installed.
const PARSE: &str = "ParseHeapDump.sh";

/// Timeout in seconds: some peers never end on some files.
const PATIENCE: &str = "900";
/// Heap limit for Node.js peers, far above their need, so that garbage collection does not dominate.
const NODE: &str = "node --max-old-space-size=8000";

/// The peers' commands for one file; fails if one is not installed.
pub(crate) fn entries(file: &Path) -> Result<Vec<Entry>> {
    let parser = "benches/peers/v8-heap-parser/target/release/peer-v8-heap-parser";
    let devtools = "benches/peers/devtools/devtools.mjs";
    let memlab = "benches/peers/memlab/measure.mjs";
    for needed in [parser, "benches/peers/devtools/node_modules", "benches/peers/memlab/node_modules"] {
        ensure!(Path::new(needed).exists(), "no {needed}: run benches/peers/install.sh first");
    }
    Ok(vec![
        entry(file, PARSER, parser),
        entry(file, DEVTOOLS, &format!("{NODE} {devtools} --measure")),
        entry(file, MEMLAB, &format!("{NODE} {memlab}")),
    ])
}

/// Commands of the peers for Java heap dumps; fails if one other than MAT is not installed.
pub(crate) fn of_dumps(file: &Path) -> Result<Vec<Entry>> {
    let [analyzer, slurp] = [ANALYZER, SLURP].map(|name| format!("{CRATES}/{name}"));
    for needed in [&analyzer, &slurp] {
        ensure!(Path::new(needed).exists(), "no {needed}: run benches/peers/install.sh first");
    }
    let mut entries = vec![entry(file, ANALYZER, &analyzer), entry(file, SLURP, &slurp)];
    if Command::new("sh").args(["-c", &format!("command -v {PARSE} >/dev/null")]).status()?.success() {
        entries.push(entry(file, MAT, "benches/peers/mat.sh"));
    }
    Ok(entries)
}

fn entry(file: &Path, name: &str, command: &str) -> Entry {
    Entry::new(name, &format!("timeout {PATIENCE} {command} @"), &[file], None)
}
