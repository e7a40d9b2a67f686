//! Files for `--symbols`: assemblies and portable PDBs.

use crate::analysis::folder;
use crate::seeds;
use crate::subject::Target;
use heaplake_kit::Budget;
use heaplake_symbols::{Library, Module, find};
use std::fs;

/// Assemblies and portable PDBs, chosen by the first bytes.
pub(super) const SYMBOLS: Target = Target { name: "symbols", run: symbols, seeds: files, words: WORDS };

const WORDS: &[&[u8]] = &[b"MZ", b"PE\0\0", b"BSJB", b"RSDS", b"MPDB", b"#~\0\0", b"#Pdb\0\0\0\0", b"#Strings\0\0\0\0"];

/// Memory budget per file.
const MEMORY: u64 = 64 << 20;

/// A small assembly with an embedded PDB, another without, and its PDB.
fn files() -> Vec<Vec<u8>> {
    let folder = seeds::fixtures().join("symbols");
    ["Shop.pdb", "Shop.dll", "embedded/Shop.dll"].map(|name| seeds::read(&folder.join(name))).to_vec()
}

fn symbols(data: &[u8]) -> String {
    let folder = folder();
    let path = folder.path().join("Shop.dll");
    fs::write(&path, data).unwrap();
    let found = find(&[path.display().to_string()], MEMORY);
    let budget = Budget::new(MEMORY);
    let mut library = Library::new(Some(&found.symbols), &budget);
    let module = Module { name: "Shop.dll", build: None };
    let tokens: Vec<u32> = (0x0200_0000..0x0200_0020).collect();
    let types = library.types(&module, &tokens).map_or(0, |names| names.iter().flatten().count());
    let rows: Vec<u32> = (0x0600_0000..0x0600_0020).collect();
    let lines = library.lines(&module, &rows).map_or(0, |lines| lines.found.iter().flatten().count());
    let methods = library.methods(&["Shop.Program::Main", "Shop.Order::.ctor"]).map_or(0, |found| found.len());
    format!(
        "{} files {} problems {types} types {lines} lines {methods}",
        found.symbols.files.len(),
        found.problems.len()
    )
}
