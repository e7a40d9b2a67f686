//! The command line: one file per command, with its arguments and implementation.

mod analyze;
mod batch;
mod batch_scheduler;
mod cataloguing;
mod choices;
mod comparing;
mod completions;
pub mod diff;
mod dominators;
mod duplicates;
mod explore;
pub mod fleet;
pub mod gates;
mod lake;
mod man;
mod mcp;
mod missed;
mod object;
mod outputs;
mod pages;
mod plan;
mod query;
mod redact;
mod replay;
mod report;
mod schema;
mod secrets;
mod show;
mod sql;
mod tables;
mod templates;
mod texts;
mod top;
mod track;
pub mod trend;
mod version;
mod what_if;
mod why;

use crate::diagnostic::{Diagnostic, Done, Exit};
use crate::log;
use crate::print::stdout;
use crate::print::terminal::{self, Colour};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
#[cfg(not(feature = "stores"))]
use heaplake_kit::error::WITHOUT_STORES;
use heaplake_kit::text::visible;
use heaplake_kit::{StageError, ignore_file_size_signal, keep_little_freed, last_words, stop, storage};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

const ABOUT: &str =
    "Heap snapshots in, Parquet tables out: retained sizes, findings, duplicates, in a fixed memory budget";

const FIRST_STEPS: &str = "\
Example:
  heaplake analyze Heap.heapsnapshot --out lake --report
  heaplake ls lake

heaplake COMMAND -h is short, heaplake COMMAND --help is long and has examples.";

/// The batch engine for heap snapshots: streams snapshots of any size through a fixed memory budget into Parquet.
#[derive(Debug, Parser)]
#[command(name = "heaplake", version, long_version = version::long(), about = ABOUT, long_about = None, arg_required_else_help = true)]
#[command(after_help = FIRST_STEPS)]
struct Cli {
    /// Subcommand.
    #[command(subcommand)]
    command: Command,
    /// Colours: auto (on terminals), always or never
    ///
    /// On terminals (auto), colours obey the variables NO_COLOR, CLICOLOR_FORCE and CLICOLOR.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    color: Colour,
    /// Progress and errors on standard error: text or json
    ///
    /// With json, each stage, run and error is one JSON object on a line, with its time.
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    log_format: log::Format,
    /// Print a line for each finished stage
    ///
    /// Where standard error is a terminal, there are bars instead.
    #[arg(long, short, global = true)]
    verbose: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Analyse heap snapshots and add each to a lake as one run
    Analyze(Box<analyze::Arguments>),
    /// Look for duplicate objects in the runs of a lake, or in snapshots
    Duplicates(Box<duplicates::Arguments>),
    /// Replay traces of allocations and add each to a lake as one run
    Replay(Box<replay::Arguments>),
    /// Print the object at an address in a replayed trace, and its fate
    Track(track::Arguments),
    /// Print the forecast of an analysis, stage by stage, without running it
    Plan(plan::Arguments),
    /// Mask the texts and numbers of a heap snapshot, or check one for secrets
    Redact(Box<redact::Arguments>),
    /// Find tokens, keys and passwords in the strings of a heap, and who holds them
    Secrets(Box<secrets::Arguments>),
    /// List the runs of a lake
    Ls(lake::ls::Arguments),
    /// Work on a lake as a whole: list, verify, drop, label and merge its runs
    Lake(lake::Arguments),
    /// Compare runs: growth, its holders, and its significance
    Diff(Box<diff::Arguments>),
    /// Follow a series of runs: growth, its rate, and its start
    Trend(Box<trend::Arguments>),
    /// Sum up the runs of a lake: the numbers of a fleet
    Fleet(fleet::Arguments),
    /// Query all runs of a lake in SQL
    Sql(Box<sql::Arguments>),
    /// Print the summary of a run again
    Show(show::Arguments),
    /// Make the HTML page of a run, a comparison, a trend or a fleet: one file that opens offline
    Report(report::Arguments),
    /// Print why an object is alive: a shortest path from a root, and its dominators
    Why(why::Arguments),
    /// Print what would be freed if some references were not there
    WhatIf(what_if::Arguments),
    /// Find objects: a filter over classes, sizes, paths and neighbours
    Query(Box<query::Arguments>),
    /// Print the objects that retain most
    Top(top::Arguments),
    /// Print the objects that an object dominates, as a tree
    Dominators(dominators::Arguments),
    /// Print the contents of objects, side by side: fields, elements, texts
    Object(object::Arguments),
    /// Show a lake or a run in a browser, down to each object
    Explore(explore::Arguments),
    /// Serve a lake or a run to agents, by the Model Context Protocol
    Mcp(mcp::Arguments),
    /// List the tables that heaplake writes, and their columns
    Tables(tables::Arguments),
    /// Print a JSON Schema of what commands print with --json
    Schema(schema::Arguments),
    /// Print a completion script for a shell
    Completions(completions::Arguments),
    /// Print the manual page of heaplake, or of one of its commands
    Man(man::Arguments),
}

