//! Gates: conditions under which a comparison fails a build.
//!
//! A gate is an expression over the rows of one table of a comparison. It fails if the expression is true of a row.
//!
//! * [`Gates::parse_expressions`] and [`Gates::from_toml`] read gates and check them against the columns of their table,
//!   so that all errors come before the work: syntax, unknown columns, types, regular expressions.
//! * [`Gates::check`] reads the tables from end to end, once each, and gives [`Verdicts`]: for each gate the rows of
//!   which it is true, in the order of the table, and what growth it could have seen.
//! * [`junit`] and [`markdown`] write verdicts for build servers.
//!
//! The expressions are conditions of SQL: [`syntax`] reads them with the parser of Apache DataFusion, [`lower`] gives
//! them types, [`expression`] says what they are worth. A comparison with a null is neither true nor false, and its
//! `not` is neither; so a gate never fails for a number that is not there. How many rows could not be decided for that
//! reason is part of the verdict.

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
pub use verdict::{Found, Outcome, Sensitivity, Side, Verdict, Verdicts, change, percent, quantity};

use std::path::Path;

/// Most gates at once.
const MOST: usize = 1000;

/// What becomes of a gate that asks for a statistic where there are too few runs for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undecided {
    /// It does not pass.
    #[default]
    Fail,
    /// It passes.
    Pass,
}

/// The gates of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    gates: Vec<Gate>,
    undecided: Undecided,
}

impl Gates {
    /// Gates of the command line: each an expression, after the name of a table and a colon if it is not about
    /// `classes`. A gate is named as it is written.
    ///
    /// # Errors
    /// [`GateError`] for the first that cannot be used.
    pub fn parse_expressions(expressions: &[String]) -> Result<Self, GateError> {
        let gates = expressions.iter().map(|written| Gate::parse(written)).collect::<Result<_, _>>()?;
        Self { gates, ..Self::default() }.bounded()
    }

    /// Gates of a file:
    ///
    /// ```toml
    /// [[gate]]
    /// name = "chains do not grow"     # must differ from the other names
    /// table = "chains"                # classes, if it is left out
    /// fail_if = "retained_bytes.delta > 10MiB and q < 0.05"
    /// message = "look at the page of the comparison"      # may be left out
    /// ```
    ///
    /// # Errors
    /// [`GateError`] where the file cannot be read or has something that is no gate, with its line.
    pub fn from_toml(path: &Path) -> Result<Self, GateError> {
        Self { gates: file::read(path)?, ..Self::default() }.bounded()
    }

    /// These gates, and then others.
    ///
    /// # Errors
    /// [`GateError`] where there are too many.
    pub fn and(mut self, others: Self) -> Result<Self, GateError> {
        self.gates.extend(others.gates);
        self.bounded()
    }

    /// With another rule for gates that cannot be decided.
    #[must_use]
    pub fn when_undecided(self, undecided: Undecided) -> Self {
        Self { undecided, ..self }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    /// The gates, in the order in which they were given.
    #[must_use]
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
