//! `heaplake duplicates`: re-analyses the input of a run with other options for duplicates.
//!
//! The tables of nodes and classes also depend on duplicates, so the input is read again, all tables are rewritten, and
//! the run is replaced atomically.

use super::batch::{make, prepare, stopped_by_signals, work_through};
use super::batch_scheduler::{Concurrency, Requested};
use super::cataloguing::Cataloguing;
use super::choices::{Ending, Naming, Resources, Trust, duplicate_mode, pattern};
use super::outputs;
use super::texts::with_key;
use crate::diagnostic::{Diagnostic, Done};
use crate::engine::request::{Request, Resume};
use crate::engine::workplace::sweep;
use crate::progress::Mode;
use clap::Args;
use glob::Pattern;
use heaplake_input::source::{self, Input};
use heaplake_kit::storage;
use heaplake_lake::commit;
use heaplake_lake::nearest::{self, clause};
use heaplake_report as reports;
use heaplake_schemas::names::NameRules;
use heaplake_schemas::options::{AnalysisOptions, Duplicates, Options, TableName, TextOptions, Texts};
use heaplake_schemas::run::Run;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

const DUPLICATES_EXAMPLES: &str = "\
Examples:
  heaplake duplicates lake/release=none/snapshot=Heap-1f0c9a77
  heaplake duplicates lake/release=none/snapshot=Heap-1f0c9a77 --duplicates-of 'java.util.*Map'
  heaplake duplicates lake/release=none/snapshot=Heap-1f0c9a77 --class 'java.util.HashMap$Node[]'
  heaplake duplicates lake/release=*/snapshot=* --memory 2GiB
  heaplake duplicates Heap.heapsnapshot --out lake --duplicate-work 1000000000

The snapshot that a run was made from is read again, so it must still be there and unchanged. The new run replaces the \
 old one in one step.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake duplicates lake/release=none/snapshot=Heap-1f0c9a77", after_long_help = DUPLICATES_EXAMPLES)]
pub(crate) struct Arguments {
    /// Folders of runs, or snapshots, which need --out
    #[arg(required = true, value_name = "RUN|FILE")]
    targets: Vec<PathBuf>,
    /// The lake, for snapshots
    #[arg(long, value_name = "LAKE")]
    out: Option<PathBuf>,
    /// Current path of the run's snapshot; for a single run
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Look for duplicates: none, trivial or all [default: all]
    ///
    /// `trivial` finds equal objects without references. With --duplicates-of, the default is the mode of the run.
    #[arg(long, value_name = "MODE", value_parser = duplicate_mode(), hide_possible_values = true)]
    duplicates: Option<Duplicates>,
    /// Only classes that match a glob pattern; may be given again
    #[arg(long, value_name = "CLASS", value_parser = pattern)]
    duplicates_of: Vec<String>,
    /// Only the class of this name, no pattern; may be given again
    ///
    /// Findings and the page have the command for each class with possible duplicates.
    #[arg(long = "class", value_name = "NAME", allow_hyphen_values = true)]
    classes: Vec<String>,
    /// Also write the table of values, which `object` needs
    #[arg(long)]
    values: bool,
    /// Pairs of references to compare [default: 4 per node]
    #[arg(long, value_name = "N")]
    duplicate_work: Option<u64>,
    /// File with the key of the run's masked texts
    ///
    /// For runs made with --texts hash and a key.
    #[arg(long, value_name = "FILE")]
    texts_key: Option<PathBuf>,
    #[command(flatten)]
    naming: Naming,
    #[command(flatten)]
    resources: Resources,
    #[command(flatten)]
    trust: Trust,
    #[command(flatten)]
    ending: Ending,
}

/// Makes the runs again. Failures of single runs are reported, not returned.
pub(crate) fn run(arguments: &Arguments) -> Done {
    if arguments.input.is_some() && arguments.targets.len() > 1 {
        let cause = format!("--input names one snapshot, but {} runs are given", arguments.targets.len());
        return Err(Diagnostic::usage(cause, "leave --input out"));
    }
    outputs::check(&[("--metrics", arguments.ending.metrics.as_deref())], || {
        let targets = outputs::of_option("the command", &arguments.targets);
        let named = outputs::of_option("--names", arguments.naming.file());
        [targets, outputs::of_option("--input", &arguments.input), named].concat()
    })?;
    let names = arguments.naming.rules()?;
    arguments.ending.check()?;
    let cancel = stopped_by_signals();
    let requests = arguments.targets.iter().map(|target| Requested {
        name: target.display().to_string(),
        request: request(arguments, names.as_ref(), target, &cancel),
    });
    // A run is replaced as a whole, so a run with a page gets a new one.
    let has_page = |run: &&PathBuf| storage::is_file(&run.join(reports::FILE));
    let with_pages: Vec<PathBuf> =
        arguments.targets.iter().filter(has_page).map(|run| storage::canonical(run)).collect();
    let make = |request: &Request, mode: Mode, cancel: &AtomicBool| {
        make(request, mode, cancel, |outcome| with_pages.contains(&storage::canonical(&outcome.place)))
    };
    let (memory, threads) = (arguments.resources.effort.memory(), arguments.resources.effort.threads());
    let concurrency = Concurrency { memory, threads, is_wanted: false };
    let catalogue = Cataloguing::new(arguments.resources.scratch.as_deref());
    work_through(requests, concurrency, make, (&cancel, &arguments.ending, catalogue), |_, _| {})
}

