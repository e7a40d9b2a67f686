//! Tool `findings`: what the rules of heaplake say of a run, the most severe first.

use super::asking::Ask;
use super::failing::OrFail;
use super::suspects;
use heaplake_lake::nearest::nearest;
use heaplake_mcp::answer::{Answer, Rows};
use heaplake_mcp::failure::Failure;
use heaplake_mcp::next::Next;
use heaplake_mcp::schema::{choice, members, rows, text};
use heaplake_mcp::tool::Tool;
use heaplake_query::findings;
use heaplake_schemas::findings::Severity;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const SEVERITIES: [&str; 3] = ["low", "medium", "high"];

/// Its declaration.
pub(super) fn tool() -> Tool {
    Tool {
        name: "findings",
        description: "Findings of a run, the most severe first: leaks, waste, duplicates, each with its evidence, the \
                      path that holds it, and the node or class to look at. For several runs: clusters.",
        arguments: members([
            ("run", text("RELEASE/NAME, if there are several")),
            ("severity", choice(&SEVERITIES, "least severity")),
            ("rule", text("only of this rule")),
        ]),
        data: members([(
            "findings",
            rows("severity, rule, statement, path, bytes, count, node, class_id, owner, place"),
        )]),
    }
}

/// Answers a call.
pub(super) fn call(ask: &Ask<'_>) -> Result<Value, Failure> {
    let run = ask.need_run()?;
    let page = ask.page("findings", &run)?;
    let all = findings::all(&run.asked).or_fail()?;
    let least = Severity::named(ask.arguments.choice("severity", &SEVERITIES)?).unwrap_or(Severity::Low);
    let rule = ask.arguments.text("rule")?;
    if let Some(rule) = &rule
        && !all.iter().any(|finding| finding.rule == *rule)
    {
        let rules: BTreeSet<String> = all.iter().map(|finding| finding.rule.clone()).collect();
        let near = if rules.len() <= 12 { rules.into_iter().collect() } else { nearest(rule, rules) };
        return Err(Failure::new(format!("no finding is of the rule {rule:?}"), "leave rule out").near(near));
    }
    // Severities are ordered from the most severe.
    let fits = |rule: &str, of: &str| rule == of;
    let chosen: Vec<_> = (0..)
        .zip(&all)
        .filter(|(_, finding)| finding.severity <= least)
        .filter(|(_, finding)| rule.as_deref().is_none_or(|rule| fits(rule, &finding.rule)))
        .collect();
    let shown = chosen.iter().skip(page.first);
    let mut next: Vec<Next> =
        shown.clone().take(2).flat_map(|(_, finding)| suspects::next(&run.name, finding)).take(4).collect();
    if next.is_empty() {
        next.push(Next::new("top", json!({"run": run.name, "what": "classes"}), "the classes that retain most"));
    }
    let answer = Answer {
        of: run.of(),
        population: format!("findings of the run, of {} in all", all.len()),
        rows: Some(Rows {
            name: "findings",
            rows: shown.map(|(at, finding)| suspects::with_steps(*at, finding, ask.limits)).collect(),
            total: Some(chosen.len() as u64),
            more: false,
        }),
        notes: vec![suspects::verdict(&all).to_owned()],
        next,
        ..Answer::default()
    };
    Ok(answer.page(&page))
}
