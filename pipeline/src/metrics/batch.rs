//! What a batch did, for the collector of a scheduler: a file in the text format of OpenMetrics.
//!
//! All metrics are gauges of the last batch, so that the file says the same however often it is read. It is replaced in
//! one step.

use crate::commands::tally::Tally;
use heaplake_kit::StageError;
use heaplake_schemas::findings::Severity;
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION};
use std::fmt::{Display, Write as _};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes the file.
///
/// # Errors
/// [`StageError::Io`]; a file of before is then unchanged.
pub fn write(tally: &Tally, path: &Path) -> Result<(), StageError> {
    let io = |error| StageError::io(path, "write", error);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Collectors read files by their ending, so the one in the making has another.
    let mut file = tempfile::Builder::new().prefix(".heaplake-").suffix(".tmp").tempfile_in(folder).map_err(io)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    file.write_all(text(tally, now).as_bytes()).map_err(io)?;
    // A collector is another user.
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).map_err(io)?;
    file.as_file().sync_all().map_err(io)?;
    file.persist(path).map(drop).map_err(|error| io(error.error))
}

/// The text, as of a time in seconds since 1970.
fn text(tally: &Tally, now: f64) -> String {
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
    out.text + "# EOF\n"
}

#[derive(Default)]
struct Metrics {
    text: String,
}

impl Metrics {
    /// Begins a gauge; a unit is that in which its name ends.
    fn family(&mut self, name: &str, help: &str, unit: &str) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.text, "# TYPE {name} gauge");
        if !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.text, "# HELP {name} {help}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }

    /// A gauge of one value.
    fn one(&mut self, name: &str, help: &str, unit: &str, value: impl Display) {
        self.family(name, help, unit);
        self.sample(name, &[], value);
    }
}

/// The value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::complaint::Complaint;

    #[test]
    fn the_text_is_that_of_open_metrics() {
        let mut tally = Tally::begin();
        (tally.committed, tally.peak_rss_bytes) = (2, Some(9));
        tally.fail(&Complaint::failed("a", "b"));
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
        // Each sample follows the lines of its family, and a unit ends the name.
        let mut family = "";
        for line in text.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["#", "TYPE", name, "gauge"] => family = name,
                ["#", "UNIT", name, unit] => assert!(name == family && name.ends_with(unit), "{line}"),
                ["#", "HELP", name, ..] => assert_eq!(name, family),
                ["#", "EOF"] => family = "",
                _ => assert_eq!(line.split(['{', ' ']).next(), Some(family)),
            }
        }
        assert!(text.ends_with("# EOF\n") && family.is_empty());
    }
}
