//! The bucket of a lake in an object store, for SQL.

use crate::diagnostic::Diagnostic;
#[cfg(feature = "stores")]
use heaplake_kit::{IoAt, storage};
use heaplake_sql::session::Bucket;
use std::path::Path;

/// Returns the bucket of a lake in an object store.
#[cfg(feature = "stores")]
pub(crate) fn of(lake: &Path) -> Result<Option<Bucket>, Diagnostic> {
    let bucket = storage::url(lake).map(heaplake_stores::bucket).transpose();
    Ok(bucket.at(lake, "open")?)
}

/// This build has no object stores, and URLs were refused before.
#[cfg(not(feature = "stores"))]
pub(crate) fn of(_: &Path) -> Result<Option<Bucket>, Diagnostic> {
    Ok(None)
}
