//! Tool `overview`: the runs of a lake, or what is in a run and whether something in it looks like a leak.

use super::asking::{Ask, Limits, OfRun};
use super::failing::{OrFail, json_of};
use super::root::{Runs, name, releases};
use super::suspects;
use heaplake_lake::captured::captured_at;
use heaplake_lake::moment;
use heaplake_lake::selection::FoundRun;
use heaplake_mcp::answer::{Answer, Page, Rows};
use heaplake_mcp::failure::Failure;
use heaplake_mcp::next::Next;
use heaplake_mcp::schema::{members, object, rows, text};
use heaplake_mcp::tool::Tool;
use heaplake_query::findings;
use heaplake_schemas::run::Summary;
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64;

/// Suspects, classes and owners in the answer about a run.
const SUSPECTS: usize = 3;
const CLASSES: usize = 6;
const OWNERS: usize = 4;
/// Releases in the answer about a lake, the newest.
const RELEASES: usize = 12;
/// Runs from which on clusters are worth a call.
const MANY: usize = 3;

/// Its declaration.
pub(super) fn tool() -> Tool {
    Tool {
        name: "overview",
        description: "Begin here. With several runs and without run: releases and runs, the newest first. With a run, \
                      or if there is one: what it is of, its suspects (findings of severity high or medium), its \
                      largest classes and owners.",
        arguments: members([("run", text("RELEASE/NAME; without it the whole lake"))]),
        data: members([
            (
                "run",
                object("format, source, captured_at, objects, edges, heap_bytes, labels, partial: what is missing"),
            ),
            ("suspects", rows("as in findings: what likely leaks, with statement and path")),
            ("classes", rows("class_id, class, count, retained_bytes")),
            ("owners", rows("owner, retained_bytes")),
            ("allocations", object("of an allocation trace: types and functions that allocate most")),
            ("releases", rows("release, runs, high: runs with a finding of high severity, newest")),
            ("runs", rows("run, format, captured_at, objects, heap_bytes, findings: [high, medium, low], labels")),
        ]),
    }
}

/// Answers a call.
pub(super) fn call(ask: &Ask<'_>) -> Result<Value, Failure> {
    if let Some(run) = ask.run()? {
        let page = ask.page("overview", &run)?;
        return Ok(of_run(&run, ask.limits)?.page(&page));
    }
    let (answer, page) = of_lake(ask, "overview", |page| page)?;
    Ok(answer.page(&page))
}

/// The runs of the lake, in a page that `bound` makes of the page of the call.
pub(crate) fn of_lake(ask: &Ask<'_>, tool: &str, bound: impl Fn(Page) -> Page) -> Result<(Answer, Page), Failure> {
    let runs = ask.root.runs()?;
    let text: String = runs.found.iter().map(|found| format!("{}\n", found.run.identity)).collect();
    let page = bound(Page::of(tool, ask.arguments, &format!("{:016x}", xxh3_64(text.as_bytes())))?);
    Ok((listed(&runs, &page)?, page))
}

fn of_run(run: &OfRun, limits: Limits) -> Result<Answer, Failure> {
    let described = run.asked.run();
    let summary = &described.summary;
    let all = findings::all(&run.asked).or_fail()?;
    let suspects: Vec<_> = (0..).zip(&all).filter(|(_, finding)| suspects::is_suspect(finding)).collect();
    let mut data = Map::new();
    let mut put = |name: &str, value: Value| drop(data.insert(name.to_owned(), value));
    put("run", about(run));
    put(
        "suspects",
        suspects.iter().take(SUSPECTS).map(|(at, finding)| suspects::with_steps(*at, finding, limits)).collect(),
    );
    put("classes", classes(summary));
    let owners = summary.owners.iter().take(OWNERS);
    put("owners", owners.map(|row| json!({"owner": row.owner, "retained_bytes": row.retained_bytes})).collect());
    if let Some(replay) = &described.replay {
        let first =
            |rows: &[heaplake_schemas::run::NamedAmount]| rows.iter().take(CLASSES).map(json_of).collect::<Value>();
        put("allocations", json!({"types": first(&replay.types), "functions": first(&replay.functions)}));
    }
    let mut cut = Vec::new();
    if suspects.len() > SUSPECTS {
        cut.push(format!("{} more suspects: findings", suspects.len() - SUSPECTS));
    }
    let mut notes = vec![suspects::verdict(&all).to_owned()];
    notes.extend(summary.partial.iter().map(|_| "The input was damaged: the run covers a part of it.".to_owned()));
    let mut next = suspects.first().map_or_else(Vec::new, |(_, finding)| suspects::next(&run.name, finding));
    next.truncate(2);
    next.push(Next::new("findings", json!({"run": run.name}), "all findings, also those of low severity"));
    if suspects.is_empty() && described.replay.is_none() {
        next.push(Next::new("top", json!({"run": run.name, "what": "classes"}), "the classes that retain most"));
    }
    let population = format!("the run: {} findings, {} classes", all.len(), summary.class_count);
    Ok(Answer { of: run.of(), population, cut, data, rows: None, notes, next })
}

