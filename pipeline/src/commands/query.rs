//! `heaplake query`: the objects of a run that pass a filter.

use super::batch::stopped_by_signals;
use super::choices::run_named;
use super::outputs;
use crate::diagnostic::{Diagnostic, Done};
use crate::print::{self, query as text};
use clap::Args;
use heaplake_lake::output_file;
use heaplake_query::filter::{self, Query, Wrong};
use heaplake_query::{Asked, QueryError};
use std::path::PathBuf;

const MORE: &str = "\
Examples:
  heaplake query RUN 'class ~ \"^com.shop\" and retained > 1MB and path contains \"cache\"'
  heaplake query RUN 'class = \"java.lang.String\" and length > 10_000' -n 50
  heaplake query RUN 'detached and dominated by (class = \"Window\")' --columns node,class,retained,path
  heaplake query RUN 'kind = \"string\" group by name order by sum(shallow) desc'
  heaplake query RUN 'references any (class ~ \"Socket\") and not reachable' --json
  heaplake query RUN 'owner = \"@acme/pricing\"' --out objects.csv
  heaplake query --terms

A filter compares terms with values: = != < <= > >=, ~ and !~ (regular expression), contains, starts with, ends with, in (…), is null; \
 and, or, not, and parentheses. Sizes have units: 1MB is 1,000,000 bytes, 1MiB is 1,048,576. After the filter: select COLUMNS, \
 group by TERMS, order by TERM desc, limit N. docs/query.md has the grammar.";

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake query RUN 'class ~ \"^com.shop\" and retained > 1MB'",
    after_long_help = MORE
)]
pub(crate) struct Arguments {
    /// Folder of a run, or LAKE/NAME with the beginning of its name
    #[arg(value_name = "RUN", value_parser = run_named(), required_unless_present = "terms")]
    run: Option<PathBuf>,
    /// The objects: a filter, and clauses that group, order and limit them
    ///
    /// Without a filter, all objects.
    #[arg(value_name = "FILTER", default_value = "", hide_default_value = true)]
    filter: String,
    /// Number of rows
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: Option<u32>,
    /// Order of the rows, as in order by: 'retained desc'
    #[arg(long, value_name = "KEYS")]
    sort: Option<String>,
    /// Columns to show, as in select: node,class,retained
    #[arg(long, value_name = "COLUMNS")]
    columns: Option<String>,
    /// List the terms of filters
    #[arg(long, exclusive = true)]
    terms: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// File for the rows, as CSV
    ///
    /// Writes all rows that match, unless -n or limit say how many, up to 1,000,000.
    #[arg(long, value_name = "FILE.csv", conflicts_with = "json")]
    out: Option<PathBuf>,
}

/// Rows without `-n` and `limit`.
const ROWS: u32 = 20;
/// Rows of a file without them.
const ROWS_OF_FILE: u32 = 1_000_000;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let Some(run) = arguments.run.as_deref().filter(|_| !arguments.terms) else {
        return Ok(print::text(&text::terms()));
    };
    outputs::check(&[("--out", arguments.out.as_deref())], || vec![("RUN", run)])?;
    arguments.out.iter().try_for_each(|file| output_file::check_in_folder(file)).map_err(Diagnostic::of_usage)?;
    let query = query(arguments)?;
    let most = match (query.limit, &arguments.out) {
        (Some(limit), _) => limit,
        (None, Some(_)) => ROWS_OF_FILE,
        (None, None) => ROWS,
    };
    let answer = filter::ask(&Asked::open(run)?, &query, 0, most as usize)?;
    match &arguments.out {
        None => print::answer(&answer, arguments.json, text::answer),
        Some(file) => {
            output_file::write(file, text::csv(&answer).as_bytes(), &stopped_by_signals())?;
            // A pipe or a device gets the rows only: it may be standard output.
            Ok(if file.is_file() { print::text(&text::written(&answer, file)) } else { 0 })
        }
    }
}

/// The query of the filter and the options, which replace its clauses.
fn query(arguments: &Arguments) -> Result<Query, Diagnostic> {
    let mut query = Query::parse(&arguments.filter).map_err(wrong)?;
    let of_option = |option: &'static str| {
        move |error: Wrong| {
            let diagnostic = wrong(error);
            Diagnostic { cause: diagnostic.cause.replacen("the filter", option, 1), ..diagnostic }
        }
    };
    if let Some(columns) = &arguments.columns {
        query.select = Query::columns(columns).map_err(of_option("--columns"))?;
    }
    if let Some(keys) = &arguments.sort {
        query.order_by = Query::keys(keys).map_err(of_option("--sort"))?;
    }
    query.limit = arguments.count.or(query.limit);
    Ok(query)
}

fn wrong(error: Wrong) -> Diagnostic {
    QueryError::from(error).into()
}
