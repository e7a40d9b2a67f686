//! Tests whether two sides differ in a measure, and on how many runs.

use super::sides::{BASE, TARGET};
use crate::statistics::{self, Counts, Paired, Tail, interval};
use bytemuck::{Pod, Zeroable};
use std::cmp::Ordering;

/// Confidence level of the shift's interval.
const CONFIDENCE: f64 = 0.95;
/// A change on at least this fraction of the runs counts as one on all.
const ALL: f64 = 0.8;
/// Weights of the tests of shift, presence, tail and pairs. They depend only on the pooled values of both sides, so
/// they favour neither.
const USUAL: [f64; 4] = [0.4, 0.2, 0.4, 1.0];
/// Weights for few runs, where ranks show whatever a tail could.
const IF_FEW: [f64; 4] = [0.7, 0.1, 0.2, 1.0];
/// Sides with at most this many runs have few.
const FEW: usize = 15;
/// Weights if the values fall into two groups.
const IF_APART: [f64; 4] = [0.05, 0.05, 0.9, 1.0];
/// Weights if the differences of pairs fall into two groups and the values do not. Signs of n such pairs give no p
/// below 1 / 2^(n - 1), so the other tests get next to no weight.
const IF_PAIRS_ARE_APART: [f64; 4] = [0.004, 0.002, 0.004, 0.99];
/// Separate sides differ by this factor, or by this multiple of the wider side's range.
const APART: f64 = 2.0;

/// Context of a measure besides its values.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Whether some side has several runs.
    pub has_statistics: bool,
    /// Number of runs with the subject, per side.
    pub with: [usize; 2],
    /// Number of subjects in the table.
    pub rows: usize,
}

/// Test results. A missing statistic is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Tests {
    /// Hodges-Lehmann shift.
    pub shift: f64,
    /// Confidence interval of the shift.
    pub shift_interval: [f64; 2],
    /// Confidence interval of the difference of the sums.
    pub sum_interval: [f64; 2],
    /// p of the Mann-Whitney test.
    pub p_shift: f64,
    /// p of Fisher's test on presence.
    pub p_presence: f64,
    /// p of the tests of the upper tail.
    pub p_tail: f64,
    /// p of the tests of pairs.
    pub p_paired: f64,
    /// Combined p.
    pub p: f64,
    /// Smallest detectable effect on all runs.
    pub smallest_effect: f64,
    /// Smallest detectable effect on a tenth of the runs.
    pub smallest_on_tenth: f64,
    /// If it grew: target runs above this value grew; with pairs, differences above it.
    pub above: i64,
    /// If it shrank, with pairs: differences below this value shrank.
    pub below: i64,
    /// If it shrank, without pairs: estimated number of target runs on which it did.
    pub shrank_on: u64,
    /// Number of pairs.
    pub pairs: u64,
    /// Bit set, see below.
    flags: u64,
}

/// The change, if real, is growth.
const GROWTH: u64 = 1;
/// The change, if real, is shrinking.
const SHRINKING: u64 = 2;
/// The change affects some runs, not all.
const ON_SOME: u64 = 4;
/// All runs of one side are far above all of the other.
const SEPARATE: u64 = 8;
/// Pairs decide which runs changed.
const BY_PAIRS: u64 = 16;

impl Tests {
    /// Direction of the change, if real: true for growth; `None` if both sides are alike.
    pub fn changed(&self) -> Option<bool> {
        match self.flags & (GROWTH | SHRINKING) {
            0 => None,
            bits => Some(bits & GROWTH != 0),
        }
    }

    /// Sets the direction, unless `towards` is 0.
    fn turn(&mut self, towards: u64) {
        if towards != 0 {
            self.flags = self.flags & !(GROWTH | SHRINKING) | towards;
        }
    }

    /// Whether only some runs changed.
    pub fn on_some(&self) -> bool {
        self.flags & ON_SOME != 0
    }

    /// Whether all runs of one side are far above all of the other.
    pub fn is_separate(&self) -> bool {
        self.flags & SEPARATE != 0
    }

    /// Whether pairs decide which runs changed.
    pub fn by_pairs(&self) -> bool {
        self.flags & BY_PAIRS != 0
    }

    /// Whether there are too few runs for any test to be significant.
    pub fn too_few(&self) -> bool {
        self.smallest_effect.is_nan()
    }
}

