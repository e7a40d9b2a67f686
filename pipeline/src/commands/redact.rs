//! `heaplake redact`: a heap snapshot without the data of its users, and a check for secrets.

use super::batch::stopped_by_signals;
use super::choices::{Effort, Trust, one_of};
use super::outputs;
use super::texts::key;
use crate::diagnostic::{Diagnostic, Done, Exit};
use crate::print;
use crate::print::terminal::Look;
use crate::progress::{Display, Mode};
use clap::Args;
use heaplake_input::source::{Input, Source};
use heaplake_kit::text::{count, size, visible};
use heaplake_kit::{Context, StageError, storage};
use heaplake_lake::output_file::{self, OutputFile};
use heaplake_redact::secrets::{self, Secrets};
use heaplake_redact::{Choice, Content, Encoder, Key, Options, Sink, Summary, Texts};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  heaplake redact Heap.heapsnapshot -o Heap.redacted.heapsnapshot
  heaplake redact app.hprof.gz -o app.redacted.hprof.zst --key redaction.key
  heaplake redact app.hprof -o app.redacted.hprof --texts none
  heaplake redact --check app.redacted.hprof

Formats: .heapsnapshot of V8 and .hprof of Java; the content tells which. Sizes, graph, ids, classes and names of \
 fields and properties stay. docs/privacy.md says what is masked, and what is not.
Exit codes: 0, or 1 if --check finds secrets; others as those of analyze.";

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake redact Heap.heapsnapshot -o Heap.redacted.heapsnapshot\n\nMore examples: heaplake redact --help",
    after_long_help = EXAMPLES
)]
pub(crate) struct Arguments {
    /// A heap snapshot, or - for standard input
    ///
    /// Files in gzip or zstd are decompressed while read. Standard input is copied to an unnamed file beside the
    /// output, because it is read twice.
    #[arg(value_name = "FILE")]
    input: String,
    /// The redacted snapshot; compressed if it ends in .gz or .zst
    #[arg(long, short, value_name = "FILE", required_unless_present = "check")]
    output: Option<PathBuf>,
    /// Look for secrets that remain; write nothing
    ///
    /// Looks for mails, card numbers, JSON Web Tokens, keys of AWS, private keys, bearer tokens, tokens of services and
    /// passwords in URLs, in plain text and in UTF-16. Prints kinds, counts and offsets, never the secrets.
    #[arg(long, conflicts_with_all = ["output", "texts", "key", "numbers", "thread_names", "force"])]
    check: bool,
    /// Masks of texts: hash or none [default: hash]
    ///
    /// `hash`: equal texts stay equal; `none`: all are alike, and only lengths stay.
    #[arg(long, value_name = "MASK", default_value = "hash", value_parser = one_of(Texts::ALL, Texts::name), hide_possible_values = true, hide_default_value = true)]
    texts: Texts,
    /// File with the key of hashes; made if missing [default: a random key]
    ///
    /// With one key, equal texts of several snapshots stay equal. Whoever has the key can test guesses of texts and
    /// compute numbers back. Without this option, the key is forgotten.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Java: numbers: mask or keep [default: mask]
    ///
    /// Fields, statics, boxed values and arrays of numbers. Sizes of containers and the like always stay.
    #[arg(long, value_name = "CHOICE", default_value = "mask", value_parser = one_of(Choice::ALL, Choice::name), hide_possible_values = true, hide_default_value = true)]
    numbers: Choice,
    /// Java: names of threads: mask or keep [default: mask]
    #[arg(long, value_name = "CHOICE", default_value = "mask", value_parser = one_of(Choice::ALL, Choice::name), hide_possible_values = true, hide_default_value = true)]
    thread_names: Choice,
    /// Replace an existing output
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print errors only
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    effort: Effort,
    #[command(flatten)]
    trust: Trust,
}

pub(crate) fn run(arguments: &Arguments) -> Done {
    let input = match arguments.input.as_str() {
        "-" => Input::Stdin,
        path => Input::File(path.into()),
    };
    let (display, cancel) = (Display::new(Mode::choose(arguments.quiet), &arguments.input), stopped_by_signals());
    let context = arguments.effort.context(&display, &cancel);
    match &arguments.output {
        Some(output) => redact(arguments, input, output, &context),
        None => check(arguments, &input, &context),
    }
}

