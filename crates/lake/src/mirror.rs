//! A comparison, a trend or a rollup in an object store: made as a local copy, then uploaded.
//!
//! ```text
//! s3://BUCKET/KEY/rollup.json
//!                 tables-<attempt>/heaplake-attempt.json
//!                                  group-…/rollup_classes.parquet
//! ```
//!
//! As with runs ([`remote`]), each upload has a folder of its own, with a mark that lists its files, and the manifest,
//! which names the folder, is put last: on the condition that it is the one that the command began with. So readers find
//! the old files or the new ones, and of concurrent commands the last one to put its manifest fails. Then the files of
//! the old mark are removed. A killed command leaves a folder that no manifest names; a later command removes it once it
//! is old. Nothing else there is replaced or removed.

use crate::attempt::{MARK, Owned, is_folder};
use crate::copies;
use crate::manifest::Listing;
use crate::remote::{self, OLD};
use heaplake_kit::storage::{self, Level, Object, Only, Store};
use heaplake_kit::{StageError, fs};
use std::collections::BTreeMap;
use std::fs::symlink_metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A folder that a command writes.
#[derive(Debug)]
pub struct Mirror {
    /// The folder to work in.
    local: PathBuf,
    remote: Option<Remote>,
}

#[derive(Debug)]
struct Remote {
    place: PathBuf,
    /// Name of the manifest.
    manifest: &'static str,
    before: Option<Before>,
    /// Inode of the copy of each file that was copied: a file that the work replaces has another one.
    copied: BTreeMap<String, u64>,
}

/// The manifest in the store.
#[derive(Debug)]
struct Before {
    tag: String,
    text: Vec<u8>,
    folder: Option<String>,
}

impl Mirror {
    /// Opens a folder. Of one in a store, a copy is made in `scratch`, with the files there if the work reads them.
    ///
    /// # Errors
    /// [`StageError::Unusable`] for a whole bucket, or if something foreign has the name of the manifest.
    pub fn open(folder: &Path, scratch: &Path, manifest: &'static str, reads_files: bool) -> Result<Self, StageError> {
        let Some(url) = storage::url(folder) else { return Ok(Self { local: folder.to_owned(), remote: None }) };
        let place = PathBuf::from(url.trim_end_matches('/'));
        if url.split_once("://").is_none_or(|(_, rest)| !rest.trim_end_matches('/').contains('/')) {
            let problem = "this is a whole bucket";
            return Err(StageError::unusable(folder, problem, "name a place in it, as in s3://bucket/diffs/2.4.1"));
        }
        let local = scratch.join("mirror");
        fs::create_dir_all(&local).map_err(|error| StageError::io(&local, "create", error))?;
        let before = Before::read(&place.join(manifest))?;
        let mut remote = Remote { place, manifest, before, copied: BTreeMap::new() };
        if reads_files {
            remote.copy(&local)?;
        }
        Ok(Self { local, remote: Some(remote) })
    }

    /// The folder to work in: that of the user, or the copy.
    pub fn local(&self) -> &Path {
        &self.local
    }

    /// Uploads the copy, when the work in it is complete. If nothing changed, nothing is written.
    ///
    /// # Errors
    /// [`StageError::Refused`] if another command wrote there meanwhile; its files stay.
    pub fn publish(self) -> Result<(), StageError> {
        let Self { local, remote } = self;
        remote.map_or(Ok(()), |remote| remote.publish(&local))
    }
}

/// Folder of the tables of a comparison, trend or rollup with this manifest: in a store, the one that it names.
pub fn tables(folder: &Path, manifest: &str) -> Result<PathBuf, StageError> {
    if !storage::is_url(folder) {
        return Ok(folder.to_owned());
    }
    let before = Before::read(&folder.join(manifest))?;
    Ok(before.and_then(|before| before.folder).map_or_else(|| folder.to_owned(), |tables| folder.join(tables)))
}

