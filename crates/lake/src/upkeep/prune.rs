//! Removes the rows of dropped and replaced runs from packs.

use super::pack_files::{PackFile, PackFiles};
use super::states::{self, State};
use crate::packing::{self, Part, Rows};
use crate::packs::{Member, Pack};
use crate::place;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::SCHEMA_VERSION;
use heaplake_schemas::run::Packed;
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

/// Removes dead rows from all packs; in a store, where opening one takes requests, from those of these partitions
/// (release and night).
pub(super) fn all(
    files: &PackFiles,
    written: &BTreeSet<(String, String)>,
    live: &mut Live,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let mut packs = files.list(SCHEMA_VERSION)?;
    packs.retain(|of| !files.is_shared() || written.contains(&(of.release.clone(), of.night.clone())));
    each(&packs, files, live, context)
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

/// States of runs by place, as far as the caller knows them.
#[derive(Debug, Default)]
pub(super) struct Live(BTreeMap<PathBuf, State>);

impl Live {
    /// Remembers that the run at a place, with this seal, names this pack.
    pub(super) fn is(&mut self, place: &Path, packed: Option<Packed>, seal: String) {
        self.0.insert(place.to_owned(), packed.map_or(State::Unpacked(seal), State::Names));
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
        let dead = self.dead(files, live, &pack)?;
        if dead.is_empty() {
            return Ok(());
        }
        let members = pack.members().iter().filter(|member| !dead.contains(&member.snapshot));
        let parts: Vec<Part> = members.filter_map(|member| self.part(&pack, member)).collect();
        let write = |folder: &Path| packing::write(folder, (self.file, pack.schema()), &parts, context);
        let pruned = match parts.is_empty() {
            true => files.remove(&self.path, write),
            false => files.write_over(&self.path, write).map(drop),
        };
        match pruned {
            // Another command wrote it meanwhile; dead rows count for no run, and the next compaction removes them.
            Err(StageError::Refused { .. }) if files.is_shared() => Ok(()),
            pruned => pruned,
        }
    }

    /// Names of the members whose rows are dead. In a store, a remembered state may be stale, so the description of each
    /// candidate is read again after the pack was opened. If the pack changes later, the conditional write fails.
    fn dead(&self, files: &PackFiles, live: &mut Live, pack: &Arc<Pack>) -> Result<BTreeSet<String>, StageError> {
        let place = |member: &Member| place::path(files.lake(), &self.release, &member.snapshot);
        let is_new = |member: &&Member| !live.0.contains_key(&place(member));
        let unknown: Vec<PathBuf> = pack.members().iter().filter(is_new).map(place).collect();
        let states = states::read(&unknown, files)?;
        live.0.extend(unknown.into_iter().zip(states));
        let mut dead: Vec<&Member> = pack.members().iter().collect();
        dead.retain(|member| !live.0.get(&place(member)).is_some_and(|state| self.is_live(member, state, files)));
        if files.is_shared() {
            let places: Vec<PathBuf> = dead.iter().map(|member| place(member)).collect();
            let now = states::read(&places, files)?;
            let still = dead.into_iter().zip(&now).filter(|(member, state)| !self.is_live(member, state, files));
            dead = still.map(|(member, _)| member).collect();
            live.0.extend(places.into_iter().zip(now));
        }
        Ok(dead.into_iter().map(|member| member.snapshot.clone()).collect())
    }

    /// Whether a run in this state has, or may get, its rows in the pack.
    fn is_live(&self, member: &Member, state: &State, files: &PackFiles) -> bool {
        match state {
            State::Names(named) => named.night == self.night && named.seal == member.seal,
            // Another command may be about to let the run name them.
            State::Unpacked(seal) => files.is_shared() && *seal == member.seal,
            State::Gone => false,
            State::Unknown => true,
        }
    }

    /// The rows of a member.
    fn part(&self, pack: &Arc<Pack>, member: &Member) -> Option<Part> {
        let rows = Rows::Pack(pack.slice(&member.snapshot, &member.seal)?);
        let (snapshot, seal) = (member.snapshot.clone(), member.seal.clone());
        Some(Part { snapshot, release: self.release.clone(), seal, rows })
    }
}
