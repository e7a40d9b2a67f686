//! Parses a query: a filter, and the clauses after it.

use super::ast::{Aggregate, Filter, Key, Query, Shown};
use super::error::Wrong;
use super::lexer::Token;
use super::parser::Parser;
use super::terms::{Kind, Term, unknown};

/// Maximum number of columns, of group terms and of keys.
const MOST_COLUMNS: usize = 64;

impl Query {
    /// Parses a query: `[filter] {select …|where …|group by …|order by …|limit N}`. An empty filter is passed by all
    /// objects.
    ///
    /// # Errors
    /// [`Wrong`] with the column of the error.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        let mut parser = Parser::new(text)?;
        let mut query =
            Self { filter: Filter::ALL, select: Vec::new(), group_by: Vec::new(), order_by: Vec::new(), limit: None };
        let mut has_filter = !parser.is_at_clause();
        if has_filter {
            query.filter = parser.filter()?;
        }
        loop {
            let column = parser.column();
            let again = |name: &str, is: bool| match is {
                true => Err(Wrong::new(column, format!("expected one {name}, found another"))),
                false => Ok(()),
            };
            if *parser.peek() == Token::End {
                break;
            } else if parser.takes("where") {
                again("filter", has_filter)?;
                has_filter = true;
                query.filter = parser.filter()?;
            } else if parser.takes("select") {
                again("select", !query.select.is_empty())?;
                if !parser.takes_sign("*") {
                    query.select = parser.list(Parser::shown)?;
                }
            } else if parser.takes("group") {
                again("group by", !query.group_by.is_empty())?;
                parser.need("by")?;
                query.group_by = parser.list(Parser::group)?;
            } else if parser.takes("order") {
                again("order by", !query.order_by.is_empty())?;
                parser.need("by")?;
                query.order_by = parser.list(Parser::key)?;
            } else if parser.takes("limit") {
                again("limit", query.limit.is_some())?;
                query.limit = Some(parser.limit()?);
            } else {
                return Err(parser.unexpected());
            }
        }
        query.check()?;
        Ok(query)
    }

    /// Parses a list of columns, as `select` has it.
    ///
    /// # Errors
    /// [`Wrong`] with the column of the error.
    pub fn columns(text: &str) -> Result<Vec<Shown>, Wrong> {
        let mut parser = Parser::new(text)?;
        let columns = parser.list(Parser::shown)?;
        parser.end().map(|()| columns)
    }

    /// Parses a list of keys, as `order by` has it.
    ///
    /// # Errors
    /// [`Wrong`] with the column of the error.
    pub fn keys(text: &str) -> Result<Vec<Key>, Wrong> {
        let mut parser = Parser::new(text)?;
        let keys = parser.list(Parser::key)?;
        parser.end().map(|()| keys)
    }

    /// Checks that the columns and keys fit the groups.
    ///
    /// # Errors
    /// [`Wrong`] that names the column of the answer.
    pub fn check(&self) -> Result<(), Wrong> {
        let is_grouped = !self.group_by.is_empty();
        for shown in self.select.iter().chain(self.order_by.iter().map(|key| &key.by)) {
            let fits = match shown {
                Shown::Count | Shown::Aggregate(..) => is_grouped,
                Shown::Term(term) => !is_grouped || self.group_by.contains(term),
                Shown::Path | Shown::Field(_) => !is_grouped,
            };
            if !fits && is_grouped {
                let problem = format!("{shown} is neither a term of group by nor count, sum(…), min(…) or max(…)");
                return Err(Wrong::new(1, problem));
            }
            if !fits {
                return Err(Wrong::new(1, format!("{shown} needs group by")));
            }
        }
        Ok(())
    }
}

impl Parser {
    fn list<T>(&mut self, one: fn(&mut Self) -> Result<T, Wrong>) -> Result<Vec<T>, Wrong> {
        let mut list = vec![one(self)?];
        while self.takes_sign(",") {
            if list.len() == MOST_COLUMNS {
                return Err(Wrong::new(self.column(), format!("expected at most {MOST_COLUMNS}, found more")));
            }
            list.push(one(self)?);
        }
        Ok(list)
    }

    fn end(&self) -> Result<(), Wrong> {
        if *self.peek() == Token::End { Ok(()) } else { Err(self.expected("\",\" or the end")) }
    }

    fn unexpected(&self) -> Wrong {
        if self.peek().is("from") {
            let problem = "expected where, group by, order by or limit, found \"from\": the objects are those of RUN";
            return Wrong::new(self.column(), problem);
        }
        self.expected("and, or, select, group by, order by, limit, or the end")
    }

    fn limit(&mut self) -> Result<u32, Wrong> {
        let column = self.column();
        match self.take() {
            Token::Number(number) if (1..=1_000_000).contains(&number) => Ok(number as u32),
            other => Err(Wrong::new(column, format!("expected a number from 1 to 1000000, found {}", other.shown()))),
        }
    }

    fn term(&mut self) -> Result<Term, Wrong> {
        let column = self.column();
        let Token::Word(word) = self.peek().clone() else { return Err(self.expected("a term")) };
        let term = Term::named(&word).ok_or_else(|| unknown(column, &word))?;
        self.take();
        Ok(term)
    }

    fn group(&mut self) -> Result<Term, Wrong> {
        let column = self.column();
        let term = self.term()?;
        if term.described().kind == Kind::Bytes {
            return Err(Wrong::new(column, format!("expected a name, a number or a flag, found the size {term}")));
        }
        Ok(term)
    }

    fn shown(&mut self) -> Result<Shown, Wrong> {
        if self.takes_sign(".") || self.takes("field") {
            return self.field_name().map(Shown::Field);
        }
        if self.takes("path") {
            return Ok(Shown::Path);
        }
        self.comparable()
    }

    /// A term, `count`, or an aggregate.
    fn comparable(&mut self) -> Result<Shown, Wrong> {
        if self.takes("count") {
            if self.takes_sign("(") {
                self.takes_sign("*");
                self.need_sign(")")?;
            }
            return Ok(Shown::Count);
        }
        for aggregate in [Aggregate::Sum, Aggregate::Min, Aggregate::Max] {
            if self.takes(aggregate.name()) {
                self.need_sign("(")?;
                let column = self.column();
                let term = self.term()?;
                if !term.is_number() {
                    return Err(Wrong::new(column, format!("expected a number, found {term}")));
                }
                self.need_sign(")")?;
                return Ok(Shown::Aggregate(aggregate, term));
            }
        }
        self.term().map(Shown::Term)
    }

    fn key(&mut self) -> Result<Key, Wrong> {
        let by = self.comparable()?;
        let descending = self.takes("desc");
        if !descending {
            self.takes("asc");
        }
        Ok(Key { by, descending })
    }
}
