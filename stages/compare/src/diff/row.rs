//! A row of a comparison: what its group says of the two sides.

use crate::rows::Group;
use crate::statistics;

/// Number of the side that is compared with.
pub const BASE: usize = 0;
/// Number of the side that is compared.
pub const TARGET: usize = 1;
/// Confidence of the interval of a shift.
const CONFIDENCE: f64 = 0.95;

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Fingerprint.
    pub fingerprint: u64,
    /// Fingerprint of the class that it leads to; 0 for none.
    pub class: u64,
    /// Run and row of its example.
    pub example: (u32, u32),
    /// How many runs of each side have it.
    pub runs_with: [u32; 2],
    /// How many hosts of each side have it.
    pub hosts_with: [Option<u32>; 2],
    /// Its measures, in the order of the table.
    pub measures: Vec<Measure>,
}

/// A measure of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measure {
    /// Median, and quantiles of 10 and 90 %, of each side.
    pub sides: [Amount; 2],
    /// Statistics, where they exist.
    pub statistics: Option<Statistics>,
}

/// A measure on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// The median of the runs; of one run its value.
    pub median: Option<i64>,
    /// 10 % quantile, of several runs.
    pub low: Option<i64>,
    /// 90 % quantile, of several runs.
    pub high: Option<i64>,
}

/// What the runs of both sides say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// Hodges-Lehmann shift.
    pub shift: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// p of the rank sum test.
    pub p: f64,
    /// Least effect that would show; NaN for none.
    pub smallest_effect: f64,
}

impl Measure {
    /// Target less base.
    #[must_use]
    pub fn delta(&self) -> Option<i64> {
        Some(self.sides[TARGET].median?.saturating_sub(self.sides[BASE].median?))
    }

    /// The same in percent of the base.
    #[must_use]
    pub fn delta_percent(&self) -> Option<f64> {
        let base = self.sides[BASE].median.filter(|&base| base != 0)?;
        Some(self.delta()? as f64 * 100.0 / base as f64)
    }
}

/// How rows are made of groups.
#[derive(Clone, Copy, Debug)]
pub struct Making {
    /// Number of measures.
    pub measures: usize,
    /// Runs of each side that have the table.
    pub runs: [usize; 2],
    /// Rows of the table.
    pub rows: usize,
}

impl Making {
    /// Whether there are statistics: a side has several runs.
    #[must_use]
    pub fn has_statistics(&self) -> bool {
        self.runs.iter().any(|&runs| runs > 1)
    }

    /// The row of a group.
    #[must_use]
    pub fn row(&self, group: &Group<'_>) -> Row {
        let mut values = [Vec::new(), Vec::new()];
        let measure = |measure| {
            for side in [BASE, TARGET] {
                group.values(side, measure, &mut values[side]);
            }
            self.measure(&mut values)
        };
        let measures = (0..self.measures).map(measure).collect();
        let sides = [BASE, TARGET];
        Row {
            fingerprint: group.fingerprint(),
            class: group.class(),
            example: group.example(),
            runs_with: sides.map(|side| group.runs_with(side) as u32),
            hosts_with: sides.map(|side| group.hosts_with(side).map(|hosts| hosts as u32)),
            measures,
        }
    }

    fn measure(&self, values: &mut [Vec<i64>; 2]) -> Measure {
        let [base, target] = values;
        let shift = (self.has_statistics() && !base.is_empty() && !target.is_empty())
            .then(|| statistics::shift(base, target, CONFIDENCE));
        base.sort_unstable();
        target.sort_unstable();
        let amount = |side: usize, sorted: &[i64]| Amount {
            median: (!sorted.is_empty()).then(|| statistics::median(sorted)),
            low: (self.runs[side] > 1 && !sorted.is_empty()).then(|| statistics::quantile(sorted, 10)),
            high: (self.runs[side] > 1 && !sorted.is_empty()).then(|| statistics::quantile(sorted, 90)),
        };
        let statistics = shift.map(|shift| Statistics {
            shift: shift.shift,
            low: shift.low,
            high: shift.high,
            p: statistics::rank_sum(base, target),
            smallest_effect: statistics::smallest_effect(base, target, self.rows).unwrap_or(f64::NAN),
        });
        Measure { sides: [amount(BASE, base), amount(TARGET, target)], statistics }
    }
}

/// What stands for an amount that is none.
const NONE: i64 = i64::MIN;

impl Row {
    /// Words of a row with this many measures.
    #[must_use]
    pub fn width(measures: usize) -> usize {
        5 + 11 * measures
    }

    /// The row as words.
    pub fn to_words(&self, words: &mut Vec<u64>) {
        let pair = |[low, high]: [u32; 2]| u64::from(high) << 32 | u64::from(low);
        let hosts = self.hosts_with.map(|hosts| hosts.unwrap_or(u32::MAX));
        let example = pair([self.example.1, self.example.0]);
        words.extend([self.fingerprint, self.class, example, pair(self.runs_with), pair(hosts)]);
        for measure in &self.measures {
            for side in measure.sides {
                words.extend([side.median, side.low, side.high].map(|amount| amount.unwrap_or(NONE).cast_unsigned()));
            }
            let none = Statistics { shift: f64::NAN, low: 0.0, high: 0.0, p: 0.0, smallest_effect: 0.0 };
            let of = measure.statistics.unwrap_or(none);
            words.extend([of.shift, of.low, of.high, of.p, of.smallest_effect].map(f64::to_bits));
        }
    }

    /// The row of some words.
    #[must_use]
    pub fn from_words(words: &[u64]) -> Self {
        let pair = |word: u64| [word as u32, (word >> 32) as u32];
        let amount = |word: u64| Some(word.cast_signed()).filter(|&amount| amount != NONE);
        let side = |words: &[u64]| Amount { median: amount(words[0]), low: amount(words[1]), high: amount(words[2]) };
        let measure = |words: &[u64]| {
            let number = |at: usize| f64::from_bits(words[at]);
            let (shift, low, high) = (number(6), number(7), number(8));
            let of = Statistics { shift, low, high, p: number(9), smallest_effect: number(10) };
            Measure { sides: [side(&words[..3]), side(&words[3..6])], statistics: (!shift.is_nan()).then_some(of) }
        };
        let [row, run] = pair(words[2]);
        Self {
            fingerprint: words[0],
            class: words[1],
            example: (run, row),
            runs_with: pair(words[3]),
            hosts_with: pair(words[4]).map(|hosts| Some(hosts).filter(|&hosts| hosts != u32::MAX)),
            measures: words[5..].chunks_exact(11).map(measure).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_a_row() {
        let amount = |median| Amount { median, low: None, high: median };
        let of = Statistics { shift: -1.5, low: -3.0, high: 0.0, p: 0.25, smallest_effect: 7.0 };
        let row = Row {
            fingerprint: u64::MAX,
            class: 3,
            example: (7, u32::MAX),
            runs_with: [0, 500],
            hosts_with: [None, Some(0)],
            measures: vec![
                Measure { sides: [amount(Some(-1)), amount(None)], statistics: Some(of) },
                Measure { sides: [amount(Some(i64::MAX)), amount(Some(0))], statistics: None },
            ],
        };
        let mut words = Vec::new();
        row.to_words(&mut words);
        assert_eq!(words.len(), Row::width(2));
        assert_eq!(Row::from_words(&words), row);
    }
}
