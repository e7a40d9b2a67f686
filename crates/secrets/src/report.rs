//! The answer: secrets by rule and holder, without the secrets.

use crate::hits::Tagger;
use crate::matching::{Marks, Matcher};
use crate::tables::Row;
use heaplake_redact::looks_like_data;
use heaplake_schemas::findings::Severity;
use rustc_hash::{FxHashMap, FxHashSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Secrets of one rule at one kind of place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Severity of the rule.
    pub severity: Severity,
    /// Id of the rule.
    pub rule: String,
    /// Description of the rule.
    pub description: String,
    /// Number of different secrets.
    pub distinct: u64,
    /// Number of strings, arrays and objects that have them.
    pub objects: u64,
    /// Bytes of the shortest secret.
    pub shortest: u32,
    /// Bytes of the longest one.
    pub longest: u32,
    /// Class and field that hold them: `Session.token`.
    pub holder: String,
    /// An object of them: its row in the table of nodes.
    pub node: u32,
    /// A shortest path to it, from a root.
    pub path: Vec<String>,
    /// Whether the baseline has it.
    pub known: bool,
}

/// The texts that were searched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Searched {
    /// Strings, arrays or names of nodes.
    pub texts: u64,
    /// Whether texts are whole, as the file has them; otherwise, those that the run has, of which long ones are cut.
    pub whole: bool,
    /// Limits, one sentence each.
    pub notes: Vec<String>,
}

/// The answer to a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SecretsReport")]
pub struct Report {
    /// The file or run.
    pub input: String,
    /// Its format.
    pub format: String,
    /// Number of rules.
    pub rules: usize,
    /// The texts that were searched.
    pub searched: Searched,
    /// The secrets, by severity, rule and holder.
    pub findings: Vec<Finding>,
}

/// Findings of an earlier search that are known.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Baseline {
    findings: Vec<Known>,
}

#[derive(Clone, Debug, Deserialize)]
struct Known {
    rule: String,
    holder: String,
}

impl Report {
    /// Marks the findings that a baseline has.
    pub fn compare(&mut self, baseline: &Baseline) {
        let known: FxHashSet<(&str, &str)> =
            baseline.findings.iter().map(|known| (known.rule.as_str(), known.holder.as_str())).collect();
        for finding in &mut self.findings {
            finding.known = known.contains(&(finding.rule.as_str(), finding.holder.as_str()));
        }
    }

    /// Whether a finding that is not known has this severity or a higher one.
    #[must_use]
    pub fn fails(&self, least: Severity) -> bool {
        self.findings.iter().any(|finding| !finding.known && finding.severity <= least)
    }
}

/// Masks names that are secrets themselves.
pub struct Mask<'a> {
    matcher: &'a Matcher,
    tagger: &'a Tagger,
    secrets: FxHashSet<u64>,
    /// Whether names may be data: keys of objects of JavaScript are names of properties.
    may_be_data: bool,
    marks: Marks,
}

impl<'a> Mask<'a> {
    /// Also masks the names that equal one of the secrets found.
    #[must_use]
    pub fn new(matcher: &'a Matcher, tagger: &'a Tagger, rows: &[Row], may_be_data: bool) -> Self {
        let secrets = rows.iter().map(|row| row.tag).collect();
        Self { matcher, tagger, secrets, may_be_data, marks: Marks::default() }
    }

    /// The name, or a mask with its length.
    pub fn name(&mut self, name: &str) -> String {
        let bare = name.strip_prefix('.').unwrap_or(name);
        let bare = bare.strip_prefix("[\"").and_then(|bare| bare.strip_suffix("\"]")).unwrap_or(bare);
        let is_secret = self.secrets.contains(&self.tagger.tag(bare.as_bytes()))
            || (self.may_be_data && looks_like_data(bare))
            || !self.matcher.find(bare.as_bytes(), &mut self.marks).is_empty();
        if !is_secret {
            return name.to_owned();
        }
        let dot = if name.starts_with('.') { "." } else { "" };
        format!("{dot}(masked, {} characters)", bare.chars().count())
    }
}

/// Groups rows by rule and holder, which `holder` tells. The path is left to the caller.
pub fn findings(rows: &[Row], matcher: &Matcher, mut holder: impl FnMut(&Row) -> String) -> Vec<Finding> {
    struct Group {
        nodes: Vec<u32>,
        tags: Vec<u64>,
        lengths: (u32, u32),
    }
    let mut groups: FxHashMap<(u16, String), Group> = FxHashMap::default();
    for row in rows {
        let empty = || Group { nodes: Vec::new(), tags: Vec::new(), lengths: (u32::MAX, 0) };
        let group = groups.entry((row.rule, holder(row))).or_insert_with(empty);
        group.nodes.push(row.node);
        group.tags.push(row.tag);
        group.lengths = (group.lengths.0.min(row.length), group.lengths.1.max(row.length));
    }
    let finding = |((number, holder), mut group): ((u16, String), Group)| {
        let rule = matcher.rule(number);
        group.nodes.sort_unstable();
        group.nodes.dedup();
        group.tags.sort_unstable();
        group.tags.dedup();
        Finding {
            severity: rule.severity,
            rule: rule.id.clone(),
            description: rule.description.clone(),
            distinct: group.tags.len() as u64,
            objects: group.nodes.len() as u64,
            shortest: group.lengths.0,
            longest: group.lengths.1,
            holder,
            node: group.nodes[0],
            path: Vec::new(),
            known: false,
        }
    };
    let mut findings: Vec<Finding> = groups.into_iter().map(finding).collect();
    findings.sort_by(|a, b| {
        let order = a.severity.cmp(&b.severity).then_with(|| a.rule.cmp(&b.rule));
        order.then_with(|| b.objects.cmp(&a.objects)).then_with(|| a.holder.cmp(&b.holder))
    });
    findings
}
