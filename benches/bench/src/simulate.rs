//! Simulates comparisons with planted growth (power) and without (false positives).
//!
//! One subject of a simulated table grows on some of the hosts. Its p is compared with the best of several single tests
//! that know more: Mann-Whitney, Fisher's test of presence, and Fisher's test of the runs above a threshold chosen with
//! knowledge of the distribution and the growth; for pairs also signed ranks, and the signs of the differences beyond
//! such a threshold. Where the best of them finds the growth in 95 of 100 draws, the comparison must find it in 90.

use crate::report::Section;
use crate::settings::Engine;
use anyhow::Result;
use heaplake_compare::diff::{Question, test};
use heaplake_compare::statistics::{Counts, corrected, fisher, paired, rank_sum};
use heaplake_generator::rng::mix;

/// Draws per case.
const DRAWS: u32 = 200;
/// Subjects per table: a p must be below 5 % divided by this number.
const ROWS: usize = 100;
/// Seeds of tables without growth.
const SEEDS: u64 = 40;
/// Subjects of a table without growth.
const NULL_ROWS: usize = 500;
/// Cases named in the report, at most.
const WORST: usize = 12;
const SIDES: [usize; 4] = [5, 10, 60, 200];
const PARTS: [f64; 6] = [0.03, 0.05, 0.1, 0.2, 0.5, 1.0];
/// Growth, in units of the distribution.
const GROWTHS: [f64; 6] = [0.5, 1.0, 2.0, 5.0, 20.0, 100.0];

/// Splitmix64: seed and number of draws.
struct Random(u64, u64);

