//! A row of a rollup: a fingerprint over the runs of a group.

use crate::amounts::Amounts;
use crate::rows::{Gathered, Group};
use crate::statistics::quantile;

/// Summary of a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Summed {
    /// Amounts over the runs with the row.
    pub amounts: Amounts,
    /// Minimum.
    pub min: i64,
    /// 99 % quantile.
    pub p99: i64,
}

/// A row of a rollup.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Fingerprint.
    pub fingerprint: u64,
    /// Number of runs with the row.
    pub runs_with: usize,
    /// Number of hosts with the row; `None` if no run of the table has a host.
    pub hosts_with: Option<usize>,
    /// First and last capture time of a run with the row.
    pub seen: Option<(i64, i64)>,
    /// Run with the largest value of the first measure.
    pub worst: u32,
    /// Measures in the order of the table.
    pub measures: Vec<Summed>,
    /// Runs with the row.
    pub runs: Vec<u32>,
    /// Measures in these runs, run by run.
    pub values: Vec<Option<i64>>,
}

impl Row {
    /// Computes the row of a group; `captured` has the capture time of each run.
    pub(super) fn of(group: &Group<'_>, gathered: &Gathered<'_>, captured: &[Option<i64>]) -> Self {
        let count = gathered.table.measures.len();
        let (mut runs, mut values) = (Vec::new(), Vec::new());
        for ((run, _), measures) in group.rows() {
            runs.push(run);
            let number = |at| measures.get(at).map(|value| i64::try_from(value).unwrap_or(i64::MAX));
            values.extend((0..count).map(number));
        }
        let mut sorted = Vec::with_capacity(runs.len());
        let mut measure = |at: usize| {
            sorted.clear();
            sorted.extend(values.iter().skip(at).step_by(count).flatten().copied());
            sorted.sort_unstable();
            summed(&sorted)
        };
        let measures = (0..count).map(&mut measure).collect();
        let times = runs.iter().filter_map(|&run| captured[run as usize]);
        let seen = times.fold(None, |seen: Option<(i64, i64)>, time| {
            Some(seen.map_or((time, time), |(first, last)| (first.min(time), last.max(time))))
        });
        Self {
            fingerprint: group.fingerprint(),
            runs_with: runs.len(),
            hosts_with: group.hosts_with(0),
            seen,
            worst: worst(&runs, &values, count),
            measures,
            runs,
            values,
        }
    }
}

/// First run with the largest value of the first measure.
fn worst(runs: &[u32], values: &[Option<i64>], count: usize) -> u32 {
    let mains = values.iter().step_by(count);
    let mut worst = (None, 0);
    for (at, (run, main)) in runs.iter().zip(mains).enumerate() {
        if at == 0 || *main > worst.0 {
            worst = (*main, *run);
        }
    }
    worst.1
}

/// Summarises sorted values.
fn summed(sorted: &[i64]) -> Summed {
    Summed { amounts: Amounts::of(sorted), min: sorted.first().copied().unwrap_or(0), p99: quantile(sorted, 99) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_worst_is_named() {
        assert_eq!(worst(&[3, 5, 8], &[Some(1), None, Some(7), None, Some(7), None], 2), 5);
        assert_eq!(worst(&[3, 5], &[None, Some(0)], 1), 5);
        assert_eq!(worst(&[3, 5], &[None, None], 1), 3);
    }
}
