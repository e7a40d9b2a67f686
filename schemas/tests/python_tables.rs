//! `python/heaplake/tables.json` says to the Python package what the schemas say. `HEAPLAKE_UPDATE=1` writes it anew.

use heaplake_schemas::SCHEMA_VERSION;
use heaplake_schemas::column::{ColumnSchema, Type};
use heaplake_schemas::diff::{self, DiffTable};
use heaplake_schemas::table::{Runs, TableSchema};
use heaplake_schemas::{rollup, tables, trend};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn the_tables_of_the_package_are_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/heaplake/tables.json");
    let expected = render();
    if std::env::var_os("HEAPLAKE_UPDATE").is_some() {
        fs::write(&path, expected).unwrap();
    } else {
        assert!(
            fs::read_to_string(&path).unwrap_or_default() == expected,
            "python/heaplake/tables.json is stale: run the tests of heaplake-schemas with HEAPLAKE_UPDATE=1"
        );
    }
}

/// Tables in long form have columns in common, after their keys: these are written once, by command. `of_measure` names
/// those with a value per measure.
fn render() -> String {
    let shared = [("diff", diff::COLUMNS), ("trend", trend::COLUMNS), ("rollup", rollup::COLUMNS)];
    let of_measure = shared.iter().flat_map(|(_, columns)| *columns).filter(|column| column.of_measure);
    let of_measure: BTreeSet<String> = of_measure.map(|column| quoted(column.name)).collect();
    let of_measure: Vec<String> = of_measure.into_iter().collect();
    let shared = shared.map(|(command, columns)| format!("\"{command}\": [\n{}\n]", self::columns(columns)));
    let tables: Vec<String> = tables::ALL.iter().map(table).collect();
    format!(
        "{{\"schema_version\": {SCHEMA_VERSION}, \"of_measure\": [{}], \"shared\": {{\n{}\n}}, \"tables\": [\n{}\n]}}\n",
        of_measure.join(", "),
        shared.join(",\n"),
        tables.join(",\n")
    )
}

fn table(table: &TableSchema) -> String {
    let command = match table.runs {
        Runs::Analyze => "analyze",
        Runs::Both => "both",
        Runs::Replay => "replay",
        Runs::Diff => "diff",
        Runs::Trend => "trend",
        Runs::Rollup => "rollup",
        Runs::Catalogue => "catalogue",
    };
    let (name, row) = (quoted(table.name), quoted(table.row));
    let head = format!("{{\"name\": {name}, \"of\": \"{command}\", \"row\": {row}");
    let Some((own, rows)) = long_form(table) else {
        let all: Vec<ColumnSchema> = table.all_columns().copied().collect();
        return format!("{head}, \"columns\": [\n{}\n]}}", columns(&all));
    };
    let measures: Vec<String> = rows.measures.iter().map(|measure| quoted(measure)).collect();
    format!("{head}, \"measures\": [{}], \"columns\": [\n{}\n]}}", measures.join(", "), columns(own))
}

/// Of a table in long form its keys, and the table of comparisons with the same subjects and measures.
fn long_form(table: &TableSchema) -> Option<(&'static [ColumnSchema], &'static DiffTable)> {
    let compared = diff::TABLES.iter().map(|of| (&of.table, of, diff::COLUMNS.len()));
    let followed = trend::TABLES.iter().map(|of| (&of.table, of.rows, trend::COLUMNS.len()));
    let summed_up = rollup::TABLES.iter().map(|of| (&of.table, of.rows, rollup::COLUMNS.len()));
    let (of, rows, shared) = compared.chain(followed).chain(summed_up).find(|(of, ..)| of.name == table.name)?;
    Some((&of.columns[..of.columns.len() - shared], rows))
}

fn columns(columns: &[ColumnSchema]) -> String {
    columns.iter().map(|column| format!("    {}", self::column(column))).collect::<Vec<_>>().join(",\n")
}

fn column(column: &ColumnSchema) -> String {
    let (name, meaning) = (quoted(column.name), quoted(column.meaning));
    let unit = quoted(&column.unit.to_string());
    let data_type = data_type(&column.data_type);
    let null = column.nullable;
    format!("{{\"name\": {name}, \"type\": {data_type}, \"unit\": {unit}, \"null\": {null}, \"meaning\": {meaning}}}")
}

/// The name of a type; of a list and of a struct an object that says of what.
fn data_type(data_type: &Type) -> String {
    match data_type {
        Type::List(item) | Type::ListOfOptional(item) => format!("{{\"list\": {}}}", self::data_type(item)),
        Type::Struct(fields) => {
            format!("{{\"struct\": [{}]}}", fields.iter().map(column).collect::<Vec<_>>().join(", "))
        }
        plain => format!("\"{plain:?}\""),
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => quoted += &format!("\\u{:04x}", u32::from(control)),
            plain => quoted.push(plain),
        }
    }
    quoted + "\""
}
