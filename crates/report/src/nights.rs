//! The nights of a fleet: the median heap by calendar day of UTC, a line for each format and release.

use crate::sides::median;
use crate::texts::Texts;
use heaplake_schemas::rollup::{RolledRun, Rollup};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;
/// Maximum lines: those with the latest runs.
const LINES: usize = 12;
/// Maximum nights of a line: the last ones.
const NIGHTS: usize = 400;

/// The runs of a format and a release by night.
#[derive(Serialize)]
pub(crate) struct Line {
    format: u32,
    release: u32,
    /// Beginning of the day in milliseconds since 1970, median heap in bytes, and number of runs; in order.
    points: Vec<(i64, u64, usize)>,
}

/// The lines, and how many there are in all.
pub(crate) fn lines(rollup: &Rollup, texts: &mut Texts) -> (Vec<Line>, usize) {
    let mut nights: BTreeMap<(&str, &str), BTreeMap<i64, Vec<u64>>> = BTreeMap::new();
    for group in &rollup.groups {
        for run in &group.runs {
            let Some(day) = day(run) else { continue };
            let of_line = nights.entry((&group.format, &run.release)).or_default();
            of_line.entry(day).or_default().push(run.bytes);
        }
    }
    let all = nights.len();
    let mut latest: Vec<_> = nights.into_iter().collect();
    latest.sort_by_key(|(_, nights)| Reverse(nights.keys().next_back().copied()));
    latest.truncate(LINES);
    latest.sort_by_key(|(line, _)| *line);
    let line = |((format, release), nights): ((&str, &str), BTreeMap<i64, Vec<u64>>)| {
        let point = |(day, bytes): (i64, Vec<u64>)| (day, median(bytes.iter().copied()), bytes.len());
        let left_out = nights.len().saturating_sub(NIGHTS);
        let points = nights.into_iter().skip(left_out).map(point).collect();
        Line { format: texts.add(format), release: texts.add(release), points }
    };
    (latest.into_iter().map(line).collect(), all)
}

/// When the day of a run began.
fn day(run: &RolledRun) -> Option<i64> {
    run.captured_at_us.map(|time| (time / 1000).div_euclid(DAY) * DAY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_schemas::rollup::Group;

    fn run(release: &str, hours: Option<i64>, bytes: u64) -> RolledRun {
        let captured_at_us = hours.map(|hours| hours * 3_600_000_000);
        RolledRun { release: release.to_owned(), captured_at_us, bytes, ..RolledRun::default() }
    }

    #[test]
    fn each_release_has_the_median_of_each_night() {
        let runs = vec![
            run("1", Some(1), 10),
            run("1", Some(23), 30),
            run("1", Some(2), 20),
            run("1", Some(25), 7),
            run("1", None, 1000),
            run("2", Some(49), 5),
        ];
        let rollup = Rollup { groups: vec![Group { runs, ..Group::default() }], ..Rollup::default() };
        let (lines, all) = lines(&rollup, &mut Texts::default());
        assert_eq!(all, 2);
        assert_eq!(lines[0].points, [(0, 20, 3), (DAY, 7, 1)]);
        assert_eq!(lines[1].points, [(2 * DAY, 5, 1)]);
    }

    #[test]
    fn the_latest_lines_are_kept() {
        let runs = (0..20).map(|at| run(&format!("{at:02}"), Some(24 * at), 1)).collect();
        let rollup = Rollup { groups: vec![Group { runs, ..Group::default() }], ..Rollup::default() };
        let mut texts = Texts::default();
        let (lines, all) = lines(&rollup, &mut texts);
        assert_eq!((lines.len(), all), (LINES, 20));
        assert_eq!(lines[0].points[0].0, 8 * DAY);
    }
}
