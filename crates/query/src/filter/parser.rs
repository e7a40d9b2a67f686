//! Parses filters; `clauses.rs` parses the clauses after them.
//!
//! Recursive descent. The depth of the tree is bounded, so neither the parser nor the evaluation overflows the stack.

use super::ast::{Check, Compare, Filter, Literal, Relation, Test};
use super::error::Wrong;
use super::lexer::{Token, tokens};
use super::terms::{Kind, Term, unknown};

/// Maximum nesting of parentheses and of `not`.
const DEEPEST: usize = 60;
/// Maximum number of tests.
const MOST_TESTS: usize = 200;
/// Maximum size of a compiled regular expression, bytes.
pub(crate) const REGEX_BYTES: usize = 1 << 20;

/// Words that begin or end a clause or an operator.
pub(super) const KEYWORDS: [&str; 22] = [
    "and", "or", "not", "in", "is", "null", "contains", "starts", "ends", "with", "true", "false", "any", "by",
    "where", "select", "group", "order", "limit", "asc", "desc", "from",
];

/// Words after which a clause begins.
const CLAUSES: [&str; 6] = ["where", "select", "group", "order", "limit", "from"];

/// State of the parser.
pub(super) struct Parser {
    tokens: Vec<(usize, Token)>,
    at: usize,
    depth: usize,
    tests: usize,
}

impl Parser {
    /// Starts at the begin of a text.
    pub(super) fn new(text: &str) -> Result<Self, Wrong> {
        Ok(Self { tokens: tokens(text)?, at: 0, depth: 0, tests: 0 })
    }

