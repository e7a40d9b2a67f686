//! The page of a run that stands in a lake.

use heaplake_kit::budget::FIXED_OVERHEAD;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, Scratch, StageError, Stats};
use heaplake_report as report;
use heaplake_schemas::run::Run;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Name of the page inside a run, unless the user gives another.
pub const FILE: &str = "report.html";

/// Makes the page of the run in `place`, with so many bytes of memory.
///
/// # Errors
/// Those of [`report::run`], and [`StageError::Plan`] when the memory is too little for any run.
pub fn make(run: &Run, place: &Path, page: &Path, memory: u64, cancel: &AtomicBool) -> Result<Stats, StageError> {
    let suffices = report::STAGE.least_fixed + FIXED_OVERHEAD;
    if memory < suffices {
        return Err(StageError::Plan { stage: report::STAGE.name, limit: memory, suffices });
    }
    let budget = Budget::new(memory - FIXED_OVERHEAD);
    let context = Context { budget, threads: 1, progress: &Silent, cancel };
    let scratch = Beside::create(page)?;
    report::run(run, place, page, &scratch.0, &context)
}

/// Scratch beside a page, gone when dropped.
struct Beside(Scratch);

impl Beside {
    fn create(page: &Path) -> Result<Self, StageError> {
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        let folder: PathBuf = page.with_file_name(format!(".{name}.{}.scratch", std::process::id()));
        Scratch::create(&folder).map(Self)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // What cannot be removed is only space.
        let _ = fs::remove_dir_all(self.0.folder());
    }
}
