//! Gates: conditions under which a comparison fails a build.
//!
//! A gate is an expression over the rows of one table of a comparison. It fails if the expression is true for a row.
//!
//! * [`Gates::parse_expressions`] and [`Gates::from_toml`] read gates and check them against the columns of their
//!   table, so that all errors come before the work: syntax, unknown columns, types, regular expressions.
//! * [`Gates::check`] scans each table once and returns [`Verdicts`]: for each gate the failing rows, in table order,
//!   and the growth it could have detected.
//! * [`junit`] and [`markdown`] write verdicts for build servers.
//!
//! Expressions are SQL conditions: [`syntax`] parses them with the parser of Apache DataFusion, [`lower`] types them,
//! [`expression`] evaluates them. A comparison with a null is null, and so is its `not`; so a gate never fails because
//! of a missing number. The verdict counts the rows left undecided by nulls.

mod check;
mod columns;
mod error;
mod expression;
mod file;
pub mod junit;
mod lower;
pub mod markdown;
mod parts;
mod rows;
mod syntax;
mod verdict;

#[cfg(test)]
mod tests;

pub use error::GateError;
pub use parts::Gate;
pub use verdict::{MatchedRow, Outcome, Sensitivity, Side, Verdict, Verdicts, change, percent, quantity};

use std::path::Path;

/// Maximum number of gates.
const MOST: usize = 1000;

/// Outcome of a gate whose statistic is null because there are too few runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undecided {
    /// The gate does not pass.
    #[default]
    Fail,
    /// The gate passes.
    Pass,
}

/// The gates of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    gates: Vec<Gate>,
    undecided: Undecided,
}

impl Gates {
    /// Parses gates of the command line: `[TABLE:]EXPRESSION`, by default on `classes`. The text is also the gate's
    /// name.
    ///
    /// # Errors
    /// [`GateError`] for the first gate that cannot be used.
    pub fn parse_expressions(expressions: &[String]) -> Result<Self, GateError> {
        let gates = expressions.iter().map(|written| Gate::parse(written)).collect::<Result<_, _>>()?;
        Self { gates, ..Self::default() }.bounded()
    }

    /// Reads gates from a file:
    ///
    /// ```toml
    /// [[gate]]
    /// name = "chains do not grow"     # must differ from the other names
    /// table = "chains"                # classes, if it is left out
    /// fail_if = "retained_bytes.delta > 10MiB and q < 0.05"
    /// message = "look at the page of the comparison"      # may be left out
    /// ```
    pub fn from_toml(path: &Path) -> Result<Self, GateError> {
        Self { gates: file::read(path)?, ..Self::default() }.bounded()
    }

    /// Appends other gates.
    ///
    /// # Errors
    /// [`GateError`] if there are too many.
    pub fn and(mut self, others: Self) -> Result<Self, GateError> {
        self.gates.extend(others.gates);
        self.bounded()
    }

    /// Sets the outcome of undecided gates.
    #[must_use]
    pub fn when_undecided(self, undecided: Undecided) -> Self {
        Self { undecided, ..self }
    }

    /// Whether there are no gates.
    pub fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    /// Gates in the order given.
    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    fn bounded(self) -> Result<Self, GateError> {
        let found = self.gates.len();
        let advice = || "put conditions together with or".to_owned();
        let cause = || format!("expected at most {MOST} gates, found {found}");
        if found <= MOST { Ok(self) } else { Err(GateError { cause: cause(), advice: advice() }) }
    }
}
