//! Parses expressions: SQL conditions, with the parser of Apache DataFusion.
//!
//! Anything beyond a condition (statements, functions, subqueries, casts, comments) is refused before parsing: the
//! parser gets only a few kinds of tokens and keywords, so a column may be named like a keyword (`class`, `type`).
//! Strings are in double or single quotes; the only escape is the doubled quote, so regular expressions need no second
//! one. A number may have a unit of bytes or a per cent sign: `10 MiB`, `5 %`.

use super::error::{Place, Wrong};
use sqlparser::ast::Expr;
use sqlparser::dialect::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};

/// Maximum size of an expression in bytes.
const MOST_BYTES: usize = 16 << 10;
/// Maximum number of tokens; it also bounds the depth of the tree.
const MOST_TOKENS: usize = 1000;
/// Maximum nesting depth of parentheses and the like.
const DEEPEST: usize = 40;

/// Keywords; all other words are names.
const KEYWORDS: [Keyword; 11] = [
    Keyword::LIKE,
    Keyword::ILIKE,
    Keyword::AND,
    Keyword::OR,
    Keyword::NOT,
    Keyword::IN,
    Keyword::IS,
    Keyword::NULL,
    Keyword::TRUE,
    Keyword::FALSE,
    Keyword::BETWEEN,
];

const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

const ADVICE: &str = "an expression is such as: class ~ \"^app\" and retained_bytes.delta_percent > 5 and q < 0.05";

/// The dialect: names begin with a letter or underscore; both kinds of quotes delimit strings.
#[derive(Debug)]
struct Gates;

impl Dialect for Gates {
    fn is_identifier_start(&self, c: char) -> bool {
        c.is_ascii_alphabetic() || c == '_'
    }

    fn is_identifier_part(&self, c: char) -> bool {
        c.is_ascii_alphanumeric() || c == '_'
    }

    fn is_delimited_identifier_start(&self, _: char) -> bool {
        false
    }
}

/// Parses an expression.
pub(crate) fn parse(text: &str) -> Result<Expr, Wrong> {
    if text.len() > MOST_BYTES {
        return Err(whole(format!("expected at most {MOST_BYTES} bytes of expression, found {}", text.len())));
    }
    let tokens = Tokenizer::new(&Gates, text).tokenize_with_location().map_err(|error| {
        let at = Place { length: 1, ..place(Span::new(error.location, error.location)) };
        wrong(at, format!("expected an expression, found: {}", error.message))
    })?;
    let tokens = usable(tokens)?;
    if tokens.is_empty() {
        return Err(whole("expected an expression, found none".to_owned()));
    }
    if tokens.len() > MOST_TOKENS {
        return Err(whole(format!("expected at most {MOST_TOKENS} words, numbers and signs, found {}", tokens.len())));
    }
    let mut parser = Parser::new(&Gates).with_recursion_limit(DEEPEST).with_tokens_with_locations(tokens);
    let tree = parser.parse_expr().map_err(|error| of_parser(error, text))?;
    let next = parser.peek_token();
    match next.token {
        Token::EOF => Ok(tree),
        other => Err(wrong(place(next.span), format!("expected the end or an operator, found {other}"))),
    }
}

