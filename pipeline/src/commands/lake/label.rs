//! `heaplake lake label`: changes the labels of runs.

use super::choosing::{Choosing, Period, names};
use crate::commands::cataloguing::Cataloguing;
use crate::commands::choices::{label, pattern};
use crate::diagnostic::{Diagnostic, Done};
use crate::engine::workplace;
use crate::print::{self, lake as text};
use clap::Args;
use heaplake_kit::{StageError, storage};
use heaplake_lake::place;
use heaplake_lake::upkeep::choice::{Choice, refuse_run};
use heaplake_lake::upkeep::label::{self, Change, Outcome, Plan, Planned};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

const MORE: &str = "\
Examples:
  heaplake lake label lake --release 2.4.1 --set stage=canary --yes
  heaplake lake label lake 'web7-*' --set host=web7 --remove hots --yes
  heaplake lake label lake '*' --since 2026-11-22 --until 2026-11-22 --set night=2026-11-22

Without --yes it prints which labels would change, and changes nothing. All conditions must hold; at least one must be \
 given. A RUN is a name, a glob pattern of names, or the path of a run.

Only run.json changes, and its seal: a killed command leaves the old labels of a run or the new ones. A run that another \
 process is making stays as it is, with exit code 1. Analysing the input of a run again with other labels than it has \
 now is an error without --force. A rollup reads a run with other labels anew.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake lake label lake --release 2.4.1 --set stage=canary", after_long_help = MORE)]
pub(crate) struct Arguments {
    /// The lake: the --out folder of analyze
    #[arg(value_name = "LAKE")]
    lake: PathBuf,
    /// Only these runs: names, patterns of names, or paths
    #[arg(value_name = "RUN", value_parser = pattern)]
    runs: Vec<String>,
    /// Set a label; may be given again
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    set: Vec<(String, String)>,
    /// Remove a label; may be given again
    #[arg(long, value_name = "KEY")]
    remove: Vec<String>,
    /// Change them: without it, nothing is changed
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    choosing: Choosing,
    #[command(flatten)]
    period: Period,
    /// Print errors only
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
    /// Print the outcome as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Arguments {
    /// Which runs, and which change. Fails without one of them, or for a label that is both set and removed.
    fn wish(&self) -> Result<(Choice, Change), Diagnostic> {
        let usage =
            |problem: &str, advice: &str| Err(Diagnostic::usage(format!("{}: {problem}", self.lake.display()), advice));
        let names = names(&self.runs, &self.lake);
        let choice = Choice { names, ..self.period.choice(&self.choosing) };
        let change = Change { set: self.set.iter().cloned().collect(), remove: self.remove.iter().cloned().collect() };
        if change.set.is_empty() && change.remove.is_empty() {
            return usage("nothing says which labels are to change", "give --set KEY=VALUE or --remove KEY");
        }
        if choice.is_empty() {
            let advice = "name runs ('*' is all), or give --release, --label, --since or --until";
            return usage("nothing says which runs are to change", advice);
        }
        match change.remove.iter().find(|name| change.set.contains_key(*name)) {
            Some(name) => usage(&format!("the label {name} is both set and removed"), "leave one of the two out"),
            None => Ok((choice, change)),
        }
    }
}

/// Changes the labels, or lists the changes.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let lake = &arguments.lake;
    refuse_run(lake).map_err(Diagnostic::of_usage)?;
    let (choice, change) = arguments.wish()?;
    if arguments.yes {
        workplace::sweep(lake, None);
        if storage::is_url(lake) {
            place::sweep(lake);
        }
    }
    let mut plan = label::plan(lake, &choice, &change)?;
    if let Some(unmet) = &plan.unmet {
        return Err(Diagnostic::usage(format!("{}: {unmet}", lake.display()), "heaplake ls LAKE lists the runs"));
    }
    let exit = if arguments.yes { carry_out(&mut plan) } else { 0 };
    let report = Report { dry_run: !arguments.yes, plan };
    if arguments.json {
        print::json(&report)?;
    } else if !arguments.quiet {
        print::answer(&report.plan, false, |plan, look| text::labelled(plan, report.dry_run, look))?;
    }
    Ok(exit)
}

/// Changed runs, or candidates.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LabelReport")]
pub(crate) struct Report {
    dry_run: bool,
    #[serde(flatten)]
    plan: Plan,
}

/// Changes one run after the other, reports failures and goes on; returns the exit code.
fn carry_out(plan: &mut Plan) -> u8 {
    let (mut exit, mut catalogue) = (0, Cataloguing::new(None));
    for run in &mut plan.runs {
        match label::carry_out(run).and_then(|outcome| allowed(run, outcome)) {
            Ok(()) => {
                run.changed = true;
                catalogue.add_place(run.path.clone());
            }
            Err(error) => exit = exit.max(Diagnostic::from(error).tell()),
        }
    }
    catalogue.write();
    exit
}

/// Refuses an outcome that leaves the labels as they were.
fn allowed(run: &Planned, outcome: Outcome) -> Result<(), StageError> {
    let refused = |problem: &str, advice: &str| {
        let problem = format!("{}: {problem}", run.path.display());
        Err(StageError::Refused { problem, advice: advice.to_owned() })
    };
    match outcome {
        Outcome::Labelled => Ok(()),
        Outcome::Busy => refused("another heaplake is making this run, so it stays", "wait until it is done"),
        Outcome::Changed => {
            refused("another run stands here by now, or none, so nothing is changed", "run the same command again")
        }
    }
}
