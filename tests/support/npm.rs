//! npm packages, installed once for all tests.
//!
//! A set of packages has a folder in `target/npm`; its name ends with a hash of `package.json`, lock file and command.
//! A lock lets one thread of one process install at a time. npm installs into another folder, which is renamed when
//! complete, so a killed npm leaves nothing that looks installed. A list of files and lengths lies beside the packages:
//! if a file is missing or shorter, the whole set is installed again.

use crate::lake::binary;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

/// File in a set's folder: its files and their lengths.
const LIST: &str = "installed";

/// Options of every command: no questions, no package scripts, and a timeout if no registry answers.
const OPTIONS: [&str; 5] =
    ["--no-fund", "--no-audit", "--prefer-offline", "--fetch-retries=1", "--fetch-timeout=60000"];

/// A set of packages.
pub struct Packages {
    pub name: &'static str,
    /// `package.json`, and `package-lock.json` if versions are locked: name and content.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// npm's command, such as `ci`.
    pub words: Vec<&'static str>,
    pub npm: PathBuf,
    /// The folder of all sets.
    pub place: PathBuf,
}

impl Packages {
    /// A set that the search path's npm installs into `target/npm`.
    pub fn new(name: &'static str, files: Vec<(&'static str, Vec<u8>)>, words: &[&'static str]) -> Self {
        let place = binary().with_file_name("../npm");
        Self { name, files, words: words.to_vec(), npm: PathBuf::from("npm"), place }
    }

    /// Installs the set unless it is complete; returns its `node_modules`, or why npm cannot install it.
    ///
    /// # Panics
    /// If the lock file does not fit, or a package is not the locked one: the fault is in the repository.
    pub fn install(&self) -> Result<PathBuf, String> {
        static FAILED: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
        fs::create_dir_all(&self.place).unwrap();
        let folder = self.place.canonicalize().unwrap().join(format!("{}-{:016x}", self.name, self.hash()));
        let lock = File::create(folder.with_extension("lock")).unwrap();
        lock.lock().unwrap();
        if let Some(why) = FAILED.lock().unwrap().get(&folder) {
            return Err(why.clone());
        }
        if !is_whole(&folder) {
            // Only one test per process waits for a registry that does not answer.
            self.install_into(&folder).inspect_err(|why| {
                FAILED.lock().unwrap().insert(folder.clone(), why.clone());
            })?;
        }
        Ok(folder.join("node_modules"))
    }

    fn hash(&self) -> u64 {
        let files = self.files.iter().flat_map(|(name, content)| [name.as_bytes(), content]);
        let parts = files.chain(self.words.iter().map(|word| word.as_bytes()));
        xxh3_64(&parts.flat_map(|part| [&part.len().to_le_bytes(), part].concat()).collect::<Vec<u8>>())
    }

    fn install_into(&self, folder: &Path) -> Result<(), String> {
        let begin = format!("{}.part-", folder.file_name().unwrap().to_string_lossy());
        for left in fs::read_dir(&self.place).unwrap().flatten() {
            if left.file_name().to_string_lossy().starts_with(&begin) {
                // A killed test's npm may still write there.
                let _ = fs::remove_dir_all(left.path());
            }
        }
        let part = TempDir::with_prefix_in(&begin, &self.place).unwrap();
        for (name, content) in &self.files {
            fs::write(part.path().join(name), content).unwrap();
        }
        self.run_npm(part.path())?;
        let list = listed(part.path()).unwrap();
        let lines: String = list.iter().map(|(path, length)| format!("{length} {path}\n")).collect();
        fs::write(part.path().join(LIST), lines).unwrap();
        if fs::symlink_metadata(folder).is_ok() {
            fs::remove_dir_all(folder).unwrap();
        }
        fs::rename(part.keep(), folder).unwrap();
        Ok(())
    }

    fn run_npm(&self, folder: &Path) -> Result<(), String> {
        let output = Command::new(&self.npm).args(&self.words).args(OPTIONS).current_dir(folder).output();
        let output = output.map_err(|error| format!("npm cannot be run here: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("EUSAGE") && !said.contains("EINTEGRITY"), "{said}");
        match output.status.success() && folder.join("node_modules").is_dir() {
            true => Ok(()),
            false => Err(format!("npm {}: {} {}", self.words.join(" "), output.status, said.replace('\n', " "))),
        }
    }
}

/// Whether all listed files exist with their lengths. Tools may add files of their own.
fn is_whole(folder: &Path) -> bool {
    let Ok(lines) = fs::read_to_string(folder.join(LIST)) else { return false };
    lines.lines().all(|line| {
        line.split_once(' ').is_some_and(|(length, path)| {
            fs::symlink_metadata(folder.join(path)).is_ok_and(|file| file.len().to_string() == length)
        })
    })
}

/// All files below a folder and their lengths, by relative path.
fn listed(folder: &Path) -> io::Result<BTreeMap<String, u64>> {
    let (mut list, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
                continue;
            }
            let path = entry.path();
            let path = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
            list.insert(path, entry.metadata()?.len());
        }
    }
    Ok(list)
}
