//! Tool `class`: a class, what holds its instances, and the instances by retained size.

use super::asking::Ask;
use super::failing::{OrFail, json_of};
use heaplake_mcp::answer::{Answer, Rows};
use heaplake_mcp::failure::Failure;
use heaplake_mcp::next::Next;
use heaplake_mcp::schema::{members, name_or_number, object, rows, text};
use heaplake_mcp::tool::Tool;
use heaplake_query::classes;
use serde_json::{Value, json};

/// Instances that pages reach.
const DEEPEST: usize = 100_000;

/// Its declaration.
pub(super) fn tool() -> Tool {
    Tool {
        name: "class",
        description: "A class of a run: sums, what holds its instances (merged paths, nearest holder first), shortest \
                      chains from a root, and its instances by retained size.",
        arguments: members([
            ("run", text("RELEASE/NAME, if there are several")),
            ("class", name_or_number("its class_id or name")),
        ]),
        data: members([
            ("class", object("class_id, class, count, shallow_bytes, retained_bytes, max_retained_bytes")),
            (
                "holders",
                rows("path, count held through it of looked_at, only_count held by nothing else, node: a holder"),
            ),
            ("chains", rows("path from a root, count, node: an instance")),
            ("instances", rows("node, id, name, shallow_bytes, retained_bytes, distance from a root")),
        ]),
    }
}

/// Answers a call.
pub(super) fn call(ask: &Ask<'_>) -> Result<Value, Failure> {
    let run = ask.need_run()?;
    let page = ask.page("class", &run)?;
    let Some(wanted) = ask.arguments.text("class")? else {
        let next = Next::new("top", json!({"run": run.name, "what": "classes"}), "it lists the classes");
        return Err(Failure::new("argument class is missing", "name a class or its class_id").then(vec![next]));
    };
    let class = run.class(&wanted)?;
    let mut data = serde_json::Map::new();
    let mut cut = Vec::new();
    if page.first == 0 {
        data.insert("class".to_owned(), json_of(&class));
        let holders = classes::holders(&run.asked, class.class_id).or_fail()?;
        if holders.len() > ask.limits.holders {
            cut.push(format!("{} smaller branches of holders", holders.len() - ask.limits.holders));
        }
        data.insert("holders".to_owned(), holders.iter().take(ask.limits.holders).map(json_of).collect());
        let chains = classes::chains_of(&run.asked, class.class_id, ask.limits.chains).or_fail()?;
        data.insert("chains".to_owned(), chains.iter().map(json_of).collect());
    }
    let end = page.end().min(DEEPEST);
    let instances = classes::instances(&run.asked, class.class_id, page.first, end).or_fail()?;
    let row = |node: &heaplake_query::rows::NodeRow| {
        let mut row = json_of(node);
        row.as_object_mut().map(|row| row.remove("class"));
        row
    };
    let mut next = Vec::new();
    if let Some(first) = instances.first() {
        let node = json!({"run": run.name, "node": first.node});
        next.push(Next::new("why", node.clone(), "what keeps the largest instance"));
        next.push(Next::new("dominated", node, "what it keeps"));
    }
    if class.count as usize > DEEPEST {
        cut.push(format!("instances after the largest {DEEPEST}"));
    }
    let answer = Answer {
        of: run.of(),
        population: "instances of the class by retained size".to_owned(),
        cut,
        data,
        rows: Some(Rows {
            name: "instances",
            rows: instances.iter().map(row).collect(),
            total: Some(class.count.min(DEEPEST as u64)),
            more: false,
        }),
        next,
        ..Answer::default()
    };
    Ok(answer.page(&page))
}
