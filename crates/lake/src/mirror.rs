//! The folder of a comparison, a trend or a rollup in an object store: made as a local copy, then uploaded.
//!
//! A store renames nothing, so a reader could meet files of two versions. Files with new names are uploaded before the
//! manifest, which is put on the condition that it is the one that the work began with. If a file is replaced under its
//! name, the manifest is removed before that: a reader finds the old files, none, or the new ones. As in a folder
//! ([`Manifest`]), a second object lists the names about to be written, so that a later command can remove what a killed
//! one left; nothing else there is replaced or removed.
//!
//! Of two commands that write to one place at a time, the one that ends last fails.

use crate::manifest::{Manifest, PENDING};
use heaplake_kit::storage::{self, Level, Object, Only, Readahead, Store};
use heaplake_kit::{StageError, fs};
use std::collections::{BTreeMap, BTreeSet};
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

/// How a folder in a store is used.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Name of the manifest.
    pub manifest: &'static str,
    /// Accepts the names of other entries: files, or folders with files.
    pub is_entry: fn(&str) -> bool,
    /// Whether the work needs the files that are there.
    pub reads_files: bool,
}

#[derive(Debug)]
struct Remote {
    url: PathBuf,
    form: Form,
    /// The manifest there, with its tag.
    before: Option<(String, Vec<u8>)>,
    /// Objects there, by path below the URL.
    there: BTreeMap<String, Object>,
    /// Inode of the copy of each that was copied: a file that the work replaces has another one.
    copied: BTreeMap<String, u64>,
    /// The entries there that heaplake wrote.
    owned: Manifest,
}

impl Mirror {
    /// Opens a folder. One in a store is copied to `scratch`: its manifest, and the files that the work needs.
    ///
    /// # Errors
    /// [`StageError::Unusable`] if something foreign has the name of the manifest.
    pub fn open(folder: &Path, scratch: &Path, form: Form) -> Result<Self, StageError> {
        let Some(url) = storage::url(folder) else { return Ok(Self { local: folder.to_owned(), remote: None }) };
        let local = scratch.join("mirror");
        fs::create_dir_all(&local).map_err(|error| StageError::io(&local, "create", error))?;
        let failed = |error| StageError::io(folder, "read", error);
        let store = storage::store().map_err(failed)?;
        let Level { objects, .. } = store.list(url).map_err(failed)?;
        let within = |object: &Object| Some(object.url.strip_prefix(url)?.strip_prefix('/')?.to_owned());
        let there: BTreeMap<String, Object> =
            objects.into_iter().filter_map(|object| Some((within(&object)?, object))).collect();
        for name in [form.manifest, PENDING] {
            there.get(name).map_or(Ok(0), |object| copy(object, &local.join(name)))?;
        }
        let before = match there.get(form.manifest) {
            Some(object) => {
                let text = fs::read(local.join(form.manifest)).map_err(failed)?;
                Some((object.tag.clone().unwrap_or_default(), text))
            }
            None => None,
        };
        let owned = Manifest::read(&local, form.manifest, form.is_entry)?;
        let mut remote = Remote { url: folder.to_owned(), form, before, there, copied: BTreeMap::new(), owned };
        if form.reads_files {
            let copied = |(name, object): (&str, &Object)| Ok((name.to_owned(), copy(object, &local.join(name))?));
            remote.copied = remote.owned_files().map(copied).collect::<Result<_, StageError>>()?;
        }
        Ok(Self { local, remote: Some(remote) })
    }

    /// The folder to work in: that of the user, or the copy.
    pub fn local(&self) -> &Path {
        &self.local
    }

    /// Uploads the copy, when the work in it is complete. Unchanged files are not uploaded again.
    ///
    /// # Errors
    /// [`StageError::Unusable`] if something foreign is in the way: then nothing is changed. [`StageError::Refused`] if
    /// another command wrote there meanwhile.
    pub fn publish(self) -> Result<(), StageError> {
        let Self { local, remote } = self;
        let Some(remote) = remote else { return Ok(()) };
        let store = storage::store().map_err(|error| StageError::io(&remote.url, "write", error))?;
        remote.publish(&local, store)
    }
}

impl Remote {
    /// Files of heaplake there, besides the manifest.
    fn owned_files(&self) -> impl Iterator<Item = (&str, &Object)> {
        self.there.iter().map(|(name, object)| (name.as_str(), object)).filter(|(name, _)| self.owned.owns(entry(name)))
    }

