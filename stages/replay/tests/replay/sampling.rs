//! Properties of sampling: random choice, no resonance with loops of the program, estimates without bias, intervals
//! that hold, on invented populations and on real ones.

use crate::support::{Chance, EXACT, fixture, replay};
use heaplake_kit::Budget;
use heaplake_replay::posterior::{Estimate, Pool, Population};
use heaplake_replay::sample::Sample;
use heaplake_replay::sampling::{LARGE, Sampler};
use heaplake_replay::types::Types;
use heaplake_schemas::options::{Recording, SampleStart};
use heaplake_schemas::replay as columns;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Places of the objects that are taken, each with its stratum.
fn taken(sampler: Sampler, type_id: u32, sizes: &[u64]) -> Vec<(usize, u32)> {
    let (mut counter, mut before) = (sampler.counter(type_id), (0, 0));
    let mut take = |&size: &u64| {
        let stratum = sampler.take(&mut counter, size, before);
        before = (before.0 + 1, before.1 + size);
        stratum
    };
    sizes.iter().enumerate().filter_map(|(at, size)| Some((at, take(size)?))).collect()
}

/// The rule of the document: the counter starts at the interval and restarts near it.
#[test]
fn the_nth_is_first_and_intervals_have_the_mean_that_was_asked_for() {
    for (interval, spread, count) in [(2, 1, 200_000), (3, 1, 200_000), (10, 3, 200_000), (100, 30, 2_000_000)] {
        let places = taken(Sampler::new(interval, SampleStart::Nth, 7), 0, &vec![24; count]);
        assert_eq!(places[0].0 + 1, interval as usize, "the counter starts at the interval");
        let steps: Vec<u32> = places.windows(2).map(|pair| (pair[1].0 - pair[0].0) as u32).collect();
        assert_eq!(steps.iter().min(), Some(&(interval - spread)));
        assert_eq!(steps.iter().max(), Some(&(interval + spread)));
        let mean = steps.iter().map(|&step| f64::from(step)).sum::<f64>() / steps.len() as f64;
        let error = f64::from(spread) / (3.0 * steps.len() as f64).sqrt();
        assert!((mean - f64::from(interval)).abs() <= 5.0 * error, "{interval}: {mean}");
    }
}

/// Blocks of 1, 2, 4, 8 and then ten objects: each object of a block is taken as often as the others.
#[test]
fn one_object_of_each_block_is_taken_wherever_it_is() {
    const SEEDS: u64 = 4000;
    let (sizes, mut times) = ([24; 100], [0_u64; 100]);
    for seed in 0..SEEDS {
        let places = taken(Sampler::new(10, SampleStart::Random, seed), 5, &sizes);
        assert_eq!(places.len(), 20);
        places.iter().for_each(|&(at, _)| times[at] += 1);
    }
    for (at, &times) in times.iter().enumerate() {
        let share = match at {
            0..4 => 1.0,
            4..12 => 0.5,
            12..28 => 0.25,
            28..60 => 0.125,
            _ => 0.1,
        };
        let (times, error) = (times as f64 / SEEDS as f64, (share * (1.0 - share) / SEEDS as f64).sqrt());
        assert!((times - share).abs() <= 4.5 * error, "the object at {at} is taken in {times}, not in {share}");
    }
    let all = taken(Sampler::new(1, SampleStart::Random, 3), 5, &sizes);
    assert_eq!(all.len(), 100);
}

#[test]
fn a_run_can_be_repeated_and_seeds_and_types_differ() {
    let sizes = [24; 1000];
    for start in [SampleStart::Random, SampleStart::Nth] {
        let places = |type_id, seed| taken(Sampler::new(10, start, seed), type_id, &sizes);
        assert_eq!(places(0, 1), places(0, 1));
        assert_ne!(places(0, 1), places(0, 2));
        assert_ne!(places(0, 1), places(1, 1));
    }
}