fn about(run: &OfRun) -> Value {
    let described = run.asked.run();
    let summary = &described.summary;
    let metadata = described.replay.as_ref().map(|replay| &replay.metadata);
    json!({
        "format": summary.format,
        "source": described.source,
        "captured_at": described.captured_at_us.map(moment::text),
        "objects": metadata.is_none().then_some(summary.node_count),
        "edges": metadata.is_none().then_some(summary.edge_count),
        "heap_bytes": metadata.is_none().then_some(summary.shallow_bytes),
        "native_bytes": summary.native_bytes,
        "unreachable_bytes": Some(summary.unreachable_bytes).filter(|bytes| *bytes > 0),
        "labels": described.options.labels(),
        "partial": summary.partial,
    })
}

fn classes(summary: &Summary) -> Value {
    let row = |row: &heaplake_schemas::run::NamedClass| {
        let held = row.holders.first().map(|holder| &holder.text);
        json!({
            "class_id": row.class_id,
            "class": row.class,
            "count": row.count,
            "retained_bytes": row.retained_bytes,
            "held_by": held,
        })
    };
    summary.classes.iter().take(CLASSES).map(row).collect()
}

fn listed(runs: &Runs, page: &Page) -> Result<Answer, Failure> {
    let mut dated = Vec::with_capacity(runs.found.len());
    for found in &runs.found {
        dated.push((captured_at(&found.place, &found.run).or_fail()?, found));
    }
    dated.sort_by_key(|(at, found)| (Reverse(*at), name(found)));
    let releases = releases(runs.found.iter());
    let shown = releases.iter().take(RELEASES).map(|(name, newest)| {
        let of = dated.iter().filter(|(_, found)| *found.run.release == **name);
        let high = of.clone().filter(|(_, found)| found.run.findings[0] > 0).count();
        json!({"release": name, "runs": of.count(), "high": high, "newest": newest.map(moment::text)})
    });
    let data = match page.first {
        0 => Map::from_iter([("releases".to_owned(), shown.collect())]),
        _ => Map::new(),
    };
    let row = |(at, found): &(Option<i64>, &FoundRun)| {
        let labels: BTreeMap<&str, &str> = found.run.labels.iter().collect();
        json!({
            "run": name(found),
            "format": &*found.run.format,
            "captured_at": at.map(moment::text),
            "objects": found.run.objects,
            "heap_bytes": found.run.bytes,
            "findings": found.run.findings,
            "labels": labels,
            "partial": found.run.partial.as_deref(),
        })
    };
    let rows = dated.iter().skip(page.first).take(page.rows).map(row).collect();
    let mut notes: Vec<String> = Vec::new();
    if dated.is_empty() {
        notes.push("There is no run: a person adds some with heaplake analyze FILE --out LAKE.".to_owned());
    }
    notes.extend(runs.damaged.first().map(|(path, problem)| {
        format!("{} folders cannot be read, the first is {}: {problem}", runs.damaged.len(), path.display())
    }));
    let cut = releases.len().saturating_sub(RELEASES);
    Ok(Answer {
        of: "lake".to_owned(),
        population: format!("runs of the lake in {} releases, the newest first", releases.len()),
        cut: (cut > 0).then(|| format!("{cut} older releases")).into_iter().collect(),
        data,
        rows: Some(Rows { name: "runs", rows, total: Some(dated.len() as u64), more: false }),
        notes,
        next: after_lake(&dated, releases.len()),
    })
}

/// Calls that are useful with several runs.
fn after_lake(dated: &[(Option<i64>, &FoundRun)], releases: usize) -> Vec<Next> {
    let mut next = Vec::new();
    if dated.len() >= MANY {
        next.push(Next::new("clusters", json!({}), "what leaks in several runs, and what all have"));
    }
    if releases > 1 {
        next.push(Next::new("compare", json!({}), "what grew from the release before to the newest"));
    }
    let worst = dated.iter().max_by_key(|(at, found)| (found.run.findings.map(|number| number.min(1)), *at));
    next.extend(worst.map(|(_, found)| {
        Next::new("overview", json!({"run": name(found)}), "the newest run among those with the most severe findings")
    }));
    next
}
