//! A run as one HTML page.
//!
//! * Computes: the dominator tree folded into groups ([`crate::tree`]), call trees folded to their largest nodes
//!   ([`crate::calls`]); all else is in the tables.
//! * Resident memory: 12 bytes per node, paged where they do not fit; groups of 64 bytes each, at most 2^18 and as
//!   many groups of others; the rows that are shown.
//! * Scratch: 8 bytes per node, in a hidden folder beside the page.
//! * Passes over disk: numeric columns of the nodes three times, those of call trees twice; of other tables the first
//!   rows.
//! * Worst case: linear.
//! * Fails when: a table is damaged, the disk is full.
//! * Determinism: same run in the same place, same bytes; commands in the page name the place.
//! * Reference: none needed.

use crate::document::Document;
use crate::page;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, Scratch, StageError};
use heaplake_lake::reader::damaged;
use heaplake_schemas::run::Run;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// File name of the page inside a run, unless the user gives another.
pub const FILE: &str = "report.html";

/// Bytes of memory with which the page of any run can be made.
pub const LEAST_MEMORY: u64 = (56 << 20) + FIXED_OVERHEAD;

/// Makes the page of the run in the folder `place`, with so many bytes of memory. What it needs is `run.json` and the
/// tables that the run has.
///
/// # Errors
/// [`StageError::Plan`] when the memory is below [`LEAST_MEMORY`], [`StageError::Io`], [`StageError::Table`],
/// [`StageError::Budget`], [`StageError::Cancelled`]; then there is no page.
pub fn make(run: &Run, place: &Path, page: &Path, memory: u64, cancel: &AtomicBool) -> Result<(), StageError> {
    if memory < LEAST_MEMORY {
        return Err(StageError::Plan { stage: "report", limit: memory, suffices: LEAST_MEMORY });
    }
    let budget = Budget::new(memory - FIXED_OVERHEAD);
    let context = Context { budget, threads: 1, progress: &Silent, cancel };
    let scratch = Beside::create(page)?;
    let document = Document::read(run, place, &scratch.0, &context)?;
    let json = serde_json::to_string(&document).map_err(|error| damaged(place, error))?;
    write(page, page::html(document.title(), &json, document.has_tree()).as_bytes())
}

/// Puts the page in its place in one step.
pub(crate) fn write(page: &Path, html: &[u8]) -> Result<(), StageError> {
    let name = page.file_name().unwrap_or_default().to_string_lossy();
    let folder = page.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = tempfile::Builder::new()
        .prefix(&format!(".{name}."))
        // As for any new file: the umask takes away what others may not.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .and_then(|mut file| {
            file.write_all(html)?;
            file.as_file().sync_all()?;
            file.persist(page).map_err(|error| error.error)
        });
    written.map(drop).map_err(|error| StageError::io(page, "write", error))
}

/// Scratch beside a page, gone when dropped.
struct Beside(Scratch);

impl Beside {
    fn create(page: &Path) -> Result<Self, StageError> {
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        Scratch::create(&page.with_file_name(format!(".{name}.{}.scratch", std::process::id()))).map(Self)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // What cannot be removed is only space.
        let _ = fs::remove_dir_all(self.0.folder());
    }
}
