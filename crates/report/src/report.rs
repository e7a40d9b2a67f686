//! A run as one HTML page.
//!
//! * Computes: the dominator tree folded into groups ([`crate::tree`]), call trees folded to their largest nodes
//!   ([`crate::calls`]); everything else is in the tables.
//! * Resident memory: 12 bytes per node, paged if they do not fit; groups of 64 bytes each, at most 2^18 and as many
//!   groups of others; the rows that are shown.
//! * Scratch: 8 bytes per node, in a hidden folder beside the page, or in the system's temporary folder if the page is
//!   no regular file.
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
use heaplake_lake::commit;
use heaplake_lake::hidden::Hidden;
use heaplake_lake::output_file::{self, OutputFile};
use heaplake_lake::reader::damaged;
use heaplake_lake::run_files;
use heaplake_schemas::run::Run;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Default file name of the page inside a run.
pub const FILE: &str = run_files::PAGE;

/// Bytes of memory that suffice for the page of any run.
pub const LEAST_MEMORY: u64 = (56 << 20) + FIXED_OVERHEAD;

/// Makes the page of the run in the folder `place` with `memory` bytes, from `run.json` and the tables present. On
/// error there is no page.
///
/// # Errors
/// [`StageError::Plan`] if the memory is below [`LEAST_MEMORY`].
pub fn make(run: &Run, place: &Path, page: &Path, memory: u64, cancel: &AtomicBool) -> Result<(), StageError> {
    if memory < LEAST_MEMORY {
        return Err(StageError::Plan { stage: "report", limit: memory, suffices: LEAST_MEMORY });
    }
    let budget = Budget::new(memory - FIXED_OVERHEAD);
    let context = Context { budget, threads: 1, progress: &Silent, cancel };
    // Made beside the page, so that a run that replaces this one meanwhile does not get its page.
    let mut output = OutputFile::create(page, cancel)?;
    if folder_of(page) == place && !commit::read(place)?.is_some_and(|there| is_same(&there, run)) {
        let problem = format!("{}: another run took this place while its page was made", place.display());
        return Err(StageError::Refused {
            problem,
            advice: "make the page of the run that stands here now".to_owned(),
        });
    }
    let passing = match output.folder() {
        Some(_) => None,
        None => Some(Hidden::create(&std::env::temp_dir(), output_file::HIDDEN)?),
    };
    let beside = output.folder().or(passing.as_ref().map(Hidden::path)).unwrap_or(place);
    let scratch = Scratch::create(&beside.join("scratch"))?;
    let document = Document::read(run, place, &scratch, &context)?;
    let json = serde_json::to_string(&document).map_err(|error| damaged(place, error))?;
    let html = page::html(document.title(), &json, document.has_tree());
    output.write_all(html.as_bytes()).map_err(|error| output.failed(error))?;
    output.commit()
}

/// Whether two descriptions are of one run. Seals decide: numbers read back may differ in the last digit.
fn is_same(one: &Run, other: &Run) -> bool {
    match (&one.seal, &other.seal) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

fn folder_of(page: &Path) -> &Path {
    page.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
