//! Java heap dumps: correct answers, and damaged or unusual dumps.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod check;
mod command_line;
mod damage;
mod dumps;
mod golden;
mod headers;
mod huge;
mod judged;
mod properties;
mod records;
mod structure;
mod written_otherwise;
