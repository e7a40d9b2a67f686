//! Object stores behind URLs: `s3://bucket/key`, `gs://bucket/key`, `az://container/key`.
//!
//! [`install`] registers them with [`heaplake_kit::storage`], through which all of heaplake reads and writes.
//! Credentials, endpoints and regions come from the usual environment of each store (`AWS_ACCESS_KEY_ID`,
//! `AWS_ENDPOINT_URL`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME`, …), or from the machine's own identity.
//!
//! Calls run on one small runtime of two threads, which the first call starts. Requests with transient failures (500,
//! 503, a connection that is reset, no answer) are retried, with growing pauses, for up to [`PATIENCE`]; a truncated
//! body is resumed where it broke off.

mod answers;
mod buckets;
mod calls;
mod environment;
mod error;
mod waiting;

pub use buckets::{PATIENCE, bucket, check};

/// Registers the object stores for the process.
pub fn install() {
    heaplake_kit::storage::install(Box::new(calls::Stores));
}
