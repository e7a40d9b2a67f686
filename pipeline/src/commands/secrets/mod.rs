//! `heaplake secrets`: tokens, keys and passwords in the strings of a heap, with who holds them.
//!
//! A file is analysed into a passing lake, which has the graph; then its texts are searched in full, in one pass over
//! the file. Of a run, its tables are searched.

mod arguments;
mod held;
mod search;

pub(super) use arguments::Arguments;

use super::batch::stopped_by_signals;
use super::outputs;
use crate::diagnostic::{Diagnostic, Done, Exit};
use crate::engine::request::{Request, Resume};
use crate::engine::{run_executor, workplace};
use crate::print;
use crate::print::secrets as text;
use crate::progress::{Display, Mode};
use crate::rule_file;
use heaplake_input::source::{self, Input};
use heaplake_kit::{Context, StageError, fs, storage};
use heaplake_lake::output_file;
use heaplake_query::Asked;
use heaplake_redact::{self as redact, Content};
use heaplake_schemas::HEAPLAKE_VERSION;
use heaplake_schemas::options::{AnalysisOptions, Duplicates, Options, TableName, Texts};
use heaplake_schemas::run;
use heaplake_secrets::report::{Baseline, Report};
use heaplake_secrets::{Matcher, Rules, rules, sarif};
use search::search;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Formats of files, for messages.
const FORMATS: &str =
    "heaplake secrets reads .heapsnapshot (V8) and .hprof (Java), also compressed as .gz or .zst, and runs";

/// Formats whose runs have texts.
const TEXTS_IN_RUNS: [&str; 2] = ["v8-heapsnapshot", "hprof"];

/// Advice for a file of rules.
const ADVICE: &str = "docs/privacy.md has the format of rules, which is that of gitleaks";

/// Bytes of a baseline.
const MOST_BASELINE: u64 = 256 << 20;

pub(super) fn run(arguments: &Arguments) -> Done {
    let Arguments { target, input, sarif, .. } = arguments;
    outputs::check(&[("--sarif", sarif.as_deref())], || {
        [
            outputs::of_option("the command", [target]),
            outputs::of_option("--input", input),
            outputs::of_option("--rules", &arguments.rules),
            outputs::of_option("--baseline", &arguments.baseline),
        ]
        .concat()
    })?;
    sarif.iter().try_for_each(|file| output_file::check(file)).map_err(Diagnostic::of_usage)?;
    let matcher = matcher(arguments)?;
    let baseline = arguments.baseline.as_deref().map(baseline).transpose()?;
    let cancel = stopped_by_signals();
    let display = Display::new(Mode::choose(arguments.quiet), &target.display().to_string());
    let context = arguments.effort.context(&display, &cancel);
    let mut report = if storage::is_file(&target.join(run::FILE)) || target.is_dir() {
        of_run(arguments, &matcher, &context)?
    } else {
        of_file(arguments, &matcher, &context)?
    };
    baseline.iter().for_each(|baseline| report.compare(baseline));
    finish(arguments, &report, &cancel)
}

/// Prints and writes the answer; returns the exit code.
fn finish(arguments: &Arguments, report: &Report, cancel: &AtomicBool) -> Done {
    if let Some(file) = &arguments.sarif {
        let log = sarif::log(report, &uri(&arguments.target), HEAPLAKE_VERSION);
        let text = serde_json::to_vec_pretty(&log).map_err(|error| StageError::io(file, "write", error.into()))?;
        output_file::write(file, &text, cancel)?;
    }
    let fails = arguments.fail_on.is_some_and(|least| report.fails(least));
    let exit = if fails { Exit::Gate as u8 } else { 0 };
    if arguments.quiet && !arguments.json {
        return Ok(exit);
    }
    Ok(print::answer(report, arguments.json, text::secrets)?.max(exit))
}

/// The URI of a path: relative, if the path is.
fn uri(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~=".contains(&byte);
    let text = path.to_string_lossy();
    let escaped = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let path: String = text.bytes().map(escaped).collect();
    if path.starts_with('/') { format!("file://{path}") } else { path }
}

/// The rules of the command line.
fn matcher(arguments: &Arguments) -> Result<Matcher, Diagnostic> {
    let mut all = Rules::default();
    for file in &arguments.rules {
        all.add(rule_file::read(file, ADVICE, rules::parse)?);
    }
    if !arguments.no_default_rules {
        let own = rules::builtin();
        all.add(own.map_err(|(_, problem)| Diagnostic::failed(problem, "report this as a bug"))?);
    }
    for id in &arguments.without {
        let count = all.rules.len();
        all.retain(|rule| rule.id != *id);
        if all.rules.len() == count {
            let cause = format!("--without {id}: there is no rule of this id");
            return Err(Diagnostic::usage(cause, "take an id from the answer, or from docs/privacy.md"));
        }
    }
    if all.rules.is_empty() {
        return Err(Diagnostic::usage("there are no rules", "name a file of rules with --rules"));
    }
    Ok(Matcher::new(all)?)
}

