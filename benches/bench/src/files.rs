//! The snapshots that are measured, and what it costs at least to touch one.

use crate::report;
use crate::well_formed::WellFormed;
use anyhow::{Context, Result, ensure};
use clap::Args;
use heaplake_generator::file;
use heaplake_generator::plan::{Shape, Target};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Where generated snapshots, lakes and scratch lie, from the repository's root. `make clean` removes it.
pub const WORK: &str = "target/bench";

/// A snapshot to measure.
pub struct Snapshot {
    /// The file.
    pub path: PathBuf,
    /// Name in tables.
    pub name: String,
    /// Size of the file.
    pub bytes: u64,
}

impl Snapshot {
    /// A file of the user.
    ///
    /// # Errors
    /// When it is not there.
    pub fn given(path: &Path) -> Result<Self> {
        let bytes = fs::metadata(path).with_context(|| path.display().to_string())?.len();
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Self { path: path.to_owned(), name, bytes })
    }

    /// The generated snapshot of about this size, made now unless it is there from before.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn generated(size: u64) -> Result<Self> {
        let path = work()?.join(format!("generated-{}.heapsnapshot", report::size(size)));
        if !path.exists() {
            eprintln!("writing {}", path.display());
            let plan = file::plan(1, Shape::Realistic, Target::Bytes(size));
            fs::write(answers(&path), file::answers(&plan).to_json())?;
            // Under another name until it is whole, so that an interrupted run leaves nothing that looks like one.
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

/// The planted answers of a generated snapshot.
pub fn answers(snapshot: &Path) -> PathBuf {
    snapshot.with_extension("answers.json")
}

/// The working folder, made where it is not there.
///
/// # Errors
/// When this is not the repository's root.
pub fn work() -> Result<&'static Path> {
    ensure!(Path::new(report::RESULTS).exists(), "no {}: run this in the root of the repository", report::RESULTS);
    let work = Path::new(WORK);
    fs::create_dir_all(work).with_context(|| format!("cannot create {WORK}"))?;
    Ok(work)
}

/// Options of `read`.
#[derive(Args)]
pub struct Read {
    /// The file
    file: PathBuf,
}

/// Reads a file once through a buffer of 256 KiB, as the engine's reader does, and does nothing with it.
///
/// # Errors
/// When it cannot be read.
pub fn read(options: &Read) -> Result<()> {
    let mut file = File::open(&options.file).with_context(|| options.file.display().to_string())?;
    let mut buffer = vec![0; 256 << 10];
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}
