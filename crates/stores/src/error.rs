//! Converts errors of stores to one-line system errors.

use heaplake_kit::storage::Failure;
use object_store::Error;
use std::io::{self, ErrorKind};

/// An error with our own text.
pub(crate) fn plain(kind: ErrorKind, text: &str) -> io::Error {
    Failure::of(kind, text)
}

/// Error for a panic in the library.
pub(crate) fn broken() -> io::Error {
    let text = "the library for object stores failed; check the variables that begin with AWS_, GOOGLE_ or AZURE_";
    plain(ErrorKind::InvalidInput, text)
}

/// Converts an error of a store.
pub(crate) fn io_error(error: Error) -> io::Error {
    let kind = match &error {
        Error::NotFound { .. } => ErrorKind::NotFound,
        Error::AlreadyExists { .. } | Error::Precondition { .. } => ErrorKind::AlreadyExists,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => ErrorKind::PermissionDenied,
        Error::NotImplemented { .. } | Error::NotSupported { .. } => ErrorKind::InvalidInput,
        _ => ErrorKind::Other,
    };
    plain(kind, &text(error))
}

/// The most informative part: the answer of a store is in its source.
fn text(error: Error) -> String {
    match error {
        Error::NotFound { .. } => "there is no such object".to_owned(),
        Error::PermissionDenied { source, .. } => format!("the store denies access: {source}"),
        Error::Unauthenticated { source, .. } => format!("the store does not know these credentials: {source}"),
        other => other.to_string(),
    }
}