#[test]
fn large_objects_are_all_taken_while_they_are_few() {
    let sizes: Vec<u64> = (0..2000).map(|at| if at % 100 == 57 { 100_000 } else { 24 + at % 5 * 8 }).collect();
    let places = taken(Sampler::new(10, SampleStart::Random, 3), 5, &sizes);
    let large = places.iter().filter(|(_, stratum)| *stratum == LARGE).count();
    assert_eq!(large, 20);
    assert!((57..2000).step_by(100).all(|at| places.contains(&(at, LARGE))));
    // Sizes that always grow are always large; they must not all be taken.
    let growing: Vec<u64> = (0..60).map(|at| 8 << (at / 2)).collect();
    let places = taken(Sampler::new(10, SampleStart::Random, 3), 5, &growing);
    assert!(places.len() <= 40, "{}", places.len());
}

/// Types of a trace, each with the sizes of its objects and whether its name says that they vary.
type Populations = [(Vec<u64>, bool)];

/// Estimates of all types in one replay.
fn estimates(types: &Populations, sampler: Sampler) -> Vec<Option<Estimate>> {
    let mut samples = Vec::new();
    for ((sizes, _), type_id) in types.iter().zip(0..) {
        let (mut counter, mut before, mut sample) = (sampler.counter(type_id), (0, 0), Sample::default());
        for &size in sizes {
            if let Some(stratum) = sampler.take(&mut counter, size, before) {
                sample.add(stratum, size);
            }
            before = (before.0 + 1, before.1 + size);
        }
        samples.push((sample, counter.took_large()));
    }
    let population = |at: usize| Population {
        total: types[at].0.len() as u64,
        sample: &samples[at].0,
        varies: types[at].1,
        took_large: samples[at].1,
        seed: !sampler.seed_of(at as u32),
    };
    let pool = Pool::new(&Budget::new(1 << 24), (0..types.len()).map(population)).unwrap();
    (0..types.len()).map(|at| pool.estimate(&population(at))).collect()
}

/// How many intervals hold of how many, and the sums of the estimates, of the truth, and of the squared errors.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    held: u32,
    of: u32,
    estimates: f64,
    truth: f64,
    squares: f64,
}

impl Trial {
    fn add(&mut self, sizes: &[u64], estimate: Option<Estimate>) {
        let truth: u64 = sizes.iter().sum();
        let estimate = estimate.expect("each type has an estimate");
        let (low, high) = estimate.interval.expect("and each estimate an interval");
        assert!(low <= estimate.bytes && estimate.bytes <= high);
        self.held += u32::from(low <= truth && truth <= high);
        self.of += 1;
        self.estimates += estimate.bytes as f64;
        self.truth += truth as f64;
        self.squares += (estimate.bytes as f64 - truth as f64).powi(2);
    }

    fn coverage(&self) -> f64 {
        f64::from(self.held) / f64::from(self.of)
    }

    fn bias(&self) -> f64 {
        self.estimates / self.truth - 1.0
    }

    /// The standard error of the bias: how far from 0 chance alone takes it.
    fn error_of_bias(&self) -> f64 {
        self.squares.sqrt() / self.truth
    }
}

/// Sizes of `count` objects by the name of their distribution.
fn invented(name: &str, count: usize, chance: &mut Chance) -> Vec<u64> {
    let normal = |chance: &mut Chance| (0..12).map(|_| chance.unit()).sum::<f64>() - 6.0;
    let of = |at: usize, chance: &mut Chance| match name {
        "constant" => 40,
        "two-valued" => 24 + 200 * u64::from(chance.percent(20)),
        "log-normal" => 24 + (normal(chance) * 0.8 + 3.5).exp() as u64,
        "Pareto" => (24.0 / (1.0 - chance.unit() * 0.999).powf(0.6)) as u64,
        "growing" => 24 + at as u64 * 400 / count as u64 + chance.below(64),
        // The document's loop, with other sizes in foo than in bar.
        "loop of ten" => 24 + 200 * u64::from(at % 10 == 9),
        "loop of four" => [24, 48, 200, 32][at % 4],
        _ => panic!("{name}"),
    };
    (0..count).map(|at| of(at, chance) / 8 * 8).collect()
}

const DISTRIBUTIONS: [&str; 7] =
    ["constant", "two-valued", "log-normal", "Pareto", "growing", "loop of ten", "loop of four"];

