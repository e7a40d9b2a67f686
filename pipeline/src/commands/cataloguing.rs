//! New runs of a batch on their way into the catalogue of the lake.

use crate::engine::request::Outcome;
use crate::engine::workplace;
use crate::log;
use heaplake_kit::{StageError, storage};
use heaplake_lake::{catalogue, place};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// New runs that are added at a time.
const AT_ONCE: usize = 256;

/// New runs that the catalogues of their lakes do not have yet.
pub(super) struct Cataloguing<'a> {
    scratch: Option<&'a Path>,
    places: Vec<PathBuf>,
}

impl<'a> Cataloguing<'a> {
    /// Starts a batch; `scratch` is the folder for temporary files that the user chose.
    pub(super) fn new(scratch: Option<&'a Path>) -> Self {
        Self { scratch, places: Vec::new() }
    }

    /// Adds the run of an outcome, if it is new.
    pub(super) fn add(&mut self, outcome: &Outcome) {
        if !outcome.unchanged {
            self.add_place(outcome.place.clone());
        }
    }

    /// Adds a new run.
    pub(super) fn add_place(&mut self, place: PathBuf) {
        self.places.push(place);
        if self.places.len() >= AT_ONCE {
            self.write();
        }
    }

    /// Writes the runs into the catalogues. A failure is a note: the runs are in their lakes, and are found without it.
    pub(super) fn write(&mut self) {
        let mut lakes: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for place in std::mem::take(&mut self.places) {
            if let Some(parts) = place::parts(&place) {
                lakes.entry(parts.lake).or_default().push(place);
            }
        }
        for (lake, places) in lakes {
            if let Err(error) = self.try_write(&lake, &places) {
                let lake = lake.display();
                log::note(&format!(
                    "{lake}: the catalogue lacks new runs: {error}; heaplake lake index {lake} adds them"
                ));
            }
        }
    }

    fn try_write(&self, lake: &Path, places: &[PathBuf]) -> Result<(), StageError> {
        if !storage::is_url(lake) {
            return catalogue::add(lake, places, lake);
        }
        let scratch = workplace::passing(self.scratch)?;
        catalogue::add(lake, places, scratch.path())
    }
}
