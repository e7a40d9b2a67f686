//! A row of a trend: what its group says along the series.

use super::shape::{self, Shape, Trend};
use crate::rows::Group;
use crate::statistics::Slope;

/// Words of a row before its measures.
const HEAD: usize = 4;
/// Words of a measure besides its medians.
const OF_MEASURE: usize = 5;
/// What stands for a median that is none.
const NONE: i64 = i64::MIN;

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Fingerprint.
    pub fingerprint: u64,
    /// Fingerprint of the class that it leads to; 0 for none.
    pub class: u64,
    /// Run and row of its example.
    pub example: (u32, u32),
    /// How many steps have it.
    pub steps_with: u32,
    /// How many runs have it.
    pub runs_with: u32,
    /// Its measures, in the order of the table.
    pub measures: Vec<Trend>,
}

/// Words of a row with this many measures in this many steps.
#[must_use]
pub fn width(measures: usize, steps: usize) -> usize {
    HEAD + measures * (steps + OF_MEASURE)
}

impl Row {
    /// The row of a group.
    #[must_use]
    pub fn of(group: &Group<'_>, measures: usize, steps: usize) -> Self {
        let mut values = vec![Vec::new(); steps];
        let measure = |measure| {
            values.iter_mut().for_each(Vec::clear);
            group.each_value(measure, |step, value| values[step].push(value));
            shape::trend(&values)
        };
        let measures = (0..measures).map(measure).collect();
        let mut steps_with: Vec<usize> = group.sides().collect();
        let runs_with = steps_with.len() as u32;
        steps_with.dedup();
        Self {
            fingerprint: group.fingerprint(),
            class: group.class(),
            example: group.example(),
            steps_with: steps_with.len() as u32,
            runs_with,
            measures,
        }
    }

    /// The row as words.
    pub fn to_words(&self, words: &mut Vec<u64>) {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        words.extend([self.fingerprint, self.class, pair(self.example.0, self.example.1)]);
        words.push(pair(self.steps_with, self.runs_with));
        for measure in &self.measures {
            words.extend(measure.medians.iter().map(|median| median.unwrap_or(NONE).cast_unsigned()));
            let none = Slope { slope: f64::NAN, low: f64::NAN, high: f64::NAN };
            let of = measure.slope.unwrap_or(none);
            words.extend([of.slope, of.low, of.high].map(f64::to_bits));
            words.push(measure.shape as u64);
            words.push(measure.first_growth.map_or(u64::MAX, |step| step as u64));
        }
    }

    /// The row of some words, in this many steps.
    #[must_use]
    pub fn from_words(words: &[u64], steps: usize) -> Self {
        let pair = |word: u64| ((word >> 32) as u32, word as u32);
        let (steps_with, runs_with) = pair(words[3]);
        let measure = |words: &[u64]| {
            let (medians, rest) = words.split_at(steps);
            let number = |at: usize| f64::from_bits(rest[at]);
            let slope = Slope { slope: number(0), low: number(1), high: number(2) };
            Trend {
                medians: medians.iter().map(|word| Some(word.cast_signed()).filter(|&median| median != NONE)).collect(),
                shape: Shape::ALL[rest[3] as usize],
                slope: (!slope.slope.is_nan()).then_some(slope),
                first_growth: usize::try_from(rest[4]).ok().filter(|&step| step < steps),
            }
        };
        Self {
            fingerprint: words[0],
            class: words[1],
            example: pair(words[2]),
            steps_with,
            runs_with,
            measures: words[HEAD..].chunks_exact(steps + OF_MEASURE).map(measure).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_a_row() {
        let series = |values: &[i64]| shape::trend(&values.iter().map(|&value| vec![value]).collect::<Vec<_>>());
        let untold = shape::trend(&[vec![], vec![7], vec![], vec![], vec![]]);
        let row = Row {
            fingerprint: u64::MAX,
            class: 3,
            example: (7, u32::MAX),
            steps_with: 5,
            runs_with: 9,
            measures: vec![series(&[1, 2, 3, 4, 5]), untold, series(&[1, 9, 9, 9, 9])],
        };
        let mut words = Vec::new();
        row.to_words(&mut words);
        assert_eq!(words.len(), width(3, 5));
        assert_eq!(Row::from_words(&words, 5), row);
    }
}
