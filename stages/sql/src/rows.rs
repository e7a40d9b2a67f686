//! Rows as a table for people.

use crate::error::SqlError;
use crate::writer::{Writer, unwritten};
use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::io::Write;

/// Characters of the widest cell; the rest of longer ones is cut.
const WIDEST: usize = 80;

/// Collects rows and writes them, aligned, in the end.
pub struct Table<'a> {
    most: usize,
    to: &'a mut (dyn Write + Send),
    /// Name of each column, and whether it stands at the right.
    columns: Vec<(String, bool)>,
    rows: Vec<Vec<String>>,
    more: bool,
}

impl<'a> Table<'a> {
    /// A table of at most so many rows, of any number if that is 0.
    pub fn new(most: usize, to: &'a mut (dyn Write + Send)) -> Self {
        Self { most, to, columns: Vec::new(), rows: Vec::new(), more: false }
    }
}

impl Writer for Table<'_> {
    fn begin(&mut self, schema: &SchemaRef) -> Result<(), SqlError> {
        let columns = schema.fields().iter().map(|field| (field.name().clone(), field.data_type().is_numeric()));
        self.columns = columns.collect();
        self.rows.clear();
        self.more = false;
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<bool, SqlError> {
        let options = FormatOptions::default().with_null("-");
        let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(datafusion::error::DataFusionError::from)?;
        for row in 0..batch.num_rows() {
            if self.most > 0 && self.rows.len() == self.most {
                self.more = true;
                return Ok(false);
            }
            let whole = batch.columns().iter().map(|column| is_plan(column.data_type(), self.columns.len()));
            let cells = columns.iter().zip(whole).map(|(column, whole)| cell(&column.value(row).to_string(), whole));
            self.rows.push(cells.collect());
        }
        Ok(true)
    }

    fn end(&mut self) -> Result<(), SqlError> {
        let text = self.text();
        self.to.write_all(text.as_bytes()).and_then(|()| self.to.flush()).map_err(|error| unwritten(&error))
    }
}

impl Table<'_> {
    fn text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().flat_map(|row| row[column].lines());
            cells.map(|line| line.chars().count()).max().unwrap_or(0).max(self.columns[column].0.chars().count())
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = line(self.columns.iter().map(|(name, right)| (name.as_str(), *right)), &widths);
        let rules: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        text += &line(rules.iter().map(|rule| (rule.as_str(), false)), &widths);
        for row in &self.rows {
            // A plan has several lines in a cell.
            let lines = row.iter().map(|cell| cell.lines().count()).max().unwrap_or(1).max(1);
            for at in 0..lines {
                let cells = row.iter().zip(&self.columns);
                text += &line(cells.map(|(cell, (_, right))| (cell.lines().nth(at).unwrap_or(""), *right)), &widths);
            }
        }
        let count = self.rows.len();
        let ending = if count == 1 { "" } else { "s" };
        if self.more {
            text += &format!("({count} row{ending} shown, there are more: --rows 0 shows all)\n");
        } else {
            text += &format!("({count} row{ending})\n");
        }
        text
    }
}

/// Whether a cell is shown whole: plans are, which are the answer to EXPLAIN.
fn is_plan(data_type: &DataType, columns: usize) -> bool {
    columns == 2 && matches!(data_type, DataType::Utf8)
}

fn cell(text: &str, whole: bool) -> String {
    if whole {
        return text.trim_end().to_owned();
    }
    let text = text.replace(['\n', '\r', '\t'], " ");
    match text.char_indices().nth(WIDEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
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
