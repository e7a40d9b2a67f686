//! Checks gates against the tables of a comparison.
//!
//! * Computes: for each gate the rows for which its condition is true, those for which it is undecided, and the median
//!   and maximum of the smallest effects among the rows that it watches.
//! * Resident memory: a batch of rows, twenty rows for each gate, and 8 bytes for each row that a gate watches, counted
//!   in the budget.
//! * Passes over disk: each table that has a gate once, and only the columns that its gates read.
//! * Worst case: rows times gates times the cost of the expressions; regular expressions take linear time.
//! * Fails when: a table is damaged. A table that the comparison lacks is a verdict.
//! * Determinism: same tables, same bytes.

use super::columns::Column;
use super::parts::Gate;
use super::rows::{Bound, Shown};
use super::verdict::{MatchedRow, Outcome, Sensitivity, Side, Verdict, Verdicts};
use super::{Gates, Undecided};
use crate::rollup::OF_WASTE;
use heaplake_kit::budget::BudgetVec;
use heaplake_kit::{Context, StageError, fs};
use heaplake_lake::reader::{Batch, Reader, damaged, value};
use heaplake_schemas::comparison::{self, Comparison, Lacking};
use heaplake_schemas::diff::{DiffTable, Status, TABLES};
use std::collections::BTreeSet;
use std::path::Path;

/// Maximum number of rows in a verdict.
const FOUND: usize = 20;
/// Number of most-grown rows listed.
const GREW: usize = 10;

impl Gates {
    /// Checks all gates against the comparison in `folder`.
    pub fn check(&self, folder: &Path, context: &Context<'_>) -> Result<Verdicts, StageError> {
        let comparison = read(folder)?;
        let mut verdicts: Vec<(usize, Verdict)> = Vec::new();
        for table in TABLES {
            let gates = self.gates().iter().enumerate().filter(|(_, gate)| gate.of.table.name == table.table.name);
            let (places, gates): (Vec<usize>, Vec<&Gate>) = gates.unzip();
            if !gates.is_empty() {
                verdicts.extend(places.into_iter().zip(check_table(folder, table, (&gates, self.undecided), context)?));
            }
        }
        for (place, verdict) in &mut verdicts {
            without(verdict, &self.gates()[*place], &comparison.lacking);
        }
        verdicts.sort_by_key(|(place, _)| *place);
        Ok(Verdicts {
            base: side(&comparison.base),
            target: side(&comparison.target),
            gates: verdicts.into_iter().map(|(_, verdict)| verdict).collect(),
            grew: grew(folder)?,
            missed: comparison.missed,
        })
    }
}

/// If the gate's table was compared without some runs, a pass becomes unknown: the gate has not seen them. A gate that
/// selects formats does not miss those of other formats.
fn without(verdict: &mut Verdict, gate: &Gate, lacking: &[Lacking]) {
    let chooses_formats = gate.lowered.columns.iter().any(|column| column.name == "format");
    let of_table = lacking
        .iter()
        .filter(|lacking| {
            lacking.table == verdict.table || (verdict.table == "clusters" && lacking.table == "findings")
        })
        .filter(|lacking| lacking.format.is_none() || !chooses_formats);
    verdict.lacking = of_table.map(|lacking| lacking.runs.len() as u64).sum();
    if verdict.lacking > 0 && verdict.outcome == Outcome::Passed {
        verdict.outcome = Outcome::Unknown;
    }
}

/// Reads `diff.json`.
fn read(folder: &Path) -> Result<Comparison, StageError> {
    let path = folder.join(comparison::FILE);
    let bytes = fs::read_at_most(&path, fs::LIST_BYTES).map_err(|error| StageError::io(&path, "read", error))?;
    serde_json::from_slice(&bytes).map_err(|error| damaged(&path, error))
}

fn side(side: &comparison::Side) -> Side {
    Side { selection: side.selection.clone(), runs: side.runs.len() as u64 }
}

/// Checks the gates of one table.
fn check_table(
    folder: &Path,
    table: &DiffTable,
    (gates, undecided): (&[&Gate], Undecided),
    context: &Context<'_>,
) -> Result<Vec<Verdict>, StageError> {
    let Some(reader) = Reader::open_if_present(&folder.join(table.table.file))? else {
        return Ok(gates.iter().map(|gate| verdict(gate, Outcome::Unknown)).collect());
    };
    let mut checks: Vec<Check<'_>> = gates.iter().map(|gate| Check::new(gate, context)).collect();
    let wanted: BTreeSet<&str> = checks.iter().flat_map(Check::columns).collect();
    let wanted: Vec<&str> = wanted.into_iter().collect();
    let mut batches = reader.in_groups(table.measures.len())?.columns(&wanted)?;
    while let Some(batch) = batches.batch()? {
        for check in &mut checks {
            context.check()?;
            check.batch(&batch)?;
        }
    }
    Ok(checks.into_iter().map(|check| check.verdict(undecided)).collect())
}

/// A gate during the scan of its table.
struct Check<'a> {
    gate: &'a Gate,
    shown: Shown,
    /// Position of its measure in the table.
    measure: usize,
    verdict: Verdict,
    /// Rows undecided because a statistic is null.
    without_statistic: u64,
    effects: BudgetVec<f64>,
    on_tenth: BudgetVec<f64>,
}

