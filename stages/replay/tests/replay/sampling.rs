//! Properties of sampling: exact means, no resonance with loops of the program, unbiased estimates, confidence intervals
//! that hold.

use crate::support::{Chance, EXACT, replay};
use heaplake_replay::sampling::{Sample, Sampler};
use heaplake_schemas::options::Recording;
use heaplake_schemas::replay as columns;
use std::fmt::Write;

/// Runs of objects between two sampled ones.
fn steps(interval: u32, seed: u64, count: usize) -> Vec<u32> {
    let sampler = Sampler::new(interval, seed);
    let mut counter = sampler.counter(0);
    let (mut steps, mut step) = (Vec::new(), 0);
    while steps.len() < count {
        step += 1;
        if sampler.take(&mut counter) {
            steps.push(std::mem::take(&mut step));
        }
    }
    steps
}

#[test]
fn intervals_have_the_mean_that_was_asked_for() {
    for (interval, spread) in [(1, 0), (2, 1), (3, 1), (10, 3), (100, 30), (1001, 300)] {
        let steps = steps(interval, 7, 100_000);
        assert_eq!(steps[0], interval, "the counter starts at the interval");
        let rest = &steps[1..];
        assert!(rest.iter().all(|step| step.abs_diff(interval) <= spread));
        let (least, most) = (rest.iter().min().unwrap(), rest.iter().max().unwrap());
        assert_eq!((*least, *most), (interval - spread, interval + spread));
        let mean = rest.iter().map(|&step| f64::from(step)).sum::<f64>() / rest.len() as f64;
        let error = f64::from(spread) / (3.0 * rest.len() as f64).sqrt();
        assert!((mean - f64::from(interval)).abs() <= 5.0 * error, "{interval}: {mean}");
    }
}

#[test]
fn a_run_can_be_repeated_and_seeds_differ() {
    assert_eq!(steps(10, 1, 1000), steps(10, 1, 1000));
    assert_ne!(steps(10, 1, 1000), steps(10, 2, 1000));
}

/// How often the 95 % interval holds over many seeds, and the mean of the estimates over the truth.
fn trial(sizes: &[u64], interval: u32, seeds: u64) -> (f64, f64) {
    let truth: u64 = sizes.iter().sum();
    let (mut held, mut sum) = (0, 0.0);
    for seed in 0..seeds {
        let sampler = Sampler::new(interval, seed);
        let mut counter = sampler.counter(3);
        let mut sample = Sample::default();
        for &size in sizes {
            if sampler.take(&mut counter) {
                sample.add(size);
            }
        }
        let estimate = sample.estimate(sizes.len() as u64).unwrap();
        let (low, high) = estimate.interval.unwrap();
        held += u64::from(low <= truth && truth <= high);
        sum += estimate.bytes as f64;
    }
    (held as f64 / seeds as f64, sum / seeds as f64 / truth as f64)
}

#[test]
fn estimates_have_no_bias_and_their_intervals_hold() {
    let mut chance = Chance::new(5);
    let random: Vec<u64> = (0..20_000).map(|_| 24 + (chance.unit() * 40.0).exp2().log2() as u64 * 8).collect();
    let skewed: Vec<u64> = (0..20_000).map(|_| (24.0 / (1.0 - chance.unit() * 0.98).sqrt()) as u64).collect();
    let two: Vec<u64> = (0..20_000).map(|_| if chance.percent(10) { 1000 } else { 24 }).collect();
    // The document's loop, with other sizes in foo than in bar.
    let document: Vec<u64> = (0..20_000).map(|at| if at % 10 == 9 { 1000 } else { 24 }).collect();
    let loop_of_four: Vec<u64> = (0..20_000).map(|at| [24, 48, 200, 32][at % 4]).collect();
    for (name, sizes) in
        [("random", random), ("skewed", skewed), ("two", two), ("document", document), ("four", loop_of_four)]
    {
        for interval in [5, 10, 20] {
            let (held, mean) = trial(&sizes, interval, 2000);
            assert!((0.93..=0.97).contains(&held), "{name} at {interval}: {held} of the intervals hold");
            // The counter starts at the interval, so the first sampled object is the same for all seeds, and the next few
            // are near each other. That is all the bias there is: about one object's worth.
            let total = sizes.iter().sum::<u64>() as f64;
            let first = sizes[interval as usize - 1] as f64 * f64::from(interval) / total;
            assert!(
                (mean - 1.0).abs() < 0.003 + 1.5 * first,
                "{name} at {interval}: estimates are {mean} of the truth"
            );
        }
    }
}

#[test]
fn a_sample_of_everything_is_exact() {
    let mut sample = Sample::default();
    [24, 1000, 32].iter().for_each(|&size| sample.add(size));
    let estimate = sample.estimate(3).unwrap();
    assert_eq!((estimate.bytes, estimate.interval), (1056, Some((1056, 1056))));
    assert!(Sample::default().estimate(9).is_none());
    sample = Sample::default();
    sample.add(24);
    assert_eq!(sample.estimate(10).unwrap().bytes, 240);
    assert!(sample.estimate(10).unwrap().interval.is_none(), "one object says nothing of how sizes vary");
}

/// The document's loop: nine allocations in foo, then one in bar. A fixed interval of ten would see bar alone.
#[test]
fn the_loop_of_the_document_shows_both_functions() {
    let mut log = "# clrprof 1\nT 1 X\nF 1 foo\nF 2 bar\nF 3 main\nS 1 1 3\nS 2 2 3\n".to_owned();
    for at in 0..100_000_u64 {
        let stack = if at % 10 == 9 { 2 } else { 1 };
        writeln!(log, "A 1 {:x} 1 24 {stack}", 0x1000 + at * 24).unwrap();
    }
    let options = Recording { sample_interval: 10, seed: 1, ..EXACT };
    let replayed = replay(log.as_bytes(), options);
    let rows = replayed.rows(columns::FUNCTIONS);
    let samples: Vec<u64> = rows.iter().map(|row| row.exclusive_samples).collect();
    let [main, foo, bar] = samples[..] else { panic!("{samples:?}") };
    assert_eq!(main, 0);
    let share = foo as f64 / (foo + bar) as f64;
    assert!((0.88..0.92).contains(&share), "{foo} in foo, {bar} in bar");
    let types = replayed.rows(columns::TYPES);
    assert_eq!((types[0].allocated_count, types[0].exact_bytes), (100_000, 2_400_000));
    assert_eq!(types[0].estimated_bytes, 2_400_000, "all are of one size");
    assert_eq!(rows[0].inclusive_samples, types[0].sampled_count);
}
