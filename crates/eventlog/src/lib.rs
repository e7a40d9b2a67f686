//! The event log: allocations, deaths and collections of a running process, as a recorder inside it writes them.
//!
//! The format is described in `docs/event-log.md`. A log is a [`header`], then frames. Each [`frame`] is compressed and
//! checked by itself, so that a killed process leaves a log that ends at its last whole frame. Its content is a sequence
//! of [`record`]s, which [`encode`] writes. [`reader`] reads a log from anything that implements `Read`.
//!
//! Recorders depend on this crate, so it depends on no other crate of the workspace, and allocates only where stated.
//!
//! ```
//! use heaplake_eventlog::encode::Encoder;
//! use heaplake_eventlog::frame::FrameWriter;
//! use heaplake_eventlog::header::Header;
//! use heaplake_eventlog::reader::Log;
//! use heaplake_eventlog::record::{Record, Sample};
//!
//! let mut frames = FrameWriter::new(Vec::new(), &Header::new([("runtime", "java")])).unwrap();
//! let mut records = Encoder::default();
//! records.class(1, b"com.shop.Order");
//! records.sample(&Sample { class: 1, size: 24, weight: 10, ..Sample::default() });
//! records.counts([(1, 10, 240)]);
//! frames.write(&records).unwrap();
//!
//! let log = frames.into_inner();
//! let mut log = Log::open(&log[..]).unwrap();
//! let mut objects = 0;
//! while let Some(frame) = log.frame().unwrap() {
//!     for record in frame.records() {
//!         if let Record::Counts(counts) = record.unwrap() {
//!             objects += counts.map(|count| count.objects).sum::<u64>();
//!         }
//!     }
//! }
//! assert_eq!(objects, 10);
//! ```

pub mod encode;
pub mod frame;
pub mod header;
pub mod reader;
pub mod record;
pub mod varint;

/// A part of a log that is not as the format has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Its offset in bytes: in the log, or in the content of a frame for an error of a record.
    pub at: u64,
    /// The expected content.
    pub expected: String,
    /// The content found there.
    pub found: String,
}

impl Bad {
    pub(crate) fn new(at: u64, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { at, expected: expected.into(), found: found.into() }
    }
}

impl std::fmt::Display for Bad {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "at byte {}: expected {}, found {}", self.at, self.expected, self.found)
    }
}

impl std::error::Error for Bad {}