impl Random {
    /// Uniform in 0 < x < 1.
    fn uniform(&mut self) -> f64 {
        self.1 += 1;
        ((mix(self.0, self.1 - 1) >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Standard normal, by Box and Muller.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Distribution of bytes over hosts.
#[derive(Clone, Copy, Debug)]
enum Bytes {
    Normal,
    Lognormal,
    Pareto,
    ZeroInflated,
    Constant,
}

impl Bytes {
    const ALL: [Self; 5] = [Self::Normal, Self::Lognormal, Self::Pareto, Self::ZeroInflated, Self::Constant];

    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Normal => 1e6 + 5e4 * random.normal(),
            Self::Lognormal => (13.0 + 0.5 * random.normal()).exp(),
            Self::Pareto => 2e5 * random.uniform().powf(-1.0 / 1.3),
            Self::ZeroInflated if random.uniform() < 0.4 => (12.0 + random.normal()).exp(),
            Self::ZeroInflated => 0.0,
            Self::Constant => 5e5,
        }
    }

    /// About the variation of one host between two sides.
    fn noise(self) -> f64 {
        0.07 * match self {
            Self::Normal => 1e6,
            Self::Lognormal => 4.4e5,
            Self::Pareto => 3.4e5,
            Self::ZeroInflated => 1.6e5,
            Self::Constant => 5e5,
        }
    }

    /// About the distribution's width, and a threshold that growth by `growth` widths passes and little else does.
    fn unit(self, growth: f64) -> (f64, i64) {
        let (unit, from, of_growth) = match self {
            Self::Normal => (5e4, 1e6, 0.6),
            Self::Lognormal => (2.5e5, 4.5e5, 0.8),
            Self::Pareto => (3e5, 3e5, 0.9),
            Self::ZeroInflated => (2e5, 0.0, 0.9),
            Self::Constant => (5e4, 5e5 + 1.0, 0.0),
        };
        (unit, (from + of_growth * growth * unit) as i64)
    }
}

/// Draws the runs of both sides, where the target's first runs grow, and the differences of pairs. In pairs each host
/// has its own value, which varies by 5 % between the sides.
fn sides(
    bytes: Bytes,
    runs: usize,
    grown: (usize, f64),
    paired: bool,
    random: &mut Random,
) -> ([Vec<i64>; 2], Vec<i64>) {
    let hosts: Vec<f64> = (0..runs).map(|_| bytes.draw(random)).collect();
    let mut side = |(grown, by): (usize, f64)| -> Vec<i64> {
        let value = |run: usize| {
            let own = if paired { hosts[run] * (1.0 + 0.05 * random.normal()) } else { bytes.draw(random) };
            (own + if run < grown { by } else { 0.0 }) as i64
        };
        (0..runs).map(value).collect()
    };
    let mut sides = [side((0, 0.0)), side(grown)];
    let differences = if paired { sides[0].iter().zip(&sides[1]).map(|(a, b)| b - a).collect() } else { Vec::new() };
    sides.iter_mut().for_each(|side| side.sort_unstable());
    (sides, differences)
}

fn with(side: &[i64]) -> usize {
    side.iter().filter(|&&value| value > 0).count()
}

/// Two-sided p of the signs of the differences beyond a threshold.
fn signs(differences: &[i64], threshold: i64) -> f64 {
    let above = differences.iter().filter(|&&value| value > threshold).count();
    let all = above + differences.iter().filter(|&&value| value < -threshold).count();
    let (mut term, mut sum) = (0.5_f64.powi(all as i32), 0.0);
    for heads in 0..=above.min(all - above) {
        sum += term;
        term *= (all - heads) as f64 / (heads + 1) as f64;
    }
    (2.0 * sum).min(1.0)
}

/// p of the comparison, and of the single tests that know the threshold.
fn p_of((sides, differences): (&mut [Vec<i64>; 2], &mut Vec<i64>), threshold: [i64; 2]) -> (f64, [f64; 5]) {
    let [base, target] = sides;
    let counts = |above: &dyn Fn(&[i64]) -> usize| Counts {
        base: base.len(),
        base_with: above(base),
        target: target.len(),
        target_with: above(target),
    };
    let above = |side: &[i64]| side.iter().filter(|&&value| value > threshold[0]).count();
    let of_pairs = match differences.is_empty() {
        true => [f64::NAN; 2],
        false => [paired(&mut differences.clone()).ranks, signs(differences, threshold[1])],
    };
    let [ranks, signs] = of_pairs;
    let single = [rank_sum(base, target), fisher(counts(&with)), fisher(counts(&above)), ranks, signs];
    let question = Question { has_statistics: true, with: [with(base), with(target)], rows: ROWS };
    (test(base, target, differences, &question).p, single)
}

/// A kind of growth.
struct Case {
    bytes: Bytes,
    runs: usize,
    part: f64,
    growth: f64,
    paired: bool,
}

impl Case {
    /// How often the best single test finds the growth, and how often the comparison does.
    fn found(&self, random: &mut Random) -> (f64, f64) {
        let grown = self.grown();
        let (unit, threshold) = self.bytes.unit(self.growth);
        let by = self.growth * if self.paired { self.bytes.noise() } else { unit };
        let (mut found, mut singly) = (0, [0; 5]);
        for _ in 0..DRAWS {
            let (mut sides, mut differences) = sides(self.bytes, self.runs, (grown, by), self.paired, random);
            let (p, single) = p_of((&mut sides, &mut differences), [threshold, (0.6 * by) as i64]);
            let significant = |p: f64| p * (ROWS as f64) < 0.05;
            found += u32::from(significant(p));
            singly.iter_mut().zip(single).for_each(|(found, p)| *found += u32::from(significant(p)));
        }
        let part_of = |found: u32| f64::from(found) / f64::from(DRAWS);
        (part_of(singly.into_iter().max().unwrap_or(0)), part_of(found))
    }

    fn grown(&self) -> usize {
        ((self.part * self.runs as f64).ceil() as usize).min(self.runs)
    }
}

/// Reports the cases that the best single test finds and the comparison finds too rarely.
fn power(section: &mut Section, paired: bool) {
    let mut random = Random(if paired { 2 } else { 1 }, 0);
    let mut missed = Vec::new();
    let mut rows = Vec::new();
    for runs in SIDES {
        let (mut cases, mut known, mut as_often, mut worst) = (0, 0, 0, 1.0_f64);
        for bytes in Bytes::ALL {
            for (part, growth) in PARTS.into_iter().flat_map(|part| GROWTHS.map(|growth| (part, growth))) {
                let case = Case { bytes, runs, part, growth, paired };
                let (best, found) = case.found(&mut random);
                cases += 1;
                if best < 0.95 {
                    continue;
                }
                known += 1;
                as_often += u32::from(found >= 0.9);
                worst = worst.min(found);
                if found < 0.9 {
                    let name = format!("{bytes:?}, {runs} a side, {} grow by {growth} units", case.grown());
                    missed.push((found, [name, format!("{best:.2}"), format!("{found:.2}")]));
                }
            }
        }
        let least = if known > 0 { format!("{worst:.2}") } else { "-".to_owned() };
        rows.push([format!("{runs} a side"), cases.to_string(), known.to_string(), as_often.to_string(), least]);
    }
    let what = if paired { "paired, hosts vary by 5 %" } else { "unpaired" };
    section.say(&format!(
        "### Power, {what}\n\nEach case is drawn {DRAWS} times and tested as one of {ROWS} subjects. The column \"known\" counts the cases that the best single test finds in at least 95 of 100 draws."
    ));
    section.table(["", "cases", "known", "found in 90 of 100", "least"], &rows);
    if !missed.is_empty() {
        missed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let missed: Vec<_> = missed.into_iter().map(|(_, row)| row).collect();
        section.say(&format!("Known and found less often: {}, the worst first.", missed.len()));
        section.table(["case", "best single test", "comparison"], &missed[..missed.len().min(WORST)]);
    }
}

/// Same distribution on both sides: counts the tables that show a difference.
fn null(section: &mut Section) {
    let shows = |seed: u64, runs: usize, paired: bool| {
        let mut random = Random(1000 + seed, 0);
        let p: Vec<f64> = (0..NULL_ROWS)
            .map(|row| {
                let bytes = Bytes::ALL[row % Bytes::ALL.len()];
                let ([mut base, mut target], mut differences) = sides(bytes, runs, (0, 0.0), paired, &mut random);
                let with = [with(&base), with(&target)];
                let question = Question { has_statistics: true, with, rows: NULL_ROWS };
                test(&mut base, &mut target, &mut differences, &question).p
            })
            .collect();
        corrected(&p).iter().any(|&q| q < 0.05)
    };
    let mut rows = Vec::new();
    for runs in SIDES {
        let count = |paired: bool| (0..SEEDS).filter(|&seed| shows(seed, runs, paired)).count();
        rows.push([format!("{runs} a side"), count(false).to_string(), count(true).to_string()]);
    }
    section.say(&format!(
        "### Nothing grows\n\nOf {SEEDS} tables of {NULL_ROWS} subjects that do not differ, these have a q below 0.05:"
    ));
    section.table(["", "unpaired", "paired"], &rows);
}

/// Few runs: how often 24-fold growth on all of them is found, and how often chance is taken for growth.
fn few(section: &mut Section) {
    let mut random = Random(3, 0);
    let mut rows = Vec::new();
    for runs in [2, 3, 4] {
        for bytes in Bytes::ALL {
            let mut told = |factor: f64| {
                let separate = (0..1000).filter(|_| {
                    let ([mut base, mut target], _) = sides(bytes, runs, (0, 0.0), false, &mut random);
                    target.iter_mut().for_each(|value| *value = (*value as f64 * factor) as i64);
                    let with = [with(&base), with(&target)];
                    let question = Question { has_statistics: true, with, rows: 1000 };
                    let tests = test(&mut base, &mut target, &mut Vec::new(), &question);
                    tests.is_separate() && tests.changed() == Some(true)
                });
                format!("{:.3}", separate.count() as f64 / 1000.0)
            };
            rows.push([format!("{bytes:?}, {runs} a side"), told(24.0), told(1.0)]);
        }
    }
    section.say("### Few runs\n\nWith 2 to 4 runs a side no test is significant. The table has the part of 1,000 draws in which growth is reported.");
    section.table(["", "24 times", "no growth"], &rows);
}

/// Runs all simulations.
pub(crate) fn run(engine: &Engine) -> Result<()> {
    let mut section = engine.section("comparison-simulated")?;
    section.say("The bytes of each host are drawn from one of five distributions. On 3 to 100 % of the hosts they grow by 0.5 to 100 units. A unit is about the width of the distribution; for pairs, it is about the variation of one host.");
    power(&mut section, false);
    power(&mut section, true);
    null(&mut section);
    few(&mut section);
    section.end(engine.save)
}
