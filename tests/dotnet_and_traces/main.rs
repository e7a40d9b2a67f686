//! .NET heaps and allocation traces: walks, dumps, replays, and their findings.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod answer;
mod background;
mod check;
mod diff_objects;
mod dumps;
mod exact;
mod exact_calls;
mod findings;
mod golden;
mod heap_profiles;
mod logs;
mod old_objects;
mod older;
mod profiles;
mod recordings;
mod replays;
mod symbols;
mod token_types;
mod walks;
