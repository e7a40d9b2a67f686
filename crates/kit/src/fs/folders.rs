//! Folders created and removed by concurrent processes.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::{fs, io};

/// Attempts to create a folder that other processes keep removing.
const MOST_TRIES: u32 = 1000;

/// Creates a folder and its parents with a mode, less the umask, even while other processes remove such folders when
/// empty.
pub(super) fn make(path: &Path, mode: u32) -> io::Result<()> {
    let in_the_way = || path.ancestors().any(|above| fs::metadata(above).is_ok_and(|found| !found.is_dir()));
    let mut tries = 0;
    loop {
        match fs::DirBuilder::new().recursive(true).mode(mode).create(path) {
            // A concurrent removal: it existed a moment ago, or its parent did.
            Err(error) if was_removed(&error) && tries < MOST_TRIES && !in_the_way() => tries += 1,
            result => return result,
        }
    }
}

fn was_removed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn folders_that_others_remove_are_made() {
        let root = tempfile::tempdir().unwrap();
        let (outer, inner) = (root.path().join("outer"), root.path().join("outer/inner"));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let _ = fs::remove_dir(&inner);
                    let _ = fs::remove_dir(&outer);
                }
            });
            let made: Vec<io::Result<()>> = (0..3000).map(|_| make(&inner, 0o777)).collect();
            done.store(true, Ordering::Relaxed);
            made.into_iter().for_each(|made| made.unwrap());
        });
        fs::write(root.path().join("file"), "").unwrap();
        let refused = make(&root.path().join("file"), 0o777).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert!(make(&root.path().join("file/below"), 0o777).is_err());
    }
}