    /// The next token; the last one is [`Token::End`].
    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at].1
    }

    fn peek_after(&self) -> &Token {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].1
    }

    /// Column of the next token.
    pub(super) fn column(&self) -> usize {
        self.tokens[self.at].0
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// Takes the next token if it is this word.
    pub(super) fn takes(&mut self, word: &str) -> bool {
        let is = self.peek().is(word);
        if is {
            self.take();
        }
        is
    }

    /// Takes the next token if it is this sign.
    pub(super) fn takes_sign(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek(), Token::Sign(own) if *own == sign);
        if is {
            self.take();
        }
        is
    }

    /// The error that the next token is not the expected one.
    pub(super) fn expected(&self, what: &str) -> Wrong {
        Wrong::new(self.column(), format!("expected {what}, found {}", self.peek().shown()))
    }

    /// Takes a sign, or fails.
    pub(super) fn need_sign(&mut self, sign: &str) -> Result<(), Wrong> {
        if self.takes_sign(sign) { Ok(()) } else { Err(self.expected(&format!("{sign:?}"))) }
    }

    /// Takes a word, or fails.
    pub(super) fn need(&mut self, word: &str) -> Result<(), Wrong> {
        if self.takes(word) { Ok(()) } else { Err(self.expected(word)) }
    }

    /// Whether a clause or the end comes next.
    pub(super) fn is_at_clause(&self) -> bool {
        let needs_by = |word: &str| word == "group" || word == "order";
        let is = |word: &&str| self.peek().is(word) && (!needs_by(word) || self.peek_after().is("by"));
        *self.peek() == Token::End || CLAUSES.iter().any(is)
    }

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, Wrong>) -> Result<T, Wrong> {
        if self.depth == DEEPEST {
            let problem = format!("expected at most {DEEPEST} parentheses around each other, found more");
            return Err(Wrong::new(self.column(), problem));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// `and { "or" and }`
    pub(super) fn filter(&mut self) -> Result<Filter, Wrong> {
        self.several("or", Self::all_of, Filter::Or)
    }

    /// `not { "and" not }`
    fn all_of(&mut self) -> Result<Filter, Wrong> {
        self.several("and", Self::negation, Filter::And)
    }

    fn several(
        &mut self,
        word: &str,
        one: fn(&mut Self) -> Result<Filter, Wrong>,
        of: fn(Vec<Filter>) -> Filter,
    ) -> Result<Filter, Wrong> {
        let first = one(self)?;
        if !self.peek().is(word) {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.takes(word) {
            all.push(one(self)?);
        }
        Ok(of(all))
    }

    /// `"not" not | "(" filter ")" | test`
    fn negation(&mut self) -> Result<Filter, Wrong> {
        if self.takes("not") {
            return Ok(Filter::Not(Box::new(self.nested(Self::negation)?)));
        }
        if self.takes_sign("(") {
            return self.in_parentheses();
        }
        self.tests += 1;
        if self.tests > MOST_TESTS {
            return Err(Wrong::new(self.column(), format!("expected at most {MOST_TESTS} tests, found more")));
        }
        self.test()
    }

    /// A filter whose opening parenthesis was taken.
    fn in_parentheses(&mut self) -> Result<Filter, Wrong> {
        let filter = self.nested(Self::filter)?;
        if !self.takes_sign(")") {
            return Err(self.expected("and, or, or \")\""));
        }
        Ok(filter)
    }

    fn test(&mut self) -> Result<Filter, Wrong> {
        let column = self.column();
        if self.takes_sign(".") {
            return self.field();
        }
        let Token::Word(word) = self.peek().clone() else { return Err(self.expected("a term")) };
        if let Some(relation) = self.relation()? {
            return self.related(relation);
        }
        self.take();
        match word.to_ascii_lowercase().as_str() {
            "field" => return self.field(),
            "path" => return self.checked(Kind::Text, "path", Test::Path),
            "instance" if self.peek().is("of") => return self.instance(),
            "instanceof" => return self.instance_of(),
            _ => {}
        }
        match Term::named(&word) {
            Some(term) => self.checked(term.described().kind, term.described().name, |check| Test::Column(term, check)),
            None if KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(&word)) => {
                Err(Wrong::new(column, format!("expected a term, found {word:?}")))
            }
            None => Err(unknown(column, &word)),
        }
    }

    /// Takes the words of a relation.
    fn relation(&mut self) -> Result<Option<Relation>, Wrong> {
        let opens = |token: &Token| *token == Token::Sign("(");
        let (next, after) = (self.peek(), self.peek_after());
        let relation = match () {
            () if next.is("dominator") && after.is("of") => Relation::DominatorOf,
            () if next.is("dominator") && (opens(after) || *after == Token::Sign(".")) => Relation::Dominator,
            () if next.is("dominated") => Relation::DominatedBy,
            () if next.is("dominates") => Relation::Dominates,
            () if next.is("references") && (opens(after) || after.is("any")) => Relation::References,
            () if next.is("referenced") => Relation::ReferencedBy,
            () => return Ok(None),
        };
        self.take();
        if matches!(relation, Relation::DominatedBy | Relation::ReferencedBy) {
            self.need("by")?;
        }
        if relation == Relation::DominatorOf {
            self.need("of")?;
        }
        if relation != Relation::Dominator {
            self.takes("any");
        }
        Ok(Some(relation))
    }

    fn related(&mut self, relation: Relation) -> Result<Filter, Wrong> {
        if relation == Relation::ReferencedBy && (self.takes_sign(".") || self.takes("field")) {
            let name = self.field_name()?;
            self.need_sign("(")?;
            return Ok(Filter::Test(Test::InField(name, Box::new(self.in_parentheses()?))));
        }
        let filter = if relation == Relation::Dominator && self.takes_sign(".") {
            self.nested(Self::test)?
        } else {
            if !self.takes_sign("(") {
                return Err(self.expected("\"(\" and a filter"));
            }
            self.in_parentheses()?
        };
        Ok(Filter::Test(Test::Related(relation, Box::new(filter))))
    }

    fn instance(&mut self) -> Result<Filter, Wrong> {
        self.need("of")?;
        self.instance_of()
    }

    fn instance_of(&mut self) -> Result<Filter, Wrong> {
        match self.peek().clone() {
            Token::Text(class) => {
                self.take();
                Ok(Filter::Test(Test::InstanceOf(class)))
            }
            _ => Err(self.expected("the name of a class in quotes")),
        }
    }

    /// Name of a field: a word or a text.
    pub(super) fn field_name(&mut self) -> Result<String, Wrong> {
        match self.peek().clone() {
            Token::Word(name) | Token::Text(name) => {
                self.take();
                Ok(name)
            }
            _ => Err(self.expected("the name of a field")),
        }
    }

    /// A test of a field: of its value, or of the object that it refers to.
    fn field(&mut self) -> Result<Filter, Wrong> {
        let name = self.field_name()?;
        if self.takes_sign("(") {
            return Ok(Filter::Test(Test::FieldOf(name, Box::new(self.in_parentheses()?))));
        }
        if self.takes_sign(".") {
            let is_term = matches!(self.peek(), Token::Word(word) if Term::named(word).is_some());
            let filter = self.nested(if is_term { Self::test } else { Self::field })?;
            return Ok(Filter::Test(Test::FieldOf(name, Box::new(filter))));
        }
        let shown = format!("field {name}");
        let (negated, check) = self.check(None, &shown)?;
        Ok(negate(negated, Filter::Test(Test::Field(name, check))))
    }

    fn checked(&mut self, kind: Kind, name: &str, of: impl FnOnce(Check) -> Test) -> Result<Filter, Wrong> {
        let (negated, check) = self.check(Some(kind), name)?;
        Ok(negate(negated, Filter::Test(of(check))))
    }

    /// A check, and whether it is negated. `kind` is the type of the values, if it is known.
    fn check(&mut self, kind: Option<Kind>, name: &str) -> Result<(bool, Check), Wrong> {
        let column = self.column();
        if self.takes("is") {
            let negated = self.takes("not");
            return match self.peek() {
                token if token.is("null") => self.taken((negated, Check::IsNull)),
                _ => Err(self.expected("null")),
            };
        }
        let after = self.peek_after();
        let negated = self.peek().is("not") && ["in", "contains", "starts", "ends"].iter().any(|word| after.is(word));
        if negated {
            self.take();
        }
        if self.takes("in") {
            return Ok((negated, Check::In(self.literals(kind, name)?)));
        }
        let comparison = match self.peek() {
            Token::Sign(sign) => Compare::ALL.into_iter().find(|compare| compare.sign() == *sign),
            _ => None,
        };
        if let Some(compare) = comparison {
            self.take();
            let literal = self.literal(kind, name)?;
            if matches!(literal, Literal::Flag(_)) && !matches!(compare, Compare::Equal | Compare::Unequal) {
                return Err(Wrong::new(column, format!("{name} is true or false: expected = or !=")));
            }
            return Ok((false, Check::Compare(compare, literal)));
        }
        if let Some(check) = self.text_check(kind, name)? {
            return Ok((negated, check));
        }
        match kind {
            Some(Kind::Flag) => Ok((false, Check::IsTrue)),
            Some(Kind::Text) | None => {
                Err(self.expected("=, !=, ~, !~, contains, starts with, ends with, in, or is null"))
            }
            Some(_) => Err(self.expected("=, !=, <, <=, >, >=, in, or is null")),
        }
    }

    fn taken<T>(&mut self, value: T) -> Result<T, Wrong> {
        self.take();
        Ok(value)
    }

    /// A check that texts only have.
    fn text_check(&mut self, kind: Option<Kind>, name: &str) -> Result<Option<Check>, Wrong> {
        let column = self.column();
        let (of, takes_with): (fn(String) -> Check, bool) = match self.peek() {
            Token::Sign("~") => (Check::Matches, false),
            Token::Sign("!~") => (Check::MatchesNot, false),
            token if token.is("contains") => (Check::Contains, false),
            token if token.is("starts") => (Check::StartsWith, true),
            token if token.is("ends") => (Check::EndsWith, true),
            _ => return Ok(None),
        };
        self.take();
        if takes_with {
            self.need("with")?;
        }
        if !matches!(kind, Some(Kind::Text) | None) {
            return Err(Wrong::new(column, format!("{name} is no text: expected =, !=, <, <=, >, >=, in, or is null")));
        }
        let at = self.column();
        let Token::Text(text) = self.peek().clone() else { return Err(self.expected("a text in quotes")) };
        self.take();
        let check = of(text);
        if let Check::Matches(pattern) | Check::MatchesNot(pattern) = &check {
            regex(pattern).map_err(|problem| Wrong::new(at, problem))?;
        }
        Ok(Some(check))
    }

    fn literals(&mut self, kind: Option<Kind>, name: &str) -> Result<Vec<Literal>, Wrong> {
        self.need_sign("(")?;
        let mut literals = vec![self.literal(kind, name)?];
        while self.takes_sign(",") {
            literals.push(self.literal(kind, name)?);
        }
        if self.takes_sign(")") { Ok(literals) } else { Err(self.expected("\",\" or \")\"")) }
    }

    fn literal(&mut self, kind: Option<Kind>, name: &str) -> Result<Literal, Wrong> {
        let literal = match self.peek() {
            Token::Number(number) => Literal::Number(*number),
            Token::Text(text) => Literal::Text(text.clone()),
            token if token.is("true") => Literal::Flag(true),
            token if token.is("false") => Literal::Flag(false),
            token if token.is("null") => {
                return Err(Wrong::new(self.column(), "expected a value, found null; write is null, or is not null"));
            }
            _ => return Err(self.expected(of_kind(kind))),
        };
        let fits = matches!(
            (kind, &literal),
            (None, _)
                | (Some(Kind::Number | Kind::Bytes), Literal::Number(_))
                | (Some(Kind::Text), Literal::Text(_))
                | (Some(Kind::Flag), Literal::Flag(_))
        );
        if !fits {
            let problem = format!("{name} is compared with {}, found {}", of_kind(kind), self.peek().shown());
            return Err(Wrong::new(self.column(), problem));
        }
        self.take();
        Ok(literal)
    }
}

fn of_kind(kind: Option<Kind>) -> &'static str {
    match kind {
        None => "a value",
        Some(Kind::Number) => "a number",
        Some(Kind::Bytes) => "a number of bytes, such as 1MB",
        Some(Kind::Text) => "a text in quotes",
        Some(Kind::Flag) => "true or false",
    }
}

fn negate(negated: bool, filter: Filter) -> Filter {
    if negated { Filter::Not(Box::new(filter)) } else { filter }
}

/// Compiles a regular expression of bounded size.
pub(crate) fn regex(pattern: &str) -> Result<regex::Regex, String> {
    let built = regex::RegexBuilder::new(pattern).size_limit(REGEX_BYTES).dfa_size_limit(REGEX_BYTES).build();
    built.map_err(|error| {
        let last = error.to_string();
        let last = last.lines().last().unwrap_or_default();
        format!("expected a regular expression: {}", last.strip_prefix("error: ").unwrap_or(last))
    })
}
