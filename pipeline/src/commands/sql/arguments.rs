//! Arguments of `sql`.

use crate::commands::choices::Resources;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

const MORE: &str = "\
Examples:
  heaplake sql 'SELECT release, count(*) FROM runs GROUP BY release ORDER BY release' --lake lake
  heaplake sql --named worst-hosts --lake lake
  heaplake sql --named class-history --param class=Buffer --format csv --lake lake
  heaplake sql \"SELECT class, max(retained_bytes) FROM classes WHERE labels['host'] = 'web7' GROUP BY class\" --lake lake
  heaplake sql \"SELECT team, count(*) FROM findings JOIN hosts ON labels['host'] = hosts.host GROUP BY team\" \\
    --attach hosts.csv --lake lake
  heaplake sql 'SELECT * FROM findings' --format parquet --out findings.parquet --lake lake
  heaplake sql --lake lake

Each table is a view over all runs. A view begins with four columns of the run: release, snapshot, captured_at and \
 labels, a map. A condition on these alone opens no file of other runs. The view runs has one row per run. SHOW TABLES, \
 DESCRIBE and EXPLAIN work; nothing can be changed. The dialect is that of DataFusion. Rows come in no order but that of \
 ORDER BY.

Without a statement it reads statements from the terminal, with history and completion, or else from standard input.";

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake sql 'SELECT release, count(*) FROM runs GROUP BY release' --lake lake",
    after_long_help = MORE
)]
pub(crate) struct Arguments {
    /// Statements, separated by semicolons
    #[arg(value_name = "STATEMENT", conflicts_with_all = ["named", "list_named"])]
    pub(super) statement: Option<String>,
    /// The lake, or a folder of diff, trend or rollup
    ///
    /// The views of such a folder are its tables; each table in long form also has a view named with _wide, with a row
    /// per subject.
    #[arg(long, value_name = "LAKE", default_value = "lake")]
    pub(super) lake: PathBuf,
    /// A CSV, TSV or Parquet file as a view; may be given again
    ///
    /// A text file has a header. The view has the name of the file without its extension, or NAME. Names of columns become lower case. A table
    /// of hosts joins by a label: FROM classes JOIN hosts ON labels['host'] = hosts.host.
    #[arg(long, value_name = "[NAME=]FILE")]
    pub(super) attach: Vec<String>,
    /// Run a query of the library
    #[arg(long, value_name = "NAME")]
    pub(super) named: Option<String>,
    /// A parameter of the query; may be given again
    #[arg(long = "param", value_name = "NAME=VALUE", requires = "named", value_parser = parameter)]
    pub(super) parameters: Vec<(String, String)>,
    /// List the queries of the library with their parameters
    #[arg(long, conflicts_with = "named")]
    pub(super) list_named: bool,
    /// Format of rows: table, csv, json or parquet
    ///
    /// A table cuts long texts and shows the first --rows; the others have all. JSON is an array with one row on a
    /// line.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub(super) format: Format,
    /// Exit with 0 although runs are damaged; each is still reported
    ///
    /// Views leave damaged runs out. Without this option the exit code is then 1.
    #[arg(long)]
    pub(super) skip_damaged: bool,
    /// File for the rows [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Rows of a table; 0 for all
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(super) rows: usize,
    #[command(flatten)]
    pub(super) resources: Resources,
}

/// Format of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people.
    #[default]
    Table,
    /// Comma separated values.
    Csv,
    /// An array of objects.
    Json,
    /// A Parquet file.
    Parquet,
}

fn parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}
