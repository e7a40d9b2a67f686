//! Lowers the parser's tree to a typed expression: resolves names to columns; errors point to their place.

use super::columns::{self, Column, Kind};
use super::error::{Place, Wrong};
use super::expression::{Expression, Operation, Operator, Relation, Scalar};
use super::syntax::place;
use heaplake_schemas::diff::DiffTable;
use regex::RegexBuilder;
use sqlparser::ast::{BinaryOperator, Expr, Ident, Spanned, UnaryOperator, Value as Literal};

/// Maximum size of a compiled regular expression in bytes.
const PATTERN: usize = 256 << 10;

/// A typed expression.
#[derive(Clone, Debug)]
pub(crate) struct Lowered {
    pub condition: Expression,
    /// Columns that it reads, by the positions used in the condition.
    pub columns: Vec<Column>,
}

/// Types the parser's tree.
pub(crate) fn lower(table: &DiffTable, tree: &Expr) -> Result<Lowered, Wrong> {
    let mut lowering = Lowering { table, columns: Vec::new() };
    let condition = lowering.of(Kind::Truth, tree)?;
    Ok(Lowered { condition, columns: lowering.columns })
}

struct Lowering<'a> {
    table: &'a DiffTable,
    columns: Vec<Column>,
}

/// An expression with its type.
struct Typed {
    kind: Kind,
    expression: Expression,
}

impl Typed {
    fn condition(operator: Operator, operands: Vec<Expression>) -> Self {
        Self { kind: Kind::Truth, expression: Expression::Applied(operator, operands) }
    }

    fn negated_if(self, negated: bool) -> Self {
        if negated { Self::condition(Operator::Not, vec![self.expression]) } else { self }
    }
}