/// Types of all distributions, small and large ones, in one trace.
#[test]
fn estimates_of_invented_types_have_no_bias_and_their_intervals_hold() {
    const SEEDS: u64 = 120;
    let mut chance = Chance::new(5);
    let counts = [25, 60, 150, 400, 1000, 4000];
    let mut types = Vec::new();
    for name in DISTRIBUTIONS {
        types.extend(counts.map(|count| (invented(name, count, &mut chance), name != "constant")));
    }
    for interval in [5, 10, 20] {
        let mut trials = BTreeMap::<&str, Trial>::new();
        for seed in 0..SEEDS {
            let estimates = estimates(&types, Sampler::new(interval, SampleStart::Random, seed));
            for (at, (estimate, (sizes, _))) in estimates.into_iter().zip(&types).enumerate() {
                trials.entry(DISTRIBUTIONS[at / counts.len()]).or_default().add(sizes, estimate);
            }
        }
        let mut all = Trial::default();
        for (name, trial) in &trials {
            let allowed = (3.0 * trial.error_of_bias()).max(0.01);
            assert!(trial.bias().abs() < allowed, "{name} at {interval}: {trial:?}");
            if *name == "constant" {
                assert_eq!((trial.held, trial.estimates), (trial.of, trial.truth));
            } else {
                assert!(trial.coverage() >= 0.88, "{name} at {interval}: {trial:?}");
                (all.held, all.of) = (all.held + trial.held, all.of + trial.of);
            }
        }
        assert!((0.93..=0.98).contains(&all.coverage()), "at {interval}: {}", all.coverage());
    }
}

/// The sizes of each type in a log of every allocation, and its name.
fn types_of(log: &str) -> Vec<(String, Vec<u64>)> {
    let text = fixture(&format!("dotnet/{log}"));
    let (mut names, mut sizes) = (BTreeMap::<u64, String>::new(), BTreeMap::<u64, Vec<u64>>::new());
    for line in String::from_utf8_lossy(&text).lines() {
        let mut words = line.split(' ');
        match words.next() {
            Some("T") => drop(names.insert(words.next().unwrap().parse().unwrap(), words.collect())),
            Some("A") => {
                let mut number = || words.next().unwrap().parse::<u64>().ok();
                let (_, _, of, size) = (number(), number(), number().unwrap(), number().unwrap());
                sizes.entry(of).or_default().push(size);
            }
            _ => {}
        }
    }
    sizes.into_iter().map(|(of, sizes)| (names[&of].clone(), sizes)).collect()
}

/// The intervals hold for real programs too, for types of which sizes vary and small ones among them.
#[test]
fn estimates_of_real_types_have_no_bias_and_their_intervals_hold() {
    for log in ["both.log.zst", "net8_exact.log.zst"] {
        let named = types_of(log);
        let varies = |name: &str| name.ends_with("[]") || name == "System.String";
        let types: Vec<_> = named.into_iter().map(|(name, sizes)| (sizes, varies(&name))).collect();
        let (mut varying, mut fixed, mut small, mut all) = Default::default();
        for seed in 0..50 {
            let estimates = estimates(&types, Sampler::new(10, SampleStart::Random, seed));
            for (estimate, (sizes, _)) in estimates.into_iter().zip(&types) {
                let group: &mut Trial = match sizes.len() {
                    0..20 => &mut small,
                    _ if sizes.iter().any(|&size| size != sizes[0]) => &mut varying,
                    _ => &mut fixed,
                };
                group.add(sizes, estimate);
                Trial::add(&mut all, sizes, estimate);
            }
        }
        assert!((0.93..=0.97).contains(&varying.coverage()), "{log}: {varying:?}");
        assert!(small.coverage() >= 0.95, "{log}: {small:?}");
        assert_eq!((fixed.held, fixed.estimates), (fixed.of, fixed.truth), "{log}");
        assert!(all.bias().abs() < 0.01 && small.bias().abs() < 0.015, "{log}: {} {}", all.bias(), small.bias());
    }
}

