//! Checks gates against the tables of a comparison.
//!
//! * Computes: for each gate the rows of which its condition is true, those of which it is neither true nor false, and
//!   the median and the greatest of the smallest effects among the rows that it watches.
//! * Resident memory: a batch of rows, twenty rows for each gate, and 8 bytes for each row that a gate watches, counted
//!   in the budget.
//! * Passes over disk: each table that has a gate once, and only the columns that its gates read.
//! * Worst case: rows times gates times what the expressions cost; regular expressions take linear time.
//! * Fails when: a table is damaged. A table that the comparison lacks is a verdict.
//! * Determinism: same tables, same bytes.

use super::Gates;
use super::parts::Gate;
use super::rows::{Bound, Shown};
use super::verdict::{Found, Outcome, Sensitivity, Side, Verdict, Verdicts};
use heaplake_kit::budget::BudgetVec;
use heaplake_kit::{Context, StageError, fs};
use heaplake_lake::reader::{Batch, Reader, damaged, value};
use heaplake_schemas::comparison::{self, Comparison, Lacking};
use heaplake_schemas::diff::{DiffTable, Status, TABLES};
use std::collections::BTreeSet;
use std::path::Path;

/// Rows of a verdict.
const FOUND: usize = 20;
/// Rows that grew most.
const GREW: usize = 10;

impl Gates {
    /// Checks all gates against the comparison in `folder`.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Table`], [`StageError::Budget`], [`StageError::Cancelled`].
    pub fn check(&self, folder: &Path, context: &Context<'_>) -> Result<Verdicts, StageError> {
        let comparison = read(folder)?;
        let mut verdicts: Vec<(usize, Verdict)> = Vec::new();
        for table in TABLES {
            let gates = self.gates().iter().enumerate().filter(|(_, gate)| gate.of.table.name == table.table.name);
            let (places, gates): (Vec<usize>, Vec<&Gate>) = gates.unzip();
            if !gates.is_empty() {
                verdicts.extend(places.into_iter().zip(check_table(folder, table, &gates, context)?));
            }
        }
        verdicts.iter_mut().for_each(|(_, verdict)| without(verdict, &comparison.lacking));
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

/// A gate whose table some runs lack has not seen these: it does not pass.
fn without(verdict: &mut Verdict, lacking: &[Lacking]) {
    let of_table = lacking.iter().filter(|lacking| lacking.table == verdict.table);
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
    gates: &[&Gate],
    context: &Context<'_>,
) -> Result<Vec<Verdict>, StageError> {
    let Some(reader) = Reader::open_if_present(&folder.join(table.table.file))? else {
        return Ok(gates.iter().map(|gate| verdict(gate, Outcome::Unknown)).collect());
    };
    let mut checks: Vec<Check<'_>> = gates.iter().map(|gate| Check::new(gate, context)).collect();
    let wanted: BTreeSet<&str> = checks.iter().flat_map(Check::columns).collect();
    let wanted: Vec<&str> = wanted.into_iter().collect();
    let mut batches = reader.columns(&wanted)?;
    while let Some(batch) = batches.batch()? {
        for check in &mut checks {
            context.check()?;
            check.batch(&batch)?;
        }
    }
    Ok(checks.into_iter().map(Check::verdict).collect())
}

/// A gate while its table is read.
struct Check<'a> {
    gate: &'a Gate,
    shown: Shown,
    /// Column of the smallest effects.
    effect: String,
    verdict: Verdict,
    effects: BudgetVec<f64>,
}

impl<'a> Check<'a> {
    fn new(gate: &'a Gate, context: &Context<'_>) -> Self {
        let shown = Shown::of(gate.of, gate.measure);
        let effects = context.budget.growing("smallest effects of a gate");
        let effect = format!("smallest_effect_{}", gate.measure);
        Self { gate, shown, effect, verdict: verdict(gate, Outcome::Passed), effects }
    }

    fn columns(&self) -> impl Iterator<Item = &str> {
        let read = self.gate.lowered.columns.iter().map(|column| column.name);
        read.chain(self.shown.columns()).chain([&*self.effect])
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), StageError> {
        let bound = Bound::of(&self.gate.lowered.columns, batch)?;
        let effects = batch.f64s(&self.effect)?;
        for at in 0..batch.len() {
            let row = bound.row(at);
            let is_watched = self.gate.chooses.iter().all(|part| part.of(&row) == Some(true));
            let value_of_row = self.gate.lowered.condition.of(&row);
            self.verdict.rows += 1;
            self.verdict.watched += u64::from(is_watched);
            self.verdict.undecided += u64::from(is_watched && value_of_row.is_none());
            if let Some(effect) = value(effects, at).filter(|effect| is_watched && !effect.is_nan()) {
                self.effects.push(effect)?;
            }
            if value_of_row == Some(true) {
                self.verdict.failing += 1;
                if self.verdict.found.len() < FOUND {
                    self.verdict.found.push(self.shown.read(batch, at)?);
                }
            }
        }
        Ok(())
    }

    fn verdict(mut self) -> Verdict {
        if self.verdict.failing > 0 {
            self.verdict.outcome = Outcome::Failed;
        }
        self.effects.sort_unstable_by(f64::total_cmp);
        let rows = self.effects.len();
        self.verdict.sensitivity = self.effects.last().map(|&greatest| Sensitivity {
            measure: self.gate.measure,
            rows: rows as u64,
            // Of an even number, the greater of the two in the middle: at least half of the rows show it.
            median: self.effects[rows / 2],
            greatest,
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

/// The first rows that grew, of the first table that the comparison has.
fn grew(folder: &Path) -> Result<Vec<Found>, StageError> {
    const GREW_STATUS: [Status; 3] = [Status::NewPath, Status::Appeared, Status::Grew];
    for table in TABLES {
        let Some(reader) = Reader::open_if_present(&folder.join(table.table.file))? else { continue };
        let shown = Shown::of(table, table.measures[0]);
        let columns: Vec<&str> = shown.columns().collect();
        // Rows that grew come first, but for those that shrank beyond doubt.
        let mut batches = reader.columns(&columns)?;
        let mut found = Vec::new();
        while let Some(batch) = batches.batch()? {
            let status = batch.texts("status")?;
            for at in 0..batch.len() {
                if GREW_STATUS.iter().any(|grew| grew.name() == status.value(at)) {
                    found.push(shown.read(&batch, at)?);
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