impl Before {
    /// Reads a manifest; `None` if there is none.
    fn read(path: &Path) -> Result<Option<Self>, StageError> {
        let foreign = || {
            let advice = "move it away, or name another place with --out";
            StageError::unusable(path, "heaplake did not write this, so it is not replaced", advice)
        };
        let read = storage::store().and_then(|store| store.read(&path.to_string_lossy(), fs::LIST_BYTES));
        let (object, text) = match read {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if fs::TooLong::is(&error) => return Err(foreign()),
            Err(error) => return Err(StageError::io(path, "read", error)),
        };
        let Ok(listing) = serde_json::from_slice::<Listing>(&text) else { return Err(foreign()) };
        let folder = listing.folder.filter(|folder| is_folder(folder));
        Ok(Some(Self { tag: object.tag.unwrap_or_default(), text: text.into(), folder }))
    }
}

impl Remote {
    /// Copies the manifest and the files that it names.
    fn copy(&mut self, local: &Path) -> Result<(), StageError> {
        let Some(Before { text, folder: Some(folder), .. }) = &self.before else { return Ok(()) };
        let path = local.join(self.manifest);
        let text = with_folder(text, Some(folder), None);
        fs::write(&path, text).map_err(|error| StageError::io(&path, "write", error))?;
        let from = self.place.join(folder);
        let url = from.to_string_lossy().into_owned();
        let failed = |error| StageError::io(&from, "read", error);
        let store = storage::store().map_err(failed)?;
        let owned = Owned::marked(&self.place, folder).map_err(failed)?;
        let names: Vec<&str> = owned.iter().flat_map(Owned::files).collect();
        let of_mark = |object: Object| {
            let name = object.url.strip_prefix(&url)?.strip_prefix('/')?.to_owned();
            names.contains(&&*name).then_some((name, object))
        };
        let objects: Vec<(String, Object)> =
            store.list(&url).map_err(failed)?.objects.into_iter().filter_map(of_mark).collect();
        let copies: Vec<(Object, PathBuf)> =
            objects.iter().map(|(name, object)| (object.clone(), local.join(name))).collect();
        for (folder, _) in objects.iter().filter_map(|(name, _)| name.rsplit_once('/')) {
            let folder = local.join(folder);
            fs::create_dir_all(&folder).map_err(|error| StageError::io(&folder, "create", error))?;
        }
        for (copied, (name, object)) in copies::copy(&copies)?.into_iter().zip(objects) {
            copied.map_err(|error| StageError::io(Path::new(&object.url), "copy", error))?;
            let inode = inode(&local.join(&name))?;
            self.copied.insert(name, inode);
        }
        Ok(())
    }

    fn publish(self, local: &Path) -> Result<(), StageError> {
        let failed = |error| StageError::io(&self.place, "write", error);
        let store = storage::store().map_err(failed)?;
        let path = local.join(self.manifest);
        let text = fs::read_at_most(&path, fs::LIST_BYTES).map_err(|error| StageError::io(&path, "read", error))?;
        let files = files(local, self.manifest)?;
        if self.is_unchanged(&text, &files) {
            return Ok(());
        }
        let attempt = remote::attempt(local);
        let owned = Owned::new(&self.place, Some(&attempt), files.keys().cloned());
        owned.mark()?;
        let done = self.upload(local, &files, (&text, &attempt), store);
        if done.is_err() {
            let _ = owned.remove(false);
            return done;
        }
        if let Some(before) = self.before.as_ref().and_then(|before| before.folder.as_deref())
            && let Ok(Some(owned)) = Owned::marked(&self.place, before)
        {
            let _ = owned.remove(false);
        }
        self.sweep(&attempt, store);
        Ok(())
    }

    /// Whether the store has these files and this manifest.
    fn is_unchanged(&self, text: &[u8], files: &BTreeMap<String, u64>) -> bool {
        let same = |before: &Before| with_folder(&before.text, before.folder.as_deref(), None) == text;
        self.before.as_ref().is_some_and(same) && *files == self.copied
    }

