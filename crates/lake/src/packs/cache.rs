//! Open packs, shared by the readers of a process.

use super::pack::Pack;
use heaplake_kit::threads::locked;
use std::collections::BTreeMap;
use std::fs::{Metadata, symlink_metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Most packs kept open.
const MOST: usize = 64;

/// Identity of a file: device, inode, length, time of change.
type Identity = (u64, u64, u64, i64, i64);

static OPEN: Mutex<BTreeMap<PathBuf, (Identity, Arc<Pack>)>> = Mutex::new(BTreeMap::new());

/// Opens a pack, unless the same file is open.
pub(super) fn pack(path: &Path) -> io::Result<Arc<Pack>> {
    let identity = identity(&symlink_metadata(path)?);
    let known = locked(&OPEN).get(path).filter(|(known, _)| *known == identity).map(|(_, pack)| Arc::clone(pack));
    if let Some(known) = known {
        return Ok(known);
    }
    let pack = Arc::new(Pack::open(path)?);
    let mut open = locked(&OPEN);
    if open.len() >= MOST {
        open.clear();
    }
    open.insert(path.to_owned(), (identity, Arc::clone(&pack)));
    Ok(pack)
}

fn identity(file: &Metadata) -> Identity {
    (file.dev(), file.ino(), file.len(), file.mtime(), file.mtime_nsec())
}
