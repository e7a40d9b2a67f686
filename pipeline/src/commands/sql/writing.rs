//! Where answers go: a file, a pipe, or a terminal, which obeys nothing that is in them.

use super::arguments::{Arguments, Format};
use crate::complaint::{Complaint, Exit};
use crate::print::terminal;
use heaplake_sql::error::{Kind, SqlError};
use heaplake_sql::output;
use heaplake_sql::writer::Writer;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// Writes an answer to the file, which is replaced when it is whole, or to standard output; the number of its rows.
///
/// # Errors
/// A [`Complaint`] where there is no answer, or it cannot be written.
pub fn written(
    arguments: &Arguments,
    answer: impl FnOnce(&mut dyn Writer) -> Result<u64, SqlError>,
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

/// Writes an answer to standard output; the number of its rows.
///
/// # Errors
/// As [`written`].
pub fn to_standard_output(
    arguments: &Arguments,
    answer: impl FnOnce(&mut dyn Writer) -> Result<u64, SqlError>,
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
