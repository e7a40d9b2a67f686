//! The measured snapshots, and the floor: reading a file once.

use crate::report;
use crate::well_formed::WellFormed;
use anyhow::{Context, Result, ensure};
use clap::Args;
use heaplake_generator::file;
use heaplake_generator::plan::{Shape, Target};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Folder of generated snapshots, lakes and scratch, from the repository's root. `make clean` removes it.
pub(crate) const WORK: &str = "target/bench";

/// A snapshot to measure.
pub(crate) struct Snapshot {
    /// The file.
    pub path: PathBuf,
    /// Name in tables.
    pub name: String,
    /// Size of the file.
    pub bytes: u64,
}

impl Snapshot {
    /// A user's file.
    pub(crate) fn given(path: &Path) -> Result<Self> {
        let bytes = fs::metadata(path).with_context(|| path.display().to_string())?.len();
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Self { path: path.to_owned(), name, bytes })
    }

    /// The generated snapshot of about this size, written unless it exists.
    pub(crate) fn generated(size: u64) -> Result<Self> {
        let path = work()?.join(format!("generated-{}.heapsnapshot", report::size(size)));
        if !path.exists() {
            eprintln!("writing {}", path.display());
            let plan = file::plan(1, Shape::Realistic, Target::Bytes(size));
            fs::write(answers(&path), file::answers(&plan).to_json())?;
            // Written under another name and renamed, so that an interrupted run leaves no partial file.
            let part = path.with_extension("part");
            let write = || {
                let mut to = WellFormed::new(File::create(&part)?);
                file::write(&plan, &mut to)?;
                to.finish()?;
                fs::rename(&part, &path)
            };
            write().with_context(|| path.display().to_string())?;
        }
        Self::given(&path)
    }
}

/// Path of a generated snapshot's planted answers.
pub(crate) fn answers(snapshot: &Path) -> PathBuf {
    snapshot.with_extension("answers.json")
}

/// Returns the working folder and creates it; fails outside the repository's root.
pub(crate) fn work() -> Result<&'static Path> {
    ensure!(Path::new(report::RESULTS).exists(), "no {}: run this in the root of the repository", report::RESULTS);
    let work = Path::new(WORK);
    fs::create_dir_all(work).with_context(|| format!("cannot create {WORK}"))?;
    Ok(work)
}

/// Options of `read`.
#[derive(Args)]
pub(crate) struct Read {
    /// The file
    file: PathBuf,
}

/// Reads a file once through a 256 KiB buffer, as the engine's reader does, and discards it.
pub(crate) fn read(options: &Read) -> Result<()> {
    let mut file = File::open(&options.file).with_context(|| options.file.display().to_string())?;
    let mut buffer = vec![0; 256 << 10];
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}