    /// Uploads the files to the folder of an attempt, then the manifest that names it.
    fn upload(
        &self,
        local: &Path,
        files: &BTreeMap<String, u64>,
        (text, attempt): (&[u8], &str),
        store: &dyn Store,
    ) -> Result<(), StageError> {
        let to = self.place.join(attempt);
        let url = |name: &String| to.join(name).to_string_lossy().into_owned();
        let uploads: Vec<(PathBuf, String)> = files.keys().map(|name| (local.join(name), url(name))).collect();
        store.upload(&uploads).map_err(|error| StageError::io(&to, "write", error))?;
        let path = self.place.join(self.manifest);
        let only = self.before.as_ref().map_or(Only::IfNone, |before| Only::IfStill(before.tag.clone()));
        let text = with_folder(text, None, Some(attempt));
        match store.put(&path.to_string_lossy(), text.into(), only) {
            Ok(_) => Ok(()),
            // With If-Match, some stores say that there is none any more.
            Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {
                Err(StageError::Refused {
                    problem: format!("{}: another command wrote there meanwhile", self.place.display()),
                    advice: "run the same command again".to_owned(),
                })
            }
            Err(error) => Err(StageError::io(&path, "write", error)),
        }
    }

    /// Removes old uploads of killed commands. Failures are ignored.
    fn sweep(&self, current: &str, store: &dyn Store) {
        let url = |folder: &str| self.place.join(folder).to_string_lossy().into_owned();
        let Ok(Level { folders, .. }) = store.level(&self.place.to_string_lossy()) else { return };
        for folder in folders.iter().filter(|folder| is_folder(folder) && *folder != current) {
            let Ok(Level { objects, answered: Some(now), .. }) = store.list(&url(folder)) else { continue };
            let newest = objects.iter().map(|object| object.changed).max();
            let is_old = newest.is_some_and(|last| now.duration_since(last).is_ok_and(|age| age > OLD));
            if let Some(owned) = is_old.then(|| Owned::marked(&self.place, folder).ok().flatten()).flatten() {
                let _ = owned.remove(false);
            }
        }
    }
}

/// The text of a manifest without the member for this folder, and with one for another.
fn with_folder(text: &[u8], without: Option<&str>, with: Option<&str>) -> Vec<u8> {
    let member = |folder: &str| format!("{{\n  \"folder\": \"{folder}\",\n").into_bytes();
    let open: &[u8] = b"{\n";
    let rest = match without.map(member) {
        Some(member) => text.strip_prefix(&member[..]),
        None => text.strip_prefix(open),
    };
    let begin = with.map_or_else(|| open.to_vec(), member);
    rest.map_or_else(|| text.to_vec(), |rest| [&begin, rest].concat())
}

/// Files of a folder and of the folders in it, by path, with their inodes; without hidden ones and the manifest.
fn files(local: &Path, manifest: &str) -> Result<BTreeMap<String, u64>, StageError> {
    let mut found = BTreeMap::new();
    let list = |folder: &Path| storage::entries(folder).map_err(|error| StageError::io(folder, "read", error));
    for top in list(local)?.into_iter().filter(|top| !top.name.starts_with('.') && top.name != manifest) {
        let names = match top.is_folder {
            true => {
                list(&local.join(&top.name))?.into_iter().map(|file| format!("{}/{}", top.name, file.name)).collect()
            }
            false => vec![top.name],
        };
        for name in names {
            let inode = inode(&local.join(&name))?;
            found.insert(name, inode);
        }
    }
    Ok(found)
}

fn inode(path: &Path) -> Result<u64, StageError> {
    symlink_metadata(path).map(|there| there.ino()).map_err(|error| StageError::io(path, "examine", error))
}

/// Whether an object belongs to a rollup, by its path in the folder of the rollup.
pub(crate) fn has(within: &[&str], manifest: &str) -> bool {
    match within {
        [file] => *file == manifest,
        [folder, MARK] => is_folder(folder),
        [folder, .., file] => is_folder(folder) && file.ends_with(".parquet"),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_names_its_folder() {
        let text = b"{\n  \"a\": 1\n}";
        let named = with_folder(text, None, Some("tables-1f"));
        assert_eq!(named, b"{\n  \"folder\": \"tables-1f\",\n  \"a\": 1\n}");
        assert_eq!(with_folder(&named, Some("tables-1f"), None), text);
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&named).unwrap()["folder"], "tables-1f");
    }
}
