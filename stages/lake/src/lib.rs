//! How runs are kept in a lake. A library: no stage is here.
//!
//! A **run** is one folder with what came of one input: its tables, one Parquet file each, and `run.json`, which says what
//! the input was, with which options it was made, and what is in it in brief ([`Run`](heaplake_schemas::run::Run)).
//! `run.json` is written last: a folder without it is no run. A **lake** is a folder of runs:
//!
//! ```text
//! LAKE/release=<release>/snapshot=<name>/run.json
//!                                        nodes.parquet
//!                                        ...
//! ```
//!
//! Query engines read the names of these folders as the columns `release` and `snapshot`. A run never changes: it is there as
//! a whole or not at all, and a new one takes its place in one step.
//!
//! | to | use |
//! |---|---|
//! | write a table | [`table::Table`], which takes a [`source::Source`] for each column |
//! | read a table back | [`reader::Reader`], which gives batches with typed columns by name |
//! | give the tables of a run their place in one step, and read what a run is | [`commit`] |
//! | let one process at a time work in a folder | [`lock::Lock`] |
//!
//! [`table`] writes one [`row_group`] after the other, the columns of each on several threads. Columns of text go past
//! the general Parquet encoder: [`mod@text`] builds their dictionaries from positions in a string table.
//! The bytes of a table depend on its rows alone, never on threads, time or paths.

pub mod commit;
pub mod lock;
pub mod reader;
pub mod row_group;
pub mod source;
pub mod table;
pub mod text;
