//! The tables and their columns as an answer for programs: `heaplake tables --json`.

use crate::column::{ColumnSchema, Type};
use crate::table::{Runs, TableSchema};
use crate::{HEAPLAKE_VERSION, SCHEMA_VERSION, tables};
use schemars::JsonSchema;
use serde::Serialize;

/// The answer: tables of a version of heaplake.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tables {
    /// Version of heaplake.
    pub heaplake_version: &'static str,
    /// Raised when a column is renamed or gets another type; a new column does not raise it.
    pub schema_version: u32,
    /// The tables, in the order of the documentation.
    pub tables: Vec<Table>,
}

/// A table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Table {
    /// Name.
    pub name: &'static str,
    /// Its file in the folder of a run, a comparison, a trend or a rollup.
    pub file: &'static str,
    /// The commands that write it.
    pub written_by: &'static [&'static str],
    /// When it is written; null for always.
    pub condition: Option<&'static str>,
    /// Meaning of a row.
    pub row: &'static str,
    /// Order of the rows; empty for a table of one row.
    pub sorted_by: &'static str,
    /// Its columns, in order.
    pub columns: Vec<Column>,
}

/// A column, or a field of a column of structs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// Type, as Arrow names it.
    #[serde(rename = "type")]
    pub data_type: String,
    /// Unit of its values.
    pub unit: String,
    /// Whether a value can be null.
    pub nullable: bool,
    /// Meaning, as Markdown.
    pub meaning: &'static str,
    /// Fields of a struct, or of the structs of a list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Column>,
}

/// All tables, or the one of a name.
#[must_use]
pub fn listing(name: Option<&str>) -> Tables {
    let wanted = tables::ALL.iter().filter(|table| name.is_none_or(|name| name == table.name));
    Tables {
        heaplake_version: HEAPLAKE_VERSION,
        schema_version: SCHEMA_VERSION,
        tables: wanted.map(described).collect(),
    }
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
