//! The project's performance goals and their check against measurements.

use crate::contest::Outcome;
use crate::files::Snapshot;
use crate::peers;
use crate::report::{NONE, Section, number, ratio};
use crate::settings::{ONE_THREAD, SIZES_ONLY, SMALL_MEMORY, TWO_THREADS};

/// Smaller files measure mostly startup and file opening.
const SMALLEST: u64 = 50_000_000;
/// Files from this size on count as the goal's 800 MB: generated sizes are right within a few percent.
const LARGE: u64 = 780_000_000;

/// A file and its measurements.
pub(crate) struct Measured<'a> {
    pub file: &'a str,
    pub bytes: u64,
    /// Results of all programs.
    pub outcomes: &'a [Outcome],
}

impl Measured<'_> {
    /// A cost of one program.
    pub(crate) fn of(&self, name: &str, what: fn(&Outcome) -> Option<f64>) -> Option<f64> {
        self.outcomes.iter().find(|outcome| outcome.name == name).and_then(what)
    }

    /// Ratio of two programs' CPU times.
    pub(crate) fn cpu_ratio(&self, ours: &str, peer: &str) -> Option<f64> {
        ratio(self.of(ours, Outcome::cpu), self.of(peer, Outcome::cpu))
    }
}

/// A bound and the quantity that it limits.
pub(crate) struct Goal {
    /// The promise, in words.
    pub text: &'static str,
    pub bound: f64,
    /// The measured value, if the goal applies.
    pub measure: fn(&Measured<'_>) -> Option<f64>,
}

pub(crate) const fn goal(text: &'static str, bound: f64, measure: fn(&Measured<'_>) -> Option<f64>) -> Goal {
    Goal { text, bound, measure }
}

/// Goals for V8 snapshots.
pub(crate) const SNAPSHOTS: [Goal; 6] = [
    goal("processor time at most 1/2 of v8-heap-parser's", 0.5, |on| on.cpu_ratio(ONE_THREAD, peers::PARSER)),
    goal("the same for sizes and classes only", 0.5, |on| on.cpu_ratio(SIZES_ONLY, peers::PARSER)),
    goal("processor time at most 1/6 of DevTools' worker's", 1.0 / 6.0, |on| on.cpu_ratio(ONE_THREAD, peers::DEVTOOLS)),
    goal("the same for sizes and classes only", 1.0 / 6.0, |on| on.cpu_ratio(SIZES_ONLY, peers::DEVTOOLS)),
    goal("peak memory in MB at most 400 on 800 MB or more with `--memory 256MiB`", 400.0, |on| {
        on.of(SMALL_MEMORY, Outcome::rss).filter(|_| on.bytes >= LARGE).map(|bytes| bytes / 1e6)
    }),
    goal("time with two threads at most 0.65 of that with one", 0.65, |on| {
        ratio(on.of(TWO_THREADS, Outcome::wall), on.of(ONE_THREAD, Outcome::wall))
    }),
];

/// The measurements of some files.
pub(crate) fn measured<'a>(results: impl Iterator<Item = (&'a Snapshot, &'a Vec<Outcome>)>) -> Vec<Measured<'a>> {
    results.map(|(on, outcomes)| Measured { file: &on.name, bytes: on.bytes, outcomes }).collect()
}

/// Adds a table of all goals, each judged on every applicable file of at least `SMALLEST` bytes.
pub(crate) fn report(section: &mut Section, goals: &[Goal], measured: &[Measured<'_>]) {
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
