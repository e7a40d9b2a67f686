//! Removes the rows of dropped and replaced runs from packs.

use super::pack_files::{PackFile, PackFiles};
use crate::packing::{self, Part, Rows};
use crate::packs::{Member, Pack};
use crate::{commit, place, stored};
use heaplake_kit::{Context, StageError};
use heaplake_schemas::SCHEMA_VERSION;
use heaplake_schemas::run::{Packed, Run};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Removes dead rows from the packs of these partitions (release and night) of a lake. `scratch` is a local folder for
/// new packs of a store. No effect if another process compacts the lake, which does so itself.
pub fn partitions(
    (lake, scratch): (&Path, &Path),
    wanted: &BTreeSet<(String, String)>,
    context: &Context<'_>,
) -> Result<(), StageError> {
    if wanted.is_empty() || !PackFiles::are_in(lake) {
        return Ok(());
    }
    let Some(files) = PackFiles::take_if_free(lake, scratch)? else { return Ok(()) };
    let is_wanted = |of: &PackFile| wanted.contains(&(of.release.clone(), of.night.clone()));
    let mut live = Live::default();
    let mut packs = files.list(SCHEMA_VERSION)?;
    packs.retain(is_wanted);
    each(&packs, &files, &mut live, context)
}

/// Removes dead rows from all packs.
pub(super) fn all(files: &PackFiles, live: &mut Live, context: &Context<'_>) -> Result<(), StageError> {
    each(&files.list(SCHEMA_VERSION)?, files, live, context)
}

/// Prunes all packs; reports the first damaged one at the end.
fn each(packs: &[PackFile], files: &PackFiles, live: &mut Live, context: &Context<'_>) -> Result<(), StageError> {
    let mut damaged = Ok(());
    for pack in packs {
        match pack.prune(files, live, context) {
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
    /// It names this pack.
    Names(Packed),
    /// It names none; its seal.
    Unpacked(String),
    /// There is no run.
    Gone,
    /// Its description cannot be read now, so its rows stay.
    Unknown,
}

impl Live {
    /// Remembers that the run at a place, with this seal, names this pack.
    pub(super) fn is(&mut self, place: &Path, packed: Option<Packed>, seal: String) {
        self.0.insert(place.to_owned(), packed.map_or(State::Unpacked(seal), State::Names));
    }

    /// Announces which runs will be asked for: those in a store are read at once.
    fn expect(&self, places: impl Iterator<Item = PathBuf>) {
        stored::expect(&places.filter(|place| !self.0.contains_key(place)).collect::<Vec<_>>());
    }

    fn of(&mut self, place: PathBuf) -> &State {
        let read = |place: &Path| match commit::read(place) {
            Ok(Some(Run { packed: Some(packed), .. })) => State::Names(packed),
            Ok(Some(run)) => State::Unpacked(run.seal.unwrap_or_default()),
            Ok(None) => State::Gone,
            Err(_) => State::Unknown,
        };
        self.0.entry(place).or_insert_with_key(|place| read(place))
    }
}

impl PackFile {
    /// Rewrites the pack without the rows of runs that are gone; removes it if no run is left.
    fn prune(&self, files: &PackFiles, live: &mut Live, context: &Context<'_>) -> Result<(), StageError> {
        context.check()?;
        let pack = match files.open(&self.path) {
            Ok(pack) => pack,
            // A damaged pack, or a file of the user: a verification names it. Or another command removed it.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::NotFound) => return Ok(()),
            Err(error) => return Err(StageError::io(&self.path, "read", error)),
        };
        let place = |member: &Member| place::path(files.lake(), &self.release, &member.snapshot);
        live.expect(pack.members().iter().map(place));
        let parts = pack.members().iter().filter_map(|member| self.part(files, live, &pack, member));
        let parts: Vec<Part> = parts.collect();
        if parts.len() == pack.members().len() {
            return Ok(());
        }
        let write = |folder: &Path| packing::write(folder, (self.file, pack.schema()), &parts, context);
        match parts.is_empty() {
            true => files.remove(&self.path, write),
            false => files.write_over(&self.path, write).map(drop),
        }
    }

    /// The rows of a member, if its run still names them.
    fn part(&self, files: &PackFiles, live: &mut Live, pack: &Arc<Pack>, member: &Member) -> Option<Part> {
        let is_live = match live.of(place::path(files.lake(), &self.release, &member.snapshot)) {
            State::Names(named) => named.night == self.night && named.seal == member.seal,
            // Another command may be about to let the run name them.
            State::Unpacked(seal) => files.is_shared() && *seal == member.seal,
            State::Gone => false,
            State::Unknown => true,
        };
        let slice = pack.slice(&member.snapshot, &member.seal).filter(|_| is_live)?;
        let (snapshot, seal) = (member.snapshot.clone(), member.seal.clone());
        Some(Part { snapshot, release: self.release.clone(), seal, rows: Rows::Pack(slice) })
    }
}
