//! Verdicts: for each gate, whether it passes, and why.

use heaplake_kit::text::{count, size};
use heaplake_schemas::comparison::Missed;
use schemars::JsonSchema;
use serde::Serialize;

/// Verdicts of all gates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Verdicts {
    /// The base.
    pub base: Side,
    /// The target.
    pub target: Side,
    /// Verdicts in the order of the gates.
    pub gates: Vec<Verdict>,
    /// Classes that grew most, or subjects of another table if there are no classes; at most ten.
    pub grew: Vec<MatchedRow>,
    /// Selected runs, certain or possible, that no gate has seen.
    pub missed: Vec<Missed>,
}

impl Verdicts {
    /// Whether all gates pass and saw all runs.
    pub fn pass(&self) -> bool {
        self.missed.is_empty() && !self.fail()
    }

    /// Whether any gate does not pass.
    pub fn fail(&self) -> bool {
        self.gates.iter().any(|gate| gate.outcome != Outcome::Passed)
    }

    /// Number of gates with an outcome.
    pub fn with(&self, outcome: Outcome) -> usize {
        self.gates.iter().filter(|gate| gate.outcome == outcome).count()
    }
}

/// Summary of a side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Side {
    /// Selection as the user wrote it.
    pub selection: String,
    /// Number of runs.
    pub runs: u64,
}

/// Outcome of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// No row fails.
    Passed,
    /// A row fails.
    Failed,
    /// The comparison lacks the table, or compares it without some runs.
    Unknown,
    /// No row fails, but some are undecided: the gate uses a statistic and there are too few runs for it.
    Undecided,
}

/// Verdict of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// Name of the gate.
    pub name: String,
    /// Name of its table, without `diff_`.
    pub table: String,
    /// Condition as written.
    pub expression: String,
    /// The author's message for failures.
    pub message: Option<String>,
    /// Outcome.
    pub outcome: Outcome,
    /// Number of rows in the table.
    pub rows: u64,
    /// Number of runs not compared although others of their side are: they lack the table, or only one side has their
    /// format.
    pub lacking: u64,
    /// Number of watched rows: those for which the conjuncts on identity are true.
    pub watched: u64,
    /// Number of rows for which the condition is true.
    pub failing: u64,
    /// Number of watched rows for which the condition is null.
    pub undecided: u64,
    /// First failing rows, in table order; at most twenty.
    pub found: Vec<MatchedRow>,
    /// Growth it could have detected; `None` without statistics.
    pub sensitivity: Option<Sensitivity>,
}

/// Growth detectable among the rows that a gate watches.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sensitivity {
    /// Measure.
    pub measure: &'static str,
    /// Number of watched rows with the statistic.
    pub rows: u64,
    /// Smallest growth that would have shown in half of these rows.
    pub median: f64,
    /// Smallest growth that would have shown in all of them.
    pub greatest: f64,
    /// Smallest growth on a tenth of the target's runs that would have shown in half of these rows; `None` if none
    /// would.
    pub on_tenth: Option<f64>,
}

/// A row of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MatchedRow {
    /// Text for people.
    pub subject: String,
    /// Signature, equal in every run.
    pub signature: String,
    /// Status.
    pub status: String,
    /// Measure of the numbers below.
    pub measure: &'static str,
    /// Mean of the base's runs.
    pub base: Option<i64>,
    /// Mean of the target's runs.
    pub target: Option<i64>,
    /// Sum of the target minus the base's sum, scaled to the target's number of runs.
    pub delta: Option<i64>,
    /// `delta` in percent of the base; infinite if the base is 0.
    pub percent: Option<f64>,
    /// q-value: probability of such a difference by chance, corrected for multiple tests.
    pub q: Option<f64>,
    /// Number of target hosts (or runs) on which it changed.
    pub changed_on: Option<i64>,
    /// Number of target runs.
    pub of: i64,
    /// For a class, the chain that grew most.
    pub grew_through: Option<String>,
}

/// Formats a value of a measure: bytes with unit, or a count; "any size" if infinite.
pub fn quantity(measure: &str, value: f64) -> String {
    if !value.is_finite() {
        return "any size".to_owned();
    }
    let whole = value.abs().round() as u64;
    let text = if measure.ends_with("bytes") { size(whole) } else { count(whole) };
    if value < 0.0 { format!("-{text}") } else { text }
}

/// Formats a difference with its sign.
pub fn change(measure: &str, value: i64) -> String {
    let sign = if value > 0 { "+" } else { "" };
    format!("{sign}{}", quantity(measure, value as f64))
}

/// Formats a percentage; "new" if infinite.
pub fn percent(percent: f64) -> String {
    if percent.is_infinite() { "new".to_owned() } else { format!("{percent:+.1} %") }
}

impl MatchedRow {
    /// Status, with the number of hosts if not all changed.
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
    /// Outcome in one line.
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

    /// Caveats, one clause each.
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
