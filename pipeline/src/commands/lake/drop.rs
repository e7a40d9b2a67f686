//! `heaplake lake drop`: removes runs from a lake.

use super::choosing::{Choosing, ago, names};
use crate::commands::batch::stopped_by_signals;
use crate::commands::choices::pattern;
use crate::diagnostic::{Diagnostic, Done};
use crate::engine::workplace;
use crate::print::{self, lake as text};
use clap::Args;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, StageError, storage};
use heaplake_lake::place;
use heaplake_lake::upkeep::choice::{Choice, refuse_run};
use heaplake_lake::upkeep::drop::{self, Chosen, Outcome, Plan, Wish};
use heaplake_lake::upkeep::keep::{Keep, Per};
use heaplake_lake::upkeep::prune;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const MORE: &str = "\
Examples:
  heaplake lake drop lake release=2.4.0/snapshot=leaking-3f9041a9 --yes
  heaplake lake drop lake 'nightly-*' --release '2.3.*'
  heaplake lake drop lake --keep-last 5 --per host --older-than 30d --yes

Without --yes it prints which runs would go, and changes nothing. All conditions must hold; at least one must be given. A \
 RUN is a name, a glob pattern of names, or the path of a run. --keep-last keeps the runs that were captured last, of those \
 that RUN, --release and --label mean; a run that does not say when it was captured stays, where that matters.

A run vanishes in one step, and a killed drop leaves the run, or what the next command removes. A run that another \
 process is making stays, with exit code 1.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake lake drop lake --older-than 30d", after_long_help = MORE)]
pub(crate) struct Arguments {
    /// The lake: the --out folder of analyze
    #[arg(value_name = "LAKE")]
    lake: PathBuf,
    /// Only these runs: names, patterns of names, or paths
    #[arg(value_name = "RUN", value_parser = pattern)]
    runs: Vec<String>,
    /// Drop them: without it, nothing is changed
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    choosing: Choosing,
    /// Keep the last N runs of each release, or of --per
    #[arg(long, value_name = "N", help_heading = "Which runs")]
    keep_last: Option<usize>,
    /// Unit of --keep-last: release, or a label
    ///
    /// Runs without the label stay.
    #[arg(long, value_name = "release|LABEL", requires = "keep_last", help_heading = "Which runs")]
    per: Option<String>,
    /// Only runs captured longer ago: 12h, 30d, 8w
    #[arg(long, value_name = "AGE", value_parser = ago, help_heading = "Which runs")]
    older_than: Option<i64>,
    /// Print errors only
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
    /// Print the outcome as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Arguments {
    fn wish(&self) -> Wish {
        let per = match self.per.as_deref() {
            None | Some("release") => Per::Release,
            Some(label) => Per::Label(label.to_owned()),
        };
        let names = names(&self.runs, &self.lake);
        Wish {
            choice: Choice { selection: self.choosing.selection(), names, ..Choice::default() },
            before: self.older_than,
            keep: self.keep_last.map(|last| Keep { last, per }),
        }
    }
}

/// Drops the runs, or lists them. Fails without a condition, or if a name matches no run.
pub(crate) fn run(arguments: &Arguments) -> Done {
    refuse_run(&arguments.lake).map_err(Diagnostic::of_usage)?;
    let wish = arguments.wish();
    if wish.is_empty() {
        let cause = format!("{}: nothing says which runs are to go", arguments.lake.display());
        return Err(Diagnostic::usage(
            cause,
            "name runs ('*' is all), or give --release, --label, --older-than or --keep-last",
        ));
    }
    if arguments.yes {
        workplace::sweep(&arguments.lake, None);
        if storage::is_url(&arguments.lake) {
            place::sweep(&arguments.lake);
        }
    }
    let mut plan = drop::plan(&arguments.lake, &wish)?;
    if let Some(unmet) = &plan.unmet {
        let cause = format!("{}: {unmet}", arguments.lake.display());
        return Err(Diagnostic::usage(cause, "heaplake ls LAKE lists the runs"));
    }
    let exit = if arguments.yes { carry_out(&mut plan) } else { 0 };
    let pruned = prune(&plan);
    let report = Report { dry_run: !arguments.yes, plan };
    if arguments.json {
        print::json(&report)?;
    } else if !arguments.quiet {
        print::answer(&report.plan, false, |plan, look| text::dropped(plan, report.dry_run, look))?;
    }
    pruned?;
    Ok(exit)
}

/// Dropped runs, or candidates.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DropReport")]
pub(crate) struct Report {
    dry_run: bool,
    #[serde(flatten)]
    plan: Plan,
}

/// Drops the runs one after the other, reports failures and goes on; returns the exit code.
fn carry_out(plan: &mut Plan) -> u8 {
    let mut exit = 0;
    for run in &mut plan.runs {
        match drop::carry_out(run).and_then(|outcome| allowed(run, outcome)) {
            Ok(()) => run.dropped = true,
            Err(error) => exit = exit.max(Diagnostic::from(error).tell()),
        }
    }
    exit
}

/// Removes the rows of dropped runs from the packs of their nights.
fn prune(plan: &Plan) -> Result<(), StageError> {
    let mut nights: BTreeMap<&Path, BTreeSet<(String, String)>> = BTreeMap::new();
    for run in plan.runs.iter().filter(|run| run.dropped) {
        if let Some(night) = &run.night {
            nights.entry(&run.lake).or_default().insert((run.release.clone(), night.clone()));
        }
    }
    if nights.is_empty() {
        return Ok(());
    }
    let cancel = stopped_by_signals();
    let context = Context { budget: Budget::new(0), threads: 1, progress: &Silent, cancel: &cancel };
    for (lake, nights) in &nights {
        let passing = if storage::is_url(lake) { Some(workplace::passing(None)?) } else { None };
        let scratch = passing.as_ref().map_or(*lake, |passing| passing.path());
        prune::partitions((lake, scratch), nights, &context)?;
    }
    Ok(())
}

/// Refuses an outcome that leaves the run in place.
fn allowed(run: &Chosen, outcome: Outcome) -> Result<(), StageError> {
    let refused = |problem: &str, advice: &str| {
        let problem = format!("{}: {problem}", run.path.display());
        Err(StageError::Refused { problem, advice: advice.to_owned() })
    };
    match outcome {
        Outcome::Dropped | Outcome::Gone => Ok(()),
        Outcome::Busy => refused("another heaplake is making this run, so it stays", "wait until it is done"),
        Outcome::Changed => {
            refused("another run stands here by now, so it stays", "look at it with heaplake show, and drop again")
        }
    }
}
