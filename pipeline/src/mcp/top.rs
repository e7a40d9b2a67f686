//! Tool `top`: the objects, classes or owners that retain most.

use super::asking::{Ask, OfRun};
use super::failing::{OrFail, json_of};
use super::filtered;
use glob::Pattern;
use heaplake_mcp::answer::{Answer, Page, Rows};
use heaplake_mcp::failure::Failure;
use heaplake_mcp::next::Next;
use heaplake_mcp::schema::{choice, members, rows, text};
use heaplake_mcp::tool::Tool;
use heaplake_query::top::{self, Patterns};
use heaplake_query::{classes, owners};
use heaplake_schemas::nodes;
use serde_json::{Value, json};
use std::cmp::Reverse;

const WHAT: [&str; 4] = ["objects", "classes", "owners", "types"];
const SORT: [&str; 3] = ["retained", "shallow", "count"];
/// Objects that pages reach.
const DEEPEST: usize = 100_000;

/// Its declaration.
pub(super) fn tool() -> Tool {
    Tool {
        name: "top",
        description: "The largest of a run: objects (also of a class or owner), classes, owners (packages, scripts, \
                      teams), or in an allocation trace types. Large is not leaking: findings judge.",
        arguments: members([
            ("run", text("RELEASE/NAME, if there are several")),
            ("what", choice(&WHAT, "what to list")),
            ("sort", choice(&SORT, "order of classes and owners")),
            ("class", text("objects: only of classes like this glob pattern")),
            ("owner", text("objects: only of owners like this glob pattern")),
            (
                "filter",
                text(
                    "objects: those that pass a filter, such as class ~ \"^com.shop\" and retained > 1MB and not \
                             dominated by (class = \"Cache\"); may end with order by, group by",
                ),
            ),
        ]),
        data: members([
            ("objects", rows("node, class, name, shallow_bytes, retained_bytes, dominators: the nearest last")),
            ("classes", rows("class_id, class, count, shallow_bytes, retained_bytes")),
            ("owners", rows("owner, count, shallow_bytes, retained_bytes, freed_bytes")),
            ("types", rows("name, count, bytes")),
        ]),
    }
}

/// Answers a call.
pub(super) fn call(ask: &Ask<'_>) -> Result<Value, Failure> {
    let run = ask.need_run()?;
    let page = ask.page("top", &run)?;
    let sort = ask.arguments.choice("sort", &SORT)?;
    let answer = match ask.arguments.choice("what", &WHAT)? {
        "classes" => of_classes(&run, &page, sort),
        "owners" => of_owners(&run, &page, sort),
        "types" => of_types(&run, &page),
        _ => of_objects(ask, &run, &page),
    };
    Ok(answer?.page(&page))
}

fn of_classes(run: &OfRun, page: &Page, sort: &str) -> Result<Answer, Failure> {
    let mut all = classes::all(&run.asked).or_fail()?;
    match sort {
        "shallow" => all.sort_by_key(|row| (Reverse(row.shallow_bytes), row.class_id)),
        "count" => all.sort_by_key(|row| (Reverse(row.count), row.class_id)),
        _ => {}
    }
    let next = all.get(page.first).map(|row| {
        Next::new(
            "class",
            json!({"run": run.name, "class": row.class_id}),
            "the first of them: what holds its instances",
        )
    });
    Ok(Answer {
        of: run.of(),
        population: "classes with an instance".to_owned(),
        rows: Some(listed("classes", &all, page)),
        next: next.into_iter().collect(),
        ..Answer::default()
    })
}

fn of_owners(run: &OfRun, page: &Page, sort: &str) -> Result<Answer, Failure> {
    let mut all = owners::all(&run.asked).or_fail()?;
    match sort {
        "shallow" => all.sort_by_key(|row| Reverse(row.shallow_bytes)),
        "count" => all.sort_by_key(|row| Reverse(row.count)),
        _ => {}
    }
    let next = Next::new("top", json!({"run": run.name, "what": "classes"}), "the classes that retain most");
    Ok(Answer {
        of: run.of(),
        population: "owners of the memory of the run".to_owned(),
        rows: Some(listed("owners", &all, page)),
        next: vec![next],
        ..Answer::default()
    })
}

fn of_types(run: &OfRun, page: &Page) -> Result<Answer, Failure> {
    let Some(replay) = &run.asked.run().replay else {
        return Err(Failure::new("the run is of a heap snapshot, not of a trace: it has no types", "ask for classes"));
    };
    let next = Next::new("findings", json!({"run": run.name}), "what the rules say of the trace");
    Ok(Answer {
        of: run.of(),
        population: "types with most bytes allocated, as the summary of the trace has them".to_owned(),
        rows: Some(listed("types", &replay.types, page)),
        next: vec![next],
        ..Answer::default()
    })
}

fn of_objects(ask: &Ask<'_>, run: &OfRun, page: &Page) -> Result<Answer, Failure> {
    run.asked.need(&nodes::TABLE).or_fail()?;
    if let Some(text) = ask.arguments.text("filter")? {
        return filtered::call(ask, run, page, &text);
    }
    let patterns = Patterns { classes: patterns(ask, "class")?, owners: patterns(ask, "owner")? };
    let is_all = patterns.classes.is_empty() && patterns.owners.is_empty();
    // One more tells whether there is another page.
    let end = page.end().min(DEEPEST);
    let found = top::page(&run.asked, &patterns, page.first, end.saturating_add(1)).or_fail()?;
    let more = found.objects.len() > end.saturating_sub(page.first) && end < DEEPEST;
    let rows: Vec<Value> = found.objects.iter().take(end.saturating_sub(page.first)).map(of_object).collect();
    let mut next = Vec::new();
    if let Some(first) = found.objects.first() {
        let node = json!({"run": run.name, "node": first.node.node});
        next.push(Next::new("why", node.clone(), "what keeps the first of them"));
        next.push(Next::new("dominated", node, "what it keeps"));
    }
    let population = match is_all {
        true => "objects by retained size, without parts of the runtime".to_owned(),
        false => "objects of these classes and owners by retained size".to_owned(),
    };
    let cut = (end == DEEPEST).then(|| format!("objects after the largest {DEEPEST}")).into_iter().collect();
    let rows = Rows { name: "objects", rows, total: None, more };
    Ok(Answer { of: run.of(), population, cut, rows: Some(rows), notes: found.notes, next, ..Answer::default() })
}

/// An object, its dominators as words.
fn of_object(object: &top::Object) -> Value {
    let mut value = json_of(&object.node);
    let words = object.dominators.iter().map(|row| format!("{} (node {})", row.class, row.node));
    value["dominators"] = words.collect::<Vec<_>>().into();
    value
}

fn patterns(ask: &Ask<'_>, name: &str) -> Result<Vec<Pattern>, Failure> {
    let Some(text) = ask.arguments.text(name)? else { return Ok(Vec::new()) };
    let bad = |error| Failure::new(format!("argument {name}: {error}"), "a glob pattern is a name with * for any text");
    // Names of arrays have brackets.
    let pattern = Pattern::new(&text.replace("[]", "[[][]]")).map_err(bad)?;
    Ok(vec![pattern])
}

/// Rows of a list that is in memory.
fn listed(name: &'static str, all: &[impl serde::Serialize], page: &Page) -> Rows {
    let rows = all.iter().skip(page.first).take(page.rows).map(json_of).collect();
    Rows { name, rows, total: Some(all.len() as u64), more: false }
}
