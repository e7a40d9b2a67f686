//! Nesting depth of a statement, estimated before it is parsed.
//!
//! The parser, the planner and the optimiser of the engine recurse for each level of a statement, and in a chain such
//! as `1 + 1 + …` or `SELECT … UNION ALL SELECT …` each link is a level. A stack overflow ends the process, so the
//! depth is limited. The estimate takes one pass over the tokens without recursion and is an upper bound: links at all
//! open parentheses and CASEs add up; links of sibling clauses do not.

use crate::error::SqlError;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// Maximum levels of a statement, and maximum of its queries.
pub(crate) const MOST: usize = 500;

/// Checks the depth of all statements of a text. A text that cannot be tokenised passes: the parser reports it better.
pub(crate) fn check(text: &str) -> Result<(), SqlError> {
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, text).tokenize() else { return Ok(()) };
    let mut depth = Depth::default();
    for token in &tokens {
        depth.add(token);
        for (found, of) in [(depth.levels(), "levels of nesting"), (depth.queries, "queries in one statement")] {
            if found > MOST {
                let cause = format!("the statement is too deep: expected at most {MOST} {of}");
                return Err(SqlError::query(cause, "split it, or use IN (...) and VALUES for long lists"));
            }
        }
    }
    Ok(())
}

/// Links at one open parenthesis.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Links of the current expression.
    operators: usize,
    /// Links of queries and tables, which all clauses of the query share.
    relations: usize,
    /// Whether a comma is a join.
    in_from: bool,
    is_case: bool,
}

/// Depth of the tokens read so far.
#[derive(Default)]
struct Depth {
    open: Vec<Level>,
    top: Level,
    /// Links of `open`, plus one for each.
    below: usize,
    queries: usize,
}

impl Depth {
    fn levels(&self) -> usize {
        self.below + self.top.operators + self.top.relations
    }

    fn add(&mut self, token: &Token) {
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => self.push(false),
            Token::RParen | Token::RBracket | Token::RBrace => self.pop(),
            Token::SemiColon => *self = Self::default(),
            Token::Comma if self.top.in_from => self.top.relations += 1,
            Token::Comma => self.top.operators = 0,
            Token::Word(word) if word.quote_style.is_none() => self.add_word(word.keyword),
            Token::Whitespace(_) | Token::Word(_) | Token::Number(..) | Token::SingleQuotedString(_) => {}
            // All others are operators, or rare.
            _ => self.top.operators += 1,
        }
    }

    fn add_word(&mut self, word: Keyword) {
        match word {
            Keyword::CASE => self.push(true),
            Keyword::END if self.top.is_case => self.pop(),
            Keyword::WHEN | Keyword::THEN | Keyword::ELSE if self.top.is_case => self.top.operators = 0,
            Keyword::SELECT => {
                self.queries += 1;
                (self.top.operators, self.top.in_from) = (0, false);
            }
            Keyword::FROM => (self.top.operators, self.top.in_from) = (0, true),
            Keyword::WHERE | Keyword::GROUP | Keyword::HAVING | Keyword::ORDER | Keyword::LIMIT => {
                (self.top.operators, self.top.in_from) = (0, false);
            }
            Keyword::JOIN | Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT => {
                (self.top.operators, self.top.relations) = (0, self.top.relations + 1);
            }
            Keyword::AND
            | Keyword::OR
            | Keyword::NOT
            | Keyword::IS
            | Keyword::IN
            | Keyword::LIKE
            | Keyword::ILIKE
            | Keyword::SIMILAR
            | Keyword::BETWEEN
            | Keyword::COLLATE
            | Keyword::AT
            | Keyword::DIV
            | Keyword::INTERVAL => self.top.operators += 1,
            _ => {}
        }
    }

    fn push(&mut self, is_case: bool) {
        self.below = self.levels() + 1;
        self.open.push(self.top);
        self.top = Level { is_case, ..Level::default() };
    }

    fn pop(&mut self) {
        // CASE without END before a closing parenthesis: the parser reports it.
        if let Some(top) = self.open.pop() {
            self.top = top;
            self.below -= 1 + top.operators + top.relations;
            // The next operator applies to the parenthesised expression.
            self.top.operators += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_and_nests_are_too_deep() {
        let nested = |open: &str, close: &str| format!("SELECT {}1{}", open.repeat(MOST + 1), close.repeat(MOST + 1));
        for text in [
            format!("SELECT {}", vec!["1"; MOST + 5].join("+")),
            format!("SELECT {}", vec!["a"; MOST + 5].join(" OR ")),
            vec!["SELECT 1"; MOST + 5].join(" UNION ALL "),
            format!("SELECT * FROM {}", vec!["runs"; MOST + 5].join(", ")),
            nested("(", ")"),
            nested("abs(", ")"),
            nested("- ", ""),
            nested("CASE WHEN true THEN ", " END"),
            nested("(SELECT ", ")"),
            format!("SELECT 1{}", "::INT".repeat(MOST + 1)),
            format!("SELECT a{}", "[1]".repeat(MOST + 1)),
        ] {
            assert!(check(&text).unwrap_err().cause.contains("too deep"), "{}", &text[..40]);
        }
    }

    #[test]
    fn long_lists_and_many_statements_are_not_deep() {
        let list = vec!["1"; 10_000].join(", ");
        for text in [
            format!("SELECT * FROM runs WHERE release IN ({list})"),
            format!("SELECT {list}"),
            format!("SELECT {}", vec!["(a + b) * c"; 5000].join(", ")),
            format!("VALUES {}", vec!["(1, 2)"; 5000].join(", ")),
            "SELECT 1 + 1;".repeat(MOST + 5),
            format!("SELECT CASE {} END", "WHEN a = 1 THEN b + 1 ".repeat(2000)),
            format!("SELECT a {}", "AND b = 1 ".repeat(MOST / 2 - 5)),
        ] {
            assert!(check(&text).is_ok(), "{}", &text[..40]);
        }
        assert!(check("SELECT 'open").is_ok());
    }
}
