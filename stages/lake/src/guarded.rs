//! Calls into the library for Parquet, which panics at some damage of a table: there it is an error.

use heaplake_kit::StageError;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

thread_local! {
    /// Whether this thread is inside the library.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Makes a panic of the library an error of the table, and keeps its message off standard error.
///
/// # Errors
/// [`StageError::Table`].
pub fn guarded<T>(path: &Path, work: impl FnOnce() -> T) -> Result<T, StageError> {
    static SILENCED: Once = Once::new();
    SILENCED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !INSIDE.get() {
                before(info);
            }
        }));
    });
    INSIDE.set(true);
    // What was being read is dropped: nobody sees it half changed.
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    INSIDE.set(false);
    result.map_err(|_| {
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
        assert!(!INSIDE.get());
    }
}
