//! Drops runs: first a plan, which changes nothing, then one run after the other.
//!
//! A run vanishes atomically: its folder is renamed to a hidden one before its files are deleted
//! ([`Place::discard`](crate::place::Place::discard)). A run is dropped only if it is still the one the plan
//! saw, and no other process is making it anew.

use super::check::Description;
use super::choice::Choice;
use super::keep::{Keep, are_last};
use crate::captured::captured_at;
use crate::entry::Entry;
use crate::moment;
use crate::place::{self, Place, Standing};
use crate::selection;
use crate::stored::disk_bytes;
use heaplake_kit::StageError;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Selection of runs to drop.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Only runs with these names, releases and labels.
    pub choice: Choice,
    /// Only runs captured before this time, in microseconds since 1970.
    pub before: Option<i64>,
    /// Only runs that are not among the last ones of their group.
    pub keep: Option<Keep>,
}

impl Wish {
    /// Whether it selects nothing.
    pub fn is_empty(&self) -> bool {
        self.choice.is_empty() && self.before.is_none() && self.keep.is_none()
    }
}

/// Runs to drop, and reasons why others stay.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Plan {
    /// Runs to drop, by path.
    pub runs: Vec<Chosen>,
    /// Runs that stay because they have no capture time.
    pub kept_without_time: Vec<PathBuf>,
    /// Runs that stay because they lack the label of `--per`.
    pub kept_without_label: Vec<PathBuf>,
    /// Runs that stay because a damaged description cannot be matched.
    pub kept_damaged: Vec<PathBuf>,
    /// Names that no run has.
    pub unknown: Vec<String>,
    /// The first name, or condition on release and labels, that no run meets: a sentence with the nearest match.
    #[serde(skip)]
    pub unmet: Option<String>,
}

/// A run to drop.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Chosen {
    /// Run folder.
    pub path: PathBuf,
    /// Release.
    pub release: String,
    /// Run name.
    pub snapshot: String,
    /// Capture time of the input; null if unknown.
    pub captured_at: Option<String>,
    /// Bytes of its files.
    pub disk_bytes: u64,
    /// Whether it has been dropped.
    pub dropped: bool,
    /// The night of its packs, in a compacted lake.
    #[serde(skip)]
    pub night: Option<String>,
    #[serde(skip)]
    standing: Option<Standing>,
    /// The lake.
    #[serde(skip)]
    pub lake: PathBuf,
}

/// A run that matches by name, release and labels.
struct Candidate {
    chosen: Chosen,
    captured: Option<i64>,
    group: Option<String>,
}

/// Plans which runs to drop.
///
/// # Errors
/// [`StageError::Refused`] if the folder is not a lake.
pub fn plan(lake: &Path, wish: &Wish) -> Result<Plan, StageError> {
    let places = selection::places(lake)?.places;
    let (unknown, unmet) = wish.choice.unknown(&places);
    let mut plan = Plan { unknown, unmet, ..Plan::default() };
    let by_description = wish.keep.is_some() || wish.before.is_some();
    let mut candidates = Vec::new();
    for place in &places {
        let Some(description) = Description::read(place) else { continue };
        let chosen = chosen(place, description.standing.clone())?;
        match description.intact().and_then(|run| Entry::of(run).ok()) {
            Some(run) => candidates.extend(candidate(chosen, &run, wish, &mut plan)),
            None if wish.choice.takes_damaged(place) && !by_description => plan.runs.push(chosen),
            None => plan.kept_damaged.push(place.clone()),
        }
    }
    if plan.unmet.is_none() && candidates.is_empty() && !wish.choice.selection.is_empty() {
        plan.unmet = selection::runs(lake)?.unmet(&wish.choice.selection);
    }
    plan.runs.extend(past(candidates, wish, &mut plan.kept_without_time));
    plan.runs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(plan)
}

fn chosen(place: &Path, standing: Option<Standing>) -> Result<Chosen, StageError> {
    let place::Parts { lake, release, snapshot } = place::parts(place).ok_or_else(|| StageError::Refused {
        problem: format!("{}: this run is in no folder release=…", place.display()),
        advice: "name the lake, the folder that --out named".to_owned(),
    })?;
    let disk_bytes = disk_bytes(place);
    Ok(Chosen {
        path: place.to_owned(),
        release,
        snapshot,
        captured_at: None,
        disk_bytes,
        dropped: false,
        night: None,
        standing,
        lake,
    })
}

/// Returns a matching run, or records in the plan why it stays.
fn candidate(chosen: Chosen, run: &Entry, wish: &Wish, plan: &mut Plan) -> Option<Candidate> {
    let path = &chosen.path;
    let Ok((takes, captured)) = wish.choice.takes(path, run).and_then(|takes| Ok((takes, captured_at(path, run)?)))
    else {
        plan.kept_damaged.push(path.clone());
        return None;
    };
    let group = wish.keep.as_ref().map(|keep| keep.per.group(run));
    match group {
        _ if !takes => None,
        Some(None) => {
            plan.kept_without_label.push(path.clone());
            None
        }
        group => {
            let night = run.packed.as_ref().map(|packed| packed.night.clone());
            let chosen = Chosen { captured_at: captured.map(moment::text), night, ..chosen };
            Some(Candidate { chosen, captured, group: group.flatten() })
        }
    }
}

/// Candidates old enough and not among the last of their group; runs without a time stay.
fn past(candidates: Vec<Candidate>, wish: &Wish, without_time: &mut Vec<PathBuf>) -> Vec<Chosen> {
    if wish.keep.is_none() && wish.before.is_none() {
        return candidates.into_iter().map(|candidate| candidate.chosen).collect();
    }
    let mut timed = Vec::new();
    for candidate in candidates {
        match candidate.captured {
            Some(at) => timed.push((candidate, at)),
            None => without_time.push(candidate.chosen.path),
        }
    }
    let groups: Vec<(String, i64)> =
        timed.iter().map(|(candidate, at)| (candidate.group.clone().unwrap_or_default(), *at)).collect();
    let last = wish.keep.as_ref().map_or(0, |keep| keep.last);
    let old = |at: i64| wish.before.is_none_or(|before| at < before);
    let stays = are_last(&groups, last).into_iter();
    let going = timed.into_iter().zip(stays).filter(|((_, at), stays)| !stays && old(*at));
    going.map(|((candidate, _), _)| candidate.chosen).collect()
}

/// Outcome for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Dropped.
    Dropped,
    /// Another process has dropped it.
    Gone,
    /// Stays: another process is making it anew.
    Busy,
    /// Stays: the run has been replaced.
    Changed,
}

/// Drops a planned run.
pub fn carry_out(chosen: &Chosen) -> Result<Outcome, StageError> {
    let place = Place::take_if_free(&chosen.lake, &chosen.release, &chosen.snapshot)?;
    let Some(place) = place else { return Ok(Outcome::Busy) };
    match place.standing() {
        None => Ok(Outcome::Gone),
        standing if standing != chosen.standing.as_ref() => Ok(Outcome::Changed),
        Some(_) => place.discard().map(|()| Outcome::Dropped),
    }
}
