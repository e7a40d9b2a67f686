//! `docs/tables.md` says of each table what the schemas say. `HEAPLAKE_UPDATE=1` writes it anew.

use heaplake_schemas::table::{ColumnSchema, Runs, TableSchema, Type};
use heaplake_schemas::tables;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// What stands above it is written by hand.
const BEGIN: &str =
    "<!-- Below: written by schemas/tests/tables_doc.rs from schemas/src. HEAPLAKE_UPDATE=1 renews it. -->\n";

#[test]
fn the_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tables.md");
    let page = fs::read_to_string(&path).unwrap();
    let (by_hand, generated) = page.split_once(BEGIN).expect("the line below which the page is generated");
    let expected = render();
    if std::env::var_os("HEAPLAKE_UPDATE").is_some() {
        fs::write(&path, format!("{by_hand}{BEGIN}{expected}")).unwrap();
    } else {
        assert!(
            generated == expected,
            "docs/tables.md is stale: run the tests of heaplake-schemas with HEAPLAKE_UPDATE=1"
        );
    }
}

#[test]
fn every_table_and_column_is_described() {
    let mut names = BTreeSet::new();
    for table in tables::ALL {
        assert!(names.insert(table.name), "{} occurs twice", table.name);
        assert_eq!(table.file, format!("{}.parquet", table.name));
        assert!(!table.row.is_empty(), "{}", table.name);
        let mut columns = BTreeSet::new();
        for (name, column) in rows(&all_columns(table), "") {
            assert!(!column.meaning.is_empty(), "{}.{name} has no meaning", table.name);
            assert!(!column.meaning.contains('|'), "{}.{name} would end the cell of a Markdown table", table.name);
            assert!(columns.insert(name.clone()), "{}.{name} occurs twice", table.name);
            assert!(column.unit().is_some(), "{}.{name}: of what unit is it?", table.name);
            let says_when = column.meaning.contains("null");
            assert!(says_when || !column.nullable, "{}.{name}: when is it null?", table.name);
        }
    }
}

fn render() -> String {
    let mut page = String::new();
    let kinds = [
        ("Runs of `heaplake analyze`", Runs::Analyze),
        ("Runs of both commands", Runs::Both),
        ("Runs of `heaplake replay`", Runs::Replay),
        ("Comparisons by `heaplake diff`", Runs::Diff),
        ("Series by `heaplake trend`", Runs::Trend),
        ("Rollups by `heaplake fleet rollup`", Runs::Rollup),
    ];
    for (title, runs) in kinds {
        let _ = write!(page, "\n## {title}\n");
        for table in tables::ALL.iter().filter(|table| table.runs == runs) {
            section(&mut page, table);
        }
    }
    page
}

fn section(page: &mut String, table: &TableSchema) {
    let _ = write!(page, "\n### {}\n\nOne row per {}.", table.name, table.row);
    if !table.order.is_empty() {
        let _ = write!(page, " Sorted by {}.", table.order);
    }
    if let Some(condition) = table.condition {
        let _ = write!(page, " Written {condition}.");
    }
    page.push('\n');
    for note in table.notes {
        let _ = write!(page, "\n{note}\n");
    }
    page.push_str("\n| column | type | unit | null | meaning |\n|---|---|---|---|---|\n");
    for (name, column) in rows(&all_columns(table), "") {
        let null = if column.nullable { "yes" } else { "no" };
        let (data_type, unit) = (escaped(column.data_type), column.unit().unwrap_or_default());
        let _ = writeln!(page, "| `{name}` | {data_type} | {unit} | {null} | {} |", column.meaning);
    }
}

/// The columns that all tables have, and those of this one.
fn all_columns(table: &TableSchema) -> Vec<ColumnSchema> {
    table.all_columns().copied().collect()
}

/// Columns, each struct followed by its fields: `path[].edge` is a field of the elements of `path`.
fn rows(columns: &[ColumnSchema], prefix: &str) -> Vec<(String, ColumnSchema)> {
    let mut rows = Vec::new();
    for column in columns {
        let name = format!("{prefix}{}", column.name);
        rows.push((name.clone(), *column));
        match column.data_type {
            Type::List(Type::Struct(fields)) => rows.extend(self::rows(fields, &format!("{name}[]."))),
            Type::Struct(fields) => rows.extend(self::rows(fields, &format!("{name}."))),
            _ => {}
        }
    }
    rows
}

/// A type whose angle brackets Markdown does not take for HTML.
fn escaped(data_type: Type) -> String {
    data_type.to_string().replace('<', "\\<")
}
