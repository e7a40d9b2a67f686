//! Tables of a comparison, a trend or a rollup. Those in long form also get a wide form: a row per subject, with a
//! column for each number of each measure.

use crate::address::address;
use crate::error::SqlError;
use datafusion::execution::context::SessionContext;
use datafusion::prelude::{DataFrame, ParquetReadOptions, lit};
use heaplake_kit::storage;
use heaplake_lake::mirror;
use heaplake_schemas::table::TableSchema;
use heaplake_schemas::{comparison, diff, rollup, series, tables};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Column of the group's folder, in tables of a rollup.
const GROUP: &str = "group_folder";
/// Columns that identify subjects.
const SUBJECT: [&str; 4] = [GROUP, "format", "fingerprint", "step"];

/// Registers a view of each table in the folders, and for each in long form a second one named with `_wide`.
pub(crate) async fn register(context: &SessionContext, groups: &[Group]) -> Result<(), SqlError> {
    for table in tables::ALL.iter().filter(|table| !table.runs.have_it()) {
        let mut all: Option<DataFrame> = None;
        for Group { name: group, folder, files } in groups {
            if !files.contains(table.file) {
                continue;
            }
            let file = folder.join(table.file);
            let read = context.read_parquet(address(&file)?, ParquetReadOptions::default()).await;
            let mut rows = read.map_err(|error| unreadable(&file, &error.into()))?;
            if let Some(group) = group {
                rows = rows.with_column(GROUP, lit(group))?;
            }
            all = Some(match all {
                None => rows,
                Some(before) => before.union(rows)?,
            });
        }
        let Some(rows) = all else { continue };
        let statement =
            measures(table).map(|measures| wide(table, measures, groups.iter().any(|group| group.name.is_some())));
        context.register_table(table.name, rows.into_view())?;
        if let Some(statement) = statement {
            let wide = context.sql(&statement).await?;
            context.register_table(format!("{}_wide", table.name), wide.into_view())?;
        }
    }
    Ok(())
}

/// Error for a table that cannot be opened.
fn unreadable(file: &Path, problem: &SqlError) -> SqlError {
    let cause = format!("{}: {}", file.display(), problem.cause);
    SqlError { cause, advice: "make it again with heaplake diff, trend or fleet rollup".to_owned(), kind: problem.kind }
}

/// A folder with tables.
pub(crate) struct Group {
    /// Its name, in a rollup.
    name: Option<String>,
    folder: PathBuf,
    /// Names of its files.
    files: BTreeSet<String>,
}

/// Tables and groups in the manifest of a comparison, a trend or a rollup.
#[derive(Deserialize)]
struct Listing {
    #[serde(default)]
    tables: Vec<Table>,
    #[serde(default)]
    groups: Vec<ListedGroup>,
}

#[derive(Deserialize)]
struct ListedGroup {
    folder: String,
    tables: Vec<Table>,
}

#[derive(Deserialize)]
struct Table {
    file: String,
}

/// Folders with tables, those of a rollup's groups or a single one, if `diff`, `trend` or `fleet rollup` wrote a folder,
/// which may be in a store; else `None`. The engine's threads must not call this, since a store blocks them.
pub(crate) fn groups(folder: &Path) -> Result<Option<Vec<Group>>, SqlError> {
    let Ok(entries) = storage::entries(folder) else { return Ok(None) };
    let is_there = |file: &&&str| entries.iter().any(|entry| !entry.is_folder && entry.name == **file);
    let Some(manifest) = [comparison::FILE, series::FILE, rollup::FILE].iter().find(is_there) else { return Ok(None) };
    let description = folder.join(manifest);
    let damaged = |problem: &dyn std::fmt::Display| {
        let cause = format!("{}: {problem}", description.display());
        SqlError::query(cause, "make it again with heaplake diff, trend or fleet rollup")
    };
    let text = storage::read(&description).map_err(|error| damaged(&error))?;
    let listing: Listing = serde_json::from_slice(&text).map_err(|error| damaged(&error))?;
    let tables = mirror::tables(folder, manifest)?;
    // A name with a separator could lead out of the folder.
    let inside = |group: &ListedGroup| !group.folder.contains(['/', '\\']) && group.folder != "..";
    if !listing.groups.iter().all(inside) {
        return Err(damaged(&"a group lies outside the folder"));
    }
    let files = |tables: Vec<Table>| tables.into_iter().map(|table| table.file).collect();
    if *manifest != rollup::FILE {
        return Ok(Some(vec![Group { name: None, folder: tables, files: files(listing.tables) }]));
    }
    let group = |ListedGroup { folder, tables: of_group }: ListedGroup| Group {
        folder: tables.join(&folder),
        name: Some(folder),
        files: files(of_group),
    };
    Ok(Some(listing.groups.into_iter().map(group).collect()))
}

/// Measures of a table in long form.
fn measures(table: &TableSchema) -> Option<&'static [&'static str]> {
    let name = |name: &'static str| name.split_once('_').map(|(_, of)| of);
    let of = name(table.name)?;
    let is_long = table.columns.iter().any(|column| column.name == "measure");
    let found = diff::TABLES.iter().find(|other| is_long && name(other.table.name) == Some(of))?;
    Some(found.measures)
}

/// Statement of the wide form.
fn wide(table: &TableSchema, measures: &[&str], has_groups: bool) -> String {
    let has = |name: &&str| (*name == GROUP && has_groups) || table.columns.iter().any(|column| column.name == *name);
    let subject: Vec<String> = SUBJECT.iter().filter(|name| has(name)).map(|name| format!("\"{name}\"")).collect();
    let mut columns = subject.clone();
    for column in table.columns.iter().filter(|column| column.name != "measure" && !SUBJECT.contains(&column.name)) {
        let name = column.name;
        if column.of_measure {
            columns.extend(measures.iter().map(|measure| {
                format!("first_value(\"{name}\") FILTER (WHERE measure = '{measure}') AS \"{name}_{measure}\"")
            }));
        } else {
            columns.push(format!("first_value(\"{name}\") AS \"{name}\""));
        }
    }
    format!("SELECT {} FROM {} GROUP BY {}", columns.join(", "), table.name, subject.join(", "))
}
