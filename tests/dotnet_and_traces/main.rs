//! .NET heaps and allocation traces: walks, dumps, replays, and their findings.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

#[path = "../support/cases.rs"]
mod cases;
#[path = "../support/chain_sums.rs"]
mod chain_sums;
#[path = "../support/compress.rs"]
mod compress;
#[path = "../support/fixtures.rs"]
mod fixtures;
#[path = "../support/in_process.rs"]
mod in_process;
#[path = "../support/lake.rs"]
mod lake;
#[path = "../support/replay.rs"]
mod replay;
#[expect(dead_code, reason = "no column of bytes is read")]
#[path = "../support/table.rs"]
mod table;

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
