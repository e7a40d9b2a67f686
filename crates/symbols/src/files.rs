//! Finds symbol files, and the module that each describes.

use crate::assembly::{self, Assembly};
use crate::metadata;
use crate::pdb;
use crate::pe;
use heaplake_kit::fs::{File, MOST_FILES, files_below};
use heaplake_schemas::symbols::{SymbolFile, SymbolKind, Symbols};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// Endings of assemblies and PDBs; of source maps and of scripts that may link to one.
const DOTNET: [&str; 3] = ["pdb", "dll", "exe"];
const SCRIPTS: [&str; 4] = ["map", "js", "mjs", "cjs"];

/// Result of a search.
#[derive(Debug, Default)]
pub struct SymbolFiles {
    /// Assemblies and PDBs.
    pub symbols: Symbols,
    /// Files that are or may have source maps, and folders of such.
    pub scripts: Vec<String>,
    /// Unusable files with their problems, a line each.
    pub problems: Vec<String>,
}

/// Finds symbols in files and folders; in a folder, the endings decide. Each file is read within `memory` bytes.
/// Unusable files become problems.
pub fn find(paths: &[String], memory: u64) -> SymbolFiles {
    let mut search = Search { memory, ..Search::default() };
    for path in paths {
        match files_below(Path::new(path)) {
            Err(error) => search.problem(Path::new(path), &unreadable(&error)),
            Ok(files) if files == [Path::new(path)] => search.file(Path::new(path)),
            Ok(files) => search.folder(path, &files),
        }
    }
    search.finish()
}

/// Finds the portable PDBs in the folder of a trace, not in folders below it.
pub fn beside(trace: &Path, memory: u64) -> SymbolFiles {
    let mut search = Search { memory, ..Search::default() };
    let folder = trace.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // An unreadable folder counts as empty, because nobody named it.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_FILES);
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| ending(path) == "pdb").collect();
    files.sort_unstable();
    for file in files {
        // PDBs of Windows are skipped silently.
        if begins(&file).is_ok_and(|beginning| beginning.starts_with(metadata::MAGIC)) {
            search.dotnet(&file);
        }
    }
    search.finish()
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot read: {error}")
}

fn ending(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase()
}

/// The first bytes of a file.
fn begins(path: &Path) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    File::open(path)?.take(pdb::OF_WINDOWS.len() as u64).read_to_end(&mut beginning)?;
    Ok(beginning)
}

#[derive(Default)]
struct Search {
    memory: u64,
    files: BTreeMap<PathBuf, SymbolFile>,
    scripts: Vec<String>,
    problems: Vec<String>,
}

impl Search {
    fn problem(&mut self, file: &Path, problem: &str) {
        self.problems.push(format!("{}: {problem}", file.display()));
    }

    /// Adds a file that the user names; its content determines its kind.
    fn file(&mut self, path: &Path) {
        match begins(path) {
            Err(error) => self.problem(path, &unreadable(&error)),
            Ok(beginning) if [pe::MAGIC, metadata::MAGIC].iter().any(|magic| beginning.starts_with(magic)) => {
                if !self.dotnet(path) {
                    self.problem(path, "it is native code, which has no names of types");
                }
            }
            Ok(beginning) if beginning.starts_with(pdb::OF_WINDOWS) => {
                self.problem(path, "it is a PDB of Windows: build with <DebugType>portable</DebugType>");
            }
            Ok(_) => self.scripts.push(path.display().to_string()),
        }
    }

    /// Adds the files of a folder.
    fn folder(&mut self, path: &str, files: &[PathBuf]) {
        let before = self.files.len();
        let has_scripts = files.iter().any(|file| SCRIPTS.contains(&ending(file).as_str()));
        if has_scripts {
            self.scripts.push(path.to_owned());
        }
        for file in files.iter().filter(|file| DOTNET.contains(&ending(file).as_str())) {
            match begins(file) {
                Err(error) => self.problem(file, &unreadable(&error)),
                Ok(beginning) if beginning.starts_with(pdb::OF_WINDOWS) => {}
                Ok(_) => {
                    self.dotnet(file);
                }
            }
        }
        if self.files.len() == before && !has_scripts {
            self.problem(Path::new(path), "no assembly, portable PDB or source map is there");
        }
    }

    /// Adds an assembly or PDB; false for a whole file of another kind.
    fn dotnet(&mut self, path: &Path) -> bool {
        match described(path, self.memory) {
            Ok(Some(file)) => drop(self.files.insert(path.to_owned(), file)),
            Ok(None) => return false,
            Err(problem) => self.problem(path, &problem),
        }
        true
    }

    fn finish(self) -> SymbolFiles {
        let Self { files, scripts, problems, .. } = self;
        SymbolFiles { symbols: named(files.into_values().collect()), scripts, problems }
    }
}

/// Merges the files of both.
pub fn merged(one: Symbols, other: Symbols) -> Symbols {
    let files = one.files.into_iter().chain(other.files).map(|file| (file.path.clone(), file));
    named(files.collect::<BTreeMap<_, _>>().into_values().collect())
}

/// Files with their combined hash.
fn named(files: Vec<SymbolFile>) -> Symbols {
    let mut contents: Vec<String> = files.iter().map(|file| format!("{} {}", file.hash, file.module)).collect();
    contents.sort_unstable();
    contents.dedup();
    let hash = hash(contents.join("\n").as_bytes());
    Symbols { files, hash }
}

/// Hash of a content, as in options.
pub(crate) fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

/// Describes a file; `None` for native code.
fn described(path: &Path, memory: u64) -> Result<Option<SymbolFile>, String> {
    let bytes = fs::metadata(path).map_err(|error| unreadable(&error))?.len();
    let of_pdb = ending(path) == "pdb";
    let needed = bytes.saturating_mul(if of_pdb { pdb::BYTES_PER_BYTE } else { assembly::BYTES_PER_BYTE });
    if needed > memory {
        return Err(format!("reading it takes {needed} bytes of memory, more than --memory allows"));
    }
    let content = heaplake_kit::fs::read_at_most(path, bytes).map_err(|error| unreadable(&error))?;
    let (kind, build, has_lines) = if content.starts_with(metadata::MAGIC) {
        (SymbolKind::Pdb, pdb::build(&content)?, true)
    } else {
        let Some(assembly) = Assembly::parse(&content)? else { return Ok(None) };
        (SymbolKind::Assembly, assembly.build(), assembly.has_pdb())
    };
    let module = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let build = build.map(|build| build.to_string());
    let path = path.display().to_string();
    Ok(Some(SymbolFile { path, bytes, hash: hash(&content), kind, module, build, has_lines }))
}
