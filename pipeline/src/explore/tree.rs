//! Question `tree`: levels of the dominator tree below an object, for the map.

use super::pages::{long, of_list};
use crate::mcp::asking::Ask;
use crate::mcp::failing::{OrFail, json_of};
use heaplake_mcp::answer::{Answer, Rows};
use heaplake_mcp::failure::Failure;
use heaplake_query::tree::{self, Branch};
use heaplake_schemas::nodes;
use serde_json::{Value, json};

/// Most levels, and children of an object.
const LEVELS: u64 = 5;
const CHILDREN: usize = 40;
/// Objects after which no further level is shown.
const ENOUGH: usize = 2_000;

/// Answers it.
pub(super) fn call(ask: &Ask<'_>) -> Result<Value, Failure> {
    let run = ask.need_run()?;
    let page = of_list(ask.page("tree", &run)?);
    run.asked.need(&nodes::TABLE).or_fail()?;
    let depth = ask.arguments.number("depth")?.unwrap_or(3).clamp(1, LEVELS) as usize;
    let top = tree::ask(&run.asked, ask.subject()?, depth, CHILDREN).or_fail()?;
    let rows = listed(&top);
    let total = Some(rows.len() as u64);
    let answer = Answer {
        of: run.of(),
        population: format!("the object and {depth} levels of the dominator tree below it, {CHILDREN} children each"),
        rows: Some(Rows { name: "objects", rows: rows.into_iter().skip(page.first).collect(), total, more: false }),
        ..Answer::default()
    };
    Ok(long(answer, &page))
}

/// The branches, each level after the one above; `parent` is a place in this list.
fn listed(top: &Branch) -> Vec<Value> {
    let mut level: Vec<(Option<usize>, &Branch)> = vec![(None, top)];
    let mut rows = Vec::new();
    while !level.is_empty() && rows.len() < ENOUGH {
        let mut next = Vec::new();
        for (parent, branch) in level {
            let mut row = json_of(&branch.node);
            row["parent"] = json!(parent);
            row["others"] = json!(branch.others);
            row["others_retained_bytes"] = json!(branch.others_retained_bytes);
            next.extend(branch.children.iter().map(|child| (Some(rows.len()), child)));
            rows.push(row);
        }
        level = next;
    }
    rows
}
