//! A subject of a trend, computed from its group of rows.

use super::shape::{self, Shape, Trend};
use crate::amounts::Amounts;
use crate::ranked::row::{Head, Row};
use crate::rows::Group;
use crate::statistics::Slope;
use bytemuck::{Pod, Zeroable};
use std::cmp::Reverse;

/// A measure at a step; a row has all steps of the first measure, then those of the next.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Step {
    /// Amounts.
    pub amounts: Amounts,
    /// Slope and shape of the measure, the same in each step.
    pub series: Series,
}

/// Slope and shape of a series.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Series {
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
    pub(super) fn shape(&self) -> Shape {
        Shape::ALL[self.shape as usize]
    }

    /// Growth per step.
    pub(super) fn slope(&self) -> Option<Slope> {
        let [slope, low, high] = self.slope;
        (!slope.is_nan()).then_some(Slope { slope, low, high })
    }

    /// First step of growth.
    pub(super) fn first_growth(&self) -> Option<usize> {
        usize::try_from(self.first_growth).ok().filter(|_| self.first_growth != u64::MAX)
    }
}

/// Computes the subject of a group.
pub(super) fn row(group: &Group<'_>, measures: usize) -> Row<Step> {
    let with = group.with();
    let mut steps = vec![Vec::new(); with.len()];
    let mut of_last = Vec::new();
    let mut values = Vec::with_capacity(measures * with.len());
    for measure in 0..measures {
        steps.iter_mut().for_each(Vec::clear);
        for seen in group.runs() {
            let Some(value) = seen.value(measure) else { continue };
            steps[seen.side].push(value);
            if measure == 0 && seen.side + 1 == with.len() {
                of_last.push((value, seen.run));
            }
        }
        let trend = shape::trend(&steps);
        if measure == 0 {
            of_last.retain(|(value, _)| trend.above.is_some_and(|above| *value > above));
        }
        let series = Series::of(&trend);
        let step = |(amounts, &with)| Step { amounts: Amounts { with, ..amounts }, series };
        values.extend(trend.steps.into_iter().zip(&with).map(step));
    }
    of_last.sort_unstable_by_key(|&(value, run)| (Reverse(value), run));
    let grown: Vec<u32> = of_last.into_iter().map(|(_, run)| run).collect();
    Row { head: Head::of(group, &grown), values }
}
