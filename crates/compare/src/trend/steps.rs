//! Selects the runs of each step of a series, and orders the steps.

use super::versions;
use crate::error::{CompareError, no_label};
use crate::sides::{Key, Side, Sides};
use heaplake_kit::Context;
use heaplake_lake::captured::captured_at;
use heaplake_lake::selection::FoundRun;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// Minimum number of steps for a trend.
pub const FEWEST: usize = 3;
/// Maximum number of steps: slopes are computed for all pairs.
const MOST: usize = 1000;

/// How steps are formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// One per selection, in the order given.
    Order,
    /// One per run, by capture time.
    Captured,
    /// One per value of a key.
    Key(Key),
}

impl By {
    /// Several selections are steps in the order given; a single one is divided, by default by capture time.
    ///
    /// # Errors
    /// If several selections are to be divided.
    pub fn of(named: &[String], by: Option<Self>) -> Result<Self, CompareError> {
        match (named.len(), by) {
            (1, by) => Ok(by.unwrap_or(Self::Captured)),
            (_, None) => Ok(Self::Order),
            (_, Some(by)) => {
                let cause = format!("--by {by} divides one selection, but {} are named", named.len());
                Err(CompareError::refused(cause, "leave --by out: each selection is a step"))
            }
        }
    }
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "captured" => Ok(Self::Captured),
            other => other.parse().map(Self::Key).map_err(|_| "use captured, release or label.NAME".to_owned()),
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order => f.write_str("order"),
            Self::Captured => f.write_str("captured"),
            Self::Key(key) => key.fmt(f),
        }
    }
}

/// Finds the runs of each step, see [`Sides::find`].
///
/// # Errors
/// [`CompareError`] also if there are too few or too many steps.
pub fn find(
    named: &[String],
    lake: Option<&Path>,
    by: &By,
    skip_damaged: bool,
    context: &Context<'_>,
) -> Result<Sides, CompareError> {
    let mut sides = Sides::find(named, lake, skip_damaged, context)?;
    if *by != By::Order
        && let Some(side) = sides.sides.pop()
    {
        divide(side, by, &mut sides)?;
    }
    let count = sides.sides.len();
    if (FEWEST..=MOST).contains(&count) {
        return Ok(sides);
    }
    let steps = if count == 1 { "1 step".to_owned() } else { format!("{count} steps") };
    Err(CompareError::refused(
        format!("{}: {steps}, but a trend has {FEWEST} to {MOST}", named.join(" ")),
        "name more runs, or another --by; heaplake diff compares two sides",
    ))
}

/// Divides the runs of a side into steps.
fn divide(side: Side, by: &By, sides: &mut Sides) -> Result<(), CompareError> {
    match by {
        By::Order => sides.sides.push(side),
        By::Captured => {
            let mut runs = Vec::new();
            for found in side.runs {
                runs.push((captured_at(&found.place, &found.run)?, found));
            }
            let unknown = runs.iter().filter(|(captured, _)| captured.is_none()).count();
            if unknown > 0 && unknown < runs.len() {
                sides.notes.remarks.push(format!("{unknown} runs do not say when they were captured: they come last."));
            }
            runs.sort_by_key(|(captured, found)| (captured.is_none(), *captured, name(found)));
            let step =
                |(_, found): (_, FoundRun)| Side { selection: found.place.display().to_string(), runs: vec![found] };
            sides.sides.extend(runs.into_iter().map(step));
        }
        By::Key(key) => {
            if let Key::Label(label) = key
                && !side.runs.iter().any(|found| key.of(&found.run).is_some())
            {
                return Err(no_label(label, side.runs.iter()));
            }
            group(side, key, sides);
        }
    }
    Ok(())
}

fn name(found: &FoundRun) -> (String, String) {
    (found.run.release.to_string(), found.run.snapshot.to_string())
}

/// Forms one step per value; runs without a value are left out.
fn group(side: Side, by: &Key, sides: &mut Sides) {
    let all = side.runs.len();
    let mut valued: Vec<(String, FoundRun)> =
        side.runs.into_iter().filter_map(|found| Some((by.of(&found.run)?.to_owned(), found))).collect();
    if valued.len() < all {
        sides.notes.remarks.push(format!("{} runs have no {by}: they are left out.", all - valued.len()));
    }
    valued.sort_by(|(a, run), (b, other)| versions::compare(a, b).then_with(|| name(run).cmp(&name(other))));
    for (value, found) in valued {
        let selection = format!("{by}={value}");
        match sides.sides.last_mut().filter(|last| last.selection == selection) {
            Some(last) => last.runs.push(found),
            None => sides.sides.push(Side { selection, runs: vec![found] }),
        }
    }
}
