//! The binary: command line, plan, run, commit. The only place that knows every stage.
//!
//! [`analyze::analyze`] takes one input through all stages; [`commands`] does what the command line asks for and is all
//! that `main` calls.

pub mod again;
pub mod analyze;
pub mod cli;
pub mod commands;
pub mod forecast;
pub mod inputs;
pub mod inspect;
pub mod journal;
pub mod memory;
pub mod owners;
pub mod plan;
pub mod progress;
pub mod replay;
pub mod replay_cli;
pub mod replay_summary;
pub mod reports;
pub mod summary;
pub mod track;
pub mod workplace;
