//! The answer in SARIF 2.1.0, for viewers of the results of static analyses.
//!
//! A result has a logical location, the class and field, and the file or run as its physical one. Its fingerprint is
//! that of rule and holder, so it is the same in every snapshot of a program.

use crate::report::{Finding, Report};
use heaplake_schemas::findings::Severity;
use serde_json::{Value, json};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The log of an answer. `uri` is that of the file or run.
#[must_use]
pub fn log(report: &Report, uri: &str, version: &str) -> Value {
    let mut rules: Vec<&Finding> = Vec::new();
    for finding in &report.findings {
        if rules.last().is_none_or(|last| last.rule != finding.rule) {
            rules.push(finding);
        }
    }
    let index = |finding: &Finding| rules.iter().position(|rule| rule.rule == finding.rule);
    let results: Vec<Value> = report.findings.iter().map(|finding| result(finding, index(finding), uri)).collect();
    let notes: Vec<Value> =
        report.searched.notes.iter().map(|note| json!({"level": "note", "message": {"text": note}})).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "heaplake",
                "semanticVersion": version,
                "rules": rules.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            }},
            "invocations": [{"executionSuccessful": true, "toolExecutionNotifications": notes}],
            "artifacts": [{"location": {"uri": uri}}],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn descriptor(rule: &Finding) -> Value {
    json!({
        "id": rule.rule,
        "shortDescription": {"text": if rule.description.is_empty() { &rule.rule } else { &rule.description }},
        "defaultConfiguration": {"level": level(rule.severity)},
        "properties": {"tags": ["security"]},
    })
}

fn result(finding: &Finding, rule: Option<usize>, uri: &str) -> Value {
    let Finding { distinct, objects, holder, .. } = finding;
    let text = format!("{}: {distinct} different in {objects} objects, held by {holder}", finding.rule);
    json!({
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": level(finding.severity),
        "message": {"text": text},
        "locations": [{
            "physicalLocation": {"artifactLocation": {"uri": uri, "index": 0}},
            "logicalLocations": [{"fullyQualifiedName": holder, "kind": "member"}],
        }],
        "partialFingerprints": {"ruleAndHolder/v1": format!("{}/{holder}", finding.rule)},
        "baselineState": if finding.known { "unchanged" } else { "new" },
        "properties": {
            "distinct": distinct,
            "objects": objects,
            "shortestBytes": finding.shortest,
            "longestBytes": finding.longest,
            "node": finding.node,
            "path": finding.path,
        },
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "note",
    }
}
