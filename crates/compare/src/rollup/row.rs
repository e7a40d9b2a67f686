//! A row of a rollup: a fingerprint over the runs of a group.

use crate::amounts::Amounts;
use crate::rows::Group;
use crate::statistics::quantile;

/// Summary of a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Summed {
    /// Amounts over the runs with the row.
    pub amounts: Amounts,
    /// Minimum; `None` if no run reports the measure.
    pub min: Option<i64>,
    /// 99 % quantile; `None` too.
    pub p99: Option<i64>,
}

/// A row of a rollup.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Fingerprint.
    pub fingerprint: u64,
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
    /// Computes the row of a group, with `count` measures; `captured` has the capture time of each run.
    pub(super) fn of(group: &Group<'_>, count: usize, captured: &[Option<i64>]) -> Self {
        let (mut runs, mut values) = (Vec::new(), Vec::new());
        for record in &group.records {
            runs.push(record.head.run);
            values.extend((0..count).map(|at| record.value(at)));
        }
        let with = group.with()[0];
        let mut sorted = Vec::with_capacity(runs.len());
        let mut measure = |at: usize| {
            sorted.clear();
            sorted.extend(values.iter().skip(at).step_by(count).flatten().copied());
            sorted.sort_unstable();
            Summed {
                amounts: Amounts::of(&sorted, with),
                min: sorted.first().copied(),
                p99: (!sorted.is_empty()).then(|| quantile(&sorted, 99)),
            }
        };
        let measures = (0..count).map(&mut measure).collect();
        let times = runs.iter().filter_map(|&run| captured[run as usize]);
        let seen = times.fold(None, |seen: Option<(i64, i64)>, time| {
            Some(seen.map_or((time, time), |(first, last)| (first.min(time), last.max(time))))
        });
        Self {
            fingerprint: group.head().fingerprint,
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
