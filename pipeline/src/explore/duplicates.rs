//! Questions `sets` and `members`: sets of duplicates, and the objects of one.

use super::pages::long;
use crate::mcp::asking::Ask;
use crate::mcp::failing::{OrFail, json_of};
use heaplake_mcp::answer::{Answer, Rows};
use heaplake_mcp::failure::Failure;
use heaplake_query::duplicates;
use serde_json::{Map, Value};

/// Answers `sets`.
pub(super) fn sets(ask: &Ask<'_>) -> Result<Value, Failure> {
    let run = ask.need_run()?;
    let page = ask.page("sets", &run)?;
    let (found, total) = duplicates::sets(&run.asked, page.first, page.end()).or_fail()?;
    let rows = Rows { name: "sets", rows: found.iter().map(json_of).collect(), total: Some(total), more: false };
    let population = "sets of duplicates by additional bytes; sets nest, so these do not add up".to_owned();
    Ok(long(Answer { of: run.of(), population, rows: Some(rows), ..Answer::default() }, &page))
}

/// Answers `members`.
pub(super) fn members(ask: &Ask<'_>) -> Result<Value, Failure> {
    let run = ask.need_run()?;
    let page = ask.page("members", &run)?;
    let number = ask.arguments.number("set")?.and_then(|number| u32::try_from(number).ok());
    let number = number.ok_or_else(|| Failure::new("argument set is missing", "sets lists them"))?;
    let set = duplicates::set(&run.asked, number).or_fail()?;
    let found = duplicates::members(&run.asked, number, page.first, page.end()).or_fail()?;
    let rows =
        Rows { name: "members", rows: found.iter().map(json_of).collect(), total: Some(set.members), more: false };
    let answer = Answer {
        of: run.of(),
        population: "members of the set, by node".to_owned(),
        data: Map::from_iter([("set".to_owned(), json_of(&set))]),
        rows: Some(rows),
        ..Answer::default()
    };
    Ok(long(answer, &page))
}
