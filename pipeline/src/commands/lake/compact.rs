//! `heaplake lake compact`: packs the small tables of many runs into few files.

use super::choosing::{Choosing, Period};
use crate::commands::batch::stopped_by_signals;
use crate::commands::cataloguing::Cataloguing;
use crate::commands::choices::Effort;
use crate::diagnostic::{Diagnostic, Done, Exit};
use crate::engine::workplace;
use crate::print::{self, lake as text};
use crate::progress::{Display, Mode};
use clap::Args;
use heaplake_kit::storage;
use heaplake_lake::place;
use heaplake_lake::upkeep::choice::{refuse_other, refuse_run};
use heaplake_lake::upkeep::compact;
use std::path::PathBuf;

const MORE: &str = "\
Examples:
  heaplake lake compact lake
  heaplake lake compact lake --until 2026-11-22
  duckdb -c \"SELECT release, sum(shallow_bytes) FROM 'lake/tables/classes/**/*.parquet' GROUP BY ALL\"

The tables of the runs of a release and day (UTC), except nodes, edges and those above 4 MiB, become one file per table: \
 tables/TABLE/release=R/night=DAY/TABLE-VERSION.parquet, with the same rows and signed numbers. Hive, Spark, Trino, \
 Athena and DuckDB read the folder of a table as a table. Every command reads packed runs as before; drop removes their \
 rows. Each pack is compared with its sources before their files go, and a killed command leaves every run whole: the \
 next one does the rest. In an object store, a pack is replaced by a conditional put: of two commands that write one \
 pack at a time, one fails, and can be run again. A run that another process is making stays as it is. Runs that were packed before stay so.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake lake compact lake", after_long_help = MORE)]
pub(crate) struct Arguments {
    /// The lake: the --out folder of analyze
    #[arg(value_name = "LAKE")]
    lake: PathBuf,
    #[command(flatten)]
    choosing: Choosing,
    #[command(flatten)]
    period: Period,
    #[command(flatten)]
    effort: Effort,
    /// Print errors only
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
    /// Print the outcome as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Packs the runs. Those that stay as they are, are named.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let lake = &arguments.lake;
    refuse_run(lake).and_then(|()| refuse_other(lake)).map_err(Diagnostic::of_usage)?;
    let cancel = stopped_by_signals();
    workplace::sweep(lake, None);
    place::sweep(lake);
    let display = Display::new(Mode::choose(arguments.quiet || arguments.json), "lake");
    let context = arguments.effort.context(&display, &cancel);
    let passing = if storage::is_url(lake) { Some(workplace::passing(None)?) } else { None };
    let scratch = passing.as_ref().map_or(lake.as_path(), |passing| passing.path());
    let compacted = compact::compact((lake, scratch), &arguments.period.choice(&arguments.choosing), &context)?;
    let mut catalogue = Cataloguing::new(None);
    compacted.places.iter().for_each(|place| catalogue.add_place(place.clone()));
    catalogue.write();
    if arguments.json || !arguments.quiet {
        print::answer(&compacted, arguments.json, text::compacted)?;
    }
    let mut code = 0;
    for (path, problem) in &compacted.kept {
        let cause = format!("{}: {problem}", path.display());
        let advice = "the run stays as it is; heaplake lake verify says whether it is whole";
        code = Diagnostic::failed(cause, advice).tell().max(Exit::Failed as u8);
    }
    Ok(code)
}
