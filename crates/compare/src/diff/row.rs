//! A subject of a comparison, computed from its group of rows.

use super::pairs::{Collected, Pairs};
use super::sides::{BASE, TARGET};
use super::tests::{Question, Tests, test};
use crate::amounts::Amounts;
use crate::rows::Group;
use bytemuck::{Pod, Zeroable};

/// Maximum number of hosts named.
pub(crate) const NAMED: usize = 5;
/// Null sentinel for numbers of hosts and runs.
pub(crate) const NO_ONE: u32 = u32::MAX;

/// A subject: head, and measures in the order of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Columns shared by all measures.
    pub head: Head,
    /// Measures.
    pub measures: Vec<Measure>,
}

/// Identity of a subject, and counts of runs and hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Head {
    /// Fingerprint.
    pub fingerprint: u64,
    /// Fingerprint of the class it leads to; 0 if none.
    pub class: u64,
    /// Run and row of an example.
    pub example: [u32; 2],
    /// Number of runs with the subject, per side.
    pub runs_with: [u32; 2],
    /// Number of hosts with the subject, per side; [`NO_ONE`] if no run has a host.
    pub hosts_with: [u32; 2],
    /// Number of target hosts (or runs) on which the first measure changed.
    pub changed_on: u32,
    /// Target runs on which it changed most, padded with [`NO_ONE`].
    pub named: [u32; NAMED],
}

/// A measure of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Measure {
    /// Amounts per side.
    pub sides: [Amounts; 2],
    /// Results of the tests.
    pub tests: Tests,
}

impl Measure {
    /// Whether both sides report the measure.
    fn is_told(&self) -> bool {
        self.sides.iter().all(Amounts::is_told)
    }

    /// Difference of the means, target minus base.
    pub fn delta_mean(&self) -> Option<i64> {
        self.is_told().then(|| self.sides[TARGET].mean.saturating_sub(self.sides[BASE].mean))
    }

    /// Difference of the medians, target minus base.
    pub fn delta_median(&self) -> Option<i64> {
        self.is_told().then(|| self.sides[TARGET].median.saturating_sub(self.sides[BASE].median))
    }

    /// Sum of the target minus the base's sum, scaled to the target's number of runs.
    pub fn delta_sum(&self) -> Option<i64> {
        let [base, target] = self.sides;
        let as_many =
            || (i128::from(base.sum) * i128::from(target.told) + i128::from(base.told / 2)) / i128::from(base.told);
        self.is_told().then(|| i64::try_from(i128::from(target.sum) - as_many()).unwrap_or(i64::MAX))
    }

    /// `delta_sum` in percent of the base; infinite if the base is 0.
    pub fn percent_sum(&self) -> Option<f64> {
        let [base, target] = self.sides;
        percent(self.delta_sum()? as f64, base.sum as f64 / base.told.max(1) as f64 * target.told as f64)
    }

    /// Difference of the medians in percent of the base.
    pub fn percent_median(&self) -> Option<f64> {
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

    /// Computes the row of a group.
    pub(crate) fn row(&self, group: &Group<'_>) -> Row {
        let begin = |_| Values { sides: self.runs.map(Vec::with_capacity), paired: self.pairs.begin() };
        let mut values: Vec<Values<'_>> = (0..self.measures).map(begin).collect();
        // Target runs with their values of the first measure.
        let mut of_target: Vec<(i64, u32)> = Vec::with_capacity(self.runs[TARGET]);
        let (mut runs_with, mut hosts) = ([0_u32; 2], vec![[false; 2]; group.all_hosts()]);
        // The rows of a group are scattered, so each is read once.
        group.each_run(|run, side, host, row, tells| {
            runs_with[side] += u32::from(row.is_some());
            if let Some(host) = host.filter(|_| row.is_some()) {
                hosts[host as usize][side] = true;
            }
            for (measure, values) in values.iter_mut().enumerate() {
                let value = match row {
                    Some(row) => row.get(measure).map(|value| i64::try_from(value).unwrap_or(i64::MAX)),
                    None => (tells >> measure & 1 == 1).then_some(0),
                };
                let Some(value) = value else { continue };
                values.sides[side].push(value);
                values.paired.take(run, side, value);
                if side == TARGET && measure == 0 {
                    of_target.push((value, run));
                }
            }
        });
        let hosts_with = |side: usize| match hosts.len() {
            0 => NO_ONE,
            _ => hosts.iter().filter(|sides| sides[side]).count() as u32,
        };
        let mut head = Head {
            fingerprint: group.fingerprint(),
            class: group.class(),
            example: group.example().into(),
            runs_with,
            hosts_with: [hosts_with(BASE), hosts_with(TARGET)],
            changed_on: 0,
            named: [NO_ONE; NAMED],
        };
        let mut differences = Vec::new();
        let with = runs_with.map(|runs| runs as usize);
        let made = values.into_iter().map(|values| self.measure(values, with, &mut differences));
        let measures: Vec<Measure> = made.collect();
        if let Some(main) = measures.first() {
            self.name_changed(group, main, &of_target, &mut head);
        }
        Row { head, measures }
    }

    fn measure(&self, values: Values<'_>, with: [usize; 2], differences: &mut Vec<i64>) -> Measure {
        let Values { sides: [mut base, mut target], paired } = values;
        base.sort_unstable();
        target.sort_unstable();
        paired.differences(differences);
        let question = Question { has_statistics: self.has_statistics(), with, rows: self.rows };
        let tests = test(&mut base, &mut target, differences, &question);
        Measure { sides: [Amounts::of(&base), Amounts::of(&target)], tests }
    }

    /// Counts and names the hosts on which a measure changed.
    fn name_changed(&self, group: &Group<'_>, measure: &Measure, of_target: &[(i64, u32)], head: &mut Head) {
        let tests = &measure.tests;
        let mut changed: Vec<(i64, u32)> = match tests.changed() {
            None => Vec::new(),
            Some(_) if tests.by_pairs() => self.pairs.changed(group, tests, of_target),
            Some(true) => of_target.iter().copied().filter(|(value, _)| *value > tests.above).collect(),
            // Without pairs it is unknown which runs had more before.
            Some(false) => Vec::new(),
        };
        changed.sort_unstable_by_key(|&(value, run)| (std::cmp::Reverse(value.saturating_abs()), run));
        head.changed_on = match tests.changed() {
            Some(false) if !tests.by_pairs() => tests.shrank_on as u32,
            _ => group.hosts_of(changed.iter().map(|(_, run)| *run)) as u32,
        };
        for (named, (_, run)) in head.named.iter_mut().zip(&changed) {
            *named = *run;
        }
    }
}

impl Row {
    /// Words of a row with `measures` measures.
    pub fn width(measures: usize) -> usize {
        (size_of::<Head>() + measures * size_of::<Measure>()) / size_of::<u64>()
    }

    /// Appends the row as words.
    pub fn to_words(&self, words: &mut Vec<u64>) {
        words.extend_from_slice(bytemuck::cast_slice(std::slice::from_ref(&self.head)));
        words.extend_from_slice(bytemuck::cast_slice(&self.measures));
    }

    /// Decodes a row from [words](Self::to_words).
    pub fn from_words(words: &[u64]) -> Self {
        let (head, measures) = words.split_at(Self::width(0));
        Self { head: bytemuck::cast_slice(head)[0], measures: bytemuck::cast_slice(measures).to_vec() }
    }
}
