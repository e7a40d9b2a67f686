//! Other programs on the same files. `benches/peers/install.sh` installs them.

use crate::contest::Entry;
use anyhow::{Result, ensure};
use std::ffi::OsString;
use std::path::Path;

/// Name of the crate's rows.
pub const PARSER: &str = "v8-heap-parser";
/// Name of the worker's rows.
pub const DEVTOOLS: &str = "DevTools' worker";
/// Name of memlab's rows.
pub const MEMLAB: &str = "memlab";

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
    let entry = |name: &str, words: &[&str]| {
        let words = ["timeout", PATIENCE].iter().chain(words).map(OsString::from);
        Entry { name: name.to_owned(), command: words.chain([file.as_os_str().to_owned()]).collect(), leaves: None }
    };
    Ok(vec![
        entry(PARSER, &[parser]),
        entry(DEVTOOLS, &[NODE[0], NODE[1], devtools, "--measure"]),
        entry(MEMLAB, &[NODE[0], NODE[1], memlab]),
    ])
}
