//! A gate: parsed and typed.

use super::columns::{self, About};
use super::error::GateError;
use super::expression::Expression;
use super::lower::{Lowered, lower};
use super::syntax;
use heaplake_kit::text::shorten;
use heaplake_schemas::diff::{CLASSES, DiffTable};

/// Maximum characters of a gate's expression that name it in errors.
const NAME: usize = 60;

/// A condition that fails a comparison.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Name.
    pub name: String,
    /// Name of its table, without `diff_`.
    pub table: &'static str,
    /// Condition as written.
    pub expression: String,
    /// The author's message for failures.
    pub message: Option<String>,
    pub(crate) of: &'static DiffTable,
    /// Whether it checks only clusters.
    pub(crate) clusters: bool,
    pub(crate) lowered: Lowered,
    /// Conjuncts of the condition that select rows by identity; together they define the watched rows.
    pub(crate) chooses: Vec<Expression>,
    /// First measure in the expression, or else the ranking measure.
    pub(crate) measure: &'static str,
}

impl Gate {
    /// Parses a gate of the command line: `[TABLE:]EXPRESSION`.
    pub(crate) fn parse(written: &str) -> Result<Self, GateError> {
        let name = || format!("gate {:?}", shorten(written.trim(), NAME));
        let (table, expression) = match written.split_once(':') {
            Some((table, expression)) if is_name(table.trim()) => {
                let table = columns::table(table.trim());
                (
                    table.map_err(|(problem, advice)| GateError { cause: format!("{}: {problem}", name()), advice })?,
                    expression,
                )
            }
            _ => (About { table: &CLASSES, clusters: false }, written),
        };
        Self::new(written.trim().to_owned(), table, expression, None, &name())
    }

    /// Creates a gate on a table. Errors call it `called`.
    pub(crate) fn new(
        name: String,
        about: About,
        expression: &str,
        message: Option<String>,
        called: &str,
    ) -> Result<Self, GateError> {
        let table = about.table;
        let lowered = syntax::parse(expression).and_then(|tree| lower(table, &tree));
        let lowered = lowered.map_err(|wrong| wrong.of(called, expression))?;
        let chooses = lowered.condition.parts().into_iter().filter(|part| chooses(table, &lowered, part));
        let chooses = chooses.cloned().collect();
        let named = lowered.columns.iter().find(|column| column.of_measure).map_or(0, |column| column.measure);
        let measure = table.measures[named];
        let expression = expression.trim().to_owned();
        let clusters = about.clusters;
        Ok(Self { name, table: about.name(), expression, message, of: table, clusters, lowered, chooses, measure })
    }
}

/// Whether a conjunct reads only columns that identify rows.
fn chooses(table: &DiffTable, lowered: &Lowered, part: &Expression) -> bool {
    let columns = part.columns();
    let identifies = |column: usize| columns::says_what_a_row_is(table, lowered.columns[column].name);
    !columns.is_empty() && columns.into_iter().all(identifies)
}

/// Whether the text before a colon can be a table name; a colon may also be part of a string literal.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
