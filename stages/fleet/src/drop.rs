//! Drops runs: first a plan, which changes nothing, then one run after the other.
//!
//! A run vanishes in one step, since its folder is renamed to a hidden one before its files go
//! ([`Place::discard`](heaplake_lake::place::Place::discard)). Only a run that still is what the plan saw goes, and none
//! that another process is making anew.

use crate::check::Description;
use crate::choice::{Choice, is_named};
use crate::keep::{Keep, are_last};
use crate::list::disk_bytes;
use crate::moment;
use glob::Pattern;
use heaplake_kit::StageError;
use heaplake_lake::captured::captured_at;
use heaplake_lake::nearest::{clause, nearest};
use heaplake_lake::place::{self, Place, Standing};
use heaplake_lake::selection;
use heaplake_schemas::run::Run;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Which runs go.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Runs of these names, releases and labels.
    pub choice: Choice,
    /// Only those that were captured before this moment, microseconds since 1970.
    pub before: Option<i64>,
    /// Only those that are not among the last ones of their group.
    pub keep: Option<Keep>,
}

impl Wish {
    /// Whether it asks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Choice { selection, names, since, before } = &self.choice;
        let times = [since, before, &self.before].iter().all(|time| time.is_none());
        times && selection.is_empty() && names.is_empty() && self.keep.is_none()
    }
}

/// The runs that are to go, and why others stay.
#[derive(Debug, Default, Serialize)]
pub struct Plan {
    /// Runs to drop, by path.
    pub runs: Vec<Chosen>,
    /// Runs that stay since nothing says when they were captured.
    pub kept_without_time: Vec<PathBuf>,
    /// Runs that stay since they do not have the label of `--per`.
    pub kept_without_label: Vec<PathBuf>,
    /// Runs that stay since their description is damaged, so that it does not tell whether they are meant.
    pub kept_damaged: Vec<PathBuf>,
    /// Names that no run has.
    pub unknown: Vec<String>,
    /// What else no run is: the first name, or condition on release and labels, in words, with the nearest.
    #[serde(skip)]
    pub unmet: Option<String>,
}

/// A run to drop.
#[derive(Clone, Debug, Serialize)]
pub struct Chosen {
    /// Its folder.
    pub path: PathBuf,
    /// Its release.
    pub release: String,
    /// Its name.
    pub snapshot: String,
    /// When its input was captured; null where it does not say.
    pub captured_at: Option<String>,
    /// Bytes of its files.
    pub disk_bytes: u64,
    /// Whether it is gone.
    pub dropped: bool,
    #[serde(skip)]
    standing: Option<Standing>,
    #[serde(skip)]
    lake: PathBuf,
}

/// A run that is meant as far as its name, release and labels tell.
struct Candidate {
    chosen: Chosen,
    captured: Option<i64>,
    group: Option<String>,
}

/// Says which runs would go.
///
/// # Errors
/// [`StageError::Io`] where the folder cannot be read; [`StageError::Refused`] where it is no lake.
pub fn plan(lake: &Path, wish: &Wish) -> Result<Plan, StageError> {
    let places = selection::places(lake)?.places;
    let named = |name: &&Pattern| !places.iter().any(|place| is_named(name, place));
    let unknown: Vec<String> = wish.choice.names.iter().filter(named).map(|name| name.as_str().to_owned()).collect();
    let names = || places.iter().filter_map(|place| place::parts(place)).map(|parts| parts.snapshot);
    let unmet = unknown.first().map(|name| format!("there is no run {name}{}", clause(&nearest(name, names()))));
    let mut plan = Plan { unknown, unmet, ..Plan::default() };
    let by_description = wish.keep.is_some() || wish.before.is_some();
    let mut candidates = Vec::new();
    for place in &places {
        let Some(description) = Description::read(place) else { continue };
        let chosen = chosen(place, description.standing.clone())?;
        match description.intact() {
            Some(run) => candidates.extend(candidate(chosen, run, wish, &mut plan)),
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
        standing,
        lake,
    })
}

/// A run that is meant; what cannot be told of it is in the plan.
fn candidate(chosen: Chosen, run: &Run, wish: &Wish, plan: &mut Plan) -> Option<Candidate> {
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
            let chosen = Chosen { captured_at: captured.map(moment::text), ..chosen };
            Some(Candidate { chosen, captured, group: group.flatten() })
        }
    }
}

/// The candidates that are old enough, and not among the last of their group. A run without a time is neither.
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

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is gone.
    Dropped,
    /// Another process dropped it.
    Gone,
    /// Another process makes it anew: it stays.
    Busy,
    /// Another run stands there by now: it stays.
    Changed,
}

/// Drops a run.
///
/// # Errors
/// [`StageError::Io`].
pub fn carry_out(chosen: &Chosen) -> Result<Outcome, StageError> {
    let place = Place::take_if_free(&chosen.lake, &chosen.release, &chosen.snapshot)?;
    let Some(place) = place else { return Ok(Outcome::Busy) };
    match place.standing() {
        None => Ok(Outcome::Gone),
        standing if standing != chosen.standing.as_ref() => Ok(Outcome::Changed),
        Some(_) => place.discard().map(|()| Outcome::Dropped),
    }
}
