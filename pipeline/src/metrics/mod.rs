//! What a command did, for the collector of a scheduler: a file in the text format of OpenMetrics.
//!
//! All metrics are gauges of the last time, so that the file says the same however often it is read. It is replaced in
//! one step.

pub mod batch;
pub mod fleet;

use heaplake_kit::StageError;
use heaplake_lake::output_file;
use std::fmt::{Display, Write as _};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes the file; `text` makes it, as of a time in seconds since 1970. `cancel` is set by signals.
///
/// # Errors
/// As [`output_file::write`]; a file of before is then unchanged.
pub fn write(path: &Path, cancel: &AtomicBool, text: impl FnOnce(f64) -> String) -> Result<(), StageError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    output_file::write(path, text(now).as_bytes(), cancel)
}

/// Metrics in the making.
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

    /// The whole text.
    fn end(self) -> String {
        self.text + "# EOF\n"
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
    /// Each sample follows the lines of its family, and a unit ends the name.
    pub fn check_families(text: &str) {
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
