//! Tool `dominated`: the children of an object in the dominator tree.

use super::asking::Ask;
use super::failing::{OrFail, json_of};
use heaplake_mcp::answer::{Answer, Rows};
use heaplake_mcp::failure::Failure;
use heaplake_mcp::next::Next;
use heaplake_mcp::schema::{members, name_or_number, object, rows, text};
use heaplake_mcp::tool::Tool;
use heaplake_query::children;
use heaplake_schemas::nodes;
use serde_json::{Map, Value, json};

/// Children that pages reach.
const DEEPEST: usize = 100_000;

/// Its declaration.
pub(super) fn tool() -> Tool {
    Tool {
        name: "dominated",
        description: "What an object alone keeps alive: its children in the dominator tree by retained size. Without \
                      node: the children of the root of the heap.",
        arguments: members([
            ("run", text("RELEASE/NAME, if there are several")),
            ("node", name_or_number("its node, or @ and its id")),
        ]),
        data: members([
            ("object", object("the object itself")),
            ("children", rows("node, class, name, shallow_bytes, retained_bytes")),
        ]),
    }
}

/// Answers a call.
pub(super) fn call(ask: &Ask<'_>) -> Result<Value, Failure> {
    let run = ask.need_run()?;
    let page = ask.page("dominated", &run)?;
    run.asked.need(&nodes::TABLE).or_fail()?;
    let found = children::ask(&run.asked, ask.subject()?, page.first, page.end().min(DEEPEST)).or_fail()?;
    let mut next = Vec::new();
    if let Some(first) = found.children.first() {
        let node = json!({"run": run.name, "node": first.node});
        next.push(Next::new("dominated", node.clone(), "one level down, at the largest child"));
        next.push(Next::new("object", node, "what the largest child is"));
    } else {
        let node = json!({"run": run.name, "node": found.node.node});
        next.push(Next::new("why", node, "it keeps nothing else: what keeps it"));
    }
    let answer = Answer {
        of: run.of(),
        population: "children of the object in the dominator tree by retained size".to_owned(),
        cut: (found.total as usize > DEEPEST)
            .then(|| format!("children after the largest {DEEPEST}"))
            .into_iter()
            .collect(),
        data: Map::from_iter([("object".to_owned(), json_of(&found.node))]),
        rows: Some(Rows {
            name: "children",
            rows: found.children.iter().map(json_of).collect(),
            total: Some(found.total.min(DEEPEST as u64)),
            more: false,
        }),
        next,
        ..Answer::default()
    };
    Ok(answer.page(&page))
}
