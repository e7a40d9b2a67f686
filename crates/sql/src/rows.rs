//! Rows as a table for people.

use crate::error::SqlError;
use crate::writer::{Writer, unwritten};
use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};

/// Maximum characters of a cell; longer ones are truncated.
const WIDEST: usize = 80;

/// Rows and bytes of cells that determine the widths of columns. Later rows are written as they come, even if wider.
const MEASURED: (usize, usize) = (10_000, 4 << 20);

/// Writes aligned rows: collects the first ones, and streams the others.
pub(crate) struct Table<'a> {
    most: usize,
    to: &'a mut (dyn Write + Send),
    /// Name of each column, and whether it is right-aligned.
    columns: Vec<(String, bool)>,
    /// Rows not written yet, and the bytes of their cells.
    rows: Vec<Vec<String>>,
    bytes: usize,
    /// Widths of the columns, once the first rows are written.
    widths: Option<Vec<usize>>,
    count: usize,
    more: bool,
}

impl<'a> Table<'a> {
    /// A table of at most `most` rows; 0 means no limit.
    pub(crate) fn new(most: usize, to: &'a mut (dyn Write + Send)) -> Self {
        Self { most, to, columns: Vec::new(), rows: Vec::new(), bytes: 0, widths: None, count: 0, more: false }
    }
}

impl Writer for Table<'_> {
    fn begin(&mut self, schema: &SchemaRef) -> Result<(), SqlError> {
        let columns = schema.fields().iter().map(|field| (field.name().clone(), field.data_type().is_numeric()));
        self.columns = columns.collect();
        self.rows.clear();
        (self.bytes, self.widths, self.count, self.more) = (0, None, 0, false);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<bool, SqlError> {
        let options = FormatOptions::default().with_null("-");
        let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(datafusion::error::DataFusionError::from)?;
        for row in 0..batch.num_rows() {
            if self.most > 0 && self.count == self.most {
                self.more = true;
                return Ok(false);
            }
            let whole = batch.columns().iter().map(|column| is_plan(column.data_type(), self.columns.len()));
            let cells = columns.iter().zip(whole).map(|(column, whole)| cell(&column.value(row), whole));
            let cells: Vec<String> = cells.collect();
            self.bytes += cells.iter().map(String::len).sum::<usize>();
            self.rows.push(cells);
            self.count += 1;
            if self.rows.len() == MEASURED.0 || self.bytes > MEASURED.1 {
                self.put().map_err(|error| unwritten(&error))?;
            }
        }
        Ok(true)
    }

    fn end(&mut self) -> Result<(), SqlError> {
        self.finish().map_err(|error| unwritten(&error))
    }
}

impl Table<'_> {
    /// Writes the collected rows, the first time after the names of the columns.
    fn put(&mut self) -> io::Result<()> {
        let widths = match self.widths.take() {
            Some(widths) => widths,
            None => {
                let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
                let names = self.columns.iter().map(|(name, right)| (name.as_str(), *right));
                self.to.write_all(line(names, &widths).as_bytes())?;
                let rules: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
                let rules = rules.iter().map(|rule| (rule.as_str(), false));
                self.to.write_all(line(rules, &widths).as_bytes())?;
                widths
            }
        };
        for row in self.rows.drain(..) {
            // A plan has several lines in a cell.
            let lines = row.iter().map(|cell| cell.lines().count()).max().unwrap_or(1).max(1);
            for at in 0..lines {
                let cells = row.iter().zip(&self.columns);
                let cells = cells.map(|(cell, (_, right))| (cell.lines().nth(at).unwrap_or(""), *right));
                self.to.write_all(line(cells, &widths).as_bytes())?;
            }
        }
        (self.bytes, self.widths) = (0, Some(widths));
        Ok(())
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().flat_map(|row| row[column].lines());
        cells.map(|line| line.chars().count()).max().unwrap_or(0).max(self.columns[column].0.chars().count())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.put()?;
        let count = self.count;
        let ending = if count == 1 { "" } else { "s" };
        if self.more {
            writeln!(self.to, "({count} row{ending} shown, there are more: --rows 0 shows all)")?;
        } else {
            writeln!(self.to, "({count} row{ending})")?;
        }
        self.to.flush()
    }
}

/// Whether a cell is written whole: plans are, which answer EXPLAIN.
fn is_plan(data_type: &DataType, columns: usize) -> bool {
    columns == 2 && matches!(data_type, DataType::Utf8)
}

fn cell(value: &dyn Display, whole: bool) -> String {
    let mut cell = Cell { text: String::new(), left: if whole { usize::MAX } else { WIDEST + 1 }, whole };
    // It fails where the rest is truncated.
    let _ = write!(cell, "{value}");
    let mut text = cell.text;
    if whole {
        text.truncate(text.trim_end().len());
    } else if let Some((at, _)) = text.char_indices().nth(WIDEST) {
        text.truncate(at);
        text.push('…');
    }
    text
}

/// A cell that refuses characters beyond the maximum.
struct Cell {
    text: String,
    left: usize,
    whole: bool,
}

impl fmt::Write for Cell {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        for character in part.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(match character {
                '\n' | '\r' | '\t' if !self.whole => ' ',
                other => other,
            });
        }
        Ok(())
    }
}

fn line<'a>(cells: impl Iterator<Item = (&'a str, bool)>, widths: &[usize]) -> String {
    let cells = cells.zip(widths).map(|((cell, right), &width)| {
        let gap = " ".repeat(width - cell.chars().count().min(width));
        if right { gap + cell } else { cell.to_owned() + &gap }
    });
    let mut line = cells.collect::<Vec<_>>().join("  ").trim_end().to_owned();
    line.push('\n');
    line
}
