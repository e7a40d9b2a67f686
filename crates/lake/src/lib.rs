//! The storage format of runs in a lake. A library without stages.
//!
//! A **run** is one folder with the results of one input: its tables, one Parquet file each, and `run.json`, with the
//! input, the options and a summary ([`Run`](heaplake_schemas::run::Run)), a checksum of each table, and a seal over
//! its own content. `run.json` is written last: a folder without it is not a run. A **lake** is a folder of runs:
//!
//! ```text
//! LAKE/release=<release>/snapshot=<name>/run.json
//!                                        nodes.parquet
//!                                        ...
//! ```
//!
//! Query engines read these folder names as the columns `release` and `snapshot`. A run is immutable: it exists
//! completely or not at all, and a new one replaces it atomically.
//!
//! | to | use |
//! |---|---|
//! | write a table | [`table::Table`], which takes a [`source::Source`] per column |
//! | read a table | [`reader::Reader`], which returns batches with typed columns by name |
//! | write and read findings | [`findings`] |
//! | commit the tables of a run atomically, and read the description of a run | [`commit`] |
//! | get the capture time of a run's input | [`captured`] |
//! | verify files | [`described`] and [`seal`] for `run.json`, [`listed`] and [`checksum`] for tables, [`whole`] for the tables of many runs |
//! | find the runs that a user means | [`selection`] |
//! | list, verify, drop, compact and merge the runs of lakes | [`upkeep`] |
//! | read the small tables of many runs from one file | [`packs`] |
//! | suggest the nearest existing names | [`nearest`](mod@nearest) |
//! | read one version of a run while others replace it | [`handles`] |
//! | write several files that appear together | [`files`] |
//! | write a file named by the user | [`output_file`] |
//! | decide which entries of a user's folder may be removed or replaced | [`manifest`], [`run_files`] |
//! | make a run exclusively | [`place`] |
//! | create a temporary folder | [`hidden`] |
//! | open the files of a run, in a folder or in an object store | [`stored`] |
//! | give one process at a time a folder | [`lock::Lock`] |
//!
//! [`table`] writes row groups, the columns of each on several threads. Columns that are not nested bypass the encoders
//! of the Parquet library, which are called per value: `numbers` packs whole pages, [`mod@text`] builds dictionaries
//! from positions in a string table. The bytes of a table depend on its rows alone, never on threads, time or paths.

mod ahead;
mod attempt;
mod batch;
mod bounds;
pub mod captured;
pub mod catalogue;
mod cells;
pub mod checked;
pub mod checksum;
mod column;
pub mod commit;
mod constant;
mod copies;
mod delta;
pub mod described;
mod distinct;
mod entries;
pub mod entry;
pub mod files;
pub mod findings;
mod found;
mod guarded;
pub mod handles;
mod held;
pub mod hidden;
mod inventory;
mod json_text;
mod layout;
pub mod listed;
pub mod lock;
pub mod manifest;
pub mod mirror;
pub mod moment;
pub mod named;
pub mod nearest;
mod numbers;
pub mod output_file;
mod packing;
pub mod packs;
mod pages;
pub mod parquet_file;
mod period;
pub mod place;
mod places;
pub mod reader;
mod remote;
mod row_group;
pub mod run_files;
mod run_path;
mod runs;
pub mod seal;
pub mod selection;
pub mod shared_table;
pub mod source;
mod standing;
pub mod stored;
pub mod strangers;
pub mod table;
mod tail;
pub mod text;
mod thrift;
pub mod upkeep;
mod values;
pub mod whole;
mod windows;
mod words;
mod zone_map;

#[cfg(test)]
mod against_library;
