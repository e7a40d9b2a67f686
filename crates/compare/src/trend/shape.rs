//! Classifies the shape of a series: does it grow, has it stopped, does it go up and down?
//!
//! A series has the median of each step, over the runs of that step that report the measure. Steps without such runs
//! are left out. *Noise* is the chance difference between medians of steps with several runs (95 %, from the median
//! absolute deviations within the steps); it is 0 if each step has one run. The *range* is the largest median minus the
//! smallest.
//!
//! The first rule that holds decides; a series of fewer than three medians, or with a range within noise, is
//! [`Shape::None`].
//!
//! | shape | rule |
//! |---|---|
//! | `sawtooth` | it falls at least twice by a third of the range or more, with climbs of that size between, and at least twice as many steps climb as fall: a heap between garbage collections |
//! | `plateau` | it has risen by half of the range or more, without a fall of a quarter of it, and its last steps, two or more, are within a tenth of the range, or noise, of each other; and from the first to the last of these it does not rise, or rises less than half as fast as the whole |
//! | `growing` | each of its last steps, three or more, is above the one before, up to the end; the steps before these, if any, are within a tenth of the range, or noise, of their first. If steps have several runs, a step may be below the one before by up to noise, but the end is the maximum, less noise, the last third rises by more than noise, and the lower end of the interval of the slope of these steps is above 0 |
//! | `leaks_on_some` | the medians are none of these, but the 90 % quantiles or the means of the steps grow as above, and more runs of the last step than of those before the growth are above a threshold (see [`tail`](crate::statistics::tail()), p below 1 %): it grows on some hosts |
//! | `none` | anything else |
//!
//! So a series that grew and is flat at its end is a plateau, never growing, even if it still creeps.

use crate::amounts::Amounts;
use crate::statistics::{Slope, median, slope, tail};

/// Confidence level of intervals.
const CONFIDENCE: f64 = 0.95;
/// Fraction of the range that counts as flat.
const FLAT: f64 = 0.1;
/// Significance level of the tail test.
const NO_CHANCE: f64 = 0.01;
/// Half-width at 95 % of the difference of two medians, per median absolute deviation of the runs.
const NOISE: f64 = 1.96 * std::f64::consts::SQRT_2 * 1.4826 * 1.2533;

/// Shape of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// Grows up to its end.
    Growing,
    /// Grows on some hosts.
    LeaksOnSome,
    /// Has grown, and stopped.
    Plateau,
    /// Climbs and falls repeatedly.
    Sawtooth,
    /// None of these.
    None,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 5] = [Self::Growing, Self::LeaksOnSome, Self::Plateau, Self::Sawtooth, Self::None];

    /// Name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Growing => "growing",
            Self::LeaksOnSome => "leaks_on_some",
            Self::Plateau => "plateau",
            Self::Sawtooth => "sawtooth",
            Self::None => "none",
        }
    }

    /// Whether it grows, on all hosts or on some.
    #[must_use]
    pub fn grows(self) -> bool {
        matches!(self, Self::Growing | Self::LeaksOnSome)
    }
}

/// Summary of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// Amounts per step, without the numbers of runs and hosts.
    pub steps: Vec<Amounts>,
    /// Shape.
    pub shape: Shape,
    /// Growth per step over all runs (if it leaks on some hosts: of the means of the steps); `None` if fewer than two
    /// steps have values.
    pub slope: Option<Slope>,
    /// First step of growth, from 0: from there on all are above the start of the series. `None` unless it grows or is
    /// a plateau.
    pub first_growth: Option<usize>,
    /// If it grows: runs of the last step above this value have grown.
    pub above: Option<i64>,
}

