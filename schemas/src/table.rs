//! A table as data: names, meanings of rows and columns, and when it is written.
//!
//! A table's file has one constant, its [`TableSchema`]. Arrow schema, documentation, the tables of the Python package
//! and tests follow from it. If its rows are those of a scratch column, the struct of the row declares the columns: see
//! [`crate::row`].

use crate::column::{ColumnSchema, text};
use arrow::datatypes::{Fields, Schema, SchemaRef};
use std::sync::Arc;

/// A table: its schema and its documentation. Texts are Markdown.
#[derive(Clone, Copy, Debug)]
pub struct TableSchema {
    /// Name, as on the command line.
    pub name: &'static str,
    /// File name inside a run.
    pub file: &'static str,
    /// Meaning of a row, as in "one row per …".
    pub row: &'static str,
    /// The order of the rows, as in "sorted by …"; empty for a table of one row.
    pub order: &'static str,
    /// Commands whose runs have it.
    pub runs: Runs,
    /// When it is written, as in "written …"; `None` for a table that every such run has by default.
    pub condition: Option<&'static str>,
    /// What a reader must know beyond the columns, a paragraph each.
    pub notes: &'static [&'static str],
    /// Whether it begins with [`RUN_COLUMNS`].
    pub names_run: bool,
    /// Its own columns, in order.
    pub columns: &'static [ColumnSchema],
}

/// An empty table of this name, the base of struct updates.
macro_rules! table {
    ($name:expr) => {
        $crate::table::TableSchema {
            name: $name,
            file: concat!($name, ".parquet"),
            row: "",
            order: "",
            runs: $crate::table::Runs::Analyze,
            condition: None,
            notes: &[],
            names_run: true,
            columns: &[],
        }
    };
}
pub(crate) use table;

impl TableSchema {
    /// All columns, in order.
    pub fn all_columns(&self) -> impl Iterator<Item = &'static ColumnSchema> {
        let of_run = if self.names_run { RUN_COLUMNS } else { &[] };
        of_run.iter().chain(self.columns)
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&'static ColumnSchema> {
        self.all_columns().find(|column| column.name == name)
    }

    /// The Arrow schema.
    pub fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.all_columns().map(ColumnSchema::field).collect::<Fields>()))
    }
}

/// The first columns of every table but `duplicate_members`: the run of a row. Folder names have the same values, but
/// some readers take these for numbers or dates, and others ignore them.
pub const RUN_COLUMNS: &[ColumnSchema] =
    &[text("release", "Release that the run belongs to"), text("snapshot", "Name of the run")];

/// Whether a schema begins with [`RUN_COLUMNS`].
pub fn has_run_columns(schema: &Schema) -> bool {
    let names = schema.fields().iter().map(|field| field.name().as_str());
    names.take(RUN_COLUMNS.len()).eq(RUN_COLUMNS.iter().map(|column| column.name))
}

/// The commands that write a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// `heaplake analyze`.
    Analyze,
    /// `heaplake replay`.
    Replay,
    /// Both commands.
    Both,
    /// `heaplake diff`, which writes tables but no run.
    Diff,
    /// `heaplake trend`, likewise.
    Trend,
    /// `heaplake fleet rollup`, likewise.
    Rollup,
    /// None: the lake itself has the table.
    Catalogue,
}

impl Runs {
    /// Whether runs have the table; otherwise the folder of a command that reads runs has it.
    #[must_use]
    pub const fn have_it(self) -> bool {
        matches!(self, Self::Analyze | Self::Replay | Self::Both)
    }
}