/// Drops white space, merges numbers with units, and turns words other than [`KEYWORDS`] into names.
fn usable(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, Wrong> {
    let mut kept: Vec<TokenWithSpan> = Vec::new();
    let mut tokens = tokens.into_iter().filter(|next| !is_space(&next.token)).peekable();
    while let Some(mut next) = tokens.next() {
        let after_number = kept.last().is_some_and(|last| matches!(last.token, Token::Number(..)));
        if next.token == Token::Mod && after_number && tokens.peek().is_none_or(|after| ends_operand(&after.token)) {
            // Per cent, not modulo: no operand follows.
            continue;
        }
        match &mut next.token {
            Token::Whitespace(_) => return Err(wrong(place(next.span), "expected no comment".to_owned())),
            Token::EOF => continue,
            Token::Word(word) => {
                let is_unit = UNITS.iter().any(|(name, _)| name.eq_ignore_ascii_case(&word.value));
                if let Some(last) = kept.last_mut().filter(|last| is_unit || last.span.end == next.span.start)
                    && let Token::Number(number, _) = &mut last.token
                {
                    *number = with_unit(number, &word.value).map_err(|problem| wrong(place(next.span), problem))?;
                    last.span.end = next.span.end;
                    continue;
                }
                if !KEYWORDS.contains(&word.keyword) {
                    word.keyword = Keyword::NoKeyword;
                }
            }
            token => check(token, next.span)?,
        }
        kept.push(next);
    }
    Ok(kept)
}

fn is_space(token: &Token) -> bool {
    use sqlparser::tokenizer::Whitespace::{Newline, Space, Tab};
    matches!(token, Token::Whitespace(Space | Newline | Tab))
}

/// Whether a token cannot begin an operand.
fn ends_operand(token: &Token) -> bool {
    match token {
        Token::EOF | Token::RParen | Token::Comma => true,
        Token::Word(word) => matches!(word.keyword, Keyword::AND | Keyword::OR),
        _ => false,
    }
}

fn check(token: &Token, span: Span) -> Result<(), Wrong> {
    let problem = match token {
        Token::Number(_, false)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::Eq
        | Token::DoubleEq
        | Token::Neq
        | Token::Lt
        | Token::Gt
        | Token::LtEq
        | Token::GtEq
        | Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::Mod
        | Token::Period
        | Token::LParen
        | Token::RParen
        | Token::Comma
        | Token::Tilde
        | Token::TildeAsterisk
        | Token::ExclamationMarkTilde
        | Token::ExclamationMarkTildeAsterisk => return Ok(()),
        Token::Overlap => "expected and, found &&".to_owned(),
        Token::StringConcat => "expected or, found ||".to_owned(),
        Token::ExclamationMark => "expected not, found !".to_owned(),
        other => format!("expected an expression, found {other}"),
    };
    Err(wrong(place(span), problem))
}

/// Converts a number with a unit to bytes.
fn with_unit(number: &str, unit: &str) -> Result<String, String> {
    let units = || UNITS.map(|(name, _)| name).join(", ");
    let found = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let Some(&(_, bytes)) = found else { return Err(format!("expected a unit ({}), found {unit}", units())) };
    let whole: Option<u64> = number.parse().ok().and_then(|number: u64| number.checked_mul(bytes));
    match (whole, number.parse::<f64>()) {
        (Some(whole), _) => Ok(whole.to_string()),
        (None, Ok(number)) => Ok(format!("{:?}", number * bytes as f64)),
        (None, Err(error)) => Err(format!("expected a number, found {number}: {error}")),
    }
}

/// Converts a parser error; its message ends with the place.
fn of_parser(error: ParserError, text: &str) -> Wrong {
    let (ParserError::ParserError(said) | ParserError::TokenizerError(said)) = error else {
        return whole(format!("expected at most {DEEPEST} parentheses around each other, found more"));
    };
    let (problem, at) = match said.rsplit_once(" at Line: ") {
        Some((problem, at)) => (problem.to_owned(), location(at)),
        None => (said, None),
    };
    let at = at.map_or_else(|| end(text), |start| Place { length: 1, ..place(Span::new(start, start)) });
    let problem = problem.replacen("Expected:", "expected", 1).replacen("found:", "found", 1);
    wrong(at, problem.replace("found EOF", "found the end").replace(['\n', '\r'], " "))
}

/// Parses `3, Column: 17`.
fn location(text: &str) -> Option<Location> {
    let (line, column) = text.split_once(", Column: ")?;
    Some(Location { line: line.parse().ok()?, column: column.parse().ok()? })
}

/// The place after the last character.
fn end(text: &str) -> Place {
    let line = text.trim_end().lines().count().max(1) - 1;
    let character = text.trim_end().lines().last().map_or(0, |line| line.chars().count());
    Place { line, character, length: 1 }
}

/// Converts a span; the parser counts lines and characters from 1.
pub(crate) fn place(span: Span) -> Place {
    let from_zero = |number: u64| usize::try_from(number.saturating_sub(1)).unwrap_or(0);
    let same_line = span.start.line == span.end.line;
    let length = if same_line { span.end.column.saturating_sub(span.start.column) } else { 1 };
    Place {
        line: from_zero(span.start.line),
        character: from_zero(span.start.column),
        length: usize::try_from(length).unwrap_or(1),
    }
}

fn wrong(at: Place, problem: String) -> Wrong {
    Wrong { at, problem, advice: ADVICE.to_owned() }
}

fn whole(problem: String) -> Wrong {
    wrong(Place::default(), problem)
}