/// Computes the trend of the values of each step.
pub fn trend(steps: &[Vec<i64>]) -> Trend {
    let sorted = |step: &Vec<i64>| {
        let mut step = step.clone();
        step.sort_unstable();
        step
    };
    let steps: Vec<Vec<i64>> = steps.iter().map(sorted).collect();
    let of_steps: Vec<Amounts> = steps.iter().map(|step| Amounts::of(step, [0, 0])).collect();
    let known: Vec<usize> = (0..steps.len()).filter(|&step| of_steps[step].is_reported()).collect();
    let levels = |of: fn(&Amounts) -> i64| known.iter().map(|&step| of(&of_steps[step]) as f64).collect::<Vec<f64>>();
    let series = Series { levels: levels(|step| step.median), noise: noise(&steps) };
    let (shape, first) = series.shape(|from| {
        let slope = slope(&steps[known[from]..], CONFIDENCE);
        slope.is_none_or(|slope| slope.low > 0.0 || slope.low.is_infinite())
    });
    let mut trend = Trend {
        shape,
        slope: slope(&steps, CONFIDENCE),
        first_growth: first.map(|level| known[level]),
        above: known.first().filter(|_| shape == Shape::Growing).map(|&step| of_steps[step].median),
        steps: Vec::new(),
    };
    if shape == Shape::None {
        for levels in [levels(|step| step.p90), levels(|step| step.mean)] {
            let (shape, first) = Series { levels, noise: 0.0 }.shape(|_| true);
            let Some(first) = first.filter(|_| shape == Shape::Growing) else { continue };
            // The steps before the growth, and the last one.
            let [mut before, last] = [steps[..known[first]].concat(), steps[known[known.len() - 1]].clone()];
            before.sort_unstable();
            let tail = tail(&before, &last);
            if tail.p < NO_CHANCE && tail.counts[1] > 0 {
                let means: Vec<Vec<i64>> =
                    of_steps.iter().map(|step| step.if_reported(step.mean).into_iter().collect()).collect();
                trend.shape = Shape::LeaksOnSome;
                trend.slope = slope(&means, CONFIDENCE);
                trend.first_growth = Some(known[first]);
                trend.above = Some(tail.above);
                break;
            }
        }
    }
    Trend { steps: of_steps, ..trend }
}

/// Chance difference between medians of steps: root mean square over the steps with several runs.
fn noise(steps: &[Vec<i64>]) -> f64 {
    let squares = steps.iter().filter(|step| step.len() > 1).map(|step| {
        let middle = median(step);
        let mut from_middle: Vec<i64> =
            step.iter().map(|value| value.saturating_sub(middle).saturating_abs()).collect();
        from_middle.sort_unstable();
        let deviation = NOISE * median(&from_middle) as f64;
        deviation * deviation / step.len() as f64
    });
    let squares: Vec<f64> = squares.collect();
    if squares.is_empty() { 0.0 } else { (squares.iter().sum::<f64>() / squares.len() as f64).sqrt() }
}

/// Medians of the steps that have one.
struct Series {
    levels: Vec<f64>,
    noise: f64,
}

impl Series {
    /// Returns the shape, and the index of first growth. `climbs(from)` is whether all runs from there on confirm the
    /// climb.
    fn shape(&self, climbs: impl Fn(usize) -> bool) -> (Shape, Option<usize>) {
        let range = range(&self.levels);
        if self.levels.len() < 3 || range <= self.noise {
            return (Shape::None, None);
        }
        if self.is_sawtooth(range) {
            return (Shape::Sawtooth, None);
        }
        if self.is_plateau(range) {
            return (Shape::Plateau, self.first_above(0));
        }
        match self.grows_from(range) {
            Some(from) if climbs(from) => (Shape::Growing, self.first_above(from)),
            _ => (Shape::None, None),
        }
    }

    fn is_sawtooth(&self, range: f64) -> bool {
        let (climbs, falls) = swings(&self.levels, range / 3.0);
        let rising = self.levels.windows(2).filter(|pair| pair[1] > pair[0]).count();
        let falling = self.levels.windows(2).filter(|pair| pair[1] < pair[0]).count();
        falls >= 2 && climbs >= 1 && rising >= 2 * falling
    }

    fn is_plateau(&self, range: f64) -> bool {
        let (levels, last) = (&self.levels, self.levels.len() - 1);
        let flat = (FLAT * range).max(self.noise);
        let Some(longest) = (0..last).find(|&from| self::range(&levels[from..]) <= flat) else { return false };
        let whole = levels[last] - levels[0];
        let is_flat = |from: usize| {
            let part = (last - from) as f64 / last as f64;
            let rise = levels[last] - levels[from];
            // If noise exceeds a steady rise, the tail is too short to be called flat.
            part * whole > self.noise && (rise <= 0.0 || (from == longest && 2.0 * rise <= part * whole))
        };
        let has_risen = |from: usize| {
            let least = levels[..from].iter().copied().fold(f64::INFINITY, f64::min);
            levels[from] - least >= range / 2.0 && deepest_fall(&levels[..=from]) < range / 4.0
        };
        (longest.max(1)..last).any(|from| is_flat(from) && has_risen(from))
    }

    /// Index from which the last steps grow.
    fn grows_from(&self, range: f64) -> Option<usize> {
        let (levels, last) = (&self.levels, self.levels.len() - 1);
        let rises = |at: usize| levels[at] > levels[at - 1] || levels[at] - levels[at - 1] > -self.noise;
        let from = (1..=last).rev().find(|&at| !rises(at)).unwrap_or(0);
        let flat = (FLAT * range).max(self.noise);
        let flat_before = levels[..from].iter().all(|level| (level - levels[from]).abs() <= flat);
        let highest = levels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let at_end = levels[last] >= highest - self.noise && levels[last] - levels[from] >= range / 2.0;
        let third = last.div_ceil(3).max(2).min(last);
        let rises_still = levels[last] - levels[last - third] > self.noise;
        (last - from >= 2 && flat_before && at_end && rises_still).then_some(from)
    }

