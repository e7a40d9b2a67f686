//! Destinations of answers: a file, a pipe, or a terminal, for which escape sequences are made visible.

use super::arguments::{Arguments, Format};
use crate::diagnostic::{Diagnostic, Exit};
use crate::print::{stdout, terminal};
use heaplake_lake::output_file::OutputFile;
use heaplake_sql::error::{Kind, SqlError};
use heaplake_sql::output;
use heaplake_sql::writer::Writer;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::AtomicBool;

/// Bytes per write.
const PIECE: usize = 1 << 16;

/// Writes an answer to the file, which is replaced once complete, or to standard output; returns the number of rows.
pub(super) fn written(
    arguments: &Arguments,
    cancel: &AtomicBool,
    answer: impl FnOnce(&mut dyn Writer) -> Result<u64, SqlError>,
) -> Result<u64, Diagnostic> {
    let Some(path) = &arguments.out else { return to_standard_output(arguments, answer) };
    let mut file = OutputFile::create(path, cancel).map_err(Diagnostic::of_usage)?;
    let (rows, failure) = piecewise(&mut file, |to| answer(output::writer(format(arguments), 0, to).as_mut()));
    if let Some(failure) = failure {
        return Err(file.failed(failure).into());
    }
    let rows = rows?;
    file.commit()?;
    Ok(rows)
}

/// Writes an answer to standard output; returns the number of rows. A failed write is reported, not returned: see
/// [`stdout`].
pub(super) fn to_standard_output(
    arguments: &Arguments,
    answer: impl FnOnce(&mut dyn Writer) -> Result<u64, SqlError>,
) -> Result<u64, Diagnostic> {
    let answer = |to: &mut (dyn Write + Send)| answer(output::writer(format(arguments), arguments.rows, to).as_mut());
    let (rows, failure) = match io::stdout().is_terminal() {
        true => piecewise(&mut Shown { line: Vec::new() }, answer),
        false => match stdout::open() {
            Ok(mut out) => piecewise(&mut out, answer),
            Err(error) => (Ok(0), Some(error)),
        },
    };
    match failure {
        Some(failure) => {
            stdout::failed(failure);
            Ok(0)
        }
        None => Ok(rows?),
    }
}

/// Writes an answer in large pieces; returns its result, and the error of the first failed write.
fn piecewise<W: Write + Send>(
    to: &mut W,
    answer: impl FnOnce(&mut (dyn Write + Send)) -> Result<u64, SqlError>,
) -> (Result<u64, SqlError>, Option<io::Error>) {
    let mut watched = Watched { to, failure: None };
    let mut buffered = io::BufWriter::with_capacity(PIECE, &mut watched);
    let rows = answer(&mut buffered);
    // By now `failure` has the error, also that of a flush.
    let _ = buffered.flush();
    drop(buffered);
    (rows, watched.failure)
}

/// Keeps the error of a write, which callers turn into text.
struct Watched<'a, W> {
    to: &'a mut W,
    failure: Option<io::Error>,
}

impl<W: Write> Watched<'_, W> {
    fn kept<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                self.failure.get_or_insert(error);
            }
            kind.into()
        })
    }
}

impl<W: Write> Write for Watched<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes);
        self.kept(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.to.flush();
        self.kept(flushed)
    }
}

fn format(arguments: &Arguments) -> output::Format {
    match arguments.format {
        Format::Table => output::Format::Table,
        Format::Csv => output::Format::Csv,
        Format::Json => output::Format::Json,
        Format::Parquet => output::Format::Parquet,
    }
}

/// Writes lines to a terminal, with escape sequences made visible.
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

impl From<SqlError> for Diagnostic {
    fn from(SqlError { cause, advice, kind }: SqlError) -> Self {
        let exit = match kind {
            Kind::Query => Exit::Usage,
            Kind::Resources => Exit::Resources,
            Kind::File | Kind::Changed => Exit::Failed,
            Kind::Interrupted => Exit::Interrupted,
        };
        Self { cause, advice, exit, error: None, input: None }
    }
}
