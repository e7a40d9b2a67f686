//! Runs statements and writes what they answer.

use super::arguments::{Arguments, Format};
use super::prompt;
use super::writing::written;
use crate::commands::batch::stopped_by_signals;
use crate::complaint::{Complaint, Done, Exit};
use crate::engine::workplace;
use crate::print;
use heaplake_kit::overhead::FIXED_OVERHEAD;
#[cfg(feature = "stores")]
use heaplake_kit::{StageError, storage};
use heaplake_lake::output_file;
use heaplake_sql::named;
use heaplake_sql::session::{Bucket, Limits, Session};
use std::io::{self, IsTerminal, Read};
use std::path::Path;

/// Answers.
///
/// # Errors
/// A [`Complaint`] where a statement cannot be answered.
pub fn run(arguments: &Arguments) -> Done {
    if arguments.list_named {
        let list: Vec<String> = named::all().iter().map(ToString::to_string).collect();
        return Ok(print::text(&list.join("\n")));
    }
    let from_terminal = arguments.statement.is_none() && arguments.named.is_none() && io::stdin().is_terminal();
    if arguments.format == Format::Parquet && (arguments.out.is_none() && io::stdout().is_terminal()) {
        return Err(Complaint::usage("a Parquet file is nothing for a terminal", "name a file with --out"));
    }
    arguments.out.iter().try_for_each(|file| output_file::check(file)).map_err(Complaint::of_usage)?;
    let cancel = stopped_by_signals();
    let scratch = workplace::passing(arguments.resources.scratch.as_deref()).map_err(Complaint::of_usage)?;
    let bucket = bucket(&arguments.lake)?;
    let limits = Limits {
        memory: arguments.resources.memory().saturating_sub(FIXED_OVERHEAD),
        threads: arguments.resources.threads(),
        scratch: scratch.path(),
        bucket: bucket.as_ref(),
    };
    let session = Session::open(&arguments.lake, limits)?;
    let damaged = tell_damaged(&session);
    if from_terminal {
        prompt::run(&session, arguments, &cancel)?;
        return Ok(damaged);
    }
    match &arguments.named {
        Some(name) => {
            let (statement, values) = Session::named(&named::find(name)?, &arguments.parameters)?;
            written(arguments, &cancel, |writer| session.run(statement, Some(values), writer, &cancel))?;
        }
        None => {
            let text = arguments.statement.clone().map_or_else(standard_input, Ok)?;
            let statements = Session::statements(&text)?;
            if statements.is_empty() {
                return Err(Complaint::usage("there is no statement", "heaplake sql --help has examples"));
            }
            if statements.len() > 1 && arguments.format != Format::Table {
                let cause = format!("{} statements have no common columns", statements.len());
                return Err(Complaint::usage(cause, "give one statement, or write tables"));
            }
            written(arguments, &cancel, |writer| {
                statements.into_iter().try_fold(0, |_, statement| session.run(statement, None, writer, &cancel))
            })?;
        }
    }
    Ok(damaged)
}

/// The bucket of a lake that is in an object store.
#[cfg(feature = "stores")]
fn bucket(lake: &Path) -> Result<Option<Bucket>, Complaint> {
    let bucket = storage::url(lake).map(heaplake_stores::bucket).transpose();
    Ok(bucket.map_err(|error| StageError::io(lake, "open", error))?)
}

/// None: this build has no object stores, and a URL was refused before.
#[cfg(not(feature = "stores"))]
fn bucket(_: &Path) -> Result<Option<Bucket>, Complaint> {
    Ok(None)
}

/// Tells of the runs that no view has; the exit code that this gives.
fn tell_damaged(session: &Session) -> u8 {
    for (path, problem) in &session.lake().damaged {
        let cause = format!("{}: left out: {problem}", path.display());
        let _ = Complaint::failed(cause, "heaplake lake verify says more; heaplake lake drop removes it").tell();
    }
    if session.lake().damaged.is_empty() { 0 } else { Exit::Failed as u8 }
}

fn standard_input() -> Result<String, Complaint> {
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    read.map_err(|error| Complaint::failed(format!("standard input: {error}"), "statements are UTF-8"))?;
    Ok(text)
}
