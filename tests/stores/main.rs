//! Inputs and lakes in an object store: a real S3 server on loopback (moto), behind a proxy that fails, stalls and
//! counts.
//!
//! `make test-stores` installs the server and names its Python in `HEAPLAKE_STORES_PYTHON`.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

#[expect(dead_code, reason = "files are named to the binary")]
#[path = "../support/fixtures.rs"]
mod fixtures;
#[path = "../support/generated.rs"]
mod generated;
#[expect(dead_code, reason = "nothing is left by what goes to a store")]
#[path = "../support/lake.rs"]
mod lake;
#[expect(dead_code, reason = "columns of numbers only")]
#[path = "../support/table.rs"]
mod table;

mod common;
mod environment;
mod failures;
mod foreign;
mod hanging;
mod inputs;
mod kills;
mod lakes;
mod proxy;
mod reading;
mod server;
