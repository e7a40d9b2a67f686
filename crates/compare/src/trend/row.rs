//! A subject of a trend, computed from its group of rows.

use super::shape::{self, Shape, Trend};
use crate::amounts::Amounts;
use crate::diff::row::{NAMED, NO_ONE};
use crate::rows::Group;
use crate::statistics::Slope;
use bytemuck::{Pod, Zeroable};
use std::cmp::Reverse;

/// A subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Columns shared by all measures and steps.
    pub head: Head,
    /// Runs and hosts with it, per step; [`NO_ONE`] hosts if no run has a host.
    pub with: Vec<[u32; 2]>,
    /// Measures in the order of the table.
    pub measures: Vec<Measure>,
}

/// Identity of a subject, and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Head {
    /// Fingerprint.
    pub fingerprint: u64,
    /// Fingerprint of the class it leads to; 0 if none.
    pub class: u64,
    /// Run and row of an example.
    pub example: [u32; 2],
    /// Number of steps with it.
    pub steps_with: u32,
    /// Number of runs with it.
    pub runs_with: u32,
    /// Number of hosts (or runs) of the last step on which the first measure has grown.
    pub grown_on: u32,
    /// Runs of the last step with the largest values, padded with [`NO_ONE`].
    pub named: [u32; NAMED],
}

/// A measure of a subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// Amounts per step.
    pub steps: Vec<Amounts>,
    /// Slope and shape.
    pub series: Series,
}

/// Slope and shape of a series.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Series {
    /// Growth per step and its interval; NaN if none.
    slope: [f64; 3],
    /// Index into [`Shape::ALL`].
    shape: u64,
    /// First step of growth; `u64::MAX` if none.
    first_growth: u64,
}

impl Series {
    fn of(trend: &Trend) -> Self {
        let slope = trend.slope.map_or([f64::NAN; 3], |of| [of.slope, of.low, of.high]);
        let first_growth = trend.first_growth.map_or(u64::MAX, |step| step as u64);
        Self { slope, shape: trend.shape as u64, first_growth }
    }

    /// Shape of the series.
    pub fn shape(&self) -> Shape {
        Shape::ALL[self.shape as usize]
    }

    /// Growth per step.
    pub fn slope(&self) -> Option<Slope> {
        let [slope, low, high] = self.slope;
        (!slope.is_nan()).then_some(Slope { slope, low, high })
    }

    /// First step of growth.
    pub fn first_growth(&self) -> Option<usize> {
        usize::try_from(self.first_growth).ok().filter(|_| self.first_growth != u64::MAX)
    }
}

/// Words of a subject with `measures` measures and `steps` steps.
pub(super) fn width(measures: usize, steps: usize) -> usize {
    let of_measure = steps * size_of::<Amounts>() + size_of::<Series>();
    (size_of::<Head>() + steps * size_of::<[u32; 2]>() + measures * of_measure) / size_of::<u64>()
}

impl Row {
    /// Computes the subject of a group.
    pub fn of(group: &Group<'_>, measures: usize, steps: usize) -> Self {
        let mut values = vec![Vec::new(); steps];
        let mut of_last = Vec::new();
        let (mut grown, mut made) = (Vec::new(), Vec::with_capacity(measures));
        for measure in 0..measures {
            values.iter_mut().for_each(Vec::clear);
            of_last.clear();
            group.each_value(measure, |run, step, value| {
                values[step].push(value);
                if step + 1 == steps {
                    of_last.push((value, run));
                }
            });
            let trend = shape::trend(&values);
            if measure == 0 {
                grown = of_last
                    .iter()
                    .copied()
                    .filter(|(value, _)| trend.above.is_some_and(|above| *value > above))
                    .collect();
            }
            made.push(Measure { series: Series::of(&trend), steps: trend.steps });
        }
        grown.sort_unstable_by_key(|&(value, run)| (Reverse(value), run));
        let mut named = [NO_ONE; NAMED];
        named.iter_mut().zip(&grown).for_each(|(named, (_, run))| *named = *run);
        let hosts = |step: usize| group.hosts_with(step).map_or(NO_ONE, |hosts| hosts as u32);
        let with: Vec<[u32; 2]> = (0..steps).map(|step| [group.runs_with(step) as u32, hosts(step)]).collect();
        let head = Head {
            fingerprint: group.fingerprint(),
            class: group.class(),
            example: group.example().into(),
            steps_with: with.iter().filter(|[runs, _]| *runs > 0).count() as u32,
            runs_with: with.iter().map(|[runs, _]| runs).sum(),
            grown_on: group.hosts_of(grown.iter().map(|(_, run)| *run)) as u32,
            named,
        };
        Self { head, with, measures: made }
    }

    /// Appends the subject as words.
    pub fn to_words(&self, words: &mut Vec<u64>) {
        words.extend_from_slice(bytemuck::cast_slice(std::slice::from_ref(&self.head)));
        words.extend(self.with.iter().map(|[runs, hosts]| u64::from(*hosts) << 32 | u64::from(*runs)));
        for measure in &self.measures {
            words.extend_from_slice(bytemuck::cast_slice(&measure.steps));
            words.extend_from_slice(bytemuck::cast_slice(std::slice::from_ref(&measure.series)));
        }
    }

    /// Decodes a subject from [words](Self::to_words).
    pub fn from_words(words: &[u64], steps: usize) -> Self {
        let words_of = |bytes: usize| bytes / size_of::<u64>();
        let (head, rest) = words.split_at(words_of(size_of::<Head>()));
        let (with, rest) = rest.split_at(steps);
        let of_steps = words_of(steps * size_of::<Amounts>());
        let measure = |words: &[u64]| {
            let (steps, series) = words.split_at(of_steps);
            Measure { steps: bytemuck::cast_slice(steps).to_vec(), series: bytemuck::cast_slice(series)[0] }
        };
        Self {
            head: bytemuck::cast_slice(head)[0],
            with: with.iter().map(|word| [*word as u32, (word >> 32) as u32]).collect(),
            measures: rest.chunks_exact(of_steps + words_of(size_of::<Series>())).map(measure).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_a_row() {
        let measure = |values: &[&[i64]]| {
            let trend = shape::trend(&values.iter().map(|step| step.to_vec()).collect::<Vec<_>>());
            Measure { series: Series::of(&trend), steps: trend.steps }
        };
        let head = Head {
            fingerprint: u64::MAX,
            class: 3,
            example: [7, u32::MAX],
            steps_with: 5,
            runs_with: 9,
            grown_on: 2,
            named: [1, 2, NO_ONE, NO_ONE, NO_ONE],
        };
        let row = Row {
            head,
            with: vec![[1, NO_ONE], [2, 0], [3, 3]],
            measures: vec![measure(&[&[1], &[2], &[3]]), measure(&[&[], &[i64::MAX], &[]])],
        };
        let mut words = Vec::new();
        row.to_words(&mut words);
        assert_eq!(words.len(), width(2, 3));
        // A missing slope is NaN, which equals nothing.
        assert_eq!(format!("{:?}", Row::from_words(&words, 3)), format!("{row:?}"));
    }
}
