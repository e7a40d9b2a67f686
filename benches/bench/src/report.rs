//! Markdown: tables, numbers, and sections of the results file, rewritten in place.

use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::{fs, io};

/// The results file, from the repository's root.
pub(crate) const RESULTS: &str = "benches/RESULTS.md";

pub(crate) struct Section {
    name: &'static str,
    text: String,
}

impl Section {
    /// Begins a section; `heading` says where and with which version it was measured.
    pub(crate) fn new(name: &'static str, heading: &str) -> Self {
        Self { name, text: format!("{heading}\n") }
    }

    /// Adds a paragraph.
    pub(crate) fn say(&mut self, text: &str) {
        self.text += "\n";
        self.text += text;
        self.text += "\n";
    }

    /// Adds a table: the first column holds names, the others numbers.
    pub(crate) fn table<const N: usize>(&mut self, head: [&str; N], rows: &[[String; N]]) {
        self.say(&format!("| {} |\n|---|{}", head.join(" | "), "---:|".repeat(N - 1)));
        for row in rows {
            // Writing to a string cannot fail.
            let _ = writeln!(self.text, "| {} |", row.join(" | "));
        }
    }

    /// Prints the section and, if `save`, puts it into the results file.
    pub(crate) fn end(&self, save: bool) -> Result<()> {
        writeln!(io::stdout(), "{}", self.text)?;
        if save {
            self.save(Path::new(RESULTS))?;
        }
        Ok(())
    }

    fn save(&self, path: &Path) -> Result<()> {
        let old = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let new = replace(&old, self.name, &self.text).with_context(|| path.display().to_string())?;
        fs::write(path, new).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Replaces the text between the section's marks.
fn replace(text: &str, name: &str, section: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let Some((before, rest)) = text.split_once(&begin) else { bail!("no line {}", begin.trim()) };
    let Some((_, after)) = rest.split_once(&end) else { bail!("no line {end}") };
    Ok(format!("{before}{begin}\n{}\n\n{end}{after}", section.trim_end()))
}

/// Placeholder for a missing number.
pub(crate) const NONE: &str = "-";

/// A number with about three significant digits.
pub(crate) fn number(value: Option<f64>) -> String {
    match value {
        Some(value) if value >= 100.0 => format!("{value:.0}"),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(value) if value >= 1.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.3}"),
        None => NONE.to_owned(),
    }
}

pub(crate) fn megabytes(bytes: Option<f64>) -> String {
    number(bytes.map(|bytes| bytes / 1e6))
}

/// Quotient of two numbers.
pub(crate) fn ratio(of: Option<f64>, to: Option<f64>) -> Option<f64> {
    Some(of? / to.filter(|to| *to > 0.0)?)
}

/// A size as in file names and tables: 256MiB, 800MB, 10GB.
pub(crate) fn size(bytes: u64) -> String {
    let units = [("GiB", 1 << 30), ("GB", 1_000_000_000), ("MiB", 1 << 20), ("MB", 1_000_000)];
    match units.into_iter().find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit)) {
        Some((name, unit)) => format!("{}{name}", bytes / unit),
        None => format!("{:.1}MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_replaced_and_nothing_else() {
        let text = "# R\n<!-- begin a -->\nold\n<!-- end a -->\nmore\n<!-- begin b -->\n<!-- end b -->\n";
        let once = replace(text, "a", "new\n").unwrap();
        assert_eq!(once, "# R\n<!-- begin a -->\n\nnew\n\n<!-- end a -->\nmore\n<!-- begin b -->\n<!-- end b -->\n");
        assert_eq!(replace(&once, "a", "new\n").unwrap(), once);
        assert!(replace(text, "c", "").is_err());
    }

    #[test]
    fn sizes_as_people_write_them() {
        assert_eq!([size(256 << 20), size(10_000_000_000), size(800_000_000)], ["256MiB", "10GB", "800MB"]);
        assert_eq!(size(9_246_291), "9.2MB");
    }
}
