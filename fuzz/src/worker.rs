//! Mutation loop inside a process that may die.
//!
//! Before each run the input is written to the file `current` of a folder, where the parent finds it if the process
//! dies. Inputs with a new outcome join those that are mutated further: mutation is blind, but this leads through the
//! messages of a reader one by one.

use crate::mutate::mutated;
use crate::subject::Target;
use heaplake_oracle::SplitMix64;
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// File of the current input.
pub const CURRENT: &str = "current";
/// File of the number of inputs so far.
pub const COUNT: &str = "count";

/// Maximum number of inputs kept for mutation; further ones replace old ones.
const MOST_INPUTS: usize = 400;

/// Limits of time and of the number of inputs.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Time.
    pub time: Duration,
    /// Inputs.
    pub inputs: u64,
}

/// Runs a target with mutated inputs until a bound is reached; returns the numbers of inputs and of distinct outcomes.
///
/// # Panics
/// Where a property is violated.
pub fn run(target: &Target, seed: u64, bounds: Bounds, folder: &Path) -> (u64, usize) {
    let started = Instant::now();
    let rng = &mut SplitMix64::new(seed);
    let mut inputs = (target.seeds)();
    let seeds = inputs.len();
    let mut outcomes = HashSet::new();
    let mut count = 0;
    while count < bounds.inputs && started.elapsed() < bounds.time {
        let input = match inputs.get(count as usize) {
            // Seeds run unchanged first.
            Some(input) if (count as usize) < seeds => input.clone(),
            _ => {
                let (one, other) = (rng.below(inputs.len()), rng.below(inputs.len()));
                mutated(&inputs[one], &inputs[other], target.words, rng)
            }
        };
        fs::write(folder.join(CURRENT), &input).unwrap();
        let outcome = (target.run)(&input);
        count += 1;
        fs::write(folder.join(COUNT), count.to_string()).unwrap();
        if outcomes.insert(outcome) && count as usize > seeds {
            if inputs.len() < MOST_INPUTS {
                inputs.push(input);
            } else {
                let old = seeds + rng.below(MOST_INPUTS - seeds);
                inputs[old] = input;
            }
        }
    }
    (count, outcomes.len())
}
