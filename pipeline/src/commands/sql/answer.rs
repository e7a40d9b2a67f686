//! Runs statements and writes their answers.

use super::arguments::{Arguments, Format};
use super::prompt;
use super::writing::written;
use crate::bucket;
use crate::commands::batch::stopped_by_signals;
use crate::commands::outputs;
use crate::diagnostic::{Diagnostic, Done, Exit};
use crate::engine::workplace;
use crate::print;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_kit::{map_alone, memory_limit, raise_open_files};
use heaplake_lake::output_file;
use heaplake_sql::attached::Attached;
use heaplake_sql::error::{Kind, SqlError};
use heaplake_sql::named;
use heaplake_sql::session::{Limits, ParamValues, Session, Statement};
use heaplake_sql::writer::Writer;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Bytes that may be allocated beyond the budget before the command ends: memory of the engine besides sorts, groups
/// and joins.
const BEYOND: u64 = 8 << 20;
/// Below this budget, cached free batches would exceed the margin; `BATCH` is the minimum size of a batch, bytes.
const SMALL: u64 = 1 << 30;
const BATCH: i32 = 128 << 10;
/// Maximum retries of a statement because runs were dropped or replaced.
const AGAIN: usize = 3;

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Done {
    if arguments.list_named {
        let list: Vec<String> = named::all().iter().map(ToString::to_string).collect();
        return Ok(print::text(&list.join("\n")));
    }
    let from_terminal = arguments.statement.is_none() && arguments.named.is_none() && io::stdin().is_terminal();
    if arguments.format == Format::Parquet && (arguments.out.is_none() && io::stdout().is_terminal()) {
        return Err(Diagnostic::usage("a Parquet file is nothing for a terminal", "name a file with --out"));
    }
    let reads_stdin = arguments.statement.is_none() && arguments.named.is_none();
    let stdin = reads_stdin.then_some((outputs::STDIN.0, Path::new(outputs::STDIN.1)));
    let attached = attached(arguments)?;
    let inputs = attached.iter().map(|attached| ("--attach", attached.file.as_path()));
    outputs::check(&[("--out", arguments.out.as_deref())], || stdin.into_iter().chain(inputs).collect())?;
    arguments.out.iter().try_for_each(|file| output_file::check_in_folder(file)).map_err(Diagnostic::of_usage)?;
    let cancel = stopped_by_signals();
    let scratch = workplace::passing(arguments.resources.scratch.as_deref()).map_err(Diagnostic::of_usage)?;
    let bucket = bucket::of(&arguments.lake)?;
    let budget = arguments.resources.effort.memory();
    let limits = Limits {
        memory: budget.saturating_sub(FIXED_OVERHEAD),
        threads: arguments.resources.effort.threads(),
        scratch: scratch.path(),
        bucket: bucket.as_ref(),
    };
    // The engine bounds its sorts, groups and joins; nothing bounds its functions and output.
    raise_open_files();
    if budget < SMALL {
        map_alone(BATCH);
    }
    memory_limit::limit(budget.saturating_add(BEYOND));
    let session = open(arguments, &attached, limits, &cancel)?;
    let mut lake = Open { session, arguments, attached, limits, cancel: &cancel };
    let damaged = tell_damaged(&lake.session, arguments.skip_damaged);
    if from_terminal {
        prompt::run(&lake.session, arguments, &cancel)?;
    } else {
        statements(&mut lake)?;
    }
    Ok(damaged)
}

/// The files to attach.
fn attached(arguments: &Arguments) -> Result<Vec<Attached>, Diagnostic> {
    let parsed = |text: &String| {
        text.parse().map_err(|problem| {
            Diagnostic::usage(format!("--attach {text}: {problem}"), "heaplake sql --help has an example")
        })
    };
    arguments.attach.iter().map(parsed).collect()
}

/// Opens the lake with the attached files.
fn open(
    arguments: &Arguments,
    attached: &[Attached],
    limits: Limits<'_>,
    cancel: &AtomicBool,
) -> Result<Session, SqlError> {
    let session = Session::open(&arguments.lake, limits, cancel)?;
    attached.iter().try_for_each(|file| session.attach(file, cancel))?;
    Ok(session)
}

/// Answers the statements of the command line or of standard input.
fn statements(lake: &mut Open<'_>) -> Result<(), Diagnostic> {
    let (arguments, cancel) = (lake.arguments, lake.cancel);
    if let Some(name) = &arguments.named {
        let (statement, values) = Session::named(&named::find(name)?, &arguments.parameters)?;
        written(arguments, cancel, |writer| lake.answer(&statement, Some(&values), writer))?;
        return Ok(());
    }
    let text = arguments.statement.clone().map_or_else(standard_input, Ok)?;
    let statements = Session::statements(&text)?;
    if statements.is_empty() {
        return Err(Diagnostic::usage("there is no statement", "heaplake sql --help has examples"));
    }
    if statements.len() > 1 && arguments.format != Format::Table {
        let cause = format!("{} statements have no common columns", statements.len());
        return Err(Diagnostic::usage(cause, "give one statement, or write tables"));
    }
    written(arguments, cancel, |writer| {
        statements.iter().try_fold(0, |_, statement| lake.answer(statement, None, writer))
    })?;
    Ok(())
}

/// An open lake, and the parameters to reopen it.
struct Open<'a> {
    session: Session,
    arguments: &'a Arguments,
    attached: Vec<Attached>,
    limits: Limits<'a>,
    cancel: &'a AtomicBool,
}

impl Open<'_> {
    /// Answers a statement; again if a run was dropped or replaced before the first row.
    fn answer(
        &mut self,
        statement: &Statement,
        values: Option<&ParamValues>,
        writer: &mut dyn Writer,
    ) -> Result<u64, SqlError> {
        for _ in 0..AGAIN {
            match self.session.run(statement.clone(), values.cloned(), writer, self.cancel) {
                Err(error) if error.kind == Kind::Changed => {
                    let fresh = open(self.arguments, &self.attached, self.limits, self.cancel)?;
                    if fresh.lake().has_runs_of(self.session.lake()) {
                        return Err(error);
                    }
                    tell_changed(&error);
                    self.session = fresh;
                }
                done => return done,
            }
        }
        self.session.run(statement.clone(), values.cloned(), writer, self.cancel)
    }
}

/// Reports that a statement is run again.
fn tell_changed(error: &SqlError) {
    let cause = format!("{error}: the run was dropped or replaced");
    let _ = Diagnostic::failed(cause, "the statement is run again, over the runs that are there now").tell();
}

/// Reports the runs that no view includes; returns the resulting exit code.
fn tell_damaged(session: &Session, skip: bool) -> u8 {
    for (path, problem) in &session.lake().damaged {
        let cause = format!("{}: left out: {problem}", path.display());
        let _ = Diagnostic::failed(cause, "heaplake lake verify says more; heaplake lake drop removes it").tell();
    }
    if skip || session.lake().damaged.is_empty() { 0 } else { Exit::Failed as u8 }
}

fn standard_input() -> Result<String, Diagnostic> {
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    read.map_err(|error| Diagnostic::failed(format!("standard input: {error}"), "statements are UTF-8"))?;
    Ok(text)
}
