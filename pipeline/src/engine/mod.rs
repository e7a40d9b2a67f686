//! The engine: from what stages declare to a run in the lake.
//!
//! - [`registry`]: all stages, listed.
//! - [`graph`]: those of one run, and what each waits for.
//! - [`liveness`]: when a file of scratch can go, and how much disk that takes.
//! - [`admission`]: whether the budget suffices, and what each stage gets of it.
//! - [`execution`]: the ready queue.
//! - [`journal`], [`workplace`]: which stages are done in a scratch folder, and which process has it; `seal`: the form of
//!   the journal on disk.
//! - [`existing`]: whether the lake has the run already.
//! - [`making`]: one input through all of it. It knows no format: [`input`] tells which one an input has.
//! - [`forecast`], [`picture`], [`critical_path`]: what a run would take, how its graph looks, what bounds its time.

pub mod admission;
mod columns;
pub mod critical_path;
pub mod execution;
pub mod existing;
pub mod forecast;
pub mod graph;
pub mod input;
pub mod journal;
pub mod liveness;
pub mod making;
pub mod measure;
pub mod picture;
pub mod registry;
pub mod request;
mod seal;
pub mod workers;
pub mod workplace;

#[cfg(test)]
mod checks;
