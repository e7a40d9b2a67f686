//! Judges the findings of a search against the corpus.

use super::item::Item;
use serde_json::Value;
use std::collections::BTreeSet;

/// Findings by the corpus.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Planted secrets, and those of them that were found.
    pub planted: usize,
    pub found: usize,
    /// Kinds of the missed ones, with the form of the text.
    pub missed: Vec<String>,
    /// Near misses, and the rules that took them for secrets.
    pub misses: usize,
    pub wrong: Vec<String>,
    /// Findings of neither: rule and holder.
    pub other: Vec<String>,
}

impl Verdict {
    /// Judges the JSON of a search.
    pub fn of(report: &Value, secrets: &[Item], misses: &[Item]) -> Self {
        let findings = report["findings"].as_array().unwrap();
        let held: Vec<(&str, &str)> = findings
            .iter()
            .map(|finding| (finding["rule"].as_str().unwrap(), class(finding["holder"].as_str().unwrap())))
            .collect();
        let holders: BTreeSet<&str> = held.iter().map(|(_, class)| *class).collect();
        let mut verdict = Self { planted: secrets.len(), misses: misses.len(), ..Self::default() };
        for item in secrets {
            if holders.contains(item.holder.as_str()) {
                verdict.found += 1;
            } else {
                verdict.missed.push(format!("{} {} ({:?})", item.holder, item.kind, item.place));
            }
        }
        for (rule, class) in held {
            if let Some(item) = misses.iter().find(|item| item.holder == class) {
                verdict.wrong.push(format!("{} {}: {rule}", item.holder, item.kind));
            } else if !secrets.iter().any(|item| item.holder == class) {
                verdict.other.push(format!("{rule}: {class}"));
            }
        }
        verdict
    }

    /// Share of the planted secrets that were found.
    pub fn recall(&self) -> f64 {
        self.found as f64 / self.planted as f64
    }

    /// Share of the texts found, planted or near misses, that are planted.
    pub fn precision(&self) -> f64 {
        let wrong: BTreeSet<&str> = self.wrong.iter().filter_map(|text| text.split(' ').next()).collect();
        self.found as f64 / (self.found + wrong.len()).max(1) as f64
    }

    /// All of it, for people.
    pub fn text(&self) -> String {
        format!(
            "recall {:.3} ({} of {}), precision {:.3}, {} of {} near misses\n  missed: {}\n  wrong: {}\n  other: {}\n",
            self.recall(),
            self.found,
            self.planted,
            self.precision(),
            self.wrong.len(),
            self.misses,
            self.missed.join("; "),
            self.wrong.join("; "),
            self.other.join("; "),
        )
    }
}

/// The class of a holder, without package.
fn class(holder: &str) -> &str {
    let name = holder.strip_prefix("app.").unwrap_or(holder);
    name.split(['.', ' ', '[', '$']).next().unwrap_or(name)
}
