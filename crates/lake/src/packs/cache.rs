//! Open packs, shared by the readers of a process.

use super::pack::Pack;
use heaplake_kit::storage::{self, Object};
use heaplake_kit::threads::locked;
use std::collections::BTreeMap;
use std::fs::symlink_metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Most packs kept open.
const MOST: usize = 64;
/// How long a pack in a store counts as unchanged, or as missing: the runs of a night ask for it one after the other.
const FRESH: Duration = Duration::from_secs(1);

/// Identity of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    /// Device, inode, length, time of change.
    File(u64, u64, u64, i64, i64),
    /// Tag.
    Object(Option<String>),
}

/// The pack at a path, or its absence.
struct Known {
    /// When it was examined.
    at: Instant,
    /// None: there is no pack.
    pack: Option<(Identity, Arc<Pack>)>,
}

static OPEN: Mutex<BTreeMap<PathBuf, Known>> = Mutex::new(BTreeMap::new());

/// Opens a pack, unless the same file is open.
pub(super) fn pack(path: &Path) -> io::Result<Arc<Pack>> {
    match storage::url(path) {
        Some(url) => in_store(path, url),
        None => {
            let file = symlink_metadata(path)?;
            let identity = Identity::File(file.dev(), file.ino(), file.len(), file.mtime(), file.mtime_nsec());
            same(path, &identity).map_or_else(|| keep(path, identity, Pack::open(path)?), Ok)
        }
    }
}

/// Opens a pack in a store, unless its tag is that of the open one.
fn in_store(path: &Path, url: &str) -> io::Result<Arc<Pack>> {
    if let Some(fresh) = locked(&OPEN).get(path).filter(|known| known.at.elapsed() < FRESH) {
        let pack = fresh.pack.as_ref().map(|(_, pack)| Arc::clone(pack));
        return pack.ok_or_else(|| io::ErrorKind::NotFound.into());
    }
    let object: Object = match storage::store()?.about(url) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            insert(path, None);
            return Err(error);
        }
        about => about?,
    };
    let identity = Identity::Object(object.tag.clone());
    same(path, &identity).map_or_else(|| keep(path, identity, Pack::in_store(path, object)?), Ok)
}

/// The open pack at a path, if it has this identity.
fn same(path: &Path, identity: &Identity) -> Option<Arc<Pack>> {
    let mut open = locked(&OPEN);
    let known = open.get_mut(path)?;
    let pack = known.pack.as_ref().filter(|(known, _)| known == identity).map(|(_, pack)| Arc::clone(pack))?;
    known.at = Instant::now();
    Some(pack)
}

fn keep(path: &Path, identity: Identity, pack: Pack) -> io::Result<Arc<Pack>> {
    let pack = Arc::new(pack);
    insert(path, Some((identity, Arc::clone(&pack))));
    Ok(pack)
}

fn insert(path: &Path, pack: Option<(Identity, Arc<Pack>)>) {
    let mut open = locked(&OPEN);
    if open.len() >= MOST {
        open.clear();
    }
    open.insert(path.to_owned(), Known { at: Instant::now(), pack });
}

/// Forgets which packs are there.
pub(crate) fn forget_all() {
    locked(&OPEN).clear();
}

/// Forgets a pack that this process replaced.
pub(crate) fn forget(path: &Path) {
    locked(&OPEN).remove(path);
}
