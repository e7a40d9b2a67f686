//! Findings as an agent reads them.

use super::asking::Limits;
use heaplake_kit::text::middle;
use heaplake_mcp::next::Next;
use heaplake_schemas::findings::{Finding, Severity};
use serde_json::{Value, json};

/// Characters of a path: its ends matter most.
const PATH: usize = 280;

/// A finding in the order of the table.
pub(crate) fn row(at: usize, finding: &Finding) -> Value {
    let path = finding.path.join(" → ");
    let path = if path.is_empty() { Value::Null } else { middle(&path, PATH).into() };
    json!({
        "finding": at,
        "severity": finding.severity.name(),
        "rule": finding.rule,
        "statement": finding.message,
        "path": path,
        "bytes": finding.bytes,
        "count": finding.count,
        "node": finding.node,
        "class_id": finding.class_id,
        "holder_node": finding.holder_node,
        "owner": finding.owner,
        "place": finding.place,
    })
}

/// The same, with the steps of its path where they are wanted.
pub(crate) fn with_steps(at: usize, finding: &Finding, limits: Limits) -> Value {
    let mut row = row(at, finding);
    if limits.lists_steps {
        row["steps"] = finding.path.clone().into();
    }
    row
}

/// Whether a finding suggests a culprit.
pub(crate) fn is_suspect(finding: &Finding) -> bool {
    finding.severity != Severity::Low
}

/// What the findings say as a whole.
pub(crate) fn verdict(findings: &[Finding]) -> &'static str {
    let has = |severity: Severity| findings.iter().any(|finding| finding.severity == severity);
    match (has(Severity::High), has(Severity::Medium)) {
        (true, _) => "There are findings of high severity: the first is the most likely culprit.",
        (false, true) => "No finding is of high severity: those of medium severity are worth a look, not proven.",
        (false, false) => "No finding is above low severity: nothing here looks like a leak.",
    }
}

/// Calls that explain a finding.
pub(crate) fn next(run: &str, finding: &Finding) -> Vec<Next> {
    let mut next = Vec::new();
    if let Some(node) = finding.node {
        next.push(Next::new("why", json!({"run": run, "node": node}), "the paths that keep the object of the finding"));
        next.push(Next::new("object", json!({"run": run, "node": node}), "what the object is and what it holds"));
    }
    if let Some(class) = finding.class_id {
        next.push(Next::new("class", json!({"run": run, "class": class}), "the class of the finding and its holders"));
    }
    next
}