    /// First index from which all levels exceed those up to `from` by more than noise.
    fn first_above(&self, from: usize) -> Option<usize> {
        let before = self.levels[..=from].iter().copied().fold(f64::NEG_INFINITY, f64::max) + self.noise;
        let below = self.levels.iter().rposition(|&level| level <= before)?;
        (below + 1 < self.levels.len()).then_some(below + 1)
    }
}

fn range(levels: &[f64]) -> f64 {
    let ends =
        levels.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &level| (low.min(level), high.max(level)));
    ends.1 - ends.0
}

/// Largest drop from a level to a later one.
fn deepest_fall(levels: &[f64]) -> f64 {
    let fall = |(highest, deepest): (f64, f64), &level: &f64| (highest.max(level), deepest.max(highest - level));
    levels.iter().fold((f64::NEG_INFINITY, 0.0f64), fall).1
}

/// Number of climbs and falls by `least` or more, alternating.
fn swings(levels: &[f64], least: f64) -> (usize, usize) {
    let (mut climbs, mut falls) = (0, 0);
    let (mut low, mut high) = (levels[0], levels[0]);
    let mut climbing = None;
    for &level in levels {
        (low, high) = (low.min(level), high.max(level));
        if climbing != Some(true) && level - low >= least {
            climbs += 1;
            (climbing, high) = (Some(true), level);
        } else if climbing != Some(false) && high - level >= least {
            falls += 1;
            (climbing, low) = (Some(false), level);
        }
    }
    (climbs, falls)
}

#[cfg(test)]
mod tests {
    use super::{Shape, Trend, trend};
    use crate::statistics::simulated::{Random, Values};
    use proptest::prelude::*;

    fn of(values: &[i64]) -> Trend {
        trend(&values.iter().map(|&value| vec![value]).collect::<Vec<_>>())
    }

    fn shape(values: &[i64]) -> (Shape, Option<usize>) {
        let trend = of(values);
        (trend.shape, trend.first_growth)
    }

    #[test]
    fn what_grows_and_stops_is_a_plateau() {
        for plateau in [
            &[10, 20, 30, 40, 40, 40][..],
            &[10, 20, 30, 40, 50, 50],
            &[10, 20, 30, 40, 41, 42],
            &[0, 50, 90, 97, 99, 100],
            &[0, 100, 100],
            &[10, 30, 28, 60, 61, 60, 62],
        ] {
            assert_eq!(shape(plateau), (Shape::Plateau, Some(1)), "{plateau:?}");
        }
        assert_eq!(shape(&[10, 10, 11, 30, 60, 60, 60]), (Shape::Plateau, Some(2)));
    }

    #[test]
    fn what_grows_up_to_the_end_grows() {
        assert_eq!(shape(&[10, 20, 30, 40, 50, 60]), (Shape::Growing, Some(1)));
        assert_eq!(shape(&[1, 2, 4, 8, 16, 32, 64]), (Shape::Growing, Some(1)));
        assert_eq!(shape(&[10, 11, 12]), (Shape::Growing, Some(1)));
        // A release that introduced a leak.
        assert_eq!(shape(&[50, 51, 50, 50, 70, 90, 110]), (Shape::Growing, Some(4)));
        assert_eq!(shape(&[0, 0, 0, 10, 20, 30]), (Shape::Growing, Some(3)));
    }

    #[test]
    fn what_climbs_and_falls_is_a_sawtooth() {
        for sawtooth in [
            &[10, 50, 90, 12, 52, 91, 11, 48][..],
            &[10, 30, 50, 20, 40, 60, 30, 50, 70],
            &[90, 30, 60, 92, 31, 61, 90],
        ] {
            assert_eq!(shape(sawtooth), (Shape::Sawtooth, None), "{sawtooth:?}");
        }
    }

    #[test]
    fn anything_else_is_none() {
        for none in [
            &[][..],
            &[7],
            &[7, 9],
            &[7; 9],
            &[60, 50, 40, 30, 20],
            &[10, 20, 30, 40, 50, 20],
            &[10, 10, 10, 10, 40],
            &[50, 54, 49, 53, 48, 50],
        ] {
            assert_eq!(shape(none), (Shape::None, None), "{none:?}");
        }
    }

    #[test]
    fn steps_without_runs_are_left_out() {
        let steps = [vec![], vec![10], vec![], vec![30], vec![40], vec![]];
        let found = trend(&steps);
        assert_eq!((found.shape, found.first_growth), (Shape::Growing, Some(3)));
        let medians: Vec<_> = found.steps.iter().map(|step| step.if_reported(step.median)).collect();
        assert_eq!(medians, [None, Some(10), None, Some(30), Some(40), None]);
        assert_eq!(found.slope.map(|slope| slope.slope), Some(10.0));
    }

