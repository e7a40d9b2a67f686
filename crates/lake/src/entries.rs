//! Entries of a lake or a release with the name of a release or a run.
//!
//! Such names are reserved for folders. Anything else with such a name (a dangling link, a file, a pipe, a name that is
//! not UTF-8) would hide runs, so it is reported. Other names are ignored.

use heaplake_kit::{StageError, fs, storage};
use std::fs::{FileType, metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Entries with the name of a release or a run: folders, and others with their problem.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The folders.
    pub places: Vec<PathBuf>,
    /// Entries that are no folder, or cannot be read, each with the reason.
    pub damaged: Vec<(PathBuf, String)>,
}

/// Returns the entries of a folder with the name prefix `prefix`.
pub(crate) fn named(folder: &Path, prefix: &str) -> Result<Places, StageError> {
    let failed = |error| StageError::io(folder, "read", error);
    let mut found = Places::default();
    if storage::is_url(folder) {
        let entries = storage::entries(folder).map_err(failed)?;
        let folders = entries.into_iter().filter(|entry| entry.is_folder && entry.name.starts_with(prefix));
        found.places.extend(folders.map(|entry| folder.join(entry.name)));
        return Ok(found);
    }
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if !name.as_bytes().starts_with(prefix.as_bytes()) {
            continue;
        }
        // Lossy: nothing else could refer to the name by its bytes.
        let path = folder.join(&*name.to_string_lossy());
        match What::at(&folder.join(&name)) {
            What::Nothing => {}
            What::Other(problem) => found.damaged.push((path, problem)),
            What::Folder if name.to_str().is_some() => found.places.push(path),
            What::Folder => found.damaged.push((path, "its name is no UTF-8: rename it".to_owned())),
        }
    }
    found.places.sort();
    found.damaged.sort();
    Ok(found)
}

/// Target of a path.
enum What {
    Folder,
    /// Removed meanwhile.
    Nothing,
    /// The reason why it is not a folder.
    Other(String),
}

impl What {
    fn at(path: &Path) -> Self {
        match metadata(path) {
            Ok(there) if there.is_dir() => Self::Folder,
            Ok(there) => Self::Other(format!("expected a folder, found {}: move it away", kind(there.file_type()))),
            Err(error) if path.is_symlink() => {
                let found = format!("found a link that leads to none ({error})");
                Self::Other(format!("expected a folder, {found}: mend or remove the link"))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Nothing,
            Err(error) => Self::Other(error.to_string()),
        }
    }
}

fn kind(of: FileType) -> &'static str {
    match of {
        of if of.is_file() => "a file",
        of if of.is_fifo() => "a pipe",
        of if of.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::fs::{create_dir, write};
    use std::os::unix::fs::symlink;

    #[test]
    fn whatever_has_the_name_of_a_run_is_told() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        create_dir(at("snapshot=a")).unwrap();
        create_dir(at("elsewhere")).unwrap();
        symlink(at("elsewhere"), at("snapshot=b")).unwrap();
        symlink(at("missing"), at("snapshot=dangling")).unwrap();
        symlink(at("snapshot=loop"), at("snapshot=loop")).unwrap();
        write(at("snapshot=file"), "").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("snapshot=pipe"), rustix::fs::Mode::from(0o600)).unwrap();
        create_dir(root.path().join(OsStr::from_bytes(b"snapshot=\xff"))).unwrap();
        for harmless in ["README", ".gitignore", ".snapshot=x"] {
            write(at(harmless), "").unwrap();
        }
        let found = named(root.path(), "snapshot=").unwrap();
        assert_eq!(found.places, [at("snapshot=a"), at("snapshot=b")]);
        let others: Vec<(&str, &str)> = found
            .damaged
            .iter()
            .map(|(path, problem)| (path.file_name().unwrap().to_str().unwrap(), problem.as_str()))
            .collect();
        let said = ["a link", "a file", "a link", "a pipe", "no UTF-8"];
        let names = ["dangling", "file", "loop", "pipe", "\u{fffd}"];
        assert_eq!(others.len(), names.len(), "{others:?}");
        for ((name, problem), (expected, said)) in others.iter().zip(names.iter().zip(said)) {
            assert!(name.ends_with(expected) && problem.contains(said), "{name}: {problem}");
        }
    }
}
