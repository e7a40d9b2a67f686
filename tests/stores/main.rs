//! Inputs and lakes in an object store: a real S3 server on loopback (moto), behind a proxy that fails, stalls and
//! counts.
//!
//! `make test-stores` installs the server and names its Python in `HEAPLAKE_STORES_PYTHON`, and with npm the emulator of
//! Azure, in `HEAPLAKE_AZURITE`.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod azure;
mod common;
mod compact;
mod environment;
mod failures;
mod foreign;
mod hanging;
mod inputs;
mod kills;
mod label;
mod lakes;
mod proxy;
mod published;
mod reading;
mod requests;
mod server;