/// Request for a run or a snapshot.
fn request(
    arguments: &Arguments,
    names: Option<&NameRules>,
    target: &Path,
    cancel: &AtomicBool,
) -> Result<Request, Diagnostic> {
    if let Some(run) = commit::read(target)? {
        return of_run(arguments, names, target, run, cancel);
    }
    let refused =
        |problem: &str, advice: &str| Err(Diagnostic::failed(format!("{}: {problem}", target.display()), advice));
    if !storage::is_url(target) && !target.exists() {
        let near = clause(&nearest::paths(target));
        let cause = format!("{}: there is no such run or snapshot{near}", target.display());
        return Err(Diagnostic::usage(cause, "name a folder LAKE/release=…/snapshot=…, or a file"));
    }
    if !storage::is_file(target) {
        return refused("no run, and no snapshot", "name a folder LAKE/release=…/snapshot=…, or a file");
    }
    let Some(lake) = &arguments.out else {
        return refused("a snapshot needs a lake", "give --out LAKE");
    };
    prepare(lake)?;
    sweep(lake, arguments.resources.scratch.as_deref());
    let options = chosen(arguments, names, AnalysisOptions::default());
    let input = Input::File(target.to_owned());
    Ok(filled(arguments, (input, lake.clone(), "none".to_owned(), None, None), options))
}

fn of_run(
    arguments: &Arguments,
    names: Option<&NameRules>,
    target: &Path,
    run: Run,
    cancel: &AtomicBool,
) -> Result<Request, Diagnostic> {
    let refused =
        |problem: String, advice: &str| Err(Diagnostic::failed(format!("{}: {problem}", target.display()), advice));
    let place = storage::canonical(target);
    let Some(lake) = place.parent().and_then(Path::parent).map(Path::to_owned) else {
        return refused("not inside a lake".to_owned(), "name a folder LAKE/release=…/snapshot=…");
    };
    // The folder of a run determines its place, because texts of a file are no trusted paths.
    if !is_place_of(&place, &run) {
        let problem = format!("its run.json is that of release {:?}, snapshot {:?}", run.release, run.snapshot);
        return refused(problem, "give the folders their names back, or analyse the snapshot again");
    }
    let Options::Analysis(before) = run.options else {
        return refused("the replay of a trace".to_owned(), "name the analysis of a snapshot");
    };
    let path = arguments.input.clone().unwrap_or_else(|| PathBuf::from(&run.source));
    let shown = path.display();
    if !storage::is_file(&path) {
        let advice = "name the snapshot that the run was made from with --input";
        return refused(format!("its input is gone: {shown}"), advice);
    }
    let input = Input::File(path.clone());
    let hash = source::identify(&input, cancel)?.hash;
    if hash != run.input_hash {
        let problem = format!("{shown} is not what it was made from: its hash is {hash}, not {}", run.input_hash);
        return refused(problem, "name the snapshot that the run was made from with --input");
    }
    let texts = texts(arguments, target, &before.texts, &lake)?;
    sweep(&lake, arguments.resources.scratch.as_deref());
    let request = (input, lake, run.release, Some(run.snapshot), Some(hash));
    Ok(filled(arguments, request, AnalysisOptions { texts, ..chosen(arguments, names, before) }))
}

/// Texts of the new run: as in the old one.
fn texts(arguments: &Arguments, target: &Path, before: &TextOptions, lake: &Path) -> Result<TextOptions, Diagnostic> {
    let file = arguments.texts_key.as_deref();
    let refused =
        |problem: &str, advice: &str| Err(Diagnostic::failed(format!("{}: {problem}", target.display()), advice));
    match (before.mode, &before.key, file) {
        (Texts::Full, ..) => Ok(before.clone()),
        (Texts::None, ..) => refused(
            "the run has no texts, and duplicates need them",
            "analyse the snapshot again with --texts hash or full",
        ),
        // Within the run, equal texts are equal under any key.
        (Texts::Hash, None, None) => with_key(before.clone(), None, lake),
        (Texts::Hash, Some(_), None) => {
            refused("its texts are hashed with a key", "give the key of the run with --texts-key")
        }
        (Texts::Hash, known, Some(_)) => {
            let texts = with_key(before.clone(), file, lake)?;
            if texts.key == *known {
                return Ok(texts);
            }
            refused("its texts are hashed with another key", "give the key of the run with --texts-key")
        }
    }
}

/// Whether the folder names of a run match its description.
fn is_place_of(place: &Path, run: &Run) -> bool {
    let name = |folder: Option<&Path>| folder.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name(Some(place)) == Some(format!("snapshot={}", run.snapshot))
        && name(place.parent()) == Some(format!("release={}", run.release))
}

/// Options of the run, overridden by the given ones.
fn chosen(arguments: &Arguments, names: Option<&NameRules>, before: AnalysisOptions) -> AnalysisOptions {
    let named = arguments.classes.iter().map(|name| Pattern::escape(name));
    let duplicates_of: Vec<String> = arguments.duplicates_of.iter().cloned().chain(named).collect();
    let whole = if duplicates_of.is_empty() { Duplicates::All } else { before.duplicates };
    let tables = before.tables.clone();
    AnalysisOptions {
        tables: if arguments.values { tables.with(TableName::Values) } else { tables },
        duplicates: arguments.duplicates.unwrap_or(whole),
        duplicates_of,
        duplicate_work: arguments.duplicate_work,
        names: names.cloned().or(before.names),
        ..before
    }
}

/// Request from input, lake, release, name and hash, and the common arguments.
fn filled(
    arguments: &Arguments,
    (input, lake, release, snapshot, hash): (Input, PathBuf, String, Option<String>, Option<String>),
    options: AnalysisOptions,
) -> Request {
    Request {
        input,
        lake,
        release,
        snapshot,
        hash,
        options: Options::Analysis(options),
        memory: arguments.resources.effort.memory(),
        threads: arguments.resources.effort.threads(),
        scratch: arguments.resources.scratch.clone(),
        resume: Resume::Auto,
        force: true,
        allow_bomb: arguments.trust.allow_bomb,
    }
}
