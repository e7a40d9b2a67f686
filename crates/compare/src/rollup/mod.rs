//! `heaplake fleet rollup`: sums up the runs of a lake by group, table by table, and clusters runs by dominating
//! finding.
//!
//! * Computes: for each group of runs and each fingerprint of a table the number of runs and hosts with the row,
//!   quantiles of its measures, the worst run, first and last capture time; and [`clusters`] of runs.
//! * Choice: conditions on the runs are recorded. Under other conditions the rollup is made anew; a group of the same
//!   runs, and the rows of runs that both have, are the same under any conditions, and reused.
//! * Incremental: a group with unchanged runs is reused. For other groups only the tables of new runs are read: the
//!   rows of known runs are kept in one file per table, without texts ([`crate::rows::kept`]).
//! * Resident memory: see [`crate::rows`]; 24 bytes per new fingerprint of a table.
//! * Passes over disk: see [`crate::rows`].
//! * Fails when: no run can be read, memory or disk do not suffice, another process makes the same rollup.
//! * Crash: `rollup.json` is replaced last and atomically. Group folders that it does not name are removed next time.
//! * Determinism: the same runs give the same bytes, in one step or in many; with any number of threads and any budget.
//! * Reference: the contract of [`heaplake_schemas::rollup`].

mod answer;
mod clusters;
mod groups;
mod nights;
mod ordinary;
mod place;
mod row;
mod signatures;
mod table;
mod write;

pub use answer::Answer;
pub use clusters::OF_WASTE;

use crate::error::CompareError;
use crate::sides::{Key, Notes, is_compared};
use groups::UnsummedGroup;
use heaplake_kit::Context;
use heaplake_lake::selection::FoundRun as Run;
use heaplake_lake::upkeep::choice::Choice;
use heaplake_lake::{nearest, whole};
use heaplake_schemas::rollup::{Group, Rollup, TABLES};
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION};
use place::Place;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Maximum number of restarts because of replaced runs; finished groups are kept.
const BEGINNINGS: u32 = 50;

/// A rollup to make.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The lake.
    pub lake: &'a Path,
    /// Which of its runs.
    pub choice: &'a Choice,
    /// Keys by which its runs are grouped.
    pub by: &'a [Key],
    /// Whether unreadable runs may be missed.
    pub skip_damaged: bool,
    /// Folder of the rollup.
    pub folder: &'a Path,
    /// Folder for scratch files.
    pub scratch: &'a Path,
}

/// Sums up the runs of a lake.
pub fn roll(request: &Request<'_>, context: &Context<'_>) -> Result<Answer, CompareError> {
    let lake = request.lake;
    nearest::check_lake(lake).map_err(|(cause, advice)| CompareError::refused(cause, advice))?;
    groups::refuse_empty(lake, request.choice)?;
    let place = Place::open(request.folder)?;
    let by: Vec<String> = request.by.iter().map(ToString::to_string).collect();
    let (earlier, made, damaged) = (place.earlier(&by), BTreeMap::new(), BTreeMap::new());
    let mut writer = Writer { request, earlier, place: &place, made, damaged };
    let (groups, notes) = writer.groups(context)?;
    let Notes { remarks, missed, .. } = notes.finished(request.skip_damaged);
    let updated = groups.iter().filter(|group| writer.made.contains_key(&group.folder)).count();
    let mut rollup = Rollup {
        heaplake_version: HEAPLAKE_VERSION.to_owned(),
        schema_version: SCHEMA_VERSION,
        lake: place.path_of(lake)?,
        by,
        conditions: groups::conditions(request.choice),
        groups,
        remarks,
        missed,
        ..Rollup::default()
    };
    rollup.last_night = nights::last(&rollup.groups);
    rollup.clusters = clusters::find(&rollup.groups, |group| place.of_group(&group.folder), context)?;
    place.commit(&rollup)?;
    Ok(Answer { rollup, updated_groups: updated })
}

