//! Guards calls into the Parquet library, which panics on some damaged tables.

use heaplake_kit::{StageError, panics};
use std::path::Path;

/// Turns a panic of the library into a table error, without a message on standard error.
pub(crate) fn guarded<T>(path: &Path, work: impl FnOnce() -> T) -> Result<T, StageError> {
    panics::silent(work).ok_or_else(|| {
        let problem = "its footer does not fit its pages".to_owned();
        StageError::Table { path: path.to_owned(), problem }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(guarded(Path::new("a"), || 7).ok(), Some(7));
        let error = guarded(Path::new("a"), || panic!("inside")).err();
        assert!(matches!(error, Some(StageError::Table { .. })), "{error:?}");
    }
}
