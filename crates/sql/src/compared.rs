//! Tables of a comparison, a trend or a rollup. Those in long form also get a wide form: a row per subject, with a
//! column for each number of each measure.

use crate::address::address;
use crate::error::SqlError;
use datafusion::execution::context::SessionContext;
use datafusion::prelude::{DataFrame, ParquetReadOptions, lit};
use heaplake_kit::StageError;
use heaplake_kit::storage::{self, Entry};
use heaplake_schemas::rollup::{self, Rollup};
use heaplake_schemas::table::TableSchema;
use heaplake_schemas::{comparison, diff, series, tables};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Column of the group's folder, in tables of a rollup.
const GROUP: &str = "group_folder";
/// Columns that identify subjects.
const SUBJECT: [&str; 4] = [GROUP, "format", "fingerprint", "step"];

/// Whether `diff`, `trend` or `fleet rollup` wrote a folder, which may be in a store.
pub(crate) fn is_one(folder: &Path) -> bool {
    let is_manifest = |entry: &Entry| [comparison::FILE, series::FILE, rollup::FILE].contains(&&*entry.name);
    storage::entries(folder).is_ok_and(|entries| entries.iter().any(|entry| !entry.is_folder && is_manifest(entry)))
}

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
        let statement = measures(table).map(|measures| wide(table, measures, groups[0].name.is_some()));
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

impl Group {
    fn new(name: Option<String>, folder: PathBuf) -> Result<Self, SqlError> {
        let files = names(&folder)?;
        Ok(Self { name, folder, files })
    }
}

fn names(folder: &Path) -> Result<BTreeSet<String>, SqlError> {
    let entries = storage::entries(folder).map_err(|error| StageError::io(folder, "read", error))?;
    Ok(entries.into_iter().filter(|entry| !entry.is_folder).map(|entry| entry.name).collect())
}

/// Folders with tables: those of a rollup's groups, else the folder itself. Must not be called by the engine's threads,
/// since the calls of a store block.
pub(crate) fn groups(folder: &Path) -> Result<Vec<Group>, SqlError> {
    let description = folder.join(rollup::FILE);
    if !names(folder)?.contains(rollup::FILE) {
        return Ok(vec![Group::new(None, folder.to_owned())?]);
    }
    let damaged = |problem: &dyn std::fmt::Display| {
        let cause = format!("{}: {problem}", description.display());
        SqlError::query(cause, "make the rollup again with heaplake fleet rollup")
    };
    let text = storage::read(&description).map_err(|error| damaged(&error))?;
    let rollup: Rollup = serde_json::from_slice(&text).map_err(|error| damaged(&error))?;
    // A name with a separator could lead out of the folder.
    let inside = |group: &rollup::Group| !group.folder.contains(['/', '\\']) && group.folder != "..";
    if !rollup.groups.iter().all(inside) {
        return Err(damaged(&"a group lies outside the folder"));
    }
    let group = |group: rollup::Group| Group::new(Some(group.folder.clone()), folder.join(group.folder));
    rollup.groups.into_iter().map(group).collect()
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
