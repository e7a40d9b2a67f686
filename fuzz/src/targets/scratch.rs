//! Scratch files that an interrupted run left and a later run resumes from: columns, documents and the journal, of any
//! length and content.
//!
//! The first byte of an input chooses how far the interrupted run had come, the second a file, the rest is the file's
//! content. Whatever the later run finds, it must write the same tables as an undisturbed run, byte for byte.

use crate::analysis::{everything, folder};
use crate::seeds;
use crate::subject::Target;
use heaplake::diagnostic::{Diagnostic, Exit};
use heaplake::engine::admission::smallest_budget;
use heaplake::engine::request::{Outcome, Request, Resume};
use heaplake::engine::run_executor;
use heaplake::engine::workplace::SCRATCH as HIDDEN;
use heaplake::progress::Mode;
use heaplake_input::source::Input;
use heaplake_schemas::options::Options;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tempfile::TempDir;

/// Scratch of an analysis.
pub(super) const SCRATCH: Target = Target { name: "scratch", run, seeds: files, words: seeds::JSON };

/// Finished stages at the interruption, approximately.
const DONE: [usize; 4] = [3, 8, 16, 24];

type Files = Vec<(PathBuf, Vec<u8>)>;

/// An input, and the files that its interrupted runs left.
struct Left {
    folder: TempDir,
    /// One entry per number in [`DONE`].
    files: Vec<Files>,
    /// Tables of an undisturbed run.
    tables: Files,
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
            resume: Resume::Always,
            force: true,
            allow_bomb: false,
        }
    }

    fn make(&self, cancel: &AtomicBool) -> Result<Outcome, Diagnostic> {
        run_executor::make(&self.request(), Mode::Quiet, cancel)
    }
}

/// Made once per process.
fn left() -> &'static Left {
    static LEFT: OnceLock<Left> = OnceLock::new();
    LEFT.get_or_init(interrupted)
}

/// Writes the input and interrupts runs of it.
fn interrupted() -> Left {
    let mut left = Left { folder: folder(), files: Vec::new(), tables: Vec::new() };
    let input = seeds::heapsnapshot().into_iter().max_by_key(Vec::len).unwrap_or_default();
    fs::write(left.folder.path().join("heap.heapsnapshot"), input).unwrap();
    left.make(&AtomicBool::new(false)).unwrap();
    left.tables = tables(&left.lake());
    left.files = DONE.into_iter().map(|done| interrupted_after(&left, done)).collect();
    left
}

/// Interrupts a run once `done` stages are finished; returns its files.
fn interrupted_after(left: &Left, done: usize) -> Files {
    loop {
        fs::remove_dir_all(left.lake()).unwrap();
        let (cancel, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let outcome = thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    let journal =
                        below(&left.lake().join(HIDDEN)).into_iter().find(|path| path.ends_with("journal.json"));
                    let text = journal.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
                    cancel.fetch_or(text.matches("\"stage\"").count() >= done, Ordering::Relaxed);
                }
            });
            let outcome = left.make(&cancel);
            ended.store(true, Ordering::Relaxed);
            outcome
        });
        let files: Files = below(&left.lake()).into_iter().map(|path| (path.clone(), seeds::read(&path))).collect();
        if outcome.is_err_and(|diagnostic| diagnostic.exit == Exit::Interrupted) && files.len() > done {
            return files;
        }
    }
}

/// The tables of a lake, without the snapshot table, which contains times.
fn tables(lake: &Path) -> Files {
    let tables = below(lake).into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "parquet"));
    let lasting = tables.filter(|path| !path.ends_with("snapshot.parquet"));
    lasting.map(|path| (path.clone(), seeds::read(&path))).collect()
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let mut files = seeds::files(folder);
    let folders = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    folders.filter(|path| path.is_dir()).for_each(|folder| files.extend(below(&folder)));
    files.sort();
    files
}

fn files() -> Vec<Vec<u8>> {
    let of = |(state, files): (u8, &Files)| {
        (0u8..).zip(files).map(|(number, (_, bytes))| [&[state, number], &bytes[..]].concat()).collect::<Vec<_>>()
    };
    (0u8..).zip(&left().files).flat_map(of).collect()
}

fn run(data: &[u8]) -> String {
    let [state, choice, rest @ ..] = data else { return String::new() };
    let left = left();
    if left.lake().exists() {
        fs::remove_dir_all(left.lake()).unwrap();
    }
    let files = &left.files[usize::from(*state) % DONE.len()];
    let (changed, original) = &files[usize::from(*choice) % files.len()];
    for (path, bytes) in files {
        fs::create_dir_all(path.parent().unwrap_or(path)).unwrap();
        fs::write(path, if path == changed { rest } else { bytes }).unwrap();
    }
    left.make(&AtomicBool::new(false)).unwrap();
    assert!(tables(&left.lake()) == left.tables, "other tables");
    // Guides the loop to other files and other interruptions.
    let name = changed.file_name().unwrap_or_default().to_string_lossy();
    format!("{state} {name} {:?}", rest.len().cmp(&original.len()))
}
