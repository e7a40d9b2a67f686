//! The loop inside a process that may die: it changes inputs and runs a target with them.
//!
//! Before each run the input lies in the file `current` of a folder, so that whoever started the process has it when it
//! dies. Inputs whose outcome was new join those that are changed further: blind as the changes are, that leads through
//! the messages of a reader one by one.

use crate::mutate::mutated;
use crate::subject::Target;
use heaplake_oracle::SplitMix64;
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// File of the input at hand.
pub const CURRENT: &str = "current";
/// File of the number of inputs so far.
pub const COUNT: &str = "count";

/// Inputs that are changed further, at most; beyond, new ones replace old ones.
const MOST_INPUTS: usize = 400;

/// How long, and how many inputs at most.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Time.
    pub time: Duration,
    /// Inputs.
    pub inputs: u64,
}

/// Runs a target with changed inputs until a bound is reached; how many inputs and different outcomes there were.
///
/// # Panics
/// Where a property does not hold.
#[must_use]
pub fn run(target: &Target, seed: u64, bounds: Bounds, folder: &Path) -> (u64, usize) {
    let started = Instant::now();
    let rng = &mut SplitMix64::new(seed);
    let mut inputs = (target.seeds)();
    let seeds = inputs.len();
    let mut outcomes = HashSet::new();
    let mut count = 0;
    while count < bounds.inputs && started.elapsed() < bounds.time {
        let input = match inputs.get(count as usize) {
            // As they are, first.
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
