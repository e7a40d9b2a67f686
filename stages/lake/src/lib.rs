//! The storage format of runs in a lake. A library without stages.
//!
//! A **run** is one folder with the results of one input: its tables, one Parquet file each, and `run.json`, which
//! describes the input, the options and the contents in brief ([`Run`](heaplake_schemas::run::Run)). `run.json` is
//! written last: a folder without it is no run. It has a checksum of each table, and a seal over all that it says. A **lake** is a folder of runs:
//!
//! ```text
//! LAKE/release=<release>/snapshot=<name>/run.json
//!                                        nodes.parquet
//!                                        ...
//! ```
//!
//! Query engines read the names of these folders as the columns `release` and `snapshot`. A run never changes: it
//! exists completely or not at all, and a new one replaces it in one step.
//!
//! | to | use |
//! |---|---|
//! | write a table | [`table::Table`], which takes a [`source::Source`] for each column |
//! | read a table back | [`reader::Reader`], which gives batches with typed columns by name |
//! | commit the tables of a run in one step, and read the description of a run | [`commit`] |
//! | know when the input of a run was captured | [`captured`] |
//! | know whether files are what was written | [`described`] and [`seal`] for `run.json`, [`listed`] and [`checksum`] for tables, [`whole`] for the tables of many runs |
//! | find the runs that a user means | [`selection`] |
//! | name the nearest of what there is | [`nearest`](mod@nearest) |
//! | read one version of a run while others replace it | [`handles`] |
//! | write several files that appear together | [`files`] |
//! | write a file that the user named | [`output_file`] |
//! | know what in a folder of the user may be removed or replaced | [`manifest`], [`run_files`] |
//! | be the only one that makes a run | [`place`] |
//! | have a folder that goes when the command ends | [`hidden`] |
//! | open the files of a run, in a folder or in an object store | [`stored`] |
//! | let one process at a time work in a folder | [`lock::Lock`] |
//!
//! [`table`] writes row groups, the columns of each on several threads. Columns that are not nested bypass the encoders of
//! the Parquet library, which take a call per value: `numbers` packs whole pages, [`mod@text`] builds dictionaries from
//! positions in a string table. The bytes of a table depend on its rows alone, never on threads, time or paths.

mod attempt;
mod bounds;
pub mod captured;
pub mod checked;
pub mod checksum;
mod column;
pub mod commit;
mod constant;
mod delta;
pub mod described;
mod distinct;
mod entries;
pub mod files;
mod found;
mod guarded;
pub mod handles;
mod held;
pub mod hidden;
pub mod listed;
pub mod lock;
pub mod manifest;
pub mod moment;
pub mod nearest;
mod numbers;
pub mod output_file;
mod pages;
mod parquet_file;
pub mod place;
pub mod reader;
mod remote;
mod row_group;
pub mod run_files;
mod runs;
pub mod seal;
pub mod selection;
pub mod source;
pub mod stored;
pub mod strangers;
pub mod table;
mod tail;
mod team;
pub mod text;
mod thrift;
mod values;
pub mod whole;
mod windows;
mod words;

#[cfg(test)]
mod against_library;
