//! `heaplake tables` as text.

use super::terminal::Look;
use heaplake_schemas::listing::{Column, Table, Tables};

/// A line per table: its name, who writes it, and the meaning of a row.
pub(crate) fn list(answer: &Tables, look: &Look) -> String {
    let name = answer.tables.iter().map(|table| table.name.len()).max().unwrap_or_default();
    let commands: Vec<String> = answer.tables.iter().map(|table| table.written_by.join(", ")).collect();
    let command = commands.iter().map(String::len).max().unwrap_or_default();
    let line = |(table, commands): (&Table, &String)| {
        let head = format!("{:<name$}  {commands:<command$}  ", table.name);
        format!("{head}{}\n", look.wrap(&plain(table.row), head.len(), head.len()))
    };
    answer.tables.iter().zip(&commands).map(line).collect()
}

/// A table with its columns.
pub(crate) fn table(table: &Table, look: &Look) -> String {
    let mut head = format!("{}: one row per {}", table.name, plain(table.row));
    if !table.sorted_by.is_empty() {
        head += &format!(", sorted by {}", plain(table.sorted_by));
    }
    head += &format!(". Written by {}", table.written_by.join(" and "));
    if let Some(condition) = table.condition {
        head += &format!(", {}", plain(condition));
    }
    let mut rows = Vec::new();
    table.columns.iter().for_each(|column| push(column, 0, &mut rows));
    let width = |of: fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or_default();
    let (name, kind, unit) = (width(|row| row.name.len()), width(|row| row.kind.len()), width(|row| row.unit.len()));
    let lines = rows.iter().map(|row| {
        let head = format!("  {:<name$}  {:<kind$}  {:<unit$}  ", row.name, row.kind, row.unit);
        format!("{head}{}\n", look.wrap(&plain(row.meaning), head.len(), head.len()))
    });
    format!("{}.\n\n{}", look.wrap(&head, 0, 0), lines.collect::<String>())
}

/// A line of the list of columns.
struct Row<'a> {
    name: String,
    kind: String,
    unit: &'a str,
    meaning: &'a str,
}

/// A column, and its fields indented below it.
fn push<'a>(column: &'a Column, depth: usize, rows: &mut Vec<Row<'a>>) {
    let null = if column.nullable { "?" } else { "" };
    rows.push(Row {
        name: format!("{:1$}{2}", "", 2 * depth, column.name),
        kind: format!("{}{null}", column.data_type),
        unit: &column.unit,
        meaning: column.meaning,
    });
    column.fields.iter().for_each(|field| push(field, depth + 1, rows));
}

/// Texts of schemas are Markdown: without its quotes of code.
fn plain(markdown: &str) -> String {
    markdown.replace('`', "")
}
