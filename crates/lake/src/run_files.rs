//! Determines which files in a run's folder belong to heaplake: its description, the tables and exports listed there,
//! its page.
//!
//! Runs are replaced and dropped as a whole. A folder with other content is neither: the refusal names the file, and
//! nothing changes. A folder without a description is not a run and is never replaced, but remains of a run can be
//! dropped.

use crate::described::of_broken_seal;
use crate::{hidden, output_file};
use heaplake_kit::{StageError, fs};
use heaplake_schemas::{run, tables};
use serde::Deserialize;
use std::fs::{DirEntry, symlink_metadata};
use std::io::{self, Read};
use std::path::Path;

/// File name of the page of a run.
pub const PAGE: &str = "report.html";

/// Exports for other programs.
pub const FOR_OTHERS: [&str; 2] = ["allocations.pb.gz", "allocations.collapsed"];

/// Name prefix, followed by six characters, of folders in which earlier versions made pages.
const OLD_PAGES: &str = ".report.html.";

/// Refuses a place whose content is not a run, or that has files of the user.
pub fn refuse_replaced(place: &Path) -> Result<(), StageError> {
    let entries = entries(place)?;
    if !entries.is_empty() && !entries.iter().any(|entry| entry.file_name() == run::FILE) {
        let problem = "this folder is no run, since it has no run.json, so it is not replaced";
        return Err(StageError::unusable(place, problem, "move it away, or give the run another name with --snapshot"));
    }
    refuse_others(place)
}

/// Refuses a place with foreign entries, which would be removed with a run. If its description is damaged or missing,
/// file names decide. A symbolic link is refused: its target may belong to another lake.
///
/// # Errors
/// [`StageError::Unusable`], which names the entry.
pub fn refuse_others(place: &Path) -> Result<(), StageError> {
    let listed = listed(place);
    match entries(place)?.iter().find(|entry| !is_own(entry, listed.as_deref())) {
        None => Ok(()),
        Some(other) => {
            let problem = "heaplake did not write this, and it would go with the run";
            Err(StageError::unusable(&other.path(), problem, "move it out of the folder of the run, and try again"))
        }
    }
}

/// Returns the entries of a run's folder.
fn entries(place: &Path) -> Result<Vec<DirEntry>, StageError> {
    let failed = |error| StageError::io(place, "read", error);
    match symlink_metadata(place) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(error) => Err(failed(error)),
        Ok(there) if there.is_symlink() => {
            let problem = "this is a symbolic link, which is neither replaced nor dropped";
            Err(StageError::unusable(place, problem, "remove the link, or name what it leads to"))
        }
        Ok(there) if there.is_dir() => {
            fs::read_dir(place).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(failed)
        }
        Ok(_) => Err(StageError::unusable(place, "this is no folder of a run", "move it away")),
    }
}

/// True if an entry belongs to a run with these tables. Folders belong to it only if a page was made there.
fn is_own(entry: &DirEntry, listed: Option<&[String]>) -> bool {
    let name = entry.file_name();
    let name = &*name.to_string_lossy();
    if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
        return hidden::is_hidden(name, output_file::HIDDEN) || is_old_page(name, &entry.path());
    }
    let of_tables = match listed {
        Some(listed) => listed.iter().any(|file| file == name),
        // The description is damaged, so names decide.
        None => FOR_OTHERS.contains(&name) || tables::ALL.iter().any(|table| table.file == name),
    };
    of_tables || name == run::FILE || (name == PAGE && is_page(&entry.path()))
}

/// Bytes at the beginning of a page that contain its title.
const HEAD: u64 = 64 << 10;
/// End of the title of each page.
const TITLE_END: &str = " · heaplake</title>";

/// True if a file is a page made by heaplake, by its title.
pub fn is_page(path: &Path) -> bool {
    let mut head = Vec::new();
    symlink_metadata(path).is_ok_and(|there| there.is_file())
        && fs::File::open(path).is_ok_and(|file| file.take(HEAD).read_to_end(&mut head).is_ok())
        && head.windows(TITLE_END.len()).any(|part| part == TITLE_END.as_bytes())
}

/// True for a folder in which an earlier version was killed while making a page.
fn is_old_page(name: &str, folder: &Path) -> bool {
    let is_named = name.strip_prefix(OLD_PAGES).is_some_and(|end| end.len() == 6);
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    is_named && entries.all(|entry| ["page", "scratch"].iter().any(|own| entry.file_name() == *own))
}

/// The part of a description that names files.
#[derive(Deserialize)]
struct Listing {
    tables: Vec<Table>,
}

#[derive(Deserialize)]
struct Table {
    file: String,
}

/// Returns the tables listed by a description; `None` if it is damaged.
fn listed(place: &Path) -> Option<Vec<String>> {
    let text = fs::read(place.join(run::FILE)).ok()?;
    if of_broken_seal(&text).is_some() {
        return None;
    }
    let Listing { tables } = serde_json::from_slice(&text).ok()?;
    Some(tables.into_iter().map(|table| table.file).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn a_file_of_the_user_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("snapshot=a");
        let refused = || match refuse_replaced(&place) {
            Ok(()) => None,
            Err(StageError::Unusable { path, .. }) => path.strip_prefix(folder.path()).map(PathBuf::from).ok(),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(refused(), None);
        std::fs::write(&place, "").unwrap();
        assert_eq!(refused(), Some("snapshot=a".into()));
        std::fs::remove_file(&place).unwrap();
        std::fs::create_dir(&place).unwrap();
        assert_eq!(refused(), None, "empty");
        let write = |name: &str, text: &str| std::fs::write(place.join(name), text).unwrap();
        write("nodes.parquet", "");
        assert_eq!(refused(), Some("snapshot=a".into()), "no run.json");
        refuse_others(&place).unwrap();
        for description in [r#"{"tables": [{"file": "nodes.parquet"}]}"#, "damaged"] {
            write(run::FILE, description);
            write(PAGE, "<title>a · heaplake</title>");
            assert_eq!(refused(), None, "{description}");
            write("notes.txt", "");
            assert_eq!(refused(), Some("snapshot=a/notes.txt".into()));
            std::fs::remove_file(place.join("notes.txt")).unwrap();
            write(PAGE, "<title>of the user</title>");
            assert_eq!(refused(), Some("snapshot=a/report.html".into()));
        }
    }
}