/// Runs the command line of the process; returns the exit code.
pub fn start() -> ExitCode {
    keep_little_freed();
    ignore_file_size_signal();
    let parse = |words: Vec<OsString>| -> Result<_, clap::Error> {
        let matches = Cli::command().try_get_matches_from(words)?;
        Ok((Cli::from_arg_matches(&matches)?, is_quiet(&matches)))
    };
    match parse(std::env::args_os().collect()) {
        Ok((cli, quiet)) => run(cli, quiet),
        Err(error) => {
            // Arguments are untrusted too: a shell expands a pattern to file names.
            let words = std::env::args_os().map(|word| visible(&word.to_string_lossy()).into());
            let error = parse(words.collect()).err().unwrap_or(error);
            let printed = error.print().map_or_else(stdout::failed, |()| 0);
            ExitCode::from(printed.max(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8)))
        }
    }
}

/// Runs a parsed command line; returns the exit code of the process.
fn run(cli: Cli, quiet: bool) -> ExitCode {
    terminal::choose(cli.color);
    log::start(cli.log_format, quiet, cli.verbose);
    batch::end_with_signals();
    #[cfg(feature = "stores")]
    heaplake_stores::install();
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let done = unusable_url(words).map_or_else(|| carry_out(cli.command), Err);
    let code = done.unwrap_or_else(|diagnostic| {
        // From here on no other thread reports why the process ends.
        last_words::begin(diagnostic.exit as i32);
        diagnostic.tell()
    });
    batch::end_unwatched();
    // An interrupted wait for a store leaves the result incomplete.
    if stop::gave_up() && code != Exit::Interrupted as u8 {
        return ExitCode::from(Diagnostic::from(StageError::Cancelled).tell());
    }
    ExitCode::from(code.max(stdout::exit_code()))
}

/// Parses a command line, the program's name first, and carries it out in this process, without its set-up of signals
/// and logs. The outer error is that of the parser.
pub fn carry_out_line<'a>(words: impl Iterator<Item = &'a str>) -> Result<Done, clap::Error> {
    Ok(carry_out(Cli::try_parse_from(words)?.command))
}

fn carry_out(command: Command) -> Done {
    match command {
        Command::Analyze(arguments) => analyze::run(&arguments),
        Command::Duplicates(arguments) => duplicates::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Track(arguments) => track::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Redact(arguments) => redact::run(&arguments),
        Command::Secrets(arguments) => secrets::run(&arguments),
        Command::Ls(arguments) => lake::ls::run(&arguments),
        Command::Lake(arguments) => lake::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Trend(arguments) => trend::run(&arguments),
        Command::Fleet(arguments) => fleet::run(&arguments),
        Command::Sql(arguments) => sql::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Why(arguments) => why::run(&arguments),
        Command::WhatIf(arguments) => what_if::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Dominators(arguments) => dominators::run(&arguments),
        Command::Object(arguments) => object::run(&arguments),
        Command::Explore(arguments) => explore::run(&arguments),
        Command::Mcp(arguments) => mcp::run(&arguments),
        Command::Tables(arguments) => tables::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments, Cli::command()),
        Command::Man(arguments) => man::run(&arguments, Cli::command()),
    }
}

/// Whether a command prints errors only.
fn is_quiet(matches: &ArgMatches) -> bool {
    let own = matches.try_get_one("quiet").ok().flatten().copied().unwrap_or(false);
    own || matches.subcommand().is_some_and(|(_, below)| is_quiet(below))
}

/// Refuses a command line with an unusable object URL: in a build without stores, or if the environment does not fit
/// its store.
fn unusable_url(words: impl Iterator<Item = String>) -> Option<Diagnostic> {
    let value = |word: &str| {
        word.strip_prefix("--").and_then(|option| option.split_once('=')).map(|(_, value)| value.to_owned())
    };
    let named = words.map(|word| value(&word).unwrap_or(word));
    named.filter(|named| storage::is_url(Path::new(named))).find_map(|url| unusable(&url))
}

#[cfg(feature = "stores")]
fn unusable(url: &str) -> Option<Diagnostic> {
    let error = heaplake_stores::check(url).err()?;
    Some(Diagnostic::usage(visible(&error.to_string()), "check the name, and the environment (docs/stores.md)"))
}

#[cfg(not(feature = "stores"))]
fn unusable(url: &str) -> Option<Diagnostic> {
    let cause = format!("{}: this heaplake was built without object stores", visible(url));
    Some(Diagnostic::usage(cause, WITHOUT_STORES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }
}
