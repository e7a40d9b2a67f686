//! Object stores behind URLs: `s3://bucket/key`, `gs://bucket/key`, `az://container/key`.
//!
//! [`install`] hands them to [`heaplake_kit::storage`], through which all of heaplake reads and writes. Credentials,
//! endpoints and regions come from the usual environment of each store (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`,
//! `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME`, …), or from the machine's own identity.
//!
//! Calls run on one small runtime of two threads, which begins with the first call. Requests that fail for reasons that may
//! pass (500, 503, a connection that is reset, no answer) are repeated, with growing pauses, for up to [`PATIENCE`]; a body
//! that breaks off goes on where it broke off.

mod answers;
mod buckets;
mod calls;
mod environment;
mod error;
mod waiting;

pub use buckets::{PATIENCE, bucket, check};

/// Makes paths that are URLs known to the process.
pub fn install() {
    heaplake_kit::storage::install(Box::new(calls::Stores));
}
