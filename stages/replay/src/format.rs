//! The formats of traces, recognised by their first bytes.

use crate::eventlog;
use crate::heapprofile;
use crate::log;
use crate::nettrace;
use crate::tracetree;
use heaplake_input::kind;
use heaplake_schemas::replay::Metadata;

/// File name endings of traces in a folder, without compression.
pub const ENDINGS: &[&str] = &[".nettrace", ".heapprofile", ".jfr", ".hlevents"];

/// Digits of the input's hash in the name of a run.
const HASH_DIGITS: usize = 8;

/// Whether content with this beginning is a trace.
pub fn recognises(beginning: &[u8]) -> bool {
    Format::of(beginning).is_some()
}

/// Returns the default name of a run, from the stem of its input.
pub fn run_name(stem: &str, metadata: &Metadata) -> String {
    // The analysis of the same snapshot has the plain name.
    let kind = if metadata.format == Format::AllocationTree.name() { "-allocations" } else { "" };
    let hash = metadata.input_hash.get(..HASH_DIGITS).unwrap_or(&metadata.input_hash);
    format!("{stem}-{hash}{kind}")
}

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The profiler log.
    Log,
    /// The event log of a recorder in a Java virtual machine.
    JavaEvents,
    /// That of another runtime.
    Events,
    /// `.nettrace`.
    Nettrace,
    /// `.heapprofile`.
    HeapProfile,
    /// `.jfr`.
    FlightRecording,
    /// The allocation tree of a `.heapsnapshot`.
    AllocationTree,
}

impl Format {
    /// Returns the format of content with this beginning, if it is a trace.
    pub fn of(beginning: &[u8]) -> Option<Self> {
        let begins = |with: &[u8]| {
            kind::text(beginning).iter().filter(|byte| !byte.is_ascii_whitespace()).take(with.len()).eq(with)
        };
        if beginning.starts_with(log::MAGIC) {
            Some(Self::Log)
        } else if beginning.starts_with(eventlog::MAGIC) {
            Some(if eventlog::is_of_java(beginning) { Self::JavaEvents } else { Self::Events })
        } else if beginning.starts_with(nettrace::MAGIC) {
            Some(Self::Nettrace)
        } else if kind::of(beginning) == Some(kind::JFR) {
            Some(Self::FlightRecording)
        } else if begins(heapprofile::BEGINNING) {
            Some(Self::HeapProfile)
        } else if begins(tracetree::BEGINNING) {
            Some(Self::AllocationTree)
        } else {
            None
        }
    }

    /// Name of the format.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "profiler-log",
            Self::JavaEvents => "java-events",
            Self::Events => "events",
            Self::Nettrace => "nettrace",
            Self::HeapProfile => "heapprofile",
            Self::FlightRecording => "jfr",
            Self::AllocationTree => "heapsnapshot",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_after_input_and_hash() {
        let named = |format: Format| {
            let (format, input_hash) = (format.name().to_owned(), "0123456789abcdef".to_owned());
            run_name("app", &Metadata { format, input_hash, ..Metadata::default() })
        };
        assert_eq!(named(Format::Nettrace), "app-01234567");
        assert_eq!(named(Format::AllocationTree), "app-01234567-allocations");
        assert!(recognises(b" {\"snapshot\":") && !recognises(b"JAVA PROFILE 1.0.2"));
    }
}
