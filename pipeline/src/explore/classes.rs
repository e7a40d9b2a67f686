//! Question `classes`: all classes of a run, so that the page filters and sorts them itself.

use super::pages::{long, of_list};
use crate::mcp::asking::Ask;
use crate::mcp::failing::{OrFail, json_of};
use heaplake_mcp::answer::{Answer, Rows};
use heaplake_mcp::failure::Failure;
use heaplake_query::classes;
use serde_json::Value;

/// Answers it.
pub(super) fn call(ask: &Ask<'_>) -> Result<Value, Failure> {
    let run = ask.need_run()?;
    let page = of_list(ask.page("classes", &run)?);
    let all = classes::all(&run.asked).or_fail()?;
    let rows = all.iter().skip(page.first).take(page.rows).map(json_of).collect();
    let answer = Answer {
        of: run.of(),
        population: "classes with an instance, by retained size".to_owned(),
        rows: Some(Rows { name: "classes", rows, total: Some(all.len() as u64), more: false }),
        ..Answer::default()
    };
    Ok(long(answer, &page))
}
