//! `heaplake tables`: the tables that heaplake writes, and their columns.

use crate::diagnostic::{Diagnostic, Done};
use crate::print::{self, tables as text};
use clap::Args;
use heaplake_lake::nearest::{clause, nearest};
use heaplake_schemas::column::{ColumnSchema, Type};
use heaplake_schemas::table::{Runs, TableSchema};
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION, tables};
use schemars::JsonSchema;
use serde::Serialize;

const MORE: &str = "\
Examples:
  heaplake tables
  heaplake tables nodes
  heaplake tables --json | jq -r '.tables[].columns[].name'

docs/tables.md has the same with more words. Types are those of Arrow.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake tables nodes", after_long_help = MORE)]
pub(crate) struct Arguments {
    /// Print the columns of one table
    #[arg(value_name = "TABLE")]
    table: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The answer: tables of a version of heaplake.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Tables {
    heaplake_version: &'static str,
    /// Raised when a column is renamed or gets another type; a new column does not raise it.
    schema_version: u32,
    pub(crate) tables: Vec<Table>,
}

/// A table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// Its file in the folder of a run, a comparison, a trend or a rollup.
    file: &'static str,
    /// The commands that write it.
    pub(crate) written_by: &'static [&'static str],
    /// When it is written; null for always.
    pub(crate) condition: Option<&'static str>,
    /// Meaning of a row.
    pub(crate) row: &'static str,
    /// Order of the rows; empty for a table of one row.
    pub(crate) sorted_by: &'static str,
    pub(crate) columns: Vec<Column>,
}

/// A column, or a field of a column of structs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    #[serde(rename = "type")]
    pub(crate) data_type: String,
    pub(crate) unit: String,
    pub(crate) nullable: bool,
    pub(crate) meaning: &'static str,
    /// Fields of a struct, or of the structs of a list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fields: Vec<Column>,
}

/// Prints all tables, or one.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let wanted = arguments.table.as_deref();
    let found: Vec<Table> =
        tables::ALL.iter().filter(|table| wanted.is_none_or(|name| name == table.name)).map(described).collect();
    if let (Some(name), true) = (wanted, found.is_empty()) {
        return Err(unknown(name));
    }
    let answer = Tables { heaplake_version: HEAPLAKE_VERSION, schema_version: SCHEMA_VERSION, tables: found };
    print::answer(&answer, arguments.json, |answer, look| match wanted {
        Some(_) => answer.tables.iter().map(|table| text::table(table, look)).collect(),
        None => text::list(answer, look),
    })
}

fn unknown(name: &str) -> Diagnostic {
    let names = tables::ALL.iter().map(|table| table.name.to_owned());
    let near = clause(&nearest(name, names));
    Diagnostic::usage(format!("there is no table {name:?}{near}"), "heaplake tables lists all")
}

fn described(table: &TableSchema) -> Table {
    Table {
        name: table.name,
        file: table.file,
        written_by: match table.runs {
            Runs::Analyze => &["analyze"],
            Runs::Replay => &["replay"],
            Runs::Both => &["analyze", "replay"],
            Runs::Diff => &["diff"],
            Runs::Trend => &["trend"],
            Runs::Rollup => &["fleet rollup"],
            Runs::Catalogue => &["analyze", "replay", "lake index"],
        },
        condition: table.condition,
        row: table.row,
        sorted_by: table.order,
        columns: table.all_columns().map(column).collect(),
    }
}

fn column(column: &ColumnSchema) -> Column {
    Column {
        name: column.name,
        data_type: type_name(&column.data_type),
        unit: column.unit.to_string(),
        nullable: column.nullable,
        meaning: column.meaning,
        fields: fields(&column.data_type),
    }
}

/// Name of a type. Fields of structs are listed by themselves.
fn type_name(data_type: &Type) -> String {
    match data_type {
        Type::List(item) | Type::ListOfOptional(item) => format!("List<{}>", type_name(item)),
        Type::Struct(_) => "Struct".to_owned(),
        Type::Map => "Map<Utf8, Utf8>".to_owned(),
        Type::Timestamp => "Timestamp(us, UTC)".to_owned(),
        plain => format!("{plain:?}"),
    }
}

fn fields(data_type: &Type) -> Vec<Column> {
    match data_type {
        Type::List(item) | Type::ListOfOptional(item) => fields(item),
        Type::Struct(fields) => fields.iter().map(column).collect(),
        _ => Vec::new(),
    }
}