fn redact(arguments: &Arguments, input: Input, output: &Path, context: &Context<'_>) -> Done {
    let read = match &input {
        Input::File(path) => ("the command", path.as_path()),
        Input::Stdin => (outputs::STDIN.0, Path::new(outputs::STDIN.1)),
    };
    outputs::check(&[("--output", Some(output)), ("--key", arguments.key.as_deref())], || vec![read])?;
    output_file::check_in_folder(output).map_err(Diagnostic::of_usage)?;
    if !arguments.force && std::fs::symlink_metadata(output).is_ok_and(|there| there.is_file()) {
        let cause = format!("{}: this file exists", output.display());
        return Err(Diagnostic::usage(cause, "name another file, or give --force to replace it"));
    }
    let options = Options {
        texts: arguments.texts,
        numbers: arguments.numbers,
        thread_names: arguments.thread_names,
        key: arguments.key.as_deref().map_or_else(|| Ok(Key::random()), key)?,
    };
    let summary = written(input, output, &options, arguments.trust.allow_bomb, context)?;
    if arguments.quiet {
        return Ok(0);
    }
    print::answer(&summary, arguments.json, |summary, _: &Look| redacted(summary, output))
}

/// Writes the output, and moves it to its place.
fn written(
    input: Input,
    output: &Path,
    options: &Options,
    allow_bomb: bool,
    context: &Context<'_>,
) -> Result<Summary, StageError> {
    let mut file = OutputFile::create(output, context.cancel)?;
    let folder = file.folder().map_or_else(std::env::temp_dir, Path::to_owned);
    let mut content = Content::open(input, &folder, allow_bomb, context)?;
    let failed = |error| StageError::io(output, "write", error);
    let mut encoder = Encoder::new(output, &mut file).map_err(failed)?;
    let mut summary = heaplake_redact::redact(&mut content, options, &mut Sink::new(&mut encoder, output), context)?;
    encoder.finish().map_err(failed)?;
    file.commit()?;
    if let Some(bytes) = content.copied_bytes() {
        summary.remarks.push(format!("the input was copied to an unnamed file of {}", size(bytes)));
    }
    Ok(summary)
}

fn check(arguments: &Arguments, input: &Input, context: &Context<'_>) -> Done {
    let bytes = match input {
        Input::File(path) => storage::input(path).map_or(0, |file| file.bytes),
        Input::Stdin => 0,
    };
    context.progress.begin("check", bytes);
    let source = Source::open_with(input, context.threads, &context.budget)?;
    let found = secrets::check(source.allowing_bombs(arguments.trust.allow_bomb), context)?;
    context.progress.end();
    let exit = if found.is_clean() { 0 } else { Exit::Failed as u8 };
    if arguments.quiet && !arguments.json {
        return Ok(exit);
    }
    Ok(print::answer(&found, arguments.json, |found, _| checked(found))?.max(exit))
}

/// The summary of a redaction.
fn redacted(summary: &Summary, output: &Path) -> String {
    let all = summary.all();
    let mut text = format!(
        "{}: {} of {}, masked {} values of {}\n",
        visible(&output.display().to_string()),
        size(summary.output_bytes),
        summary.format,
        count(all.count),
        size(all.bytes)
    );
    for (kind, masked) in &summary.masked {
        let _ = writeln!(text, "  {:>13}  {:>9}  {kind}", count(masked.count), size(masked.bytes));
    }
    for remark in &summary.remarks {
        let _ = writeln!(text, "note: {}", visible(remark));
    }
    text
}

/// The answer of a check.
fn checked(found: &Secrets) -> String {
    let name = visible(&found.input);
    if found.is_clean() {
        return format!("{name}: no secrets found in {}\n", size(found.content_bytes));
    }
    let mut text = format!("{name}: secrets remain in {}\n", size(found.content_bytes));
    for (kind, secrets) in &found.found {
        let offsets: Vec<String> = secrets.offsets.iter().map(u64::to_string).collect();
        let _ = writeln!(text, "  {:>9} {}, first at bytes {}", count(secrets.count), kind.name(), offsets.join(", "));
    }
    text
}