/// The rule of the document leaves out small types; what is known of others bounds them.
#[test]
fn types_without_a_sample_have_the_sizes_of_others() {
    let sizes = |size: u64, count: usize| (vec![size; count], false);
    let mut types: Vec<_> = (0..20).map(|at| sizes(24 + at * 8, 50)).collect();
    types.extend([sizes(64, 9), (vec![24, 32, 40, 48, 56, 64], true), ([40, 24, 72, 80, 48, 64].repeat(20), true)]);
    let found = estimates(&types, Sampler::new(10, SampleStart::Nth, 1));
    for (at, total) in [(20, 64 * 9), (21, 264)] {
        let estimate = found[at].unwrap();
        let (low, high) = estimate.interval.unwrap();
        assert!(low < total && total < high, "{estimate:?}");
        assert!(low <= estimate.bytes && estimate.bytes <= high, "{estimate:?}");
    }
    // Where nothing is known of any type, nothing is made up.
    assert_eq!(estimates(&[sizes(24, 9)], Sampler::new(10, SampleStart::Nth, 1)), [None]);
}

#[test]
fn names_tell_of_which_types_sizes_vary() {
    let mut types = Types::new(&Budget::new(1 << 20)).unwrap();
    let varying = ["System.String", "System.Byte[]", "System.Int32[,]", "Entry[System.Int32,Order][]", ""];
    let fixed = ["System.Object", "System.Collections.Generic.List`1[System.String]", "List<System.Byte[]>", "Strings"];
    for (names, varies) in [(&varying[..], true), (&fixed[..], false)] {
        for name in names {
            let handle = types.len() as u64;
            types.name(handle, name.as_bytes()).unwrap();
            assert_eq!(types.varies(handle as u32), varies, "{name:?}");
        }
    }
}

/// A name that says that sizes do not vary is believed until a sample shows otherwise.
#[test]
fn names_are_believed_while_they_are_right() {
    let sampler = Sampler::new(10, SampleStart::Random, 1);
    let mut types = [(vec![40; 100], false), (invented("log-normal", 100, &mut Chance::new(5)), true)];
    assert_eq!(estimates(&types, sampler)[0].unwrap().interval, Some((4000, 4000)));
    types[1].1 = false;
    let (low, high) = estimates(&types, sampler)[0].unwrap().interval.unwrap();
    assert!(low < 4000 && 4000 < high, "{low} {high}");
}

#[test]
fn a_sample_of_everything_is_exact() {
    let types = [(vec![24, 1000, 32], true), ([24, 32, 4000].repeat(9), true)];
    for (at, total) in [(0, 1056), (1, 4056 * 9)] {
        let estimate = estimates(&types, Sampler::new(if at == 0 { 10 } else { 1 }, SampleStart::Random, 1))[at];
        assert_eq!(estimate, Some(Estimate { bytes: total, interval: Some((total, total)) }));
    }
}

/// The document's loop: nine allocations in foo, then one in bar. A fixed interval of ten would see bar alone.
#[test]
fn the_loop_of_the_document_shows_both_functions() {
    let mut log = "# clrprof 1\nT 1 X\nF 1 foo\nF 2 bar\nF 3 main\nS 1 1 3\nS 2 2 3\n".to_owned();
    for at in 0..100_000_u64 {
        let stack = if at % 10 == 9 { 2 } else { 1 };
        writeln!(log, "A 1 {:x} 1 24 {stack}", 0x1000 + at * 24).unwrap();
    }
    for sample_start in [SampleStart::Random, SampleStart::Nth] {
        shows_both(&log, Recording { sample_interval: 10, sample_start, seed: 1, ..EXACT });
    }
}

fn shows_both(log: &str, options: Recording) {
    let replayed = replay(log.as_bytes(), options);
    let rows = replayed.rows(columns::FUNCTIONS);
    let samples: Vec<u64> = rows.iter().map(|row| row.exclusive_samples).collect();
    let [main, often, seldom] = samples[..] else { panic!("{samples:?}") };
    assert_eq!(main, 0);
    let share = often as f64 / (often + seldom) as f64;
    assert!((0.88..0.92).contains(&share), "{often} in foo, {seldom} in bar");
    let types = replayed.rows(columns::TYPES);
    assert_eq!((types[0].allocated_count, types[0].exact_bytes), (100_000, 2_400_000));
    assert_eq!(types[0].estimated_bytes, 2_400_000, "all are of one size");
    assert_eq!(rows[0].inclusive_samples, types[0].sampled_count);
}
