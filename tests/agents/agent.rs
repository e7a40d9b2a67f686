//! A scripted agent that knows nothing of heaplake. It calls the tool whose description says to begin with it, then
//! follows the `next` calls of the answers in their order, and accuses the first finding of high severity that it reads;
//! without one, it suspects the first of medium severity.

use crate::client::Client;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::Path;

/// Most calls, and tokens of four bytes.
pub(crate) const CALLS: usize = 6;
pub(crate) const TOKENS: usize = 20_000;

/// What the agent found.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Severity and text of the finding that it names.
    pub named: Option<(String, String)>,
    /// Calls it took.
    pub calls: usize,
    /// Tokens of all that it read: instructions, list of tools, calls and answers.
    pub tokens: usize,
}

impl Verdict {
    /// Whether it names one of these texts as culprit, of at least medium severity.
    pub(crate) fn names(&self, culprits: &[&str]) -> bool {
        let text = self.named.as_ref().map_or("", |(_, text)| text);
        culprits.iter().any(|culprit| text.contains(culprit))
    }

    /// Whether it accuses anything.
    pub(crate) fn accuses(&self) -> bool {
        self.named.as_ref().is_some_and(|(severity, _)| severity == "high")
    }

    /// Whether it stayed within calls and tokens.
    pub(crate) fn is_thrifty(&self) -> bool {
        self.calls <= CALLS && self.tokens <= TOKENS
    }
}

/// Lets the agent look at a lake or run.
pub(crate) fn solve(path: &Path) -> Verdict {
    let mut client = Client::start(path);
    let mut bytes = client.begin.to_string().len() + json!(client.tools).to_string().len();
    let begins = |tool: &&Value| tool["description"].as_str().unwrap().starts_with("Begin here");
    let first = client.tools.iter().find(begins).unwrap()["name"].clone();
    let mut queue = VecDeque::from([(first, json!({}))]);
    let (mut done, mut findings) = (Vec::new(), Vec::new());
    while let Some(call) = queue.pop_front().filter(|_| done.len() < CALLS) {
        if done.contains(&call) {
            continue;
        }
        let answer = client.call(call.0.as_str().unwrap(), call.1.clone());
        bytes += answer.to_string().len() + call.1.to_string().len();
        done.push(call);
        collect(&answer["heap_data"], &mut findings);
        if findings.iter().any(|(severity, _)| severity == "high") {
            break;
        }
        let next = answer["next"].as_array().unwrap().iter();
        queue.extend(next.map(|next| (next["tool"].clone(), next["arguments"].clone())));
    }
    assert!(client.end().success());
    let of = |wanted: &str| findings.iter().find(|(severity, _)| severity == wanted).cloned();
    Verdict { named: of("high").or_else(|| of("medium")), calls: done.len(), tokens: bytes / 4 }
}

/// Findings in an answer: objects with a severity and a statement.
fn collect(value: &Value, findings: &mut Vec<(String, String)>) {
    if let (Some(severity), Some(statement)) = (value["severity"].as_str(), value["statement"].as_str()) {
        let text = |name: &str| value[name].as_str().unwrap_or_default();
        findings.push((severity.to_owned(), format!("{statement} {} {}", text("path"), text("place"))));
    }
    value.as_object().into_iter().flatten().for_each(|(_, member)| collect(member, findings));
    value.as_array().into_iter().flatten().for_each(|one| collect(one, findings));
}
