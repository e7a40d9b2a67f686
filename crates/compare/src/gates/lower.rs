//! Lowers the parser's tree to a typed expression: resolves names to columns; errors point to their place.

use super::columns::{self, Column, Kind};
use super::error::{Place, Wrong};
use super::expression::{Amount, Condition, Number, Operation, Relation, Text, Value};
use super::syntax::place;
use heaplake_schemas::diff::DiffTable;
use regex::{Regex, RegexBuilder};
use sqlparser::ast::{BinaryOperator, Expr, Ident, Spanned, UnaryOperator, Value as Literal};

/// Maximum size of a compiled regular expression in bytes.
const PATTERN: usize = 256 << 10;

/// A typed expression.
#[derive(Clone, Debug)]
pub(crate) struct Lowered {
    pub condition: Condition,
    /// Columns that it reads, by the positions used in the condition.
    pub columns: Vec<Column>,
}

/// Types the parser's tree.
pub(crate) fn lower(table: &DiffTable, tree: &Expr) -> Result<Lowered, Wrong> {
    let mut lowering = Lowering { table, columns: Vec::new() };
    let condition = lowering.condition(tree)?;
    Ok(Lowered { condition, columns: lowering.columns })
}

struct Lowering<'a> {
    table: &'a DiffTable,
    columns: Vec<Column>,
}

impl Lowering<'_> {
    fn value(&mut self, tree: &Expr) -> Result<Value, Wrong> {
        match tree {
            Expr::Nested(inner) => self.value(inner),
            Expr::Identifier(name) => self.column(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(names) => self.column(names),
            Expr::Value(literal) => constant(&literal.value, tree),
            Expr::UnaryOp { op, expr } => self.unary(*op, expr, tree),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right, tree),
            Expr::IsNull(inner) => Ok(Value::Condition(self.is_null(inner)?)),
            Expr::IsNotNull(inner) => Ok(Value::Condition(not(self.is_null(inner)?))),
            Expr::Between { expr, negated, low, high } => {
                self.plain(expr)?;
                let low = self.compare(Relation::AtLeast, expr, low)?;
                let high = self.compare(Relation::AtMost, expr, high)?;
                Ok(Value::Condition(not_if(*negated, Condition::And(Box::new(low), Box::new(high)))))
            }
            Expr::InList { expr, list, negated } => {
                self.plain(expr)?;
                let mut any = Condition::Constant(false);
                for item in list {
                    let same = self.compare(Relation::Equal, expr, item)?;
                    any = Condition::Or(Box::new(any), Box::new(same));
                }
                Ok(Value::Condition(not_if(*negated, any)))
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char: None } => {
                Ok(Value::Condition(not_if(*negated, self.like(expr, pattern, false)?)))
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char: None } => {
                Ok(Value::Condition(not_if(*negated, self.like(expr, pattern, true)?)))
            }
            Expr::Function(_) => Err(wrong(tree, "expressions have no functions", OPERATORS)),
            _ => Err(wrong(tree, "this is no part of an expression", OPERATORS)),
        }
    }

    fn condition(&mut self, tree: &Expr) -> Result<Condition, Wrong> {
        match self.value(tree)? {
            Value::Condition(condition) => Ok(condition),
            other => Err(mistyped(tree, Kind::Truth, &other)),
        }
    }

    fn number(&mut self, tree: &Expr) -> Result<Number, Wrong> {
        match self.value(tree)? {
            Value::Number(number) => Ok(number),
            other => Err(mistyped(tree, Kind::Number, &other)),
        }
    }

    fn text(&mut self, tree: &Expr) -> Result<Text, Wrong> {
        match self.value(tree)? {
            Value::Text(text) => Ok(text),
            other => Err(mistyped(tree, Kind::Text, &other)),
        }
    }

    fn column(&mut self, names: &[Ident]) -> Result<Value, Wrong> {
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
        Ok(match column.kind {
            Kind::Number => Value::Number(Number::Column(at)),
            Kind::Text => Value::Text(Text::Column(at)),
            Kind::Truth => Value::Condition(Condition::Column(at)),
        })
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &Expr, tree: &Expr) -> Result<Value, Wrong> {
        match operator {
            UnaryOperator::Not => Ok(Value::Condition(not(self.condition(operand)?))),
            UnaryOperator::Minus => Ok(Value::Number(Number::Negative(Box::new(self.number(operand)?)))),
            UnaryOperator::Plus => Ok(Value::Number(self.number(operand)?)),
            _ => Err(wrong(tree, "this operator needs something before it", OPERATORS)),
        }
    }

    fn binary(&mut self, a: &Expr, operator: &BinaryOperator, b: &Expr, tree: &Expr) -> Result<Value, Wrong> {
        if let Some(operation) = operation(operator) {
            let (a, b) = (Box::new(self.number(a)?), Box::new(self.number(b)?));
            return Ok(Value::Number(Number::Computed(operation, a, b)));
        }
        if let Some(relation) = relation(operator) {
            return Ok(Value::Condition(self.compare(relation, a, b)?));
        }
        let condition = match operator {
            BinaryOperator::And => Condition::And(Box::new(self.condition(a)?), Box::new(self.condition(b)?)),
            BinaryOperator::Or => Condition::Or(Box::new(self.condition(a)?), Box::new(self.condition(b)?)),
            BinaryOperator::PGRegexMatch => self.matches(a, b, false)?,
            BinaryOperator::PGRegexNotMatch => not(self.matches(a, b, false)?),
            BinaryOperator::PGRegexIMatch => self.matches(a, b, true)?,
            BinaryOperator::PGRegexNotIMatch => not(self.matches(a, b, true)?),
            other => return Err(wrong(tree, &format!("there is no operator {other}"), OPERATORS)),
        };
        Ok(Value::Condition(condition))
    }

    fn compare(&mut self, relation: Relation, a: &Expr, b: &Expr) -> Result<Condition, Wrong> {
        let (first, second) = (self.value(a)?, self.value(b)?);
        match (first, second) {
            (Value::Number(a), Value::Number(b)) => Ok(Condition::Numbers(relation, Box::new(a), Box::new(b))),
            (Value::Text(a), Value::Text(b)) => Ok(Condition::Texts(relation, a, b)),
            (Value::Condition(a), Value::Condition(c)) => {
                let alike = Condition::Alike(Box::new(a), Box::new(c));
                match relation {
                    Relation::Equal => Ok(alike),
                    Relation::Different => Ok(not(alike)),
                    _ => Err(wrong(b, "conditions have no order", "write a comparison on both sides of and")),
                }
            }
            (first, second) => Err(mistyped(b, kind(&first), &second)),
        }
    }

    fn matches(&mut self, text: &Expr, pattern: &Expr, any_case: bool) -> Result<Condition, Wrong> {
        let text = self.text(text)?;
        let Text::Constant(written) = self.text(pattern)? else {
            return Err(wrong(pattern, "expected a regular expression in quotes, found a column", OPERATORS));
        };
        let regex: Result<Regex, _> =
            RegexBuilder::new(&written).case_insensitive(any_case).size_limit(PATTERN).build();
        match regex {
            Ok(regex) => Ok(Condition::Matches(text, Box::new(regex))),
            Err(error) => {
                let said = error.to_string();
                let last = said.lines().last().unwrap_or_default().trim_start_matches("error: ");
                let advice = "the syntax is that of https://docs.rs/regex; a \\ before a sign takes away its meaning";
                Err(wrong(pattern, &format!("expected a regular expression: {last}"), advice))
            }
        }
    }

    /// `%` matches any text, `_` any character.
    fn like(&mut self, text: &Expr, pattern: &Expr, any_case: bool) -> Result<Condition, Wrong> {
        let text = self.text(text)?;
        let Text::Constant(written) = self.text(pattern)? else {
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
        Ok(Condition::Matches(text, Box::new(regex)))
    }

    /// The operand of `in` and `between` is copied for each of their values. Conditions there could nest, and the
    /// expression would grow without bound.
    fn plain(&mut self, tree: &Expr) -> Result<(), Wrong> {
        match self.value(tree)? {
            Value::Condition(_) => Err(wrong(tree, "expected a number or a text, found a condition", OPERATORS)),
            Value::Number(_) | Value::Text(_) => Ok(()),
        }
    }

    fn is_null(&mut self, tree: &Expr) -> Result<Condition, Wrong> {
        Ok(Condition::IsNull(Box::new(self.value(tree)?)))
    }
}

