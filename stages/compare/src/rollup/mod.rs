//! `heaplake fleet rollup`: all runs of a lake, summed up by group, table by table, and what has the same culprit.
//!
//! * Computes: for each group of runs and each fingerprint of a table how many runs and hosts have the row, quantiles of
//!   its measures, the worst run, when it was seen; and [`clusters`] of runs.
//! * Incremental: a group whose runs are those of last time is not touched. Of another one only the tables of new runs are
//!   read: the rows of the others are kept in one file per table, without texts ([`crate::rows::kept`]).
//! * Resident memory: see [`crate::rows`]; 24 bytes per new fingerprint of a table.
//! * Passes over disk: see [`crate::rows`].
//! * Fails when: no run can be read, memory or disk do not suffice, another process makes the same rollup.
//! * Crash: `rollup.json` is replaced last and in one step. Folders of groups that it does not name are swept next time.
//! * Determinism: the same runs give the same bytes, in one step or in many; with any number of threads and any budget.
//! * Reference: the contract of [`heaplake_schemas::rollup`].

mod answer;
mod brief;
mod clusters;
mod groups;
mod place;
mod row;
mod signatures;
mod table;
mod write;

pub use answer::Answer;
pub use groups::Key;

use crate::error::CompareError;
use groups::Found;
use heaplake_kit::Context;
use heaplake_schemas::rollup::{Group, Rollup, TABLES};
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION};
use place::Place;
use std::path::Path;

/// Sums up the runs of `lake` into `folder`; scratch files lie in `scratch`.
///
/// # Errors
/// [`CompareError`].
pub fn roll(
    (lake, by): (&Path, &[Key]),
    folder: &Path,
    scratch: &Path,
    context: &Context<'_>,
) -> Result<Answer, CompareError> {
    let place = Place::open(folder)?;
    let by: Vec<String> = by.iter().map(ToString::to_string).collect();
    let earlier = place.earlier(&by);
    let groups::Groups { groups, remarks } = groups::find(lake, &by, &earlier)?;
    let mut rollup = Rollup {
        heaplake_version: HEAPLAKE_VERSION.to_owned(),
        schema_version: SCHEMA_VERSION,
        lake: place.path_of(lake)?,
        by,
        remarks,
        ..Rollup::default()
    };
    let mut updated = 0;
    for found in groups {
        if let Some(same) = earlier.groups.iter().find(|group| group.folder == found.group.folder) {
            rollup.groups.push(same.clone());
            continue;
        }
        updated += 1;
        rollup.groups.push(rolled(found, &earlier, &place, scratch, context)?);
    }
    rollup.clusters = clusters::find(&rollup.groups, |group| place.of_group(&group.folder), context)?;
    place.commit(&rollup)?;
    Ok(Answer { rollup, updated_groups: updated })
}

/// The tables of a group.
fn rolled(
    found: Found,
    earlier: &Rollup,
    place: &Place,
    scratch: &Path,
    context: &Context<'_>,
) -> Result<Group, CompareError> {
    let Found { mut group, sides } = found;
    let output = place.create_group(&group.folder)?;
    let before = earlier.groups.iter().find(|before| groups::same_key(before, &group));
    for table in TABLES {
        let before = before.map(|before| (before, place.committed(&before.folder)));
        let work = table::Work { group: &group, sides: &sides, before, scratch };
        let tables = work.roll(table, &output, context)?;
        group.tables.extend(tables);
    }
    group.brief = brief::of(&group, &output.folder)?;
    Ok(group)
}
