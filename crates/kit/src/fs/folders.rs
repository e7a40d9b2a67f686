//! Folders: creation beside processes that remove them, and listing.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
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

/// Maximum number of files that [`files_below`] lists.
pub const MOST_FILES: usize = 100_000;

/// Lists the files of a folder, recursively, sorted by name; or the file itself. Does not follow links to folders.
pub fn files_below(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    list(path, fs::metadata(path)?.is_dir(), &mut files)?;
    Ok(files)
}

fn list(path: &Path, is_folder: bool, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !is_folder {
        if files.len() == MOST_FILES {
            return Err(io::Error::other(format!("there are more than {MOST_FILES} files in it")));
        }
        files.push(path.to_owned());
        return Ok(());
    }
    let mut inside = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    inside.sort_unstable();
    inside.iter().try_for_each(|path| list(path, fs::symlink_metadata(path)?.is_dir(), files))
}

fn was_removed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn files_are_listed_in_order_without_those_behind_links() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("b/c")).unwrap();
        ["b/c/2", "b/1", "a"].iter().for_each(|name| fs::write(at(name), "").unwrap());
        std::os::unix::fs::symlink(at("b"), at("link")).unwrap();
        assert_eq!(files_below(root.path()).unwrap(), ["a", "b/1", "b/c/2", "link"].map(at));
        assert_eq!(files_below(&at("link")).unwrap(), ["link/1", "link/c/2"].map(at));
        assert_eq!(files_below(&at("a")).unwrap(), [at("a")]);
        assert!(files_below(&at("none")).is_err());
    }

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
