//! Simulations of the statistics' guarantees: coverage, power, and ranking.

use super::simulated::{Random, Values};
use super::{corrected, median, rank_sum, shift, shift_from_constant, smallest_effect};

const SIZES: [(usize, usize); 9] =
    [(5, 5), (5, 9), (7, 7), (10, 10), (10, 30), (20, 20), (30, 30), (60, 40), (100, 100)];

/// Fraction of 1,000 draws in which the interval contains the true shift.
fn coverage(values: Values, (n, m): (usize, usize), random: &mut Random) -> f64 {
    let mut held = 0;
    for _ in 0..1000 {
        let truth = 17;
        let mut base = values.draw(random, n);
        let mut target: Vec<i64> = values.draw(random, m).iter().map(|value| value + truth).collect();
        let found = shift(&mut base, &mut target, 0.95);
        held += u32::from(found.low <= truth as f64 && truth as f64 <= found.high);
    }
    f64::from(held) / 1000.0
}

#[test]
fn intervals_cover_what_they_say() {
    let mut random = Random(1);
    let mut wrong = Vec::new();
    for values in Values::ALL {
        for sizes in SIZES {
            let covered = coverage(values, sizes, &mut random);
            if !(0.93..=0.97).contains(&covered) {
                wrong.push(format!("{values:?} {sizes:?}: {covered}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Subjects that one side lacks: the shift is the median of the other side.
#[test]
fn intervals_of_appeared_and_vanished_subjects_cover_what_they_say() {
    let mut random = Random(4);
    let mut wrong = Vec::new();
    for (values, median) in [(Values::Normal, 1e9), (Values::Lognormal, 1e6), (Values::HeavyTails, 1e9)] {
        for (without, with) in [(2, 5), (3, 60), (5, 8), (7, 7), (10, 10), (60, 12), (20, 20), (60, 40), (100, 100)] {
            let mut held = [0; 2];
            for _ in 0..4000 {
                let mut side = values.draw(&mut random, with);
                side.sort_unstable();
                let none = vec![0; without];
                let appeared = shift_from_constant(&none, &side, true, 0.95);
                let vanished = shift_from_constant(&side, &none, false, 0.95);
                held[0] += u32::from(appeared.low <= median && median <= appeared.high);
                held[1] += u32::from(vanished.low <= -median && -median <= vanished.high);
                if without >= 5 {
                    assert_eq!(shift(&mut none.clone(), &mut side.clone(), 0.95), appeared);
                }
            }
            if !held.iter().all(|&held| (0.93..=0.97).contains(&(f64::from(held) / 4000.0))) {
                wrong.push(format!("{values:?} {without} {with}: {held:?} of 4000"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Fraction of draws in which growth by `times` the stated smallest effect is significant among `rows` rows.
fn caught(values: Values, (n, m): (usize, usize), rows: usize, times: f64, random: &mut Random) -> Option<f64> {
    let draws = 1000;
    let mut significant = 0;
    for _ in 0..draws {
        let side = |count: usize, by: i64, random: &mut Random| {
            let mut side: Vec<i64> = values.draw(random, count).iter().map(|value| value + by).collect();
            side.sort_unstable();
            side
        };
        let effect = smallest_effect(&side(n, 0, random), &side(m, 0, random), rows)?;
        let p = rank_sum(&side(n, 0, random), &side(m, (effect * times) as i64, random));
        significant += u32::from(p * (rows as f64) < 0.05);
    }
    Some(f64::from(significant) / f64::from(draws))
}

#[test]
fn growth_of_twice_the_smallest_effect_is_caught() {
    let mut random = Random(2);
    let mut wrong = Vec::new();
    for values in Values::ALL {
        for sizes in [(10, 10), (12, 12), (20, 20), (10, 40), (50, 50), (100, 100)] {
            let (Some(once), Some(twice)) =
                (caught(values, sizes, 2000, 1.0, &mut random), caught(values, sizes, 2000, 2.0, &mut random))
            else {
                panic!("no effect for {sizes:?}");
            };
            if twice < 0.95 || once < 0.75 {
                wrong.push(format!("{values:?} {sizes:?}: {once} {twice}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn few_runs_have_no_smallest_effect() {
    assert_eq!(smallest_effect(&[1; 8], &[1; 8], 2000), None);
    assert_eq!(smallest_effect(&[1; 8], &[1; 8], 1), Some(1.0));
    assert_eq!(smallest_effect(&[], &[1; 8], 1), None);
    assert_eq!(smallest_effect(&[5; 100], &[7; 100], 2000), Some(1.0));
}

/// Runs per side of the simulated tables.
const RUNS: usize = 100;

/// Number of classes.
const CLASSES: usize = 2000;

/// Variation of a class's bytes between runs.
#[derive(Clone, Copy)]
enum Noise {
    /// None.
    Constant,
    /// With the load of the run, and individually by this spread.
    Loaded(f64),
    /// Likewise, with heavy tails: a cache that occasionally holds many times as much.
    HeavyTails(f64),
    /// Individually only.
    Own(f64),
}

/// A class of a simulated service.
struct Class {
    bytes: f64,
    noise: Noise,
}

impl Class {
    /// Sizes over seven decades, as in heaps; one class in seven is constant, one in ten has heavy tails.
    fn draw(random: &mut Random) -> Self {
        let bytes = 10f64.powf((4.0 + 1.2 * random.normal()).clamp(1.5, 8.5));
        let spread = 0.005 + 0.03 * random.uniform();
        let noise = match (random.uniform() * 20.0) as u32 {
            0..=2 => Noise::Constant,
            3..=4 => Noise::HeavyTails(spread),
            5..=7 => Noise::Own(spread),
            _ => Noise::Loaded(spread),
        };
        Self { bytes, noise }
    }

    fn value(&self, load: f64, random: &mut Random) -> i64 {
        let factor = match self.noise {
            Noise::Constant => 1.0,
            Noise::Loaded(spread) => load * (spread * random.normal()).exp(),
            Noise::HeavyTails(spread) => load * (spread * random.heavy()).clamp(-2.0, 5.0).exp(),
            Noise::Own(spread) => (spread * random.normal()).exp(),
        };
        (self.bytes * factor).round() as i64
    }

    /// Whether growth by 5 % exceeds the noise of the largest rows: the class is not tiny, and it varies.
    fn can_hide_a_regression(&self) -> bool {
        self.bytes > 50_000.0 && matches!(self.noise, Noise::Loaded(_))
    }
}

/// Significant rows of a simulated table, by growth: class, difference of medians.
fn significant(seed: u64, planted: bool) -> (usize, Vec<(usize, i64)>) {
    let mut random = Random(seed);
    let classes: Vec<Class> = (0..CLASSES).map(|_| Class::draw(&mut random)).collect();
    let candidates: Vec<usize> = (0..CLASSES).filter(|&class| classes[class].can_hide_a_regression()).collect();
    let plant = candidates[(random.uniform() * candidates.len() as f64) as usize];
    let loads: Vec<f64> = (0..2 * RUNS).map(|_| (0.04 * random.normal()).exp()).collect();
    let (mut deltas, mut p) = (Vec::new(), Vec::new());
    for (at, class) in classes.iter().enumerate() {
        let grown = Class { bytes: class.bytes * if planted && at == plant { 1.05 } else { 1.0 }, noise: class.noise };
        let mut base: Vec<i64> = loads[..RUNS].iter().map(|&load| class.value(load, &mut random)).collect();
        let mut target: Vec<i64> = loads[RUNS..].iter().map(|&load| grown.value(load, &mut random)).collect();
        base.sort_unstable();
        target.sort_unstable();
        deltas.push(median(&target) - median(&base));
        p.push(rank_sum(&base, &target));
    }
    let q = corrected(&p);
    let mut rows: Vec<(usize, i64)> = (0..CLASSES).filter(|&row| q[row] < 0.05).map(|row| (row, deltas[row])).collect();
    rows.sort_by_key(|&(row, delta)| (std::cmp::Reverse(delta), row));
    (plant, rows)
}

#[test]
fn a_planted_regression_comes_first() {
    for seed in 0..20 {
        let (plant, rows) = significant(seed, true);
        assert_eq!(rows.first().map(|row| row.0), Some(plant), "seed {seed}: {rows:?}");
    }
}

#[test]
fn runs_of_the_same_release_show_nothing() {
    let shown: Vec<usize> = (100..120).map(|seed| significant(seed, false).1.len()).collect();
    assert!(shown.iter().filter(|&&rows| rows > 0).count() <= 1, "{shown:?}");
}
