//! Runs statements and writes what they answer.

use super::prompt;
use super::{Arguments, Format};
use crate::commands::batch::stopped_by_signals;
use crate::complaint::{Complaint, Done, Exit};
use crate::engine::workplace;
use crate::print;
use crate::print::terminal;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_sql::error::{Kind, SqlError};
use heaplake_sql::session::{Limits, Session};
use heaplake_sql::{named, output};
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use tempfile::NamedTempFile;

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
    let cancel = stopped_by_signals();
    let scratch = workplace::passing(arguments.resources.scratch.as_deref()).map_err(Complaint::of_usage)?;
    let limits = Limits {
        memory: arguments.resources.memory().saturating_sub(FIXED_OVERHEAD),
        threads: arguments.resources.threads(),
        scratch: scratch.path(),
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
            written(arguments, |writer| session.run(statement, Some(values), writer, &cancel))?;
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
            written(arguments, |writer| {
                statements.into_iter().try_fold(0, |_, statement| session.run(statement, None, writer, &cancel))
            })?;
        }
    }
    Ok(damaged)
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

/// Writes an answer to the file, which is replaced when it is whole, or to standard output.
fn written(
    arguments: &Arguments,
    answer: impl FnOnce(&mut dyn output::Writer) -> Result<u64, SqlError>,
) -> Result<u64, Complaint> {
    let Some(path) = &arguments.out else { return to_standard_output(arguments, answer) };
    let failed = |error: io::Error| {
        Complaint::usage(format!("{}: it cannot be written: {error}", path.display()), "name another file with --out")
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder).map_err(failed)?;
    let rows = {
        let mut buffered = io::BufWriter::new(file.as_file_mut());
        let rows = answer(output::writer(format(arguments), 0, &mut buffered).as_mut())?;
        buffered.flush().map_err(failed)?;
        rows
    };
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(rows)
}

/// Writes an answer to standard output.
pub(super) fn to_standard_output(
    arguments: &Arguments,
    answer: impl FnOnce(&mut dyn output::Writer) -> Result<u64, SqlError>,
) -> Result<u64, Complaint> {
    let stdout = io::stdout();
    let mut out: Box<dyn Write + Send> = match stdout.is_terminal() {
        true => Box::new(Shown { line: Vec::new() }),
        false => Box::new(io::BufWriter::new(stdout)),
    };
    let rows = match answer(output::writer(format(arguments), arguments.rows, out.as_mut()).as_mut()) {
        // The program that reads has enough.
        Err(error) if error.cause.contains("Broken pipe") => return Ok(0),
        rows => rows?,
    };
    let _ = out.flush();
    Ok(rows)
}

fn format(arguments: &Arguments) -> output::Format {
    match arguments.format {
        Format::Table => output::Format::Table,
        Format::Csv => output::Format::Csv,
        Format::Json => output::Format::Json,
        Format::Parquet => output::Format::Parquet,
    }
}

/// Writes lines to a terminal, which obeys nothing that is in them.
struct Shown {
    line: Vec<u8>,
}

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if let Some(end) = self.line.iter().rposition(|&byte| byte == b'\n') {
            let rest = self.line.split_off(end + 1);
            let lines = std::mem::replace(&mut self.line, rest);
            io::stdout().write_all(terminal::shown(&String::from_utf8_lossy(&lines)).as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let lines = std::mem::take(&mut self.line);
        io::stdout().write_all(terminal::shown(&String::from_utf8_lossy(&lines)).as_bytes())?;
        io::stdout().flush()
    }
}

impl From<SqlError> for Complaint {
    fn from(SqlError { cause, advice, kind }: SqlError) -> Self {
        let exit = match kind {
            Kind::Query => Exit::Usage,
            Kind::Resources => Exit::Resources,
            Kind::File => Exit::Failed,
            Kind::Interrupted => Exit::Interrupted,
        };
        Self { cause, advice, exit, error: None }
    }
}

/// Whether the user stopped a statement; the next one may run.
pub(super) fn again(cancel: &AtomicBool) {
    cancel.store(false, std::sync::atomic::Ordering::Relaxed);
}
