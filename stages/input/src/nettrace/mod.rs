//! `.nettrace`, as .NET's EventPipe writes it: the container, without the meaning of its events.
//!
//! Two stage crates read these files, one for allocations and garbage collections, the other for walks of the heap.
//! Each implements [`Events`] for the events that it wants; [`read`](mod@read) parses the container, [`span`] brings
//! the events into order of time, [`cursor`] reads their fields, [`payload`] those that both understand.

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
