//! Gates of a comparison: options, early errors, verdicts.

use crate::diagnostic::Diagnostic;
use clap::{Args, ValueEnum};
use heaplake_compare::gates::junit::junit;
use heaplake_compare::gates::markdown::markdown;
use heaplake_compare::gates::{GateError, Gates, Side, Undecided, Verdicts};
use heaplake_kit::{Context, StageError};
use heaplake_lake::output_file;
use heaplake_schemas::comparison::Missed;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Environment variable of GitHub: file that collects the summary of a step.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Options of commands that check gates.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Gates")]
pub struct GateArguments {
    /// End with 4 if this holds for a row; may be given again
    ///
    /// Such as 'q < 0.05 and retained_bytes.delta > 1MiB'. The expression is a condition over the rows of one table of
    /// the comparison: classes, or the table named before a colon, as in 'chains: share > 0.5'. docs/gates.md has the
    /// syntax.
    #[arg(long, value_name = "[TABLE:]EXPRESSION")]
    pub fail_if: Vec<String>,
    /// File of gates, in TOML
    #[arg(long, value_name = "FILE")]
    pub gates: Option<PathBuf>,
    /// Outcome of undecided gates
    ///
    /// A gate is undecided if it asks for q, p or the like, and there are too few runs for that.
    #[arg(long, value_enum, value_name = "fail|pass", default_value = "fail", hide_possible_values = true)]
    pub undecided: WhenUndecided,
    /// Write the verdicts as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the verdicts and the largest growth as Markdown
    ///
    /// Appends to $GITHUB_STEP_SUMMARY, replaces other files.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
}

/// Outcome of an undecided gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum WhenUndecided {
    /// It does not pass.
    #[default]
    Fail,
    /// It passes.
    Pass,
}

impl GateArguments {
    /// Parses the gates before the work; an error points into the expression.
    pub fn parse(&self) -> Result<Gates, Diagnostic> {
        let written = Gates::parse_expressions(&self.fail_if).map_err(diagnostic)?;
        let gates = match &self.gates {
            Some(file) => Gates::from_toml(file).and_then(|gates| gates.and(written)).map_err(diagnostic)?,
            None => written,
        };
        if gates.is_empty() && self.gates.is_none() && self.junit.is_some() {
            return Err(Diagnostic::usage("--junit: there is no gate", "add --fail-if EXPRESSION, or --gates FILE"));
        }
        Ok(gates.when_undecided(match self.undecided {
            WhenUndecided::Fail => Undecided::Fail,
            WhenUndecided::Pass => Undecided::Pass,
        }))
    }

    /// Whether there are gates or verdict files.
    pub fn wants_verdicts(&self) -> bool {
        !self.fail_if.is_empty() || self.gates.is_some() || self.markdown.is_some()
    }

    /// Refuses, as a usage error, files that cannot be written.
    pub fn check_files(&self) -> Result<(), Diagnostic> {
        let mut files = [&self.junit, &self.markdown].into_iter().flatten();
        files.try_for_each(|file| output_file::check(file)).map_err(Diagnostic::of_usage)
    }

    /// Checks the gates against the comparison in `folder` and writes the requested files. A failed gate is no error.
    pub fn check(&self, gates: &Gates, folder: &Path, context: &Context<'_>) -> Result<Verdicts, Diagnostic> {
        let verdicts = gates.check(folder, context)?;
        self.write(&verdicts, context.cancel)?;
        Ok(verdicts)
    }

    /// Writes the failure of a comparison as an error in place of verdicts, so that nobody mistakes the files of an
    /// earlier comparison for these. Ignores files that cannot be written.
    pub fn write_failure(&self, sides: [&str; 2], failure: &Diagnostic, cancel: &AtomicBool) {
        let missed = vec![Missed { path: sides.join(" and ").into(), problem: failure.cause.clone() }];
        let [base, target] = sides.map(|side| Side { selection: side.to_owned(), runs: 0 });
        let _ = self.write(&Verdicts { base, target, missed, ..Verdicts::default() }, cancel);
    }

    fn write(&self, verdicts: &Verdicts, cancel: &AtomicBool) -> Result<(), Diagnostic> {
        if let Some(file) = &self.junit {
            let text = junit(verdicts).map_err(|error| StageError::io(file, "write", error))?;
            output_file::write(file, text.as_bytes(), cancel)?;
        }
        if let Some(file) = &self.markdown {
            let write = if is_summary(file) { output_file::append } else { output_file::write };
            write(file, markdown(verdicts).as_bytes(), cancel)?;
        }
        Ok(())
    }
}

fn diagnostic(error: GateError) -> Diagnostic {
    Diagnostic::usage(error.cause, error.advice)
}

/// Whether a file is the one that collects the summary of a step.
fn is_summary(file: &Path) -> bool {
    let Some(summary) = env::var_os(STEP_SUMMARY).map(PathBuf::from) else { return false };
    summary == file || summary.canonicalize().is_ok_and(|summary| file.canonicalize().is_ok_and(|file| summary == file))
}
