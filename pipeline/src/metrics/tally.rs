//! Tally of a batch: counts by outcome and by kind of failure, for the last lines of the command, its log and its
//! metrics.

use crate::diagnostic::{Diagnostic, Kind};
use crate::engine::request::Outcome;
use crate::log;
use heaplake_kit::text::count;
use heaplake_schemas::findings::Severity;
use std::collections::BTreeMap;
use std::time::Instant;

/// Counts and sums over the inputs of a batch.
#[derive(Debug)]
pub(crate) struct Tally {
    begun: Instant,
    /// Inputs that became runs.
    pub(crate) committed: u64,
    /// Inputs that were already in the lake.
    pub(crate) unchanged: u64,
    /// Failed inputs, by kind of failure.
    pub(crate) failed: BTreeMap<Kind, u64>,
    /// Cause and advice of the first failure of each kind.
    pub(crate) first: BTreeMap<Kind, (String, String)>,
    /// Inputs not started because of an interrupt.
    pub(crate) not_started: u64,
    /// Stored bytes of the inputs that became runs.
    pub(crate) input_bytes: u64,
    /// Peak resident memory, bytes; `None` where the system does not report it.
    pub(crate) peak_rss_bytes: Option<u64>,
    /// Maximum scratch size of one input, bytes.
    pub(crate) scratch_bytes: u64,
    /// Seconds by stage.
    pub(crate) stages: BTreeMap<String, f64>,
    /// Findings of new runs by severity.
    pub(crate) findings: BTreeMap<Severity, u64>,
}

impl Tally {
    /// Empty tally; its clock starts.
    pub(crate) fn begin() -> Self {
        Self {
            begun: Instant::now(),
            committed: 0,
            unchanged: 0,
            failed: BTreeMap::new(),
            first: BTreeMap::new(),
            not_started: 0,
            input_bytes: 0,
            peak_rss_bytes: None,
            scratch_bytes: 0,
            stages: BTreeMap::new(),
            findings: BTreeMap::new(),
        }
    }

    /// Counts an input that is in the lake.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        if outcome.unchanged {
            self.unchanged += 1;
            return;
        }
        let summary = &outcome.run.summary;
        self.committed += 1;
        self.input_bytes += outcome.run.input_bytes;
        self.peak_rss_bytes = self.peak_rss_bytes.max(summary.peak_rss_bytes);
        self.scratch_bytes = self.scratch_bytes.max(summary.scratch_bytes);
        for stage in &outcome.stages {
            *self.stages.entry(stage.name.clone()).or_default() += stage.seconds;
        }
        for finding in &summary.findings {
            *self.findings.entry(finding.severity).or_default() += 1;
        }
    }

    /// Counts a failed input.
    pub(crate) fn fail(&mut self, diagnostic: &Diagnostic) {
        *self.failed.entry(diagnostic.kind()).or_default() += 1;
        let Diagnostic { cause, advice, .. } = diagnostic;
        self.first.entry(diagnostic.kind()).or_insert_with(|| (cause.clone(), advice.clone()));
    }

    /// Seconds since the batch began.
    pub(crate) fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Failed inputs.
    pub(crate) fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// All inputs.
    pub(crate) fn inputs(&self) -> u64 {
        self.committed + self.unchanged + self.failures() + self.not_started
    }

    /// Line of totals, such as `9 inputs: 6 new, 1 in the lake before, 2 failed (2 damaged)`.
    pub(crate) fn line(&self) -> String {
        let kinds: Vec<String> =
            self.failed.iter().map(|(kind, number)| format!("{} {}", count(*number), kind.words())).collect();
        let failed = match self.failures() {
            0 => String::new(),
            failures => format!("{} failed ({})", count(failures), kinds.join(", ")),
        };
        let counted = [
            (self.committed, format!("{} new", count(self.committed))),
            (self.unchanged, format!("{} in the lake before", count(self.unchanged))),
            (self.failures(), failed),
            (self.not_started, format!("{} not started", count(self.not_started))),
        ];
        let parts: Vec<String> = counted.into_iter().filter(|(number, _)| *number > 0).map(|(_, text)| text).collect();
        format!("{} inputs: {}", count(self.inputs()), parts.join(", "))
    }

    /// Logs the end of the batch.
    pub(crate) fn log(&self) {
        if log::is_json() {
            let Self { committed, unchanged, not_started, .. } = *self;
            let (inputs, failed, seconds) = (self.inputs(), self.failures(), self.seconds());
            tracing::info!(event = "finished", inputs, committed, unchanged, failed, not_started, seconds);
        }
    }
}

/// Logs that an input is in the lake.
pub(crate) fn log_outcome(input: &str, outcome: &Outcome) {
    let summary = &outcome.run.summary;
    let event = if outcome.unchanged { "unchanged" } else { "committed" };
    tracing::info!(
        event,
        input,
        path = %outcome.place.display(),
        seconds = summary.wall_seconds,
        peak_rss_bytes = summary.peak_rss_bytes,
        scratch_bytes = summary.scratch_bytes,
        findings = summary.findings.len(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_counts_by_outcome_and_kind() {
        let mut tally = Tally { committed: 6, unchanged: 1, not_started: 1200, ..Tally::begin() };
        for _ in 0..2 {
            tally.fail(&Diagnostic::failed("x", "y"));
        }
        tally.fail(&heaplake_kit::StageError::Cancelled.into());
        let expected =
            "1,210 inputs: 6 new, 1 in the lake before, 3 failed (2 refused, 1 interrupted), 1,200 not started";
        assert_eq!(tally.line(), expected);
    }
}
