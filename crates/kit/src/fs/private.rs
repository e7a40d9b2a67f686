//! Folders shared with other users.

use super::faults::{At, Operation, before};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// Attempts to create a folder that other processes keep removing.
const TRIES: u32 = 100;

/// Creates or checks a folder accessible only to its owner; false if the path is something else, or another user's
/// folder.
pub fn private_folder(path: &Path) -> io::Result<bool> {
    before(Operation::Folder, At::Path(path))?;
    let there = made_private(path)?;
    if !there.is_dir() || there.uid() != user() {
        return Ok(false);
    }
    if there.mode() & 0o077 != 0 {
        // Created by an earlier version.
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(true)
}

/// Returns the metadata of the path, a new folder if nothing existed.
fn made_private(path: &Path) -> io::Result<Metadata> {
    let mut tries = 0;
    loop {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        match fs::symlink_metadata(path) {
            // The last user of the folder removed it between the two steps.
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries < TRIES => tries += 1,
            there => return there,
        }
    }
}

/// The effective user of the process.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// True if the path is a folder of this user, inaccessible to others.
pub fn is_private(path: &Path) -> bool {
    let own = |there: Metadata| there.uid() == user() && there.mode() & 0o077 == 0;
    fs::symlink_metadata(path).is_ok_and(|there| there.is_dir() && own(there))
}

/// Returns true if any user may replace files in a folder.
pub fn is_open_to_all(folder: &Path) -> io::Result<bool> {
    let mode = fs::metadata(folder)?.mode();
    Ok(mode & 0o002 != 0 && mode & 0o1000 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_that_others_remove_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shared");
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        assert!(private_folder(&path).unwrap());
                        let _ = fs::remove_dir(&path);
                    }
                });
            }
        });
    }

    #[test]
    fn private_folders_are_ones_own() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(private_folder(&at("new")).unwrap() && private_folder(&at("new")).unwrap());
        fs::create_dir(at("wide")).unwrap();
        fs::set_permissions(at("wide"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(private_folder(&at("wide")).unwrap());
        assert_eq!(fs::metadata(at("wide")).unwrap().mode() & 0o777, 0o700);
        symlink(at("new"), at("link")).unwrap();
        assert!(!private_folder(&at("link")).unwrap());
        assert!(!is_open_to_all(&at("new")).unwrap());
        fs::set_permissions(at("new"), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(is_open_to_all(&at("new")).unwrap());
        fs::set_permissions(at("new"), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(!is_open_to_all(&at("new")).unwrap());
    }
}
