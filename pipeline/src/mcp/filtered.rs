//! Tool `top` with a filter: the objects of a run that pass it.

use super::asking::{Ask, OfRun};
use super::failing::{OrFail, json_of};
use heaplake_mcp::answer::{Answer, Page, Rows};
use heaplake_mcp::failure::Failure;
use heaplake_mcp::next::Next;
use heaplake_query::QueryError;
use heaplake_query::filter::{self, Query};
use serde_json::{Value, json};

/// Rows that pages reach.
const DEEPEST: usize = 100_000;

/// The objects, or groups of them, that pass a filter.
pub(super) fn call(ask: &Ask<'_>, run: &OfRun, page: &Page, text: &str) -> Result<Answer, Failure> {
    if ["class", "owner"].into_iter().any(|other| ask.arguments.text(other).ok().flatten().is_some()) {
        let cause = "filter goes without the arguments class and owner";
        return Err(Failure::new(cause, "put them into the filter: class ~ \"...\" and owner = \"...\""));
    }
    let query = Query::parse(text).map_err(QueryError::from).or_fail()?;
    let is_grouped = !query.group_by.is_empty();
    let end = page.end().min(DEEPEST);
    let found = filter::ask(&run.asked, &query, page.first, end.saturating_sub(page.first)).or_fail()?;
    let total = found.groups.unwrap_or(found.matching).min(query.limit.map_or(u64::MAX, u64::from));
    let rows: Vec<Value> = found.rows.iter().map(json_of).collect();
    let node = rows.first().and_then(|row| row.get("node")).filter(|_| !is_grouped).cloned();
    let mut next: Vec<Next> = Vec::new();
    if let Some(node) = node {
        next.push(Next::new("why", json!({"run": run.name, "node": node}), "what keeps the first of them"));
    }
    let of = if is_grouped { "groups of the objects" } else { "objects" };
    let population = format!(
        "{of} that pass the filter: {} objects with {} bytes, of {} of the run",
        found.matching, found.matching_shallow_bytes, found.of
    );
    let cut = (end == DEEPEST).then(|| format!("rows after the first {DEEPEST}")).into_iter().collect();
    let rows = Rows { name: "objects", rows, total: Some(total), more: false };
    Ok(Answer { of: run.of(), population, cut, rows: Some(rows), notes: found.notes, next, ..Answer::default() })
}
