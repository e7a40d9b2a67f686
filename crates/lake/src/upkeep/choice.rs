//! Selects runs of a lake by name, release, label and time.

use crate::captured::captured_at;
use crate::entry::Entry;
use crate::selection::Selection;
use crate::stored;
use crate::{nearest, place};
use glob::Pattern;
use heaplake_kit::StageError;
use heaplake_schemas::run;
use std::path::{Path, PathBuf};

/// Conditions on runs, all of which must hold.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Release and labels.
    pub selection: Selection,
    /// Names, one of which must match; empty matches any. See [`is_named`].
    pub names: Vec<Pattern>,
    /// Earliest capture time, in microseconds since 1970.
    pub since: Option<i64>,
    /// Capture time must be before this.
    pub before: Option<i64>,
}

impl Choice {
    /// Whether it has no condition.
    pub fn is_empty(&self) -> bool {
        let Self { selection, names, since, before } = self;
        selection.is_empty() && names.is_empty() && since.is_none() && before.is_none()
    }

    /// Whether a run matches. A run without capture time matches only if no time is given.
    pub fn takes(&self, place: &Path, run: &Entry) -> Result<bool, StageError> {
        let takes = self.selection.takes(run) && self.takes_name(place);
        if !takes || (self.since.is_none() && self.before.is_none()) {
            return Ok(takes);
        }
        let Some(at) = captured_at(place, run)? else { return Ok(false) };
        Ok(self.since.is_none_or(|since| since <= at) && self.before.is_none_or(|before| at < before))
    }

    /// Whether a run with a damaged description may match, judged by the release and name in its folder name.
    pub fn takes_damaged(&self, place: &Path) -> bool {
        let names = place::parts(place).is_some() && self.selection.takes_place(place);
        names && self.since.is_none() && self.before.is_none() && self.takes_name(place)
    }

    /// Names that none of these runs has, and a sentence about the first one with the nearest names.
    pub(crate) fn unknown(&self, places: &[PathBuf]) -> (Vec<String>, Option<String>) {
        let is_unknown = |name: &&Pattern| !places.iter().any(|place| is_named(name, place));
        let unknown: Vec<String> = self.names.iter().filter(is_unknown).map(|name| name.as_str().to_owned()).collect();
        let names = || places.iter().filter_map(|place| place::parts(place)).map(|parts| parts.snapshot);
        let unmet = unknown
            .first()
            .map(|name| format!("there is no run {name}{}", nearest::clause(&nearest::nearest(name, names()))));
        (unknown, unmet)
    }

    /// Whether a run with a damaged description may be meant.
    pub(crate) fn may_take(&self, place: &Path) -> bool {
        self.selection.may_take(place) && self.takes_name(place)
    }

    fn takes_name(&self, place: &Path) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| is_named(name, place))
    }
}

/// Whether a pattern matches a run's name, `release=R/snapshot=N`, or path.
pub fn is_named(name: &Pattern, place: &Path) -> bool {
    let Some(parts) = place::parts(place) else { return false };
    let within = format!("release={}/snapshot={}", parts.release, parts.snapshot);
    let names = [parts.snapshot.as_str(), &within, &place.to_string_lossy()];
    // A name may contain pattern characters.
    names.iter().any(|text| name.matches(text) || name.as_str() == *text)
}

/// Refuses a folder that is not a lake.
pub fn refuse_other(lake: &Path) -> Result<(), StageError> {
    nearest::check_is_lake(lake).map_err(|(problem, advice)| StageError::Refused { problem, advice })
}

/// Refuses a folder that is a run or does not exist.
pub fn refuse_run(lake: &Path) -> Result<(), StageError> {
    nearest::check_lake(lake).map_err(|(problem, advice)| StageError::Refused { problem, advice })?;
    if stored::exists(&lake.join(run::FILE)) {
        return Err(StageError::Refused {
            problem: format!("{}: this is a run, not a lake", lake.display()),
            advice: "heaplake show prints a run; name the folder that --out named".to_owned(),
        });
    }
    Ok(())
}