const OPERATORS: &str = "there are and, or, not, = != < <= > >=, ~ and !~ with a regular expression, like, + - * / %, \
                         in (…), between … and …, is null, is not null";

fn constant(literal: &Literal, tree: &Expr) -> Result<Value, Wrong> {
    match literal {
        Literal::Boolean(value) => Ok(Value::Condition(Condition::Constant(*value))),
        Literal::SingleQuotedString(text) | Literal::DoubleQuotedString(text) => {
            Ok(Value::Text(Text::Constant(text.clone())))
        }
        Literal::Number(digits, _) => {
            let whole = digits.parse().ok().map(Amount::Whole);
            let real = || digits.parse().ok().filter(|real: &f64| real.is_finite()).map(Amount::Real);
            let amount = whole.or_else(real);
            let amount = amount.ok_or_else(|| wrong(tree, "expected a number", "numbers go up to 1e308"))?;
            Ok(Value::Number(Number::Constant(amount)))
        }
        Literal::Null => Err(wrong(tree, "nothing equals null", "write is null, or is not null")),
        _ => Err(wrong(tree, "this is no number, no text and no condition", OPERATORS)),
    }
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

fn not(condition: Condition) -> Condition {
    Condition::Not(Box::new(condition))
}

fn not_if(negated: bool, condition: Condition) -> Condition {
    if negated { not(condition) } else { condition }
}

fn kind(value: &Value) -> Kind {
    match value {
        Value::Condition(_) => Kind::Truth,
        Value::Number(_) => Kind::Number,
        Value::Text(_) => Kind::Text,
    }
}

fn mistyped(tree: &Expr, wanted: Kind, found: &Value) -> Wrong {
    let problem = format!("expected {}, found {}", wanted.name(), kind(found).name());
    wrong(
        tree,
        &problem,
        "numbers are compared with numbers, texts with texts, and conditions are joined by and and or",
    )
}

fn wrong(tree: &Expr, problem: &str, advice: &str) -> Wrong {
    Wrong { at: place(tree.span()), problem: problem.to_owned(), advice: advice.to_owned() }
}
