//! `heaplake duplicates`: the same run again, with other options for duplicates.
//!
//! Nodes and classes say of duplicates, too, so their tables are written anew with the others, and the run is replaced in
//! one step. For that its input is read again.

use crate::analyze::{Failure, Request, prepare};
use crate::cli::DuplicatesOf;
use crate::commands::threads;
use crate::memory::default_budget;
use heaplake_ingest::source::{self, Input};
use heaplake_publish::commit;
use heaplake_schemas::run::{Duplicates, Options, Run};
use std::path::{Path, PathBuf};

/// What to do with a run or a snapshot.
///
/// # Errors
/// [`Failure::Again`] where there is no input, or another one than the run was made from.
pub fn request(options: &DuplicatesOf, target: &Path) -> Result<Request, Failure> {
    if let Some(run) = commit::read(target)? {
        return of_run(options, target, run);
    }
    let refused = |problem: &str, advice: &str| {
        Err(Failure::Again { target: target.to_owned(), problem: problem.to_owned(), advice: advice.to_owned() })
    };
    if !target.is_file() {
        return refused("no run, and no snapshot", "name a folder LAKE/release=…/snapshot=…, or a file");
    }
    let Some(lake) = &options.out else {
        return refused("a snapshot needs a lake", "give --out LAKE");
    };
    prepare(lake)?;
    let input = Input::File(target.to_owned());
    let chosen = chosen(options, Options::default());
    Ok(Request { force: true, ..filled(options, input, lake.clone(), "none".to_owned(), chosen) })
}

fn of_run(options: &DuplicatesOf, target: &Path, run: Run) -> Result<Request, Failure> {
    let refused = |problem: String, advice: &str| {
        Err(Failure::Again { target: target.to_owned(), problem, advice: advice.to_owned() })
    };
    let Some(lake) = target.canonicalize().ok().and_then(|place| Some(place.parent()?.parent()?.to_owned())) else {
        return refused("not inside a lake".to_owned(), "name a folder LAKE/release=…/snapshot=…");
    };
    let path = options.input.clone().unwrap_or_else(|| PathBuf::from(&run.source));
    let shown = path.display();
    if !path.is_file() {
        let advice = "name the snapshot that the run was made from with --input";
        return refused(format!("its input is gone: {shown}"), advice);
    }
    let input = Input::File(path.clone());
    let hash = source::identify(&input)?.hash;
    if hash != run.input_hash {
        let problem = format!("{shown} is not what it was made from: its hash is {hash}, not {}", run.input_hash);
        return refused(problem, "name the snapshot that the run was made from with --input");
    }
    let chosen = chosen(options, run.options);
    let request = filled(options, input, lake, run.release, chosen);
    Ok(Request { snapshot: Some(run.snapshot), force: true, ..request })
}

/// The options of the run, and those that are given.
fn chosen(options: &DuplicatesOf, before: Options) -> Options {
    let whole = if options.duplicates_of.is_empty() { Duplicates::All } else { before.duplicates };
    Options {
        duplicates: options.duplicates.unwrap_or(whole),
        duplicates_of: options.duplicates_of.clone(),
        duplicate_work: options.duplicate_work,
        ..before
    }
}

fn filled(options: &DuplicatesOf, input: Input, lake: PathBuf, release: String, chosen: Options) -> Request {
    Request {
        input,
        lake,
        release,
        snapshot: None,
        options: chosen,
        memory: options.memory.map_or_else(default_budget, |size| size.0),
        threads: threads(options.threads),
        scratch: options.scratch.clone(),
        force: false,
    }
}
