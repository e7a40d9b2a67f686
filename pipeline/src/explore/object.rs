//! Questions `fields` and `references`: all fields of an object, and all its references, in pages.

use super::pages::long;
use crate::mcp::asking::{Ask, OfRun};
use crate::mcp::failing::OrFail;
use crate::mcp::object;
use heaplake_mcp::answer::{Answer, Rows};
use heaplake_mcp::failure::Failure;
use heaplake_query::object::Which;
use heaplake_query::references::{self, Direction};
use heaplake_query::{Subject, object as contents};
use heaplake_schemas::nodes;
use serde_json::Value;

const DIRECTIONS: [&str; 2] = ["holds", "held_by"];

/// The object of a question.
fn node(ask: &Ask<'_>, run: &OfRun) -> Result<u32, Failure> {
    run.asked.need(&nodes::TABLE).or_fail()?;
    let subject = ask.subject()?.ok_or_else(|| object::no_node(run))?;
    run.asked.find(subject).or_fail()
}

/// Answers `fields`.
pub(super) fn fields(ask: &Ask<'_>) -> Result<Value, Failure> {
    let run = ask.need_run()?;
    let page = ask.page("fields", &run)?;
    let which = Which::Subjects(vec![Subject::Node(node(ask, &run)?)]);
    let found = contents::ask(&run.asked, &which).or_fail()?;
    let rows = found.fields.iter().skip(page.first).take(page.rows).map(object::field).collect();
    let rows = Rows { name: "fields", rows, total: Some(found.fields.len() as u64), more: false };
    let population = "fields and elements of the object".to_owned();
    Ok(long(Answer { of: run.of(), population, rows: Some(rows), ..Answer::default() }, &page))
}

/// Answers `references`.
pub(super) fn references(ask: &Ask<'_>) -> Result<Value, Failure> {
    let run = ask.need_run()?;
    let page = ask.page("references", &run)?;
    let node = node(ask, &run)?;
    let direction = match ask.arguments.choice("direction", &DIRECTIONS)? {
        "held_by" => Direction::HeldBy,
        _ => Direction::Holds,
    };
    let Some(found) = references::page(&run.asked, node, direction, (page.first, page.end())).or_fail()? else {
        return Err(Failure::new(object::without_edges(), "the dominator tree needs no references"));
    };
    let order = if found.sorted { "by retained size" } else { "in the order of the heap" };
    let rows = found.rows.iter().map(object::reference).collect();
    let answer = Answer {
        of: run.of(),
        population: format!("references of the object in one direction, {order}"),
        rows: Some(Rows { name: "references", rows, total: Some(found.total), more: false }),
        ..Answer::default()
    };
    Ok(long(answer, &page))
}
