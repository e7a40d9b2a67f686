//! Removes the rows of dropped and replaced runs from packs.

use super::pack_files::{lock_if_free, write_over};
use crate::packing::{self, Part, Rows};
use crate::packs::{self, FOLDER, Member, Pack};
use crate::{commit, place};
use heaplake_kit::{Context, StageError, fs};
use heaplake_schemas::SCHEMA_VERSION;
use heaplake_schemas::run::Packed;
use heaplake_schemas::tables;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Removes dead rows from the packs of these partitions (release and night) of a lake. No effect if another process
/// compacts the lake, which does so itself.
pub fn partitions(lake: &Path, wanted: &BTreeSet<(String, String)>, context: &Context<'_>) -> Result<(), StageError> {
    let folder = lake.join(FOLDER);
    if wanted.is_empty() || !folder.is_dir() {
        return Ok(());
    }
    let Some(_lock) = lock_if_free(&folder)? else { return Ok(()) };
    let is_wanted = |of: &Partition| wanted.contains(&(of.release.clone(), of.night.clone()));
    let mut live = Live::default();
    let mut packs = listed(lake)?;
    packs.retain(is_wanted);
    each(&packs, lake, &mut live, context)
}

/// Removes dead rows from all packs of a lake. The caller holds the lock.
pub(super) fn all(lake: &Path, live: &mut Live, context: &Context<'_>) -> Result<(), StageError> {
    each(&listed(lake)?, lake, live, context)
}

/// Prunes all packs; reports the first damaged one at the end.
fn each(packs: &[Partition], lake: &Path, live: &mut Live, context: &Context<'_>) -> Result<(), StageError> {
    let mut damaged = Ok(());
    for pack in packs {
        match pack.prune(lake, live, context) {
            Err(error @ StageError::Table { .. }) => damaged = damaged.and(Err(error)),
            done => done?,
        }
    }
    damaged
}

/// The packs that runs name, by place; read from their descriptions unless the caller knows.
#[derive(Debug, Default)]
pub(super) struct Live(BTreeMap<PathBuf, State>);

/// State of a run.
#[derive(Debug)]
enum State {
    /// It names this pack, or there is none.
    Names(Option<Packed>),
    /// Its description cannot be read now, so its rows stay.
    Unknown,
}

impl Live {
    /// Remembers that the run at a place names this pack.
    pub(super) fn is(&mut self, place: &Path, packed: Option<Packed>) {
        self.0.insert(place.to_owned(), State::Names(packed));
    }

    fn of(&mut self, place: PathBuf) -> &State {
        let read = |place: &Path| match commit::read(place) {
            Ok(run) => State::Names(run.and_then(|run| run.packed)),
            Err(_) => State::Unknown,
        };
        self.0.entry(place).or_insert_with_key(|place| read(place))
    }
}

/// The pack of a table.
struct Partition {
    file: &'static str,
    release: String,
    night: String,
    path: PathBuf,
}

/// Lists the packs of a lake of this schema version, by path.
fn listed(lake: &Path) -> Result<Vec<Partition>, StageError> {
    let mut found = Vec::new();
    for table in tables::ALL {
        if lake.join(FOLDER).is_symlink() || lake.join(FOLDER).join(table.name).is_symlink() {
            continue;
        }
        for (release, folder) in parts_of(&lake.join(FOLDER).join(table.name), "release=")? {
            for (night, _) in parts_of(&folder, "night=")? {
                let path = packs::path(lake, table.file, (&release, &night), SCHEMA_VERSION);
                if path.symlink_metadata().is_ok_and(|there| there.is_file()) {
                    found.push(Partition { file: table.file, release: release.clone(), night, path });
                }
            }
        }
    }
    Ok(found)
}

/// The folders `<prefix><value>` of a folder, by value.
fn parts_of(folder: &Path, prefix: &str) -> Result<Vec<(String, PathBuf)>, StageError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(StageError::io(folder, "read", error)),
    };
    let mut parts = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| StageError::io(folder, "read", error))?;
        // A link may lead out of the lake.
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = entry.file_name().into_string().unwrap_or_default();
        parts.extend(name.strip_prefix(prefix).map(|value| (value.to_owned(), entry.path())));
    }
    parts.sort();
    Ok(parts)
}

impl Partition {
    /// Rewrites the pack without the rows of runs that are gone; removes it if no run is left.
    fn prune(&self, lake: &Path, live: &mut Live, context: &Context<'_>) -> Result<(), StageError> {
        context.check()?;
        let failed = |action: &'static str| move |error| StageError::io(&self.path, action, error);
        let pack = match Pack::open(&self.path) {
            Ok(pack) => Arc::new(pack),
            // A damaged pack, or a file of the user: a verification names it.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(()),
            Err(error) => return Err(failed("read")(error)),
        };
        let parts = pack.members().iter().filter_map(|member| self.part(lake, live, &pack, member));
        let parts: Vec<Part> = parts.collect();
        if parts.len() == pack.members().len() {
            return Ok(());
        }
        if parts.is_empty() {
            fs::remove_file(&self.path).map_err(failed("remove"))?;
            // Folders that have no other pack go, too.
            let folders = self.path.ancestors().skip(1).take(3);
            folders.take_while(|folder| fs::remove_dir(folder).is_ok()).for_each(drop);
            return Ok(());
        }
        write_over(lake, &self.path, |folder| packing::write(folder, (self.file, pack.schema()), &parts, context))?;
        Ok(())
    }

    /// The rows of a member, if its run still names them.
    fn part(&self, lake: &Path, live: &mut Live, pack: &Arc<Pack>, member: &Member) -> Option<Part> {
        let is_live = match live.of(place::path(lake, &self.release, &member.snapshot)) {
            State::Names(Some(named)) => named.night == self.night && named.seal == member.seal,
            State::Names(None) => false,
            State::Unknown => true,
        };
        let slice = pack.slice(&member.snapshot, &member.seal).filter(|_| is_live)?;
        let (snapshot, seal) = (member.snapshot.clone(), member.seal.clone());
        Some(Part { snapshot, release: self.release.clone(), seal, rows: Rows::Pack(slice) })
    }
}
