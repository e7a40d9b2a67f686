//! A rule, and lists of them.

use super::allow::Allowlist;
use super::check::Check;
use heaplake_schemas::findings::Severity;
use regex::bytes::Regex;

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Name.
    pub id: String,
    /// Description, for people.
    pub description: String,
    /// Severity; high if the file does not say.
    pub severity: Severity,
    /// Names of fields whose values it is about; without it, the rule is about texts.
    pub field: Option<Regex>,
    /// The text, or the value of the field; a value without it is a secret as a whole.
    pub pattern: Option<Regex>,
    /// Group of the pattern that is the secret. Without it, that is the first group that is not empty, or the match.
    pub group: Option<usize>,
    /// Shannon entropy of the secret that must be exceeded, bits per byte.
    pub entropy: Option<f64>,
    /// Words, one of which the text must have in any case; lower case.
    pub keywords: Vec<String>,
    /// Another condition on the secret.
    pub check: Option<Check>,
    /// Matches that are no secrets.
    pub allow: Vec<Allowlist>,
}

impl Rule {
    /// Whether it gives way to other rules about the same bytes, as gitleaks has it.
    #[must_use]
    pub fn is_generic(&self) -> bool {
        self.id.starts_with("generic")
    }
}

/// Rules in the order of their files.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The rules.
    pub rules: Vec<Rule>,
    /// Matches that are no secrets by any of them.
    pub allow: Vec<Allowlist>,
    /// Parts of files that have no meaning here, one sentence each.
    pub remarks: Vec<String>,
}

impl Rules {
    /// Adds the rules of another list behind these; a rule whose id is known is left out.
    pub fn add(&mut self, other: Self) {
        let is_new = |rule: &Rule| !self.rules.iter().any(|known| known.id == rule.id);
        let new: Vec<Rule> = other.rules.into_iter().filter(is_new).collect();
        self.rules.extend(new);
        self.allow.extend(other.allow);
        self.remarks.extend(other.remarks);
    }

    /// Keeps the rules that `keep` accepts.
    pub fn retain(&mut self, keep: impl Fn(&Rule) -> bool) {
        self.rules.retain(keep);
    }
}
