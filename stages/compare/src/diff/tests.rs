//! Whether the difference of two sides in a measure is real, and on how many runs.

use super::sides::{BASE, TARGET};
use crate::statistics::{self, Counts, Paired, Tail, interval};
use bytemuck::{Pod, Zeroable};
use std::cmp::Ordering;

/// Confidence of the interval of a shift.
const CONFIDENCE: f64 = 0.95;
/// A part of the runs that counts as all of them.
const ALL: f64 = 0.8;
/// Weights of the tests of shift, presence, tail and pairs: what a test is worth is known from the values of both sides
/// together, so this does not favour either.
const USUAL: [f64; 4] = [0.4, 0.2, 0.4, 1.0];
/// The same of so few runs that no tail is significant which ranks do not show.
const IF_FEW: [f64; 4] = [0.7, 0.1, 0.2, 1.0];
/// Runs of a side that are so few.
const FEW: usize = 15;
/// The same where the values fall in two groups.
const IF_APART: [f64; 4] = [0.05, 0.05, 0.9, 1.0];
/// The same where the differences of pairs do, and the values do not: their signs can say no more than one in 2^(n - 1) for n
/// such pairs, so the other tests get next to nothing of it.
const IF_PAIRS_ARE_APART: [f64; 4] = [0.004, 0.002, 0.004, 0.99];
/// Of sides that are apart, the one is so many times the other, or lies so many times as far away as it is wide.
const APART: f64 = 2.0;

/// What is known of a measure of a subject besides its values.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Whether a side has several runs.
    pub has_statistics: bool,
    /// Runs of each side with the subject.
    pub with: [usize; 2],
    /// Subjects of the table.
    pub rows: usize,
}

/// What the tests say. A statistic that there is not is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Tests {
    /// Hodges-Lehmann shift.
    pub shift: f64,
    /// Its interval.
    pub shift_interval: [f64; 2],
    /// Interval of the difference of the sums.
    pub sum_interval: [f64; 2],
    /// p of the Mann-Whitney test.
    pub p_shift: f64,
    /// p of Fisher's test of the runs with the subject.
    pub p_presence: f64,
    /// p of the tests of the upper tail.
    pub p_tail: f64,
    /// p of the tests of pairs.
    pub p_paired: f64,
    /// Combined p.
    pub p: f64,
    /// Least effect on all runs that would show.
    pub smallest_effect: f64,
    /// Least effect on a tenth of the runs that would show.
    pub smallest_on_tenth: f64,
    /// If it grew: runs of the target above this grew. Of pairs, differences above it.
    pub above: i64,
    /// If it shrank, of pairs: differences below this shrank.
    pub below: i64,
    /// If it shrank, without pairs: on about so many runs of the target.
    pub shrank_on: u64,
    /// Number of pairs.
    pub pairs: u64,
    /// Bits, see below.
    flags: u64,
}

/// It would be growth.
const GROWTH: u64 = 1;
/// It would be shrinking.
const SHRINKING: u64 = 2;
/// It would be on some runs, not on all.
const ON_SOME: u64 = 4;
/// All runs of one side lie far above all of the other.
const SEPARATE: u64 = 8;
/// The pairs decide which runs changed.
const BY_PAIRS: u64 = 16;

impl Tests {
    /// Whether it grew (or shrank), if it changed; nothing if both sides are alike.
    #[must_use]
    pub fn changed(&self) -> Option<bool> {
        match self.flags & (GROWTH | SHRINKING) {
            0 => None,
            bits => Some(bits & GROWTH != 0),
        }
    }

    /// Says which way the sides differ, if that is known.
    fn turn(&mut self, towards: u64) {
        if towards != 0 {
            self.flags = self.flags & !(GROWTH | SHRINKING) | towards;
        }
    }

    /// Whether the change is one of some runs only.
    #[must_use]
    pub fn on_some(&self) -> bool {
        self.flags & ON_SOME != 0
    }

    /// Whether all runs of one side lie far above all of the other.
    #[must_use]
    pub fn is_separate(&self) -> bool {
        self.flags & SEPARATE != 0
    }

    /// Whether differences of pairs tell which runs changed.
    #[must_use]
    pub fn by_pairs(&self) -> bool {
        self.flags & BY_PAIRS != 0
    }

    /// Whether there are so few runs that no test can be significant.
    #[must_use]
    pub fn too_few(&self) -> bool {
        self.smallest_effect.is_nan()
    }
}

/// Tests two sides, both sorted, and the differences of the pairs.
#[must_use]
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
    // Several runs without the subject do not vary; one may be without it by chance.
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

/// Which way the sides differ: by their means, or else by their medians or the largest.
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

/// Whether all of one side lie above all of the other, by a factor, or by far more than either is wide.
fn is_separate(base: &[i64], target: &[i64]) -> bool {
    let width = |side: &[i64]| side[side.len() - 1].abs_diff(side[0]);
    let wider = width(base).max(width(target)) as f64;
    let above = |upper: &[i64], lower: &[i64]| {
        let (least, most) = (upper[0] as f64, lower[lower.len() - 1] as f64);
        least > most && (least >= APART * most || least - most >= APART * wider)
    };
    above(target, base) || above(base, target)
}

/// Which way the sides differ, on all runs or on some, and on which: as the test with the least p says.
fn extent(tests: &mut Tests, (base, target): (&[i64], &[i64]), tail: &Tail, pairs: &Paired) {
    let least = |p: f64| if p.is_nan() { 2.0 } else { p };
    let (shift, presence, of_tail) = (least(tests.p_shift), least(tests.p_presence), least(tail.least));
    if tests.pairs > 0 && least(pairs.ranks).min(least(pairs.large)) <= shift.min(presence).min(of_tail) {
        of_pairs(tests, pairs);
    } else if tests.shift != 0.0 && shift <= presence.min(of_tail) {
        // Each run of the target that is above (or below) the middle of the base.
        let middle = statistics::median(base);
        tests.above = middle;
        tests.turn(towards(tests.shift.total_cmp(&0.0)));
    } else {
        let threshold = if presence <= of_tail { 0 } else { tail.above };
        let part = |side: &[i64]| 1.0 - side.partition_point(|&value| value <= threshold) as f64 / side.len() as f64;
        let (of_base, of_target) = (part(base), part(target));
        tests.turn(towards(of_target.total_cmp(&of_base)));
        tests.above = threshold;
        // Where fewer runs lie above the threshold than before, it shrank on those that are now below.
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
    // Differences that are apart from the rest, or all that go the same way.
    let from = if some { pairs.apart } else { 0 };
    (tests.above, tests.below) = (from, -from);
    let on = above.max(below) as f64;
    tests.flags |= if some && on < ALL * tests.pairs as f64 { ON_SOME } else { 0 };
}
