//! What a command did, for the collector of a scheduler: a file in the text format of OpenMetrics.
//!
//! All metrics are gauges of the last time, so that the file says the same however often it is read. It is replaced in
//! one step.

pub mod batch;
pub mod fleet;

use heaplake_kit::StageError;
use std::fmt::{Display, Write as _};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes the file; `text` makes it, as of a time in seconds since 1970.
///
/// # Errors
/// [`StageError::Io`]; a file of before is then unchanged.
pub fn write(path: &Path, text: impl FnOnce(f64) -> String) -> Result<(), StageError> {
    let io = |error| StageError::io(path, "write", error);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Collectors read files by their ending, so the one in the making has another.
    let mut file = tempfile::Builder::new().prefix(".heaplake-").suffix(".tmp").tempfile_in(folder).map_err(io)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    file.write_all(text(now).as_bytes()).map_err(io)?;
    // A collector is another user.
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).map_err(io)?;
    file.as_file().sync_all().map_err(io)?;
    file.persist(path).map(drop).map_err(|error| io(error.error))
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