impl Lowering<'_> {
    fn typed(&mut self, tree: &Expr) -> Result<Typed, Wrong> {
        match tree {
            Expr::Nested(inner) => self.typed(inner),
            Expr::Identifier(name) => self.column(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(names) => self.column(names),
            Expr::Value(literal) => constant(&literal.value, tree),
            Expr::UnaryOp { op, expr } => self.unary(*op, expr, tree),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right, tree),
            Expr::IsNull(inner) => self.is_null(inner),
            Expr::IsNotNull(inner) => Ok(self.is_null(inner)?.negated_if(true)),
            Expr::Between { expr, negated, low, high } => {
                self.plain(expr)?;
                let low = self.compare(Relation::AtLeast, expr, low)?.expression;
                let high = self.compare(Relation::AtMost, expr, high)?.expression;
                Ok(Typed::condition(Operator::And, vec![low, high]).negated_if(*negated))
            }
            Expr::InList { expr, list, negated } => {
                self.plain(expr)?;
                let mut any = Typed { kind: Kind::Truth, expression: Expression::Constant(Scalar::Truth(false)) };
                for item in list {
                    let same = self.compare(Relation::Equal, expr, item)?.expression;
                    any = Typed::condition(Operator::Or, vec![any.expression, same]);
                }
                Ok(any.negated_if(*negated))
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char: None } => {
                Ok(self.like(expr, pattern, false)?.negated_if(*negated))
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char: None } => {
                Ok(self.like(expr, pattern, true)?.negated_if(*negated))
            }
            Expr::Function(_) => Err(wrong(tree, "expressions have no functions", OPERATORS)),
            _ => Err(wrong(tree, "this is no part of an expression", OPERATORS)),
        }
    }

    /// Lowers an expression of this type.
    fn of(&mut self, wanted: Kind, tree: &Expr) -> Result<Expression, Wrong> {
        let Typed { kind, expression } = self.typed(tree)?;
        if kind == wanted { Ok(expression) } else { Err(mistyped(tree, wanted, kind)) }
    }

    fn column(&mut self, names: &[Ident]) -> Result<Typed, Wrong> {
        let name: Vec<&str> = names.iter().map(|name| name.value.as_str()).collect();
        let column = columns::find(self.table, &name).map_err(|(problem, advice)| {
            let last = names.last().map_or_else(Place::default, |name| place(name.span));
            let first = names.first().map_or_else(Place::default, |name| place(name.span));
            let length = (last.character + last.length).saturating_sub(first.character);
            Wrong { at: Place { length, ..first }, problem, advice }
        })?;
        let known = self.columns.iter().position(|known| *known == column);
        let at = known.unwrap_or_else(|| {
            self.columns.push(column);
            self.columns.len() - 1
        });
        Ok(Typed { kind: column.kind, expression: Expression::Column(at) })
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &Expr, tree: &Expr) -> Result<Typed, Wrong> {
        let number = |expression| Typed { kind: Kind::Number, expression };
        match operator {
            UnaryOperator::Not => Ok(Typed::condition(Operator::Not, vec![self.of(Kind::Truth, operand)?])),
            UnaryOperator::Minus => {
                Ok(number(Expression::Applied(Operator::Negative, vec![self.of(Kind::Number, operand)?])))
            }
            UnaryOperator::Plus => Ok(number(self.of(Kind::Number, operand)?)),
            _ => Err(wrong(tree, "this operator needs something before it", OPERATORS)),
        }
    }

    fn binary(&mut self, a: &Expr, operator: &BinaryOperator, b: &Expr, tree: &Expr) -> Result<Typed, Wrong> {
        if let Some(operation) = operation(operator) {
            let operands = vec![self.of(Kind::Number, a)?, self.of(Kind::Number, b)?];
            let expression = Expression::Applied(Operator::Compute(operation), operands);
            return Ok(Typed { kind: Kind::Number, expression });
        }
        if let Some(relation) = relation(operator) {
            return self.compare(relation, a, b);
        }
        let operator = match operator {
            BinaryOperator::And => Operator::And,
            BinaryOperator::Or => Operator::Or,
            BinaryOperator::PGRegexMatch => return self.matches(a, b, false),
            BinaryOperator::PGRegexNotMatch => return Ok(self.matches(a, b, false)?.negated_if(true)),
            BinaryOperator::PGRegexIMatch => return self.matches(a, b, true),
            BinaryOperator::PGRegexNotIMatch => return Ok(self.matches(a, b, true)?.negated_if(true)),
            other => return Err(wrong(tree, &format!("there is no operator {other}"), OPERATORS)),
        };
        Ok(Typed::condition(operator, vec![self.of(Kind::Truth, a)?, self.of(Kind::Truth, b)?]))
    }

    fn compare(&mut self, relation: Relation, a: &Expr, b: &Expr) -> Result<Typed, Wrong> {
        let (first, second) = (self.typed(a)?, self.typed(b)?);
        if first.kind != second.kind {
            return Err(mistyped(b, first.kind, second.kind));
        }
        if first.kind == Kind::Truth && !matches!(relation, Relation::Equal | Relation::Different) {
            return Err(wrong(b, "conditions have no order", "write a comparison on both sides of and"));
        }
        Ok(Typed::condition(Operator::Compare(relation), vec![first.expression, second.expression]))
    }

    fn matches(&mut self, text: &Expr, pattern: &Expr, any_case: bool) -> Result<Typed, Wrong> {
        let text = self.of(Kind::Text, text)?;
        let Expression::Text(written) = self.of(Kind::Text, pattern)? else {
            return Err(wrong(pattern, "expected a regular expression in quotes, found a column", OPERATORS));
        };
        let regex = RegexBuilder::new(&written).case_insensitive(any_case).size_limit(PATTERN).build();
        let regex = regex.map_err(|error| {
            let said = error.to_string();
            let last = said.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let advice = "the syntax is that of https://docs.rs/regex; a \\ before a sign takes away its meaning";
            wrong(pattern, &format!("expected a regular expression: {last}"), advice)
        })?;
        Ok(Typed::condition(Operator::Matches(Box::new(regex)), vec![text]))
    }

    /// `%` matches any text, `_` any character.
    fn like(&mut self, text: &Expr, pattern: &Expr, any_case: bool) -> Result<Typed, Wrong> {
        let text = self.of(Kind::Text, text)?;
        let Expression::Text(written) = self.of(Kind::Text, pattern)? else {
            return Err(wrong(pattern, "expected a pattern in quotes, found a column", OPERATORS));
        };
        let sign = |c: char| match c {
            '%' => ".*".to_owned(),
            '_' => ".".to_owned(),
            other => regex::escape(other.encode_utf8(&mut [0; 4])),
        };
        let written: String = written.chars().map(sign).collect();
        let mut builder = RegexBuilder::new(&format!("^{written}$"));
        let regex = builder.case_insensitive(any_case).dot_matches_new_line(true).size_limit(PATTERN).build();
        let regex = regex.map_err(|_| wrong(pattern, "expected a shorter pattern", OPERATORS))?;
        Ok(Typed::condition(Operator::Matches(Box::new(regex)), vec![text]))
    }

    /// The operand of `in` and `between` is copied for each of their values. Conditions there could nest, and the
    /// expression would grow without bound.
    fn plain(&mut self, tree: &Expr) -> Result<(), Wrong> {
        match self.typed(tree)?.kind {
            Kind::Truth => Err(wrong(tree, "expected a number or a text, found a condition", OPERATORS)),
            Kind::Number | Kind::Text => Ok(()),
        }
    }

    fn is_null(&mut self, tree: &Expr) -> Result<Typed, Wrong> {
        Ok(Typed::condition(Operator::IsNull, vec![self.typed(tree)?.expression]))
    }
}

