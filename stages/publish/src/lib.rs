//! Tables for notebooks, and runs that are whole or absent.
//!
//! [`nodes`], [`edges`], [`classes`] and [`snapshot`] each write one Parquet table through [`table`]; [`commit`] gives
//! them a folder that appears in its place in one step.

pub mod classes;
pub mod commit;
pub mod edges;
pub mod nodes;
pub mod snapshot;
pub mod table;

use heaplake_kit::StageInfo;

/// The stages of this crate, in order.
pub const STAGES: [&StageInfo; 3] = [&nodes::STAGE, &edges::STAGE, &classes::STAGE];