    fn publish(&self, local: &Path, store: &dyn Store) -> Result<(), StageError> {
        let url = |name: &str| self.url.join(name).to_string_lossy().into_owned();
        let failed = |error| StageError::io(&self.url, "write", error);
        let manifest = local.join(self.form.manifest);
        let text = fs::read(&manifest).map_err(|error| StageError::io(&manifest, "read", error))?;
        let new = files(local, self.form)?;
        self.refuse_others(&new)?;
        let entries: BTreeSet<String> = new.keys().map(|name| entry(name).to_owned()).collect();
        let changed: Vec<&String> =
            new.iter().filter(|(name, inode)| self.copied.get(*name) != Some(inode)).map(|(name, _)| name).collect();
        let is_same = self.before.as_ref().is_some_and(|(_, before)| *before == text) && changed.is_empty();
        if is_same && !self.there.contains_key(PENDING) {
            return Ok(());
        }
        store.put(&url(PENDING), self.owned.pending(&entries).into(), Only::Always).map_err(failed)?;
        let replaces = changed.iter().any(|name| self.there.contains_key(*name));
        let only = match &self.before {
            Some((tag, _)) if !replaces => Only::IfStill(tag.clone()),
            Some((tag, _)) => {
                self.remove_manifest(tag, store)?;
                Only::IfNone
            }
            None => Only::IfNone,
        };
        let uploads: Vec<(PathBuf, String)> = changed.iter().map(|name| (local.join(name), url(name))).collect();
        store.upload(&uploads).map_err(failed)?;
        match store.put(&url(self.form.manifest), text.into(), only) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(self.changed()),
            done => done.map_err(failed)?,
        };
        let stale = self.owned_files().map(|(name, _)| name).filter(|name| !new.contains_key(*name));
        store.remove(stale.chain([PENDING]).map(url).collect()).map_err(failed)
    }

    /// Removes the manifest if it has this tag.
    fn remove_manifest(&self, tag: &str, store: &dyn Store) -> Result<(), StageError> {
        let path = self.url.join(self.form.manifest);
        let url = path.to_string_lossy().into_owned();
        let about = store.about(&url).map_err(|error| StageError::io(&path, "examine", error))?;
        if about.tag.as_deref() != Some(tag) {
            return Err(self.changed());
        }
        store.remove(vec![url]).map_err(|error| StageError::io(&path, "remove", error))
    }

    /// Refuses to replace objects that heaplake did not write, or to write beside them in the folder of an entry.
    fn refuse_others(&self, new: &BTreeMap<String, u64>) -> Result<(), StageError> {
        let entries: BTreeSet<&str> = new.keys().map(|name| entry(name)).collect();
        let is_foreign = |name: &&String| entries.contains(entry(name)) && !self.owned.owns(entry(name));
        match self.there.keys().find(is_foreign) {
            None => Ok(()),
            Some(name) => {
                let problem = "heaplake did not write this, so it is not replaced";
                let advice = "move it away, or name another place with --out";
                Err(StageError::unusable(&self.url.join(name), problem, advice))
            }
        }
    }

    fn changed(&self) -> StageError {
        StageError::Refused {
            problem: format!("{}: another command wrote there meanwhile", self.url.display()),
            advice: "run the same command again".to_owned(),
        }
    }
}

/// The entry of the folder that a file belongs to.
fn entry(name: &str) -> &str {
    name.split_once('/').map_or(name, |(folder, _)| folder)
}

/// Files of the folders and files that are entries, by path, with their inodes; without the manifest.
fn files(local: &Path, form: Form) -> Result<BTreeMap<String, u64>, StageError> {
    let mut found = BTreeMap::new();
    let list = |folder: &Path| storage::entries(folder).map_err(|error| StageError::io(folder, "read", error));
    for top in list(local)?.into_iter().filter(|top| (form.is_entry)(&top.name)) {
        if !top.is_folder {
            let inode = inode(&local.join(&top.name))?;
            found.insert(top.name, inode);
            continue;
        }
        for file in list(&local.join(&top.name))? {
            let name = format!("{}/{}", top.name, file.name);
            let inode = inode(&local.join(&name))?;
            found.insert(name, inode);
        }
    }
    Ok(found)
}

fn inode(path: &Path) -> Result<u64, StageError> {
    symlink_metadata(path).map(|there| there.ino()).map_err(|error| StageError::io(path, "examine", error))
}

/// Copies an object to a file; returns its inode.
fn copy(from: &Object, to: &Path) -> Result<u64, StageError> {
    let copied = || {
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mut file = fs::File::create(to)?;
        match from.bytes {
            0 => Ok(0),
            _ => io::copy(&mut Readahead::new(from.clone()), &mut file),
        }
    };
    copied().map_err(|error| StageError::io(Path::new(&from.url), "copy", error))?;
    inode(to)
}
