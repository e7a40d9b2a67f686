//! What came out: for each gate, whether it passes, and why.

use heaplake_kit::text::{count, size};
use heaplake_schemas::comparison::Missed;
use serde::Serialize;

/// What came of all gates.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verdicts {
    /// What was compared with.
    pub base: Side,
    /// What was compared.
    pub target: Side,
    /// A verdict for each gate, in the order of the gates.
    pub gates: Vec<Verdict>,
    /// The classes that grew most, or what the comparison has in place of classes; at most ten.
    pub grew: Vec<Found>,
    /// Runs that the sides name, or may name, and that no gate has seen.
    pub missed: Vec<Missed>,
}

impl Verdicts {
    /// Whether all gates pass, and saw all runs.
    #[must_use]
    pub fn pass(&self) -> bool {
        self.missed.is_empty() && !self.fail()
    }

    /// Whether a gate does not pass.
    #[must_use]
    pub fn fail(&self) -> bool {
        self.gates.iter().any(|gate| gate.outcome != Outcome::Passed)
    }

    /// How many gates came out so.
    #[must_use]
    pub fn with(&self, outcome: Outcome) -> usize {
        self.gates.iter().filter(|gate| gate.outcome == outcome).count()
    }
}

/// A side of the comparison, in brief.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Side {
    /// As the user named it.
    pub selection: String,
    /// Number of its runs.
    pub runs: u64,
}

/// Whether a gate lets the comparison pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its condition is true of no row.
    Passed,
    /// Its condition is true of a row.
    Failed,
    /// The comparison does not have its table, or has it without some runs, so that nobody knows.
    Unknown,
    /// Its condition is true of no row, but of some it cannot be decided: it asks for a statistic, and there are too few
    /// runs for one.
    Undecided,
}

/// What came of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Name of the gate.
    pub name: String,
    /// Name of its table, without `diff_`.
    pub table: String,
    /// Its condition, as it was written.
    pub expression: String,
    /// What its author says to whom it fails.
    pub message: Option<String>,
    /// Whether it passes.
    pub outcome: Outcome,
    /// Rows of the table.
    pub rows: u64,
    /// Runs without which the table is compared, though others of their side have it: they lack it, or only one side has
    /// their format.
    pub lacking: u64,
    /// Rows that it watches: of which the parts of its condition that are about texts alone are true.
    pub watched: u64,
    /// Rows of which its condition is true.
    pub failing: u64,
    /// Rows that it watches of which its condition is neither true nor false, because a number is not there.
    pub undecided: u64,
    /// The first of the rows of which its condition is true, in the order of the table; at most twenty.
    pub found: Vec<Found>,
    /// What growth it could have seen; nothing where the comparison has no statistics.
    pub sensitivity: Option<Sensitivity>,
}

/// What growth of a measure the runs could have shown, among the rows that a gate watches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// The measure.
    pub measure: &'static str,
    /// Rows that are watched and have the statistic.
    pub rows: u64,
    /// Half of these rows would have shown such a growth, or a smaller one.
    pub median: f64,
    /// All of them would have.
    pub greatest: f64,
    /// Half of these rows would have shown such a growth on a tenth of the runs of the target; nothing if none would.
    pub on_tenth: Option<f64>,
}

/// A row of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// What it is, for people.
    pub subject: String,
    /// What it is, the same in every run.
    pub signature: String,
    /// What became of it.
    pub status: String,
    /// The measure of which the numbers are.
    pub measure: &'static str,
    /// The measure in the base, in the mean of the runs.
    pub base: Option<i64>,
    /// The measure in the target, likewise.
    pub target: Option<i64>,
    /// What the runs of the target have more than as many of the base.
    pub delta: Option<i64>,
    /// The same in percent of the base; infinite where the base has nothing.
    pub percent: Option<f64>,
    /// Probability of such a difference by chance, corrected.
    pub q: Option<f64>,
    /// Hosts of the target, or runs, on which it changed.
    pub changed_on: Option<i64>,
    /// Runs of the target.
    pub of: i64,
    /// Of a class, the chain that grew most.
    pub grew_through: Option<String>,
}

/// A value of a measure: bytes in units, or a number. An infinite one is said in words.
#[must_use]
pub fn quantity(measure: &str, value: f64) -> String {
    if !value.is_finite() {
        return "any size".to_owned();
    }
    let whole = value.abs().round() as u64;
    let text = if measure.ends_with("bytes") { size(whole) } else { count(whole) };
    if value < 0.0 { format!("-{text}") } else { text }
}

/// The same of a difference, with its sign.
#[must_use]
pub fn change(measure: &str, value: i64) -> String {
    let sign = if value > 0 { "+" } else { "" };
    format!("{sign}{}", quantity(measure, value as f64))
}

/// A part in percent; where the base has nothing, in words.
#[must_use]
pub fn percent(percent: f64) -> String {
    if percent.is_infinite() { "new".to_owned() } else { format!("{percent:+.1} %") }
}

impl Found {
    /// What became of it, and on how many runs if not on all.
    #[must_use]
    pub fn became(&self) -> String {
        match self.changed_on {
            Some(on) if on < self.of && (self.status.ends_with("_some") || self.status.ends_with("_on")) => {
                format!("{} ({on} of {})", self.status, self.of)
            }
            _ => self.status.clone(),
        }
    }
}

impl Verdict {
    /// What came out, in one line.
    #[must_use]
    pub fn headline(&self) -> String {
        match self.outcome {
            Outcome::Passed => format!("none of {} rows", count(self.rows)),
            Outcome::Failed => format!("{} of {} rows", count(self.failing), count(self.rows)),
            Outcome::Unknown => self.unknown(),
            Outcome::Undecided => format!("undecided of {} of {} rows", count(self.undecided), count(self.rows)),
        }
    }

    fn unknown(&self) -> String {
        match self.lacking {
            0 => format!("the comparison has no table {}: a side lacks it", self.table),
            1 => format!("not seen: {} is compared without 1 run", self.table),
            runs => format!("not seen: {} is compared without {} runs", self.table, count(runs)),
        }
    }

    /// What a reader must know to trust it, a clause each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.outcome == Outcome::Unknown {
            return vec![self.unknown()];
        }
        if self.watched == 0 && self.rows > 0 {
            remarks.push("it watches no row: check its texts and patterns".to_owned());
        }
        if self.undecided > 0 {
            let (undecided, watched) = (count(self.undecided), count(self.watched));
            let why = match self.outcome {
                Outcome::Undecided => {
                    "there are too few runs for a statistic that it asks for: compare more runs, or ask for status"
                }
                _ => "a number is null",
            };
            remarks.push(format!("of {undecided} of the {watched} rows that it watches, it cannot be decided: {why}"));
        }
        match &self.sensitivity {
            Some(Sensitivity { measure, rows, median, greatest, on_tenth }) if self.outcome == Outcome::Passed => {
                let (median, greatest) = (quantity(measure, *median), quantity(measure, *greatest));
                let (rows, measure) = (count(*rows), measure.replace('_', " "));
                let on_tenth = on_tenth.map_or_else(
                    || "; a growth of a tenth of the hosts would not".to_owned(),
                    |effect| format!("; half of them one of {} on a tenth of the hosts", quantity(&measure, effect)),
                );
                remarks.push(format!(
                    "of the {rows} rows that it watches, half would show a growth of {median} in {measure} on all hosts, all one of {greatest}{on_tenth}"
                ));
            }
            None if self.watched > 0 => remarks.push("no statistics: a side has too few runs".to_owned()),
            _ => {}
        }
        remarks
    }
}
