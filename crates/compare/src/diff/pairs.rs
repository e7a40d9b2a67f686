//! Paired hosts: hosts that both sides have are compared with themselves.

use super::sides::{BASE, TARGET};
use super::tests::Tests;
use crate::rows::{Gathered, Group};
use crate::sides::{Sides, has_table};
use std::collections::BTreeMap;

/// Minimum number of pairs.
const FEWEST: usize = 6;

/// Maps runs to pairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    /// Pair of each run of the table.
    of_run: Vec<Option<u32>>,
    /// Number of pairs.
    pub count: usize,
}

impl Pairs {
    /// Pairs the runs of a table by a label that names hosts. A pair is a host on both sides; there are none unless
    /// pairs cover at least half of the runs of each side.
    pub(crate) fn of(sides: &Sides, gathered: &Gathered<'_>, label: &str) -> Self {
        let with_table = sides.runs().filter(|(_, found)| has_table(&found.run, gathered.table.compared.file));
        let labels: Vec<Option<&str>> = with_table.map(|(_, found)| found.run.labels.get(label)).collect();
        let mut hosts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
        for (run, host) in gathered.runs.iter().zip(&labels) {
            if let Some(host) = host {
                hosts.entry(host).or_default()[run.side.min(TARGET)] += 1;
            }
        }
        let both: Vec<&str> = hosts.iter().filter(|(_, runs)| !runs.contains(&0)).map(|(host, _)| *host).collect();
        let pair = |host: &Option<&str>| u32::try_from(both.binary_search(&(*host)?).ok()?).ok();
        let of_run: Vec<Option<u32>> = labels.iter().map(pair).collect();
        let enough = |side: usize| {
            let runs = || gathered.runs.iter().zip(&of_run).filter(|(run, _)| run.side == side);
            2 * runs().filter(|(_, pair)| pair.is_some()).count() >= runs().count()
        };
        if both.len() < FEWEST || !enough(BASE) || !enough(TARGET) {
            return Self::default();
        }
        Self { of_run, count: both.len() }
    }

    /// Starts collecting values.
    pub(crate) fn begin(&self) -> Collected<'_> {
        Collected { pairs: self, sums: vec![[(0, 0); 2]; self.count] }
    }

    /// Target runs on whose host the difference is beyond the thresholds of the tests, with the difference.
    pub(crate) fn changed(&self, group: &Group<'_>, tests: &Tests, of_target: &[(i64, u32)]) -> Vec<(i64, u32)> {
        let mut collected = self.begin();
        for seen in group.runs() {
            seen.value(0).into_iter().for_each(|value| collected.take(seen.run, seen.side, value));
        }
        let grew = tests.changed() == Some(true);
        let changed = |&(_, run): &(i64, u32)| {
            let difference = collected.difference(self.of_run[run as usize]? as usize)?;
            let beyond = if grew { difference > tests.above } else { difference < tests.below };
            beyond.then_some((difference, run))
        };
        of_target.iter().filter_map(changed).collect()
    }
}

/// Values of one measure, by pair.
pub(crate) struct Collected<'a> {
    pairs: &'a Pairs,
    /// Sum and count of the values of each side.
    sums: Vec<[(i128, u32); 2]>,
}

impl Collected<'_> {
    /// Adds a value of a run.
    pub(crate) fn take(&mut self, run: u32, side: usize, value: i64) {
        if let Some(Some(pair)) = self.pairs.of_run.get(run as usize) {
            let sum = &mut self.sums[*pair as usize][side];
            *sum = (sum.0 + i128::from(value), sum.1 + 1);
        }
    }

    fn difference(&self, pair: usize) -> Option<i64> {
        let [base, target] = self.sums[pair];
        let mean = |(sum, runs): (i128, u32)| if runs == 0 { None } else { Some(sum / i128::from(runs)) };
        i64::try_from(mean(target)? - mean(base)?).ok()
    }

    /// Writes target minus base of each pair that has both; several runs of a host count by their mean.
    pub(crate) fn differences(&self, into: &mut Vec<i64>) {
        into.clear();
        into.extend((0..self.sums.len()).filter_map(|pair| self.difference(pair)));
    }
}
