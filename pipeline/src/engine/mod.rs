//! The engine: turns the declarations of stages into a run in the lake.
//!
//! - [`registry`]: list of all stages.
//! - [`graph`]: the stages of one run and their dependencies.
//! - [`liveness`]: when a scratch file can be removed, and peak scratch size.
//! - [`admission`]: whether the budget suffices, and memory grants.
//! - [`scheduler`]: jobs with memory grants: the steps of a run, the inputs of a batch.
//! - [`execution`]: the steps.
//! - [`journal`], [`workplace`]: finished stages in a scratch folder, and its lock; `seal`: the journal's format on
//!   disk.
//! - [`existing`]: whether the lake already has the run.
//! - [`run_executor`]: run executor, one input through all stages. It knows no format: [`input`] recognises that.
//! - [`forecast`], [`picture`]: estimated resources, drawn graph.

pub mod admission;
mod columns;
pub mod execution;
pub mod existing;
pub mod forecast;
pub mod graph;
pub mod input;
pub mod journal;
pub mod liveness;
pub mod measure;
pub mod picture;
pub mod registry;
pub mod request;
pub mod run_executor;
pub mod scheduler;
mod seal;
pub mod workplace;

#[cfg(test)]
mod checks;
