//! Finds the folders of the runs of a lake.

use crate::catalogue::{Catalogue, Wanted};
use crate::entries::{self, Places};
use crate::standing::Version;
use crate::{inventory, stored};
use heaplake_kit::storage::Level;
use heaplake_kit::{StageError, storage};
use std::io;
use std::path::Path;

/// Attempts to list a release that others remove and recreate meanwhile.
const TRIES: u32 = 100;

/// Returns the folders that should be runs in a lake, or in a folder `release=…` of one.
pub fn places(folder: &Path) -> Result<Places, StageError> {
    let catalogue =
        if storage::is_url(folder) { Catalogue::read(folder, Wanted::NO_TABLES) } else { Catalogue::default() };
    let places = places_by(folder, &catalogue)?;
    stored::expect(&places.places);
    Ok(places)
}

/// As [`places`], for a listing in pieces between runs of the catalogue.
pub(crate) fn places_by(folder: &Path, catalogue: &Catalogue) -> Result<Places, StageError> {
    if storage::is_url(folder) {
        let places = cuts(folder, catalogue).and_then(|cuts| inventory::places(folder, &cuts));
        let places = places.map_err(|error| StageError::io(folder, "read", error))?;
        return Ok(Places { places, damaged: Vec::new() });
    }
    let mut found = entries::named(folder, "snapshot=")?;
    let releases = entries::named(folder, "release=")?;
    found.damaged.extend(releases.damaged);
    for release in releases.places {
        match of_release(&release) {
            Ok(Places { places, damaged }) => {
                found.places.extend(places);
                found.damaged.extend(damaged);
            }
            Err(error) => found.damaged.push((release, error.to_string())),
        }
    }
    found.places.sort();
    found.damaged.sort();
    Ok(found)
}

/// As [`places`], with all objects of a store.
pub(crate) fn whole(folder: &Path, catalogue: &Catalogue) -> Result<(Places, Option<Level>), StageError> {
    if !storage::is_url(folder) {
        return Ok((places(folder)?, None));
    }
    let whole = cuts(folder, catalogue).and_then(|cuts| inventory::whole(folder, &cuts));
    let (places, level) = whole.map_err(|error| StageError::io(folder, "list", error))?;
    stored::expect(&places);
    Ok((Places { places, damaged: Vec::new() }, Some(level)))
}

/// URLs at which to cut a listing: runs that the catalogue knows, else releases.
fn cuts(folder: &Path, catalogue: &Catalogue) -> io::Result<Vec<String>> {
    if !catalogue.is_empty() {
        return Ok(catalogue.cuts(folder));
    }
    let releases = storage::entries(folder)?.into_iter().filter(|entry| entry.name.starts_with("release="));
    Ok(releases.map(|release| folder.join(release.name).to_string_lossy().into_owned()).skip(1).collect())
}

/// Returns the folders that should be runs of a release; empty if the release was removed with its last run.
fn of_release(release: &Path) -> Result<Places, StageError> {
    let mut tries = 0;
    loop {
        match entries::named(release, "snapshot=") {
            Err(_) if !release.exists() => return Ok(Places::default()),
            // Removed and recreated meanwhile.
            Err(StageError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound && tries < TRIES => {
                tries += 1;
            }
            places => return places,
        }
    }
}

/// Version of the description of a run in a store, as listed.
pub(crate) fn version(place: &Path) -> Option<Version> {
    let (bytes, tag) = inventory::of(place)?.description.clone()?;
    Some(Version { bytes, tag: Some(tag?), ..Version::default() })
}
