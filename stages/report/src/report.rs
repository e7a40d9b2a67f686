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
use heaplake_kit::fs::{self, File};
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, Scratch, StageError};
use heaplake_lake::commit;
use heaplake_lake::hidden::Hidden;
use heaplake_lake::reader::damaged;
use heaplake_schemas::run::Run;
use std::io::Write;
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
    let beside = beside(page)?;
    if folder_of(page) == place && !commit::read(place)?.is_some_and(|there| is_same(&there, run)) {
        let problem = format!("{}: another run took this place while its page was made", place.display());
        return Err(StageError::Refused {
            problem,
            advice: "make the page of the run that stands here now".to_owned(),
        });
    }
    let scratch = Scratch::create(&beside.path().join("scratch"))?;
    let document = Document::read(run, place, &scratch, &context)?;
    let json = serde_json::to_string(&document).map_err(|error| damaged(place, error))?;
    put(&beside, page, page::html(document.title(), &json, document.has_tree()).as_bytes())
}

/// Whether two descriptions are of one run. Their seals tell; numbers that are read back may differ in the last digit.
fn is_same(one: &Run, other: &Run) -> bool {
    match (&one.seal, &other.seal) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

/// Puts the page in its place in one step.
pub(crate) fn write(page: &Path, html: &[u8]) -> Result<(), StageError> {
    put(&beside(page)?, page, html)
}

/// The same, by way of a folder that lies beside the page: if another run takes the place meanwhile, it does not get
/// this page.
fn put(beside: &Hidden, page: &Path, html: &[u8]) -> Result<(), StageError> {
    let new = beside.path().join("page");
    let written = File::create(&new).and_then(|mut file| {
        file.write_all(html)?;
        file.sync_all()?;
        fs::rename(&new, page)
    });
    written.map_err(|error| StageError::io(page, "write", error))
}

/// A hidden folder beside a page. What killed processes left there goes.
fn beside(page: &Path) -> Result<Hidden, StageError> {
    let name = page.file_name().unwrap_or_default().to_string_lossy();
    Hidden::create(folder_of(page), &format!(".{name}."))
}

fn folder_of(page: &Path) -> &Path {
    page.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
