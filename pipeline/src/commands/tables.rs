//! `heaplake tables`: the tables that heaplake writes, and their columns.

use crate::diagnostic::{Diagnostic, Done};
use crate::print::{self, tables as text};
use clap::Args;
use heaplake_lake::nearest::{clause, nearest};
use heaplake_schemas::listing::listing;
use heaplake_schemas::tables;

const MORE: &str = "\
Examples:
  heaplake tables
  heaplake tables nodes
  heaplake tables --json | jq -r '.tables[].columns[].name'

docs/tables.md has the same with more words. Types are those of Arrow.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake tables nodes", after_long_help = MORE)]
pub(crate) struct Arguments {
    /// Print the columns of one table
    #[arg(value_name = "TABLE")]
    table: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints all tables, or one.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let wanted = arguments.table.as_deref();
    let answer = listing(wanted);
    if let (Some(name), true) = (wanted, answer.tables.is_empty()) {
        return Err(unknown(name));
    }
    print::answer(&answer, arguments.json, |answer, look| match wanted {
        Some(_) => answer.tables.iter().map(|table| text::table(table, look)).collect(),
        None => text::list(answer, look),
    })
}

fn unknown(name: &str) -> Diagnostic {
    let names = tables::ALL.iter().map(|table| table.name.to_owned());
    let near = clause(&nearest(name, names));
    Diagnostic::usage(format!("there is no table {name:?}{near}"), "heaplake tables lists all")
}