const OPERATORS: &str = "there are and, or, not, = != < <= > >=, ~ and !~ with a regular expression, like, + - * / %, \
                         in (…), between … and …, is null, is not null";

fn constant(literal: &Literal, tree: &Expr) -> Result<Typed, Wrong> {
    let (kind, expression) = match literal {
        Literal::Boolean(value) => (Kind::Truth, Expression::Constant(Scalar::Truth(*value))),
        Literal::SingleQuotedString(text) | Literal::DoubleQuotedString(text) => {
            (Kind::Text, Expression::Text(text.clone()))
        }
        Literal::Number(digits, _) => {
            let whole = digits.parse().ok().map(Scalar::Whole);
            let real = || digits.parse().ok().filter(|real: &f64| real.is_finite()).map(Scalar::Real);
            let number = whole.or_else(real);
            let number = number.ok_or_else(|| wrong(tree, "expected a number", "numbers go up to 1e308"))?;
            (Kind::Number, Expression::Constant(number))
        }
        Literal::Null => return Err(wrong(tree, "nothing equals null", "write is null, or is not null")),
        _ => return Err(wrong(tree, "this is no number, no text and no condition", OPERATORS)),
    };
    Ok(Typed { kind, expression })
}

fn operation(operator: &BinaryOperator) -> Option<Operation> {
    Some(match operator {
        BinaryOperator::Plus => Operation::Plus,
        BinaryOperator::Minus => Operation::Minus,
        BinaryOperator::Multiply => Operation::Times,
        BinaryOperator::Divide => Operation::Divide,
        BinaryOperator::Modulo => Operation::Modulo,
        _ => return None,
    })
}

fn relation(operator: &BinaryOperator) -> Option<Relation> {
    Some(match operator {
        BinaryOperator::Lt => Relation::Less,
        BinaryOperator::LtEq => Relation::AtMost,
        BinaryOperator::Eq => Relation::Equal,
        BinaryOperator::NotEq => Relation::Different,
        BinaryOperator::GtEq => Relation::AtLeast,
        BinaryOperator::Gt => Relation::More,
        _ => return None,
    })
}

fn mistyped(tree: &Expr, wanted: Kind, found: Kind) -> Wrong {
    let problem = format!("expected {}, found {}", wanted.name(), found.name());
    wrong(
        tree,
        &problem,
        "numbers are compared with numbers, texts with texts, and conditions are joined by and and or",
    )
}

fn wrong(tree: &Expr, problem: &str, advice: &str) -> Wrong {
    Wrong { at: place(tree.span()), problem: problem.to_owned(), advice: advice.to_owned() }
}
