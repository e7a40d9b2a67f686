//! Changes the labels of runs: first a plan, which changes nothing, then one run after the other.
//!
//! Only `run.json` changes, because tables hold no labels. Under the lock of the place, the new text is written beside
//! the run, made durable, and renamed over the old one; in a store it is put on the condition that the old one is still
//! there. So a killed process leaves the old description or the new one. A run is changed only if it is still the one
//! that the plan saw.

use super::check::Description;
use super::choice::Choice;
use super::relabelled::relabelled;
use crate::entry::Entry;
use crate::place::{self, Place, Standing, in_new_folder};
use crate::{commit, remote, selection};
use heaplake_kit::{StageError, fs};
use heaplake_schemas::run;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// Labels of a run.
pub type Labels = BTreeMap<String, String>;

/// A change of labels.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Labels to set.
    pub set: Labels,
    /// Labels to remove.
    pub remove: BTreeSet<String>,
}

impl Change {
    /// The labels after the change.
    fn of(&self, labels: &Labels) -> Labels {
        let kept = labels.iter().filter(|(name, _)| !self.remove.contains(*name));
        kept.chain(&self.set).map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// Runs whose labels change.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Plan {
    /// Chosen runs whose labels differ afterwards, by path.
    pub runs: Vec<Planned>,
    /// Number of chosen runs that have these labels already.
    pub unchanged: usize,
    /// Runs that may be meant, but whose description is damaged.
    pub kept_damaged: Vec<PathBuf>,
    /// The first name, or condition on release and labels, that no run meets: a sentence with the nearest match.
    #[serde(skip)]
    pub unmet: Option<String>,
}

/// A run whose labels change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Planned {
    /// Run folder.
    pub path: PathBuf,
    /// Labels before.
    pub before: Labels,
    /// Labels afterwards.
    pub after: Labels,
    /// Whether they have been changed.
    pub changed: bool,
    #[serde(skip)]
    standing: Option<Standing>,
}

/// Plans a change of labels.
pub fn plan(lake: &Path, choice: &Choice, change: &Change) -> Result<Plan, StageError> {
    let places = selection::places(lake)?.places;
    let (_, unmet) = choice.unknown(&places);
    let mut plan = Plan { unmet, ..Plan::default() };
    for path in places {
        let Some(description) = Description::read(&path) else { continue };
        let entry = description.intact().and_then(|run| Entry::of(run).ok());
        let (Some(run), Some(entry)) = (description.intact(), entry) else {
            plan.kept_damaged.extend(choice.may_take(&path).then_some(path));
            continue;
        };
        if !choice.takes(&path, &entry)? {
            continue;
        }
        let before = run.options.labels().clone();
        let after = change.of(&before);
        match before == after {
            true => plan.unchanged += 1,
            false => plan.runs.push(Planned { path, before, after, changed: false, standing: description.standing }),
        }
    }
    let is_none = plan.runs.is_empty() && plan.unchanged == 0;
    if plan.unmet.is_none() && is_none && !choice.selection.is_empty() {
        plan.unmet = selection::runs(lake)?.unmet(&choice.selection);
    }
    Ok(plan)
}

/// Outcome for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its labels are changed.
    Labelled,
    /// Another process is making it anew, so it stays.
    Busy,
    /// It was replaced or dropped meanwhile.
    Changed,
}

/// Changes the labels of a planned run.
pub fn carry_out(planned: &Planned) -> Result<Outcome, StageError> {
    let path = &planned.path;
    let Some(place::Parts { lake, release, snapshot }) = place::parts(path) else { return Ok(Outcome::Changed) };
    let Some(place) = Place::take_if_free(&lake, &release, &snapshot)? else { return Ok(Outcome::Busy) };
    if place.standing().is_none() || place.standing() != planned.standing.as_ref() {
        return Ok(Outcome::Changed);
    }
    let Some(text) = commit::text(path)? else { return Ok(Outcome::Changed) };
    let text = relabelled(path, &text, &planned.after)?;
    let is_done = match place.is_remote() {
        true => remote::describe(path, text.as_bytes(), place.standing().and_then(Standing::tag))?,
        false => replace(&place, text.as_bytes())?,
    };
    Ok(if is_done { Outcome::Labelled } else { Outcome::Changed })
}

/// Replaces the description of the run at a place; false if somebody changed the run meanwhile.
fn replace(place: &Place, text: &[u8]) -> Result<bool, StageError> {
    let failed = |path: &Path, action: &'static str| {
        let path = path.to_owned();
        move |error: io::Error| StageError::io(&path, action, error)
    };
    let (hidden, path) = (place.hidden(), place.path());
    let (new, old) = (hidden.join(run::FILE), path.join(run::FILE));
    in_new_folder(hidden, || fs::create_dir(hidden)).map_err(failed(hidden, "create"))?;
    fs::write(&new, text).and_then(|()| fs::sync(&new)).map_err(failed(&new, "write"))?;
    if Standing::at(path)?.as_ref() != place.standing() {
        return Ok(false);
    }
    fs::rename(&new, &old).map_err(failed(&old, "replace"))?;
    fs::sync(path).map_err(failed(path, "write"))?;
    Ok(true)
}
