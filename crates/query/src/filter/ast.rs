//! The syntax tree of a query. Its text parses to an equal tree.

use super::terms::Term;
use std::fmt;

/// A condition on an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// All of them; true if empty.
    And(Vec<Filter>),
    /// Any of them; at least two.
    Or(Vec<Filter>),
    /// The opposite.
    Not(Box<Filter>),
    /// One test.
    Test(Test),
}

/// A test of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// Of a column.
    Column(Term, Check),
    /// Of the classes and labels on the shortest path from a root: true if one passes.
    Path(Check),
    /// Of the value of a field.
    Field(String, Check),
    /// Of the object that a field refers to.
    FieldOf(String, Box<Filter>),
    /// Of an object whose field refers to it.
    InField(String, Box<Filter>),
    /// Of another object that is related to it.
    Related(Relation, Box<Filter>),
    /// Whether the class of the object is, or inherits from, a class.
    InstanceOf(String),
}

/// A relation to other objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The immediate dominator.
    Dominator,
    /// Any dominator.
    DominatedBy,
    /// Any object that it dominates.
    Dominates,
    /// Any object that it dominates immediately.
    DominatorOf,
    /// Any object that it refers to.
    References,
    /// Any object that refers to it.
    ReferencedBy,
}

impl Relation {
    /// Its words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Dominator => "dominator",
            Self::DominatedBy => "dominated by",
            Self::Dominates => "dominates any",
            Self::DominatorOf => "dominator of any",
            Self::References => "references any",
            Self::ReferencedBy => "referenced by any",
        }
    }
}

/// A check of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// A comparison.
    Compare(Compare, Literal),
    /// A regular expression matches somewhere.
    Matches(String),
    /// A regular expression matches nowhere.
    MatchesNot(String),
    /// A text contains another.
    Contains(String),
    /// A text starts with another.
    StartsWith(String),
    /// A text ends with another.
    EndsWith(String),
    /// A value is one of several.
    In(Vec<Literal>),
    /// There is no value.
    IsNull,
    /// A flag is true.
    IsTrue,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `=`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

impl Compare {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Equal, Self::Unequal, Self::Less, Self::AtMost, Self::More, Self::AtLeast];

    /// Its sign.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
        }
    }

    /// Whether it holds for two values in this order.
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::More => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

/// A value in a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// A number.
    Number(i128),
    /// A text.
    Text(String),
    /// True or false.
    Flag(bool),
}

/// A query: a filter and what to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The objects.
    pub filter: Filter,
    /// Columns; empty for those that fit.
    pub select: Vec<Shown>,
    /// Terms of the groups; empty for a list of objects.
    pub group_by: Vec<Term>,
    /// Order; empty for the largest retained size first.
    pub order_by: Vec<Key>,
    /// Maximum number of rows.
    pub limit: Option<u32>,
}

/// A column of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A term.
    Term(Term),
    /// The shortest path from a root.
    Path,
    /// The value of a field.
    Field(String),
    /// Number of objects of a group.
    Count,
    /// An aggregate of a number over a group.
    Aggregate(Aggregate, Term),
}

/// An aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// The sum.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

impl Aggregate {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}

/// A key of the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// What is compared; never a path or a field.
    pub by: Shown,
    /// Whether the greatest comes first.
    pub descending: bool,
}

impl Filter {
    /// The filter that every object passes.
    pub const ALL: Self = Self::And(Vec::new());

    /// Whether every object passes it.
    pub fn is_all(&self) -> bool {
        *self == Self::ALL
    }
}

/// A text in quotes.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{}", Quoted(text)),
            Self::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare(compare, literal) => write!(f, " {} {literal}", compare.sign()),
            Self::Matches(text) => write!(f, " ~ {}", Quoted(text)),
            Self::MatchesNot(text) => write!(f, " !~ {}", Quoted(text)),
            Self::Contains(text) => write!(f, " contains {}", Quoted(text)),
            Self::StartsWith(text) => write!(f, " starts with {}", Quoted(text)),
            Self::EndsWith(text) => write!(f, " ends with {}", Quoted(text)),
            Self::In(literals) => {
                let literals: Vec<String> = literals.iter().map(ToString::to_string).collect();
                write!(f, " in ({})", literals.join(", "))
            }
            Self::IsNull => f.write_str(" is null"),
            Self::IsTrue => Ok(()),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(term, check) => write!(f, "{term}{check}"),
            Self::Path(check) => write!(f, "path{check}"),
            Self::Field(name, check) => write!(f, "field {}{check}", Quoted(name)),
            Self::FieldOf(name, filter) => write!(f, "field {} ({filter})", Quoted(name)),
            Self::InField(name, filter) => write!(f, "referenced by field {} ({filter})", Quoted(name)),
            Self::Related(relation, filter) => write!(f, "{} ({filter})", relation.words()),
            Self::InstanceOf(class) => write!(f, "instance of {}", Quoted(class)),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, word) = match self {
            Self::Test(test) => return write!(f, "{test}"),
            Self::Not(inner) if matches!(**inner, Self::Test(_)) => return write!(f, "not {inner}"),
            Self::Not(inner) => return write!(f, "not ({inner})"),
            Self::And(all) => (all, "and"),
            Self::Or(all) => (all, "or"),
        };
        for (at, one) in all.iter().enumerate() {
            if at > 0 {
                write!(f, " {word} ")?;
            }
            match one {
                Self::And(_) | Self::Or(_) => write!(f, "({one})")?,
                _ => write!(f, "{one}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Term(term) => write!(f, "{term}"),
            Self::Path => f.write_str("path"),
            Self::Field(name) => write!(f, "field {}", Quoted(name)),
            Self::Count => f.write_str("count"),
            Self::Aggregate(aggregate, term) => write!(f, "{}({term})", aggregate.name()),
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |all: Vec<String>| all.join(", ");
        let mut parts = Vec::new();
        if !self.filter.is_all() {
            parts.push(self.filter.to_string());
        }
        if !self.select.is_empty() {
            parts.push(format!("select {}", list(self.select.iter().map(ToString::to_string).collect())));
        }
        if !self.group_by.is_empty() {
            parts.push(format!("group by {}", list(self.group_by.iter().map(ToString::to_string).collect())));
        }
        if !self.order_by.is_empty() {
            let key = |key: &Key| format!("{}{}", key.by, if key.descending { " desc" } else { "" });
            parts.push(format!("order by {}", list(self.order_by.iter().map(key).collect())));
        }
        if let Some(limit) = self.limit {
            parts.push(format!("limit {limit}"));
        }
        f.write_str(&parts.join(" "))
    }
}
