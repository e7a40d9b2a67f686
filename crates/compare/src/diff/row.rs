//! A subject of a comparison, computed from its group of rows.

use super::pairs::{Collected, Pairs};
use super::sides::{BASE, TARGET};
use super::tests::{Question, Tests, test};
use crate::amounts::Amounts;
use crate::ranked::row::{Head, Row};
use crate::rows::Group;
use bytemuck::{Pod, Zeroable};

/// A measure of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Measure {
    /// Amounts per side.
    pub sides: [Amounts; 2],
    /// Results of the tests.
    pub tests: Tests,
}

impl Measure {
    /// Whether both sides report the measure.
    fn is_reported(&self) -> bool {
        self.sides.iter().all(Amounts::is_reported)
    }

    /// Difference of the means, target minus base.
    pub(super) fn delta_mean(&self) -> Option<i64> {
        self.is_reported().then(|| self.sides[TARGET].mean.saturating_sub(self.sides[BASE].mean))
    }

    /// Difference of the medians, target minus base.
    pub(super) fn delta_median(&self) -> Option<i64> {
        self.is_reported().then(|| self.sides[TARGET].median.saturating_sub(self.sides[BASE].median))
    }

    /// Sum of the target minus the base's sum, scaled to the target's number of runs.
    pub(super) fn delta_sum(&self) -> Option<i64> {
        let [base, target] = self.sides;
        let as_many = || {
            (i128::from(base.sum) * i128::from(target.reported) + i128::from(base.reported / 2))
                / i128::from(base.reported)
        };
        self.is_reported().then(|| i64::try_from(i128::from(target.sum) - as_many()).unwrap_or(i64::MAX))
    }

    /// `delta_sum` in percent of the base; infinite if the base is 0.
    pub(super) fn percent_sum(&self) -> Option<f64> {
        let [base, target] = self.sides;
        percent(self.delta_sum()? as f64, base.sum as f64 / base.reported.max(1) as f64 * target.reported as f64)
    }

    /// Difference of the medians in percent of the base.
    pub(super) fn percent_median(&self) -> Option<f64> {
        percent(self.delta_median()? as f64, self.sides[BASE].median as f64)
    }
}

fn percent(delta: f64, base: f64) -> Option<f64> {
    match (delta, base) {
        (0.0, 0.0) => None,
        (delta, 0.0) => Some(f64::INFINITY.copysign(delta)),
        (delta, base) => Some(delta * 100.0 / base),
    }
}

/// Converts groups into rows.
#[derive(Clone, Debug)]
pub(crate) struct RowBuilder<'a> {
    /// Number of measures.
    pub measures: usize,
    /// Runs of each side that have the table.
    pub runs: [usize; 2],
    /// Rows of the table.
    pub rows: usize,
    /// Paired hosts.
    pub pairs: &'a Pairs,
}

/// Values of a measure being collected.
struct Values<'a> {
    sides: [Vec<i64>; 2],
    paired: Collected<'a>,
}

impl RowBuilder<'_> {
    /// Whether there are statistics: some side has several runs.
    pub(crate) fn has_statistics(&self) -> bool {
        self.runs.iter().any(|&runs| runs > 1)
    }

    /// Computes the row of a group, with a value for each measure.
    pub(crate) fn row(&self, group: &Group<'_>) -> Row<Measure> {
        let begin = |_| Values { sides: self.runs.map(Vec::with_capacity), paired: self.pairs.begin() };
        let mut values: Vec<Values<'_>> = (0..self.measures).map(begin).collect();
        // Target runs with their values of the first measure.
        let mut of_target: Vec<(i64, u32)> = Vec::with_capacity(self.runs[TARGET]);
        // The rows of a group are scattered, so each is read once.
        for seen in group.runs() {
            for (measure, values) in values.iter_mut().enumerate() {
                let Some(value) = seen.value(measure) else { continue };
                values.sides[seen.side].push(value);
                values.paired.take(seen.run, seen.side, value);
                if seen.side == TARGET && measure == 0 {
                    of_target.push((value, seen.run));
                }
            }
        }
        let (with, mut differences) = (group.with(), Vec::new());
        let with = [with[BASE], with[TARGET]];
        let measures: Vec<Measure> =
            values.into_iter().map(|values| self.measure(values, with, &mut differences)).collect();
        Row { head: self.head(group, &measures[0], &of_target), values: measures }
    }

    fn measure(&self, values: Values<'_>, with: [[u32; 2]; 2], differences: &mut Vec<i64>) -> Measure {
        let Values { sides: [mut base, mut target], paired } = values;
        base.sort_unstable();
        target.sort_unstable();
        paired.differences(differences);
        let runs_with = with.map(|[runs, _]| runs as usize);
        let question = Question { has_statistics: self.has_statistics(), with: runs_with, rows: self.rows };
        let tests = test(&mut base, &mut target, differences, &question);
        Measure { sides: [Amounts::of(&base, with[BASE]), Amounts::of(&target, with[TARGET])], tests }
    }

    /// Counts and names the hosts on which a measure changed.
    fn head(&self, group: &Group<'_>, measure: &Measure, of_target: &[(i64, u32)]) -> Head {
        let tests = &measure.tests;
        let mut changed: Vec<(i64, u32)> = match tests.changed() {
            None => Vec::new(),
            Some(_) if tests.by_pairs() => self.pairs.changed(group, tests, of_target),
            Some(true) => of_target.iter().copied().filter(|(value, _)| *value > tests.above).collect(),
            // Without pairs it is unknown which runs had more before.
            Some(false) => Vec::new(),
        };
        changed.sort_unstable_by_key(|&(value, run)| (std::cmp::Reverse(value.saturating_abs()), run));
        let head = Head::of(group, &changed.into_iter().map(|(_, run)| run).collect::<Vec<_>>());
        match tests.changed() {
            Some(false) if !tests.by_pairs() => Head { changed_on: tests.shrank_on as u32, ..head },
            _ => head,
        }
    }
}
