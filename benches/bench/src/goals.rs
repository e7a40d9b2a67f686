//! What heaplake promises itself, held against what was measured.

use crate::contest::Outcome;
use crate::peers;
use crate::report::{NONE, Section, number, ratio};
use crate::settings::{ONE_THREAD, SIZES_ONLY, SMALL_MEMORY, TWO_THREADS};

/// In smaller files starting up and opening files is most of what is measured.
const SMALLEST: u64 = 50_000_000;
/// From this size on a file counts as the 800 MB of the goal for memory: generated sizes are right within a few percent.
const LARGE: u64 = 780_000_000;

/// A file and what was measured on it.
pub struct Measured<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// Its size.
    pub bytes: u64,
    /// What became of each program.
    pub outcomes: &'a [Outcome],
}

impl Measured<'_> {
    /// Something about one program.
    pub fn of(&self, name: &str, what: fn(&Outcome) -> Option<f64>) -> Option<f64> {
        self.outcomes.iter().find(|outcome| outcome.name == name).and_then(what)
    }

    /// Processor time of one program over that of another.
    pub fn cpu_ratio(&self, ours: &str, peer: &str) -> Option<f64> {
        ratio(self.of(ours, Outcome::cpu), self.of(peer, Outcome::cpu))
    }
}

/// A bound, and how to measure what it bounds.
pub struct Goal {
    /// What is promised.
    pub text: &'static str,
    /// The most that may be measured.
    pub bound: f64,
    /// What is measured; none where the goal does not apply.
    pub measure: fn(&Measured<'_>) -> Option<f64>,
}

/// The goals on snapshots of V8.
pub const SNAPSHOTS: [Goal; 6] = [
    Goal {
        text: "processor time at most 1/2 of v8-heap-parser's",
        bound: 0.5,
        measure: |on| on.cpu_ratio(ONE_THREAD, peers::PARSER),
    },
    Goal {
        text: "the same for sizes and classes only",
        bound: 0.5,
        measure: |on| on.cpu_ratio(SIZES_ONLY, peers::PARSER),
    },
    Goal {
        text: "processor time at most 1/6 of DevTools' worker's",
        bound: 1.0 / 6.0,
        measure: |on| on.cpu_ratio(ONE_THREAD, peers::DEVTOOLS),
    },
    Goal {
        text: "the same for sizes and classes only",
        bound: 1.0 / 6.0,
        measure: |on| on.cpu_ratio(SIZES_ONLY, peers::DEVTOOLS),
    },
    Goal {
        text: "peak memory in MB at most 400 on 800 MB or more with `--memory 256MiB`",
        bound: 400.0,
        measure: |on| on.of(SMALL_MEMORY, Outcome::rss).filter(|_| on.bytes >= LARGE).map(|bytes| bytes / 1e6),
    },
    Goal {
        text: "time with two threads at most 0.65 of that with one",
        bound: 0.65,
        measure: |on| ratio(on.of(TWO_THREADS, Outcome::wall), on.of(ONE_THREAD, Outcome::wall)),
    },
];

/// Adds a table of all goals: each is judged on every file on which it can be, and that is large enough.
pub fn report(section: &mut Section, goals: &[Goal], measured: &[Measured<'_>]) {
    let judged = || measured.iter().filter(|on| on.bytes >= SMALLEST);
    let mut rows = Vec::new();
    for goal in goals {
        let found = || judged().filter_map(|on| Some((on.file, (goal.measure)(on)?)));
        for (file, value) in found() {
            let verdict = if value <= goal.bound { "met" } else { "**missed**" };
            rows.push([goal.text, file, &number(Some(value)), &number(Some(goal.bound)), verdict].map(str::to_owned));
        }
        if found().next().is_none() {
            rows.push([goal.text, NONE, NONE, &number(Some(goal.bound)), "not measured"].map(str::to_owned));
        }
    }
    section.say("### Goals");
    section.table(["goal", "file", "measured", "bound", ""], &rows);
}
