//! `.nettrace`, as written by .NET's EventPipe: the container, without the meaning of its events.
//!
//! Two stage crates read these files, one for allocations and garbage collections, the other for heap walks. Each
//! implements [`Events`] for its events; [`read`](mod@read) parses the container, [`span`] sorts the events by time,
//! [`cursor`] reads fields; [`payload`] has the payloads that both use.

pub mod cursor;
pub mod header;
pub mod kinds;
pub mod payload;
pub mod read;
pub mod sequence;
pub mod span;

pub use cursor::Cursor;
pub use read::{Events, MAGIC, Outcome, Trace, read};
pub use span::{Around, Stacks};