/// Tests two sides, both sorted, and the differences of the pairs.
pub fn test(base: &mut [i64], target: &mut [i64], differences: &mut Vec<i64>, question: &Question) -> Tests {
    let none = f64::NAN;
    let mut tests = Tests {
        shift: none,
        shift_interval: [none; 2],
        sum_interval: [none; 2],
        p_shift: none,
        p_presence: none,
        p_tail: none,
        p_paired: none,
        p: none,
        smallest_effect: none,
        smallest_on_tenth: none,
        above: i64::MAX,
        below: i64::MIN,
        shrank_on: target.len() as u64,
        pairs: 0,
        flags: 0,
    };
    let Some(&highest) = base.last().filter(|_| !target.is_empty()) else { return tests };
    tests.above = highest;
    tests.flags |= direction(base, target) | if is_separate(base, target) { SEPARATE } else { 0 };
    if !question.has_statistics {
        return tests;
    }
    // Several runs without the subject do not vary; a single run may lack it by chance.
    let lacks = |side: usize, values: &[i64]| question.with[side] == 0 && values.len() > 1;
    let shift = match (lacks(BASE, base), lacks(TARGET, target)) {
        (false, false) => statistics::shift(base, target, CONFIDENCE),
        (is_base, _) => statistics::shift_from_constant(base, target, is_base, CONFIDENCE),
    };
    (tests.shift, tests.shift_interval) = (shift.shift, [shift.low, shift.high]);
    let effects = statistics::smallest_effects(base, target, question.rows);
    (tests.smallest_effect, tests.smallest_on_tenth) =
        (effects.on_all.unwrap_or(none), effects.on_tenth.unwrap_or(none));
    tests.sum_interval = interval::of_means(base, target).map(|end| end * target.len() as f64);
    tests.p_shift = statistics::rank_sum(base, target);
    let [base_with, target_with] = [question.with[0].min(base.len()), question.with[1].min(target.len())];
    tests.p_presence = statistics::fisher(Counts { base: base.len(), base_with, target: target.len(), target_with });
    let tail = statistics::tail(base, target);
    tests.p_tail = tail.p;
    if !differences.is_empty() {
        tests.pairs = differences.len() as u64;
        tests.sum_interval = interval::of_pairs(differences).map(|end| end * target.len() as f64);
    }
    let pairs = statistics::paired(differences);
    tests.p_paired = pairs.p;
    let weights = match () {
        () if base.len().max(target.len()) <= FEW => IF_FEW,
        () if tail.is_apart => IF_APART,
        () if pairs.is_apart => IF_PAIRS_ARE_APART,
        () => USUAL,
    };
    let p = [tests.p_shift, tests.p_presence, tests.p_tail, tests.p_paired];
    tests.p = statistics::weighted(&[0, 1, 2, 3].map(|at| (p[at], weights[at])));
    extent(&mut tests, (base, target), &tail, &pairs);
    tests
}

/// Direction of the difference: by means, or else by medians, or else by maxima.
fn direction(base: &[i64], target: &[i64]) -> u64 {
    let mean = |side: &[i64]| side.iter().map(|&value| value as f64).sum::<f64>() / side.len() as f64;
    let by_mean = mean(target).total_cmp(&mean(base));
    let order = by_mean.then_with(|| statistics::median(target).cmp(&statistics::median(base)));
    towards(order.then_with(|| target.last().cmp(&base.last())))
}

fn towards(order: Ordering) -> u64 {
    match order {
        Ordering::Greater => GROWTH,
        Ordering::Less => SHRINKING,
        Ordering::Equal => 0,
    }
}

/// Whether all of one side are above all of the other, by a factor or by far more than either range.
fn is_separate(base: &[i64], target: &[i64]) -> bool {
    let width = |side: &[i64]| side[side.len() - 1].abs_diff(side[0]);
    let wider = width(base).max(width(target)) as f64;
    let above = |upper: &[i64], lower: &[i64]| {
        let (least, most) = (upper[0] as f64, lower[lower.len() - 1] as f64);
        least > most && (least >= APART * most || least - most >= APART * wider)
    };
    above(target, base) || above(base, target)
}

/// Sets direction and extent of the change from the test with the least p.
fn extent(tests: &mut Tests, (base, target): (&[i64], &[i64]), tail: &Tail, pairs: &Paired) {
    let least = |p: f64| if p.is_nan() { 2.0 } else { p };
    let (shift, presence, of_tail) = (least(tests.p_shift), least(tests.p_presence), least(tail.least));
    if tests.pairs > 0 && least(pairs.ranks).min(least(pairs.large)) <= shift.min(presence).min(of_tail) {
        of_pairs(tests, pairs);
    } else if tests.shift != 0.0 && shift <= presence.min(of_tail) {
        // Target runs above (or below) the median of the base changed.
        let middle = statistics::median(base);
        tests.above = middle;
        tests.turn(towards(tests.shift.total_cmp(&0.0)));
    } else {
        let threshold = if presence <= of_tail { 0 } else { tail.above };
        let part = |side: &[i64]| 1.0 - side.partition_point(|&value| value <= threshold) as f64 / side.len() as f64;
        let (of_base, of_target) = (part(base), part(target));
        tests.turn(towards(of_target.total_cmp(&of_base)));
        tests.above = threshold;
        // If fewer runs than before are above the threshold, it shrank on those now below.
        let on = if of_target > of_base { of_target } else { of_base - of_target };
        tests.shrank_on = (on * target.len() as f64).round() as u64;
        tests.flags |= if on < ALL { ON_SOME } else { 0 };
    }
}

fn of_pairs(tests: &mut Tests, pairs: &Paired) {
    let some = pairs.large < pairs.ranks;
    let [below, above] = pairs.counts;
    tests.flags |= BY_PAIRS;
    tests.turn(towards(if some { above.cmp(&below) } else { pairs.median.cmp(&0) }));
    // Only outlying differences, or all in the common direction.
    let from = if some { pairs.apart } else { 0 };
    (tests.above, tests.below) = (from, -from);
    let on = above.max(below) as f64;
    tests.flags |= if some && on < ALL * tests.pairs as f64 { ON_SOME } else { 0 };
}
