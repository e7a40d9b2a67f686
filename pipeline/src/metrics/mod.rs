//! Metrics of a command for a scheduler's collector: a file in the OpenMetrics text format.
//!
//! All metrics are gauges of the last command, so the file may be read any number of times. It is replaced atomically.

pub(crate) mod batch;
pub(crate) mod fleet;
pub(crate) mod tally;

use heaplake_kit::StageError;
use heaplake_lake::output_file;
use std::fmt::{Display, Write as _};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes the file; `text` renders it at a time in seconds since 1970. `cancel` is set by signals. On failure an older
/// file is unchanged.
pub(crate) fn write(path: &Path, cancel: &AtomicBool, text: impl FnOnce(f64) -> String) -> Result<(), StageError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    output_file::write(path, text(now).as_bytes(), cancel)
}

/// Builder of the text.
#[derive(Default)]
struct Metrics {
    text: String,
}

impl Metrics {
    /// Begins a gauge, with a unit if its name ends in one.
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

    /// Ends the text.
    fn end(self) -> String {
        self.text + "# EOF\n"
    }

    /// Adds a gauge of one value.
    fn one(&mut self, name: &str, help: &str, unit: &str, value: impl Display) {
        self.family(name, help, unit);
        self.sample(name, &[], value);
    }
}

/// Escapes the value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    /// Checks that each sample follows the lines of its family, and that a unit ends the name.
    pub(super) fn check_families(text: &str) {
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
