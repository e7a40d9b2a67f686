//! Errors of stores as errors of the system, in one line.

use heaplake_kit::storage::Failure;
use object_store::Error;
use std::io::{self, ErrorKind};

/// An error with a text of ours.
pub fn plain(kind: ErrorKind, text: &str) -> io::Error {
    Failure::of(kind, text)
}

/// The error of a library that panicked.
pub fn broken() -> io::Error {
    let text = "the library for object stores failed; check the variables that begin with AWS_, GOOGLE_ or AZURE_";
    plain(ErrorKind::InvalidInput, text)
}

/// What a store said.
pub fn io_error(error: Error) -> io::Error {
    let kind = match &error {
        Error::NotFound { .. } => ErrorKind::NotFound,
        Error::AlreadyExists { .. } | Error::Precondition { .. } => ErrorKind::AlreadyExists,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => ErrorKind::PermissionDenied,
        Error::NotImplemented { .. } | Error::NotSupported { .. } => ErrorKind::InvalidInput,
        _ => ErrorKind::Other,
    };
    plain(kind, &text(error))
}

/// The most telling part: a store says what happened in its source.
fn text(error: Error) -> String {
    match error {
        Error::NotFound { .. } => "there is no such object".to_owned(),
        Error::PermissionDenied { source, .. } => format!("the store denies access: {source}"),
        Error::Unauthenticated { source, .. } => format!("the store does not know these credentials: {source}"),
        other => other.to_string(),
    }
}
