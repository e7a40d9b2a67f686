//! The questions of the page of `heaplake explore`: those that agents ask (`mcp`), and some lists that are too long for
//! agents. One place maps a request to an answer, so that the page and agents see the same numbers.

mod classes;
mod duplicates;
mod gate;
mod object;
mod pages;
mod runs;
mod tree;

use crate::mcp::asking::Ask;
use crate::mcp::{LakeTools, Resources};
use gate::Gate;
use heaplake_explore::answers::{Answered, Answers};
use heaplake_mcp::answer::BOUNDS;
use heaplake_mcp::arguments::{Arguments, OF_PAGES};
use heaplake_mcp::failure::Failure;
use heaplake_mcp::tool::Tools;
use serde_json::{Map, Value, json};
use std::sync::atomic::AtomicBool;

/// A question that only the page asks.
struct Own {
    name: &'static str,
    arguments: &'static [&'static str],
    call: fn(&Ask<'_>) -> Result<Value, Failure>,
}

const OWN: [Own; 7] = [
    Own { name: "runs", arguments: &[], call: runs::call },
    Own { name: "classes", arguments: &["run"], call: classes::call },
    Own { name: "fields", arguments: &["run", "node"], call: object::fields },
    Own { name: "references", arguments: &["run", "node", "direction"], call: object::references },
    Own { name: "tree", arguments: &["run", "node", "depth"], call: tree::call },
    Own { name: "sets", arguments: &["run"], call: duplicates::sets },
    Own { name: "members", arguments: &["run", "set"], call: duplicates::members },
];

/// The questions over a lake or a run.
pub(crate) struct Questions {
    tools: LakeTools,
    gate: Gate,
}

impl Questions {
    /// Answers with these tools, all answers together within the memory of `resources`.
    pub(crate) fn new(tools: LakeTools, resources: Resources) -> Self {
        Self { tools: tools.for_pages(), gate: Gate::new(resources.memory) }
    }

    /// Names of the arguments of a question; `None` if there is no such question.
    fn arguments(&self, question: &str) -> Option<Vec<String>> {
        if let Some(own) = OWN.iter().find(|own| own.name == question) {
            return Some(own.arguments.iter().map(|name| (*name).to_owned()).collect());
        }
        let tool = self.tools.tools().into_iter().find(|tool| tool.name == question)?;
        Some(tool.arguments.into_iter().map(|(name, _)| name).collect())
    }

    fn called(&self, question: &str, arguments: &Arguments, cancel: &AtomicBool) -> Result<Value, Failure> {
        let ask = self.tools.ask(arguments, cancel);
        let _turn = self.gate.enter(question, &ask)?;
        match OWN.iter().find(|own| own.name == question) {
            Some(own) => (own.call)(&ask),
            None => self.tools.call(question, arguments, cancel),
        }
    }
}

impl Answers for Questions {
    fn answer(&self, question: &str, mut arguments: Map<String, Value>, cancel: &AtomicBool) -> Answered {
        let Some(known) = self.arguments(question) else { return Answered::Unknown };
        arguments.retain(|_, value| *value != "");
        let is_known = |name: &String| known.contains(name) || OF_PAGES.contains(&name.as_str());
        if let Some(unknown) = arguments.keys().find(|name| !is_known(name)) {
            let problem = format!("{question} has no argument {unknown:?}");
            return Answered::Refused(Failure::new(problem, "use the arguments of nearest").near(known).value());
        }
        arguments.entry("max_bytes").or_insert_with(|| json!(BOUNDS.1));
        match self.called(question, &Arguments::new(arguments), cancel) {
            Ok(value) => Answered::Found(value),
            Err(failure) => Answered::Refused(failure.value()),
        }
    }
}