/// State of a rollup in progress.
struct Writer<'a> {
    request: &'a Request<'a>,
    earlier: Rollup,
    place: &'a Place,
    /// Finished groups by folder; the folder's name determines the runs.
    made: BTreeMap<String, Group>,
    /// Runs with a table that differs from the listed one, with the problem.
    damaged: BTreeMap<PathBuf, String>,
}

impl Writer<'_> {
    /// Computes the groups of the lake. Restarts if a run is replaced meanwhile or found damaged, because grouping
    /// depends on all runs.
    fn groups(&mut self, context: &Context<'_>) -> Result<(Vec<Group>, Notes), CompareError> {
        let Request { lake, choice, by, .. } = *self.request;
        let mut beginnings = 0;
        while beginnings < BEGINNINGS {
            let known = self.damaged.len();
            let groups::Groups { groups, notes } = groups::find((lake, choice), by, &self.earlier, &self.damaged)?;
            if let Some(groups) = self.all(groups, context)? {
                return Ok((groups, notes));
            }
            beginnings += u32::from(self.damaged.len() == known);
        }
        let cause = format!("{}: runs were replaced each of {BEGINNINGS} times that they were read", lake.display());
        Err(CompareError::refused(cause, "run it again when fewer commands write to the lake"))
    }

    fn all(&mut self, found: Vec<UnsummedGroup>, context: &Context<'_>) -> Result<Option<Vec<Group>>, CompareError> {
        let mut groups = Vec::with_capacity(found.len());
        for mut found in found {
            let folder = found.group.folder.clone();
            let same = self.earlier.groups.iter().find(|group| group.folder == folder);
            if let Some(group) = same.or_else(|| self.made.get(&folder)) {
                groups.push(group.clone());
                continue;
            }
            let runs = found.sides.sides.iter_mut().flat_map(|side| &mut side.runs);
            runs.for_each(|run| run.hold(&is_compared));
            if !found.sides.stand() || self.has_damaged(&found, context)? {
                return Ok(None);
            }
            let group = self.rolled(&found, context);
            if !found.sides.stand() {
                return Ok(None);
            }
            let group = group?;
            self.made.insert(folder, group.clone());
            groups.push(group);
        }
        Ok(Some(groups))
    }

    /// Whether a group has runs with damaged tables. Runs with rows kept by an earlier rollup are not read here;
    /// opening them compares lengths.
    fn has_damaged(&mut self, found: &UnsummedGroup, context: &Context<'_>) -> Result<bool, CompareError> {
        let before = self.before(&found.group);
        let known: BTreeSet<(&str, &str)> =
            before.iter().flat_map(|group| &group.runs).map(|run| (&*run.path, &*run.hash)).collect();
        let all = found.group.runs.iter().zip(found.sides.runs());
        let new = all.filter(|(rolled, _)| !known.contains(&(&*rolled.path, &*rolled.hash)));
        let new: Vec<&Run> = new.map(|(_, (_, run))| run).collect();
        let problems = new.iter().zip(whole::problems(&new, &is_compared, context)?);
        let damaged = problems.filter_map(|(run, problem)| Some((run.place.clone(), problem?)));
        let before = self.damaged.len();
        self.damaged.extend(damaged);
        Ok(self.damaged.len() > before)
    }

    /// Computes the tables of a group.
    fn rolled(&self, found: &UnsummedGroup, context: &Context<'_>) -> Result<Group, CompareError> {
        let (mut group, sides, scratch) = (found.group.clone(), &found.sides, self.request.scratch);
        let output = self.place.create_group(&group.folder)?;
        for table in TABLES {
            let before = self.before(&group).map(|before| (before, self.place.committed(&before.folder)));
            let work = table::Work { group: &group, sides, before, scratch };
            if let Some((tables, brief)) = work.roll(table, &output, context)? {
                group.tables.extend(tables);
                group.brief.push(brief);
            }
        }
        Ok(group)
    }

    /// Earlier state of a group.
    fn before(&self, group: &Group) -> Option<&Group> {
        self.earlier.groups.iter().find(|before| groups::same_key(before, group))
    }
}