/// Column of findings that names the rule.
const RULE: &str = "rule";

/// Columns of the smallest effects on all runs and on a tenth of the runs.
const EFFECTS: [&str; 2] = ["smallest_effect", "smallest_effect_on_tenth"];

impl<'a> Check<'a> {
    fn new(gate: &'a Gate, context: &Context<'_>) -> Self {
        let effects = || context.budget.growing("smallest effects of a gate");
        Self {
            gate,
            shown: Shown::of(gate.of, gate.measure),
            measure: gate.of.measures.iter().position(|measure| *measure == gate.measure).unwrap_or(0),
            verdict: verdict(gate, Outcome::Passed),
            without_statistic: 0,
            effects: effects(),
            on_tenth: effects(),
        }
    }

    fn columns(&self) -> impl Iterator<Item = &str> {
        let read = self.gate.lowered.columns.iter().map(|column| column.name);
        let rule = Some(RULE).filter(|_| self.gate.clusters);
        read.chain(self.shown.columns()).chain(EFFECTS).chain(rule)
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), StageError> {
        let columns = &self.gate.lowered.columns;
        let measures = self.gate.of.measures.len();
        let bound = Bound::of(columns, batch)?;
        let [effects, on_tenth] = EFFECTS.map(|name| batch.f64s(name));
        let (effects, on_tenth) = (effects?, on_tenth?);
        let rules = if self.gate.clusters { Some(batch.texts(RULE)?) } else { None };
        for first in (0..batch.len()).step_by(measures) {
            if rules.is_some_and(|rules| OF_WASTE.contains(&rules.value(first))) {
                continue;
            }
            let row = |column: usize| bound.value(first, column);
            let is_watched = self.gate.chooses.iter().all(|part| part.holds(&row) == Some(true));
            let value_of_row = self.gate.lowered.condition.holds(&row);
            let lacks = |(at, column): (usize, &Column)| column.is_statistic() && row(at).is_none();
            let is_undecided = is_watched && value_of_row.is_none();
            self.verdict.rows += 1;
            self.verdict.watched += u64::from(is_watched);
            self.verdict.undecided += u64::from(is_undecided);
            self.without_statistic += u64::from(is_undecided && columns.iter().enumerate().any(lacks));
            for (column, kept) in [(effects, &mut self.effects), (on_tenth, &mut self.on_tenth)] {
                if let Some(effect) =
                    value(column, first + self.measure).filter(|effect| is_watched && !effect.is_nan())
                {
                    kept.push(effect)?;
                }
            }
            if value_of_row == Some(true) {
                self.verdict.failing += 1;
                if self.verdict.found.len() < FOUND {
                    self.verdict.found.push(self.shown.read(batch, first)?);
                }
            }
        }
        Ok(())
    }

    fn verdict(mut self, undecided: Undecided) -> Verdict {
        if self.verdict.failing > 0 {
            self.verdict.outcome = Outcome::Failed;
        } else if self.without_statistic > 0 && undecided == Undecided::Fail {
            self.verdict.outcome = Outcome::Undecided;
        }
        self.effects.sort_unstable_by(f64::total_cmp);
        self.on_tenth.sort_unstable_by(f64::total_cmp);
        let rows = self.effects.len();
        // Upper median: at least half of the rows show this effect.
        let middle = |effects: &[f64]| effects.get(effects.len() / 2).copied();
        self.verdict.sensitivity = self.effects.last().map(|&greatest| Sensitivity {
            measure: self.gate.measure,
            rows: rows as u64,
            median: self.effects[rows / 2],
            greatest,
            on_tenth: middle(&self.on_tenth),
        });
        self.verdict
    }
}

fn verdict(gate: &Gate, outcome: Outcome) -> Verdict {
    Verdict {
        name: gate.name.clone(),
        table: gate.table.to_owned(),
        expression: gate.expression.clone(),
        message: gate.message.clone(),
        outcome,
        rows: 0,
        lacking: 0,
        watched: 0,
        failing: 0,
        undecided: 0,
        found: Vec::new(),
        sensitivity: None,
    }
}

/// First subjects that grew, of the first table that the comparison has, without parts of others.
fn grew(folder: &Path) -> Result<Vec<MatchedRow>, StageError> {
    for table in TABLES {
        let Some(reader) = Reader::open_if_present(&folder.join(table.table.file))? else { continue };
        let shown = Shown::of(table, table.measures[0]);
        let columns: Vec<&str> = shown.columns().collect();
        // Growth ranks first, except for significant shrinking.
        let mut batches = reader.in_groups(table.measures.len())?.columns(&columns)?;
        let mut found = Vec::new();
        while let Some(batch) = batches.batch()? {
            let (statuses, parts) = (batch.texts("status")?, batch.u64s("part_of")?);
            for first in (0..batch.len()).step_by(table.measures.len()) {
                let status = Status::ALL.iter().find(|status| status.name() == statuses.value(first));
                if status.is_some_and(|status| status.is_growth()) && value(parts, first).is_none() {
                    found.push(shown.read(&batch, first)?);
                }
                if found.len() == GREW {
                    return Ok(found);
                }
            }
        }
        return Ok(found);
    }
    Ok(Vec::new())
}