/// Reads the findings of an earlier search.
fn baseline(path: &Path) -> Result<Baseline, Diagnostic> {
    let advice = "name the output of heaplake secrets --json";
    let wrong = |problem: String| Diagnostic::usage(format!("{}: {problem}", path.display()), advice);
    let text = fs::read_at_most(path, MOST_BASELINE).map_err(|error| wrong(format!("cannot read: {error}")))?;
    // The error of the parser has no text of the file but a place.
    serde_json::from_slice(&text).map_err(|error| {
        wrong(format!("line {}: expected the JSON of an earlier search, found something else", error.line()))
    })
}

/// Searches a run, with the texts of its snapshot if that is given.
fn of_run(arguments: &Arguments, matcher: &Matcher, context: &Context<'_>) -> Result<Report, Diagnostic> {
    let Arguments { target, input, .. } = arguments;
    let asked = Asked::open(target)?;
    let options = asked.run().options.analysis();
    if let Some(texts) = options.map(|options| options.texts.mode).filter(|texts| *texts != Texts::Full) {
        let cause =
            format!("{}: the texts of this run are {}, so no secret can be found", target.display(), texts.word());
        return Err(Diagnostic::usage(cause, "search the snapshot itself: heaplake secrets FILE"));
    }
    let format = &asked.run().summary.format;
    if !TEXTS_IN_RUNS.contains(&format.as_str()) {
        let cause = format!("{}: runs of {format} have no texts, so no secret can be found", target.display());
        return Err(Diagnostic::usage(cause, FORMATS));
    }
    let mut content = None;
    if let Some(path) = input {
        let input = Input::File(path.clone());
        let hash = source::identify(&input, context.cancel)?.hash;
        if hash != asked.run().input_hash {
            let problem = format!("{}: not the snapshot of this run: its hash is {hash}", path.display());
            return Err(Diagnostic::usage(problem, "name the snapshot that the run was made from"));
        }
        let folder = workplace::passing(arguments.scratch.as_deref()).map_err(Diagnostic::of_usage)?;
        content = Some(Content::open(input, folder.path(), arguments.trust.allow_bomb, context)?);
        return search(&asked, target, content.as_mut(), matcher, context).map_err(Diagnostic::without_contents);
    }
    search(&asked, target, content.as_mut(), matcher, context)
}

/// Analyses a file into a passing lake, and searches it.
fn of_file(arguments: &Arguments, matcher: &Matcher, context: &Context<'_>) -> Result<Report, Diagnostic> {
    let Arguments { target, effort, trust, scratch, .. } = arguments;
    if arguments.input.is_some() {
        let cause = format!("{}: --input is for runs, and this is none", target.display());
        return Err(Diagnostic::usage(cause, "leave --input out"));
    }
    let input = Input::File(target.clone());
    let folder = workplace::passing(scratch.as_deref()).map_err(Diagnostic::of_usage)?;
    if Content::is_stream(&input) {
        let cause = format!("{}: this is no regular file, and it is read several times", target.display());
        return Err(Diagnostic::usage(cause, "copy it to a file first"));
    }
    let mut content = Content::open(input.clone(), folder.path(), trust.allow_bomb, context)?;
    redact::format(&content, FORMATS, context).map_err(|error| Diagnostic::from(error).without_contents())?;
    let options = AnalysisOptions {
        tables: [TableName::Nodes, TableName::Edges].into_iter().collect(),
        duplicates: Duplicates::None,
        ..AnalysisOptions::default()
    };
    let request = Request {
        input,
        lake: folder.path().join("lake"),
        release: "none".to_owned(),
        snapshot: Some("searched".to_owned()),
        hash: None,
        options: Options::Analysis(options),
        memory: effort.memory(),
        threads: effort.threads(),
        scratch: Some(folder.path().to_owned()),
        resume: Resume::Never,
        force: false,
        allow_bomb: trust.allow_bomb,
    };
    super::batch::prepare(&request.lake)?;
    let made = run_executor::make(&request, Mode::choose(arguments.quiet), context.cancel);
    let outcome = made.map_err(Diagnostic::without_contents)?;
    let asked = Asked::open(&outcome.place)?;
    search(&asked, target, Some(&mut content), matcher, context).map_err(Diagnostic::without_contents)
}
