//! SQL over all runs of a lake. A library without stages.
//!
//! Each table is a view over all runs that have it. A view begins with four columns of the run: `release`, `snapshot`,
//! `captured_at` and `labels`. The engine is DataFusion, which nothing else of the project uses: it takes longer to
//! compile than the rest, so the binary has this crate behind the feature `sql`.
//!
//! | to | use |
//! |---|---|
//! | know the runs of a lake, and the ones that are damaged | [`lake::Lake`] |
//! | read one table of all runs | [`view::View`] |
//! | read the tables of a comparison | `compared` |
//! | read a file of the user beside them | [`attached`] |
//! | run statements within bounded memory | [`session::Session`] |
//! | collect some rows in memory as JSON | [`collected::Collected`] |
//! | write rows as a table, CSV, JSON or Parquet | [`output`] |
//! | run a query by its name | [`named`] |
//! | complete the names of tables and columns | [`words`] |
//!
//! Conditions on the run columns select files before any is opened. Other conditions exclude row groups and pages by
//! their statistics. Nothing here writes into a lake.

mod address;
mod apart;
pub mod attached;
pub mod collected;
mod compared;
mod depth;
pub mod error;
mod files;
#[cfg(test)]
mod functions;
mod joins;
mod lake;
pub mod named;
pub mod output;
mod packed;
mod pruning;
mod rows;
mod scan;
mod scanned;
pub mod session;
mod view;
pub mod words;
pub mod writer;
