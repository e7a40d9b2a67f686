//! Metrics of a batch.

use super::Metrics;
use crate::metrics::tally::Tally;
use heaplake_schemas::findings::Severity;
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION};

/// Renders the metrics at a time in seconds since 1970.
pub(crate) fn text(tally: &Tally, now: f64) -> String {
    let mut out = Metrics::default();
    let version = [("version", HEAPLAKE_VERSION), ("schema_version", &SCHEMA_VERSION.to_string())];
    out.family("heaplake_build", "Version of heaplake that ran the batch.", "");
    out.sample("heaplake_build", &version, 1);
    out.family("heaplake_batch_inputs", "Inputs of the last batch by what became of them.", "");
    let outcomes = [
        ("committed", tally.committed),
        ("unchanged", tally.unchanged),
        ("failed", tally.failures()),
        ("not_started", tally.not_started),
    ];
    for (outcome, number) in outcomes {
        out.sample("heaplake_batch_inputs", &[("outcome", outcome)], number);
    }
    out.family("heaplake_batch_failures", "Inputs of the last batch that failed, by kind of failure.", "");
    for (kind, number) in &tally.failed {
        out.sample("heaplake_batch_failures", &[("kind", kind.name())], number);
    }
    out.family("heaplake_batch_findings", "Findings of the last batch's new runs by severity.", "");
    for severity in [Severity::High, Severity::Medium, Severity::Low] {
        let number = tally.findings.get(&severity).copied().unwrap_or_default();
        out.sample("heaplake_batch_findings", &[("severity", severity.name())], number);
    }
    out.one("heaplake_batch_input_bytes", "Size of the inputs that became runs.", "bytes", tally.input_bytes);
    out.one("heaplake_batch_scratch_bytes", "Largest scratch of one input.", "bytes", tally.scratch_bytes);
    if let Some(bytes) = tally.peak_rss_bytes {
        out.one("heaplake_batch_peak_resident_bytes", "Most memory that was resident.", "bytes", bytes);
    }
    out.one("heaplake_batch_duration_seconds", "Wall time of the last batch.", "seconds", tally.seconds());
    out.family("heaplake_batch_stage_seconds", "Wall time by stage, summed over the last batch's new runs.", "seconds");
    for (stage, seconds) in &tally.stages {
        out.sample("heaplake_batch_stage_seconds", &[("stage", stage)], seconds);
    }
    out.one("heaplake_batch_end_timestamp_seconds", "When the last batch ended.", "seconds", now);
    out.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostic;
    use crate::metrics::tests::check_families;

    #[test]
    fn the_text_is_that_of_open_metrics() {
        let mut tally = Tally::begin();
        (tally.committed, tally.peak_rss_bytes) = (2, Some(9));
        tally.fail(&Diagnostic::failed("a", "b"));
        tally.stages.insert("read \"it\"".to_owned(), 1.5);
        let text = text(&tally, 1.25e9);
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        for sample in [
            "heaplake_batch_inputs{outcome=\"committed\"} 2",
            "heaplake_batch_failures{kind=\"refused\"} 1",
            "heaplake_batch_peak_resident_bytes 9",
            "heaplake_batch_stage_seconds{stage=\"read \\\"it\\\"\"} 1.5",
            "heaplake_batch_end_timestamp_seconds 1250000000",
        ] {
            assert!(samples.contains(&sample), "{sample}: {text}");
        }
        check_families(&text);
    }
}