    #[test]
    fn a_leak_on_some_hosts_is_one() {
        let mut random = Random(8);
        let step = |step: i64, random: &mut Random| -> Vec<i64> {
            let leak = |host: i64| if host < 12 { 1_000_000 * (1 + 8 * step) } else { 0 };
            (0..30).map(|host| leak(host) + (1e4 * random.uniform()) as i64).collect()
        };
        let steps: Vec<Vec<i64>> = (0..6).map(|at| step(at, &mut random)).collect();
        let found = trend(&steps);
        assert_eq!((found.shape, found.first_growth), (Shape::LeaksOnSome, Some(1)));
        assert!(found.slope.is_some_and(|slope| (3e6..3.4e6).contains(&slope.slope)), "{:?}", found.slope);
        let grown = steps[5].iter().filter(|&&value| Some(value) > found.above).count();
        assert_eq!(grown, 12);
    }

    /// Steps of 10 runs each, shifted by `levels`.
    fn steps(levels: &[i64], values: Values, random: &mut Random) -> Vec<Vec<i64>> {
        let step = |level: &i64| values.draw(random, 10).iter().map(|value| value + level).collect();
        levels.iter().map(step).collect()
    }

    /// How many of 500 noisy series have a shape.
    fn found(levels: &[i64], values: Values, shape: Shape, random: &mut Random) -> usize {
        (0..500).filter(|_| trend(&steps(levels, values, random)).shape == shape).count()
    }

    #[test]
    fn noise_does_not_grow() {
        let mut random = Random(4);
        for values in Values::ALL {
            for length in [3, 4, 6, 10] {
                let growing = found(&vec![0; length], values, Shape::Growing, &mut random);
                assert!(growing <= 15, "{values:?}, {length} steps: {growing} of 500");
                let leaking = found(&vec![0; length], values, Shape::LeaksOnSome, &mut random);
                assert!(leaking <= 15, "{values:?}, {length} steps: {leaking} of 500");
            }
            // The noise of a normal step is 10,000,000; growth by half of that shows nevertheless.
            let ladder = [0, 30, 60, 90, 90, 90, 90].map(|step| step * 1_000_000);
            let growing = found(&ladder, Values::Normal, Shape::Growing, &mut random);
            assert!(growing <= 5, "a plateau grows {growing} times of 500");
        }
        let growth = [0, 10, 20, 30, 40, 50].map(|step| step * 1_000_000);
        let growing = found(&growth, Values::Normal, Shape::Growing, &mut random);
        assert!(growing >= 450, "growth grows only {growing} times of 500");
    }

    proptest! {
        #[test]
        fn steady_growth_grows(begin in 0i64..1_000_000, steps in prop::collection::vec(80i64..120, 2..40), scale in 1i64..100_000) {
            let mut level = begin;
            let mut values = vec![level];
            values.extend(steps.iter().map(|step| { level += step * scale; level }));
            prop_assert_eq!(shape(&values), (Shape::Growing, Some(1)));
            values.reverse();
            prop_assert_eq!(shape(&values), (Shape::None, None));
        }

        #[test]
        fn growth_that_stops_is_a_plateau(steps in prop::collection::vec(50i64..200, 1..20), flat in 1usize..10) {
            let mut level = 1000;
            let mut values = vec![level];
            values.extend(steps.iter().map(|step| { level += step; level }));
            values.extend(vec![level; flat]);
            prop_assert!(values.len() < 3 || shape(&values).0 == Shape::Plateau, "{values:?}");
        }

        #[test]
        fn nothing_grows_that_does_not_rise_at_its_end(values in prop::collection::vec(0i64..50, 1..12), last in 0i64..50) {
            let mut values = values;
            values.push(last.min(values[values.len() - 1]));
            prop_assert_ne!(shape(&values).0, Shape::Growing);
        }

        #[test]
        fn a_constant_series_has_no_shape(value in any::<i64>(), steps in 0usize..20, runs in 1usize..4) {
            let found = trend(&vec![vec![value; runs]; steps]);
            prop_assert_eq!((found.shape, found.first_growth), (Shape::None, None));
            prop_assert!(found.slope.is_none_or(|slope| slope.slope == 0.0));
        }

        #[test]
        fn the_order_of_runs_in_a_step_does_not_matter(mut steps in prop::collection::vec(prop::collection::vec(0i64..1000, 0..6), 0..9)) {
            let before = trend(&steps);
            steps.iter_mut().for_each(|step| step.reverse());
            prop_assert_eq!(trend(&steps), before);
        }
    }
}
