//! `heaplake query`: objects of a run that pass a filter.
//!
//! [`Query::parse`] reads the language, [`ask`] answers. The table of nodes is scanned by several threads; only columns
//! that the filter, the order and the answer need are read, and later tests only where earlier ones do not decide.
//! Resident memory: per thread about a batch of the columns and 20 bytes per row of a unit of 262,144; the largest rows
//! so far; for each test about other objects a byte per node, and 4 more for dominators or paths.

mod answer;
mod ast;
mod check;
mod clauses;
mod columns;
mod error;
mod groups;
mod lexer;
mod logic;
mod neighbours;
mod order;
mod parser;
mod plan;
mod scan;
mod shown;
pub mod terms;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Head, ask};
pub use ast::{Aggregate, Check, Compare, Filter, Key, Literal, Query, Relation, Shown, Test};
pub use columns::Cell;
pub use error::Wrong;
