//! Replays in this process, of simulated heaps, generated and damaged traces.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod background;
mod beside;
mod calls;
mod eventlog;
#[path = "../../../../tests/support/fast_folder.rs"]
mod fast_folder;
mod generated;
mod generations;
mod heap;
mod heapprofile;
mod hostile;
mod nettrace;
mod recordings;
mod sampling;
mod simulated;
mod support;
mod tracetree;
mod tracking;
mod written;
