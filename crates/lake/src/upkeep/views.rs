//! Views of a lake for other engines, as a script of SQL.

use crate::catalogue::Wanted;
use crate::packs::{self, FOLDER as PACKS};
use crate::selection::{self, FoundRun, Selection};
use heaplake_kit::{StageError, storage};
use heaplake_schemas::catalogue::{FOLDER, RUNS};
use heaplake_schemas::column::Type;
use heaplake_schemas::table::TableSchema;
use heaplake_schemas::tables;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// Columns that a view takes from the run.
const OF_RUN: [&str; 2] = ["captured_at", "labels"];

/// An engine of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// DuckDB.
    DuckDb,
    /// Spark SQL.
    Spark,
}

/// Returns statements that create a view per table that some run has, and `runs`, which has a row per run. Each view
/// has `captured_at`, `labels` and `host` of the run after the columns of the table.
pub fn script(lake: &Path, engine: Engine) -> Result<String, StageError> {
    let lake = if storage::is_url(lake) { lake.to_owned() } else { storage::canonical(lake) };
    let runs = selection::runs_like(&lake, &Selection::default(), Wanted::TABLES)?.found;
    let files: BTreeSet<&str> = runs.iter().flat_map(|found| &found.run.tables).map(|table| &*table.file).collect();
    // In a store, tables are one level deeper.
    let places = if storage::is_url(&lake) { "release=*/snapshot=*/*" } else { "release=*/snapshot=*" };
    let path = |within: &str| quoted(&lake.join(within).to_string_lossy());
    let mut out = format!("-- Views of the lake {} for {}.\n", lake.display(), engine.name());
    // Writing into a string cannot fail.
    let _ =
        writeln!(out, "-- Runs are those of its catalogue: heaplake lake index adds what other programs brought.\n");
    let catalogue = path(&format!("{FOLDER}/segment-*/{}", RUNS.file));
    out.push_str(&engine.view("heaplake_catalogue", &catalogue));
    let descriptions = path("release=*/snapshot=*/run.json");
    out.push_str(&engine.runs(&descriptions));
    for table in tables::ALL.iter().filter(|table| table.runs.have_it() && files.contains(table.file)) {
        let is_packed =
            |found: &&FoundRun| packs::slice(&found.place, &found.run, table.file).is_ok_and(|it| it.is_some());
        let having = runs.iter().filter(|found| found.run.table(table.file).is_some());
        let (packed, single): (Vec<&FoundRun>, Vec<&FoundRun>) = having.partition(is_packed);
        let mut parts = Vec::new();
        if !single.is_empty() {
            let raw = format!("heaplake_{}", table.name);
            out.push_str(&engine.view(&raw, &path(&format!("{places}/{}", table.file))));
            match engine.same_run(table.names_run) {
                Some(condition) => parts.push(engine.part(table, &raw, condition, !packed.is_empty())),
                None => {
                    let _ = writeln!(out, "-- {} has no columns of the run: join it by its files.\n", table.name);
                }
            }
        }
        if !packed.is_empty() {
            let raw = format!("heaplake_packed_{}", table.name);
            out.push_str(&engine.view(&raw, &path(&engine.packs(table.name))));
            parts.push(engine.part(table, &raw, engine.same_packed_run(), true));
        }
        if !parts.is_empty() {
            let (temporary, name) = (engine.temporary(), engine.name_of(table.name));
            let _ = writeln!(out, "CREATE OR REPLACE {temporary}VIEW {name} AS\n{};\n", parts.join("\nUNION ALL\n"));
        }
    }
    Ok(out)
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl Engine {
    fn name(self) -> &'static str {
        match self {
            Self::DuckDb => "DuckDB",
            Self::Spark => "Spark SQL",
        }
    }

    fn temporary(self) -> &'static str {
        match self {
            Self::DuckDb => "",
            Self::Spark => "TEMPORARY ",
        }
    }

    fn name_of(self, name: &str) -> String {
        match self {
            Self::DuckDb => format!("\"{name}\""),
            Self::Spark => format!("`{name}`"),
        }
    }

    /// The rows of a table with the columns of their run; with signed numbers, as packs have them, on request.
    fn part(self, table: &TableSchema, raw: &str, condition: &str, is_signed: bool) -> String {
        let own = table.all_columns().filter(|column| !OF_RUN.contains(&column.name)).map(|column| {
            let name = self.name_of(column.name);
            match is_signed {
                true => format!("{} AS {name}", self.signed(&format!("t.{name}"), column.data_type)),
                false => format!("t.{name}"),
            }
        });
        let own: Vec<String> = own.collect();
        format!(
            "SELECT {}, r.captured_at, r.labels, r.labels['host'] AS host\nFROM {raw} AS t JOIN runs AS r ON {condition}",
            own.join(", ")
        )
    }

    /// A column as packs have it.
    fn signed(self, column: &str, kind: Type) -> String {
        let (limit, modulus) = ("9223372036854775808", "18446744073709551616");
        match (kind, self) {
            (Type::UInt64, Self::DuckDb) => {
                format!("(CASE WHEN {column} >= {limit} THEN {column}::HUGEINT - {modulus} ELSE {column} END)::BIGINT")
            }
            (Type::UInt64, Self::Spark) => {
                let wide = format!("CAST({column} AS DECIMAL(20, 0))");
                format!("CAST(CASE WHEN {wide} >= {limit} THEN {wide} - {modulus} ELSE {wide} END AS BIGINT)")
            }
            (Type::UInt32, _) => format!("CAST({column} AS BIGINT)"),
            (Type::UInt8, _) => format!("CAST({column} AS INTEGER)"),
            _ => column.to_owned(),
        }
    }

    /// The packs of a table, in the lake.
    fn packs(self, table: &str) -> String {
        match self {
            Self::DuckDb => format!("{PACKS}/{table}/release=*/night=*/*.parquet"),
            Self::Spark => format!("{PACKS}/{table}"),
        }
    }

    /// As [`Self::same_run`], for a row of a pack. Only DuckDB can tell rows of a run that was replaced since.
    fn same_packed_run(self) -> &'static str {
        match self {
            Self::DuckDb => {
                "t.release = r.release AND t.snapshot = r.snapshot AND regexp_extract(t.filename, '/night=([^/]*)/', 1) = r.night"
            }
            Self::Spark => "t.release = r.release AND t.snapshot = r.snapshot AND r.night IS NOT NULL",
        }
    }

    /// The condition that a row `t` of a table is of a run `r`; `None` if the engine cannot tell.
    fn same_run(self, names_run: bool) -> Option<&'static str> {
        match (self, names_run) {
            (_, true) => Some("t.release = r.release AND t.snapshot = r.snapshot"),
            (Self::DuckDb, false) => {
                Some("regexp_extract(t.filename, '(release=[^/]*/snapshot=[^/]*)/[^/]*$', 1) = r.path")
            }
            (Self::Spark, false) => None,
        }
    }

    /// A view of files, with all columns that any of them has.
    fn view(self, name: &str, files: &str) -> String {
        match self {
            Self::DuckDb => format!(
                "CREATE OR REPLACE VIEW {name} AS\nSELECT * FROM read_parquet({files}, union_by_name = true, \
                 filename = true, hive_partitioning = false);\n"
            ),
            Self::Spark => format!(
                "CREATE OR REPLACE TEMPORARY VIEW {name} USING parquet\nOPTIONS (path {files}, mergeSchema 'true', \
                 recursiveFileLookup 'true');\n"
            ),
        }
    }

    /// The view of runs: of a run that several segments have, the newest row.
    fn runs(self, descriptions: &str) -> String {
        let newest = "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY path ORDER BY description_changed_ns DESC) \
                      AS newest FROM heaplake_catalogue) WHERE newest = 1";
        let temporary = self.temporary();
        match self {
            // Runs that were dropped since are still in the catalogue.
            Self::DuckDb => format!(
                "CREATE OR REPLACE VIEW runs AS\nSELECT * EXCLUDE (newest, filename) FROM ({newest}) AS r\nSEMI JOIN (SELECT \
                 regexp_extract(file, '(release=[^/]*/snapshot=[^/]*)/run.json$', 1) AS path FROM glob({descriptions})) \
                 USING (path);\n\n"
            ),
            Self::Spark => format!("CREATE OR REPLACE {temporary}VIEW runs AS\n{newest};\n\n"),
        }
    }
}
