//! What an interrupted run left and a later one goes on with: documents of any content.
//!
//! The first byte of an input chooses a document, the rest is its content. Columns stay as they are: they are private to
//! the user, and the journal does not know what lies in them.

use crate::analysis::{everything, folder, told};
use crate::seeds;
use crate::subject::Target;
use heaplake::complaint::{Complaint, Exit};
use heaplake::engine::admission::smallest_budget;
use heaplake::engine::making;
use heaplake::engine::request::{Outcome, Request};
use heaplake::engine::workplace::SCRATCH as HIDDEN;
use heaplake::print::progress::Mode;
use heaplake_input::source::Input;
use heaplake_schemas::options::Options;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tempfile::TempDir;

/// Scratch of an analysis.
pub const SCRATCH: Target = Target { name: "scratch", run, seeds: documents, words: seeds::JSON };

/// An interrupted run.
struct Left {
    folder: TempDir,
    /// Its files.
    files: Vec<(PathBuf, Vec<u8>)>,
    /// Positions of documents among them.
    documents: Vec<usize>,
}

impl Left {
    fn lake(&self) -> PathBuf {
        self.folder.path().join("lake")
    }

    fn request(&self) -> Request {
        Request {
            hash: None,
            input: Input::File(self.folder.path().join("heap.heapsnapshot")),
            lake: self.lake(),
            release: "none".to_owned(),
            snapshot: Some("it".to_owned()),
            options: Options::Analysis(everything()),
            memory: smallest_budget(),
            threads: 1,
            scratch: None,
            force: true,
            allow_bomb: false,
        }
    }

    fn make(&self, cancel: &AtomicBool) -> Result<Outcome, Complaint> {
        making::make(&self.request(), Mode::Quiet, cancel)
    }
}

/// The same for all inputs of a process.
fn left() -> &'static Left {
    static LEFT: OnceLock<Left> = OnceLock::new();
    LEFT.get_or_init(interrupted)
}

/// Interrupts a run when so many stages are done, as far as that can be hit.
fn interrupted() -> Left {
    const DONE: usize = 12;
    let mut left = Left { folder: folder(), files: Vec::new(), documents: Vec::new() };
    let input = seeds::heapsnapshot().into_iter().max_by_key(Vec::len).unwrap_or_default();
    fs::write(left.folder.path().join("heap.heapsnapshot"), input).unwrap();
    loop {
        let (cancel, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let outcome = thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    let journal =
                        below(&left.lake().join(HIDDEN)).into_iter().find(|path| path.ends_with("journal.json"));
                    let text = journal.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
                    cancel.fetch_or(text.matches("\"stage\"").count() >= DONE, Ordering::Relaxed);
                }
            });
            let outcome = left.make(&cancel);
            ended.store(true, Ordering::Relaxed);
            outcome
        });
        left.files = below(&left.lake()).into_iter().map(|path| (path.clone(), seeds::read(&path))).collect();
        left.documents = (0..left.files.len()).filter(|&file| is_document(&left.files[file].0)).collect();
        if outcome.is_err_and(|complaint| complaint.exit == Exit::Interrupted) && left.files.len() > DONE {
            return left;
        }
        fs::remove_dir_all(left.lake()).unwrap();
    }
}

/// All files below a folder, by path.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut files = seeds::files(folder);
    let folders = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    folders.filter(|path| path.is_dir()).for_each(|folder| files.extend(below(&folder)));
    files.sort();
    files
}

fn documents() -> Vec<Vec<u8>> {
    let Left { files, documents, .. } = left();
    (0u8..).zip(documents).map(|(number, &file)| [&[number], &files[file].1[..]].concat()).collect()
}

fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json")
}

fn run(data: &[u8]) -> String {
    let Some((&choice, rest)) = data.split_first() else { return String::new() };
    let left = left();
    if left.lake().exists() {
        fs::remove_dir_all(left.lake()).unwrap();
    }
    let changed = left.documents[usize::from(choice) % left.documents.len()];
    for (number, (path, bytes)) in left.files.iter().enumerate() {
        fs::create_dir_all(path.parent().unwrap_or(path)).unwrap();
        fs::write(path, if number == changed { rest } else { bytes }).unwrap();
    }
    let outcome = left.make(&AtomicBool::new(false));
    outcome.map_or_else(|complaint| told(&complaint), |_| "resumed, or begun anew".to_owned())
}
