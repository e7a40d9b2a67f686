//! The binary: command line, engine, what people read. The only place that knows every stage.
//!
//! [`commands`] does what the command line asks for and is all that `main` calls; [`engine`] takes one input through all
//! stages; [`mod@print`] is what appears on a terminal; [`complaint`] is what every failure becomes.

pub mod commands;
pub mod complaint;
pub mod engine;
pub mod inputs;
pub mod memory;
pub mod owner_rules;
pub mod print;
