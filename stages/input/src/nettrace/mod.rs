//! `.nettrace`, as .NET's EventPipe writes it: what is needed to get at its events, whatever they mean to the one who
//! reads them.
//!
//! Two stage crates read these files, one for allocations and collections, the other for walks of the heap. Each says
//! which events it wants ([`Events`]); [`read`](mod@read) takes the container apart, [`span`] brings the events into order
//! of time, [`cursor`] reads their fields, [`payload`] those that both understand.

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
