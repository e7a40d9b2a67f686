//! `docs/tables.md` says of each table what the schemas say. `HEAPLAKE_UPDATE=1` writes it anew.

use heaplake_schemas::column::{ColumnSchema, FINGERPRINT, SIGNATURE, Type};
use heaplake_schemas::diff::{self, DiffTable};
use heaplake_schemas::table::{Runs, TableSchema};
use heaplake_schemas::{rollup, tables, trend};
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
            let says_when = column.meaning.contains("null");
            assert!(says_when || !column.nullable, "{}.{name}: when is it null?", table.name);
        }
    }
}

#[test]
fn tables_in_long_form_have_the_same_columns() {
    for runs in [Runs::Diff, Runs::Trend, Runs::Rollup] {
        let form = long_form(runs).unwrap();
        for (table, rows) in form.tables {
            let keys = if runs == Runs::Rollup { &[] } else { rows.keys };
            let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
            let expected: Vec<&str> =
                keys.iter().copied().chain(form.columns.iter().map(|column| column.name)).collect();
            assert_eq!(names, expected, "{}", table.name);
            let called = |name: &'static str| name.split_once('_').unwrap().1;
            assert_eq!(called(table.name), called(rows.table.name));
        }
    }
}

/// Tables in long form, and their columns after the keys.
struct LongForm {
    columns: &'static [ColumnSchema],
    tables: Vec<(&'static TableSchema, &'static DiffTable)>,
}

fn long_form(runs: Runs) -> Option<LongForm> {
    let (columns, tables) = match runs {
        Runs::Diff => (diff::COLUMNS, diff::TABLES.iter().map(|table| (&table.table, table)).collect()),
        Runs::Trend => (trend::COLUMNS, trend::TABLES.iter().map(|table| (&table.table, table.rows)).collect()),
        Runs::Rollup => (rollup::COLUMNS, rollup::TABLES.iter().map(|table| (&table.table, table.rows)).collect()),
        _ => return None,
    };
    Some(LongForm { columns, tables })
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
        ("The catalogue of a lake", Runs::Catalogue),
    ];
    for (title, runs) in kinds {
        let _ = write!(page, "\n## {title}\n");
        let form = long_form(runs);
        form.iter().for_each(|form| in_long_form(&mut page, form));
        let is_long = |name: &str| form.iter().flat_map(|form| &form.tables).any(|(table, _)| table.name == name);
        for table in tables::ALL.iter().filter(|table| table.runs == runs && !is_long(table.name)) {
            section(&mut page, table);
        }
    }
    page
}

/// The tables in long form, and the columns that they have in common.
fn in_long_form(page: &mut String, form: &LongForm) {
    let first = form.tables[0].0;
    let _ = write!(page, "\nIn [long form](#comparisons-in-long-form), sorted by {}.\n\n", first.order);
    let has_keys = first.columns.len() > form.columns.len();
    match first.runs {
        Runs::Diff => list(page, form),
        _ => {
            let (prefix, _) = first.name.split_once('_').unwrap_or_default();
            let keys = if has_keys { "keys and " } else { "" };
            let these = "The tables are those of [comparisons](#comparisons-by-heaplake-diff)";
            let _ = writeln!(page, "{these}, called `{prefix}_…`, with the same {keys}measures.");
        }
    }
    notes(page, first.notes);
    page.push_str(if has_keys { "\nAfter the keys, each has these columns:\n" } else { "\nEach has these columns:\n" });
    header(page);
    let amounts = [names(&amounts()[..1]), names(&amounts()[amounts().len() - 1..])].join(" … ");
    for column in form.columns {
        let (name, of_sides) = (column.name, column.name.strip_prefix("base_"));
        match of_sides {
            // What both sides have is said once.
            Some(of) => {
                let meaning = column.meaning.replace("the base", "the side");
                row(page, &format!("`base_{of}`, `target_{of}`"), column, &meaning);
            }
            None if name.starts_with("target_") => {}
            // What the runs of a step or a group say is the same.
            None if name == amounts_of(form)[0] => {
                let (_, of) = column.meaning.split_once("Runs of ").unwrap_or_default();
                let of = of.split(" that").next().unwrap_or_default();
                let _ = writeln!(page, "| {amounts} | Int64 | Of {of}, as {SIDE} of a comparison |");
            }
            None if amounts_of(form).contains(&name) => {}
            None => row(page, &format!("`{name}`"), column, column.meaning),
        }
    }
}

/// The tables with their keys and measures.
fn list(page: &mut String, form: &LongForm) {
    page.push_str("| table | rows of | keys | measures |\n|---|---|---|---|\n");
    for (table, rows) in &form.tables {
        let (keys, measures) = (names(rows.keys), names(rows.measures));
        let _ = writeln!(page, "| `{}` | `{}` | {keys} | {measures} |", table.name, rows.compared.name);
    }
}

/// Where what the runs of a side say is described.
const SIDE: &str = "[`base_runs` to `base_max`](#comparisons-by-heaplake-diff)";

/// What the runs of a side, a step or a group say.
fn amounts() -> Vec<&'static str> {
    diff::COLUMNS.iter().filter_map(|column| column.name.strip_prefix("base_")).collect()
}

/// The same, if the tables have it once.
fn amounts_of(form: &LongForm) -> Vec<&'static str> {
    let names = amounts();
    let has = |name: &str| form.columns.iter().any(|column| column.name == name);
    if names.iter().all(|name| has(name)) { names } else { vec![""] }
}

fn names(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn section(page: &mut String, table: &TableSchema) {
    let _ = write!(page, "\n### {}\n\nOne row per {}.", table.name, table.row);
    if !table.order.is_empty() {
        let _ = write!(page, " Sorted by {}.", table.order);
    }
    if let Some(condition) = table.condition {
        let _ = write!(page, " Written {condition}.");
    }
    let mut columns = table.columns.to_vec();
    if columns.iter().any(|column| is(column, &SIGNATURE)) {
        columns.retain(|column| !is(column, &SIGNATURE) && !is(column, &FINGERPRINT));
        page.push_str(" Rows have a [`signature` and a `fingerprint`](#what-holds-for-all-tables).");
    }
    page.push('\n');
    notes(page, table.notes);
    header(page);
    for (name, column) in rows(&columns, "") {
        row(page, &format!("`{name}`"), &column, column.meaning);
    }
}

/// Whether a column is that of many tables.
fn is(column: &ColumnSchema, common: &ColumnSchema) -> bool {
    (column.name, column.meaning) == (common.name, common.meaning)
}

/// What tables in long form say first, and the head of their part of the page too.
const SEE: &str = "See [comparisons in long form](#comparisons-in-long-form).";

fn notes(page: &mut String, notes: &[&str]) {
    for note in notes {
        let note = note.trim_start_matches(SEE).trim_start();
        if !note.is_empty() {
            let _ = write!(page, "\n{note}\n");
        }
    }
}

fn header(page: &mut String) {
    page.push_str("\n| column | type, unit | meaning |\n|---|---|---|\n");
}

fn row(page: &mut String, name: &str, column: &ColumnSchema, meaning: &str) {
    // These types say all of the unit.
    let plain = matches!(column.data_type, Type::Utf8 | Type::Boolean | Type::UInt64 | Type::Timestamp | Type::Map);
    let unit = if plain { String::new() } else { format!(", {}", column.unit) };
    let _ = writeln!(page, "| {name} | {}{unit} | {meaning} |", escaped(column.data_type));
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
