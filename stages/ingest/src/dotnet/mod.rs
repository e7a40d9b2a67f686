//! Walks of .NET heaps: reported by the runtime to a trace (`.nettrace`), written by an agent to a profiler log, or
//! stored by a tool (`.gcdump`).
//!
//! The stages of this folder, in this order:
//!
//! | stage | from | to |
//! |---|---|---|
//! | [`walk`] | the input | objects, references and roots of one walk by address; names and keys of classes |
//! | [`join`] | these | classes, sizes and edges of all objects, essential edges, in-degrees, orphans, distance seeds |
//!
//! [`events`] reads the events of a trace, [`log`] a profiler log with the help of [`sizes`], [`gcdump`] a dump;
//! [`recorder`] writes a walk, [`types`] names its types.
//!
//! A walk follows a full garbage collection, so all objects in it are alive. It has no fields and no values: references
//! have no names, and duplicates cannot be found.

pub(crate) mod census;
pub(crate) mod document;
pub(crate) mod events;
pub(crate) mod gcdump;
pub(crate) mod join;
pub(crate) mod log;
mod outside;
pub(crate) mod recorder;
pub(crate) mod roles;
pub(crate) mod sizes;
pub(crate) mod types;
pub(crate) mod walk;

use crate::format::{Estimate, Format, default_name};
use heaplake_input::kind;
use heaplake_input::nettrace;
use heaplake_input::profiler_log;
use heaplake_input::source::Opened;
use heaplake_kit::{Context, Stage, StageError};
use heaplake_schemas::options::AnalysisOptions;
use heaplake_schemas::scratch::Metadata;

/// The format.
pub(crate) struct Dotnet;

impl Format for Dotnet {
    fn name(&self) -> &'static str {
        ".NET heap walk"
    }

    fn recognises(&self, beginning: &[u8]) -> bool {
        let magics = [nettrace::MAGIC, gcdump::MAGIC, profiler_log::MAGIC];
        magics.iter().any(|magic| beginning.starts_with(magic)) && kind::serialized(beginning).is_none()
    }

    /// Only dumps: traces mostly hold allocation events, which are replayed.
    fn endings(&self) -> &'static [&'static str] {
        &[".gcdump"]
    }

    fn follows_essential(&self) -> bool {
        true
    }

    fn stages(&self) -> &'static [&'static Stage] {
        &[&walk::STAGE, &join::STAGE]
    }

    fn estimate(&self, opened: Opened, context: &Context<'_>) -> Result<Estimate, StageError> {
        census::estimate(opened.source, context)
    }

    /// A trace can have other runs: its replay, and one per walk.
    fn run_name(&self, stem: &str, metadata: &Metadata, options: &AnalysisOptions) -> String {
        let name = default_name(stem, metadata);
        match options.walk {
            Some(walk) => format!("{name}-walk{walk}"),
            None if [document::TRACE, document::LOG].contains(&metadata.format.as_str()) => format!("{name}-walk"),
            None => name,
        }
    }
}
