//! Tool `clusters`: what leaks in several runs, and which findings all runs have.
//!
//! A rollup of the lake goes to a folder of temporary files, which is removed with the call; the last one is kept in
//! memory while the runs are the same.

use super::asking::Ask;
use super::failing::OrFail;
use super::root::Runs;
use crate::diagnostic::Diagnostic;
use crate::engine::workplace;
use heaplake_compare::rollup::{self, OF_WASTE, Request};
use heaplake_compare::sides::Key;
use heaplake_kit::threads::locked;
use heaplake_lake::moment;
use heaplake_lake::place;
use heaplake_lake::upkeep::choice::Choice;
use heaplake_mcp::answer::{Answer, Page, Rows};
use heaplake_mcp::failure::Failure;
use heaplake_mcp::next::Next;
use heaplake_mcp::schema::{members, rows};
use heaplake_mcp::tool::Tool;
use heaplake_schemas::rollup::{Cluster, Group, Rollup};
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The last rollup, by the versions of its runs.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Option<(String, Arc<Rollup>)>>);

/// Most runs of a rollup that is made for a call.
const MOST: usize = 5000;
/// Names of hosts and runs in a row.
const NAMES: usize = 6;
/// Findings that many runs have.
const COMMON: usize = 6;

/// Its declaration.
pub(super) fn tool() -> Tool {
    Tool {
        name: "clusters",
        description: "Over all runs of the lake: clusters, that is runs in which the same holder retains far more than \
                      usual, with hosts, releases and bytes; and the findings with most bytes over all runs.",
        arguments: Map::new(),
        data: members([
            (
                "clusters",
                rows("signature of the holder, runs, hosts, releases, median_bytes, max_bytes, first, last, is_new"),
            ),
            ("common", rows("signature of a finding, runs_with of runs, median_bytes, max_bytes, worst run")),
        ]),
    }
}

/// Answers a call.
pub(super) fn call(ask: &Ask<'_>, kept: &Kept) -> Result<Value, Failure> {
    let runs = ask.root.runs()?;
    if runs.found.len() < 2 || ask.root.is_run {
        let next = Next::new("overview", json!({}), "what is here");
        return Err(Failure::new("clusters need a lake of several runs", "look at the run").then(vec![next]));
    }
    if runs.found.len() > MOST {
        let problem = format!("{} runs are more than a call sums up: {MOST}", runs.found.len());
        let advice =
            "a person runs heaplake fleet rollup LAKE; serve a release, heaplake mcp LAKE/release=R, or compare";
        return Err(Failure::new(problem, advice));
    }
    let version: String = runs.found.iter().map(|found| format!("{}\n", found.run.identity)).collect();
    let page = Page::of("clusters", ask.arguments, &version)?;
    let earlier = locked(&kept.0).as_ref().filter(|(of, _)| *of == version).map(|(_, rollup)| Arc::clone(rollup));
    let rollup = match earlier {
        Some(rollup) => rollup,
        None => Arc::new(rolled(ask)?),
    };
    *locked(&kept.0) = Some((version, Arc::clone(&rollup)));
    Ok(answer(&rollup, &runs, &page).page(&page))
}

fn rolled(ask: &Ask<'_>) -> Result<Rollup, Failure> {
    let (tables, scratch) = (workplace::passing(None).or_fail()?, workplace::passing(None).or_fail()?);
    let request = Request {
        lake: &ask.root.path,
        choice: &Choice::default(),
        by: &[Key::Release],
        skip_damaged: true,
        folder: tables.path(),
        scratch: scratch.path(),
    };
    let rolled = rollup::roll(&request, &ask.context()).map_err(Diagnostic::from).or_fail()?;
    Ok(rolled.rollup)
}

fn answer(rollup: &Rollup, runs: &Runs, page: &Page) -> Answer {
    let mut clusters: Vec<&Cluster> = rollup.clusters.iter().collect();
    clusters.sort_by_key(|cluster| (Reverse(cluster.max_bytes), cluster.fingerprint.clone()));
    let mut data = Map::new();
    if page.first == 0 {
        data.insert("common".to_owned(), common(rollup));
    }
    let mut notes = Vec::new();
    if clusters.is_empty() {
        notes.push(
            "No holder retains far more in some runs than in the others. A leak that all runs have shows in common, or \
             in compare with an earlier release; one of a single run in its overview."
                .to_owned(),
        );
    }
    notes.extend(rollup.remarks.iter().take(3).cloned());
    let mut next: Vec<Next> =
        clusters.iter().skip(page.first).take(2).filter_map(|cluster| of_cluster(cluster)).collect();
    let releases = runs.found.iter().map(|found| &found.run.release).collect::<std::collections::BTreeSet<_>>();
    if releases.len() > 1 {
        next.push(Next::new("compare", json!({}), "what grew from the release before to the newest"));
    }
    Answer {
        of: "lake".to_owned(),
        population: "clusters of runs with the same leak, by their largest bytes".to_owned(),
        cut: Vec::new(),
        data,
        rows: Some(Rows {
            name: "clusters",
            rows: clusters.iter().skip(page.first).map(|cluster| row(cluster)).collect(),
            total: Some(clusters.len() as u64),
            more: false,
        }),
        notes,
        next,
    }
}

fn of_cluster(cluster: &Cluster) -> Option<Next> {
    let run = cluster.runs.first().and_then(|path| named(path))?;
    Some(Next::new("overview", json!({"run": run}), "the run of the cluster with most bytes"))
}

fn row(cluster: &Cluster) -> Value {
    let names: Vec<String> = cluster.runs.iter().take(NAMES).filter_map(|path| named(path)).collect();
    json!({
        "signature": cluster.signature,
        "runs": cluster.runs.len(),
        "some_runs": names,
        "hosts": cluster.hosts.len(),
        "some_hosts": cluster.hosts.iter().take(NAMES).collect::<Vec<_>>(),
        "releases": cluster.releases.iter().take(NAMES).collect::<Vec<_>>(),
        "median_bytes": cluster.median_bytes,
        "max_bytes": cluster.max_bytes,
        "first": cluster.captured_at_us.map(|[first, _]| moment::text(first)),
        "last": cluster.captured_at_us.map(|[_, last]| moment::text(last)),
        "is_new": cluster.is_new,
    })
}

/// Findings with most bytes over the runs of each group.
fn common(rollup: &Rollup) -> Value {
    let of_group = |group: &Group| -> Vec<(i64, Value)> {
        let tables = group.brief.iter().filter(|brief| brief.table == "rollup_findings");
        let names_holder = |signature: &str| !OF_WASTE.contains(&signature.split(' ').next().unwrap_or_default());
        let rows = tables.flat_map(|brief| brief.top.iter().map(move |row| (brief, row)));
        let rows = rows.filter(|(_, row)| names_holder(&row.signature));
        rows.map(|(brief, row)| {
            let worst = group.runs.get(row.worst).map(|run| format!("{}/{}", run.release, run.snapshot));
            let value = json!({
                "signature": row.signature,
                "release": group.release,
                "runs_with": row.runs_with,
                "runs": brief.runs,
                "median_bytes": row.p50,
                "max_bytes": row.max,
                "worst": worst,
            });
            (row.sum, value)
        })
        .collect()
    };
    let mut rows: Vec<(i64, Value)> = rollup.groups.iter().flat_map(of_group).collect();
    rows.sort_by_key(|(sum, _)| Reverse(*sum));
    rows.into_iter().take(COMMON).map(|(_, row)| row).collect()
}

/// Name of a run by its folder in the lake.
fn named(path: &str) -> Option<String> {
    let parts = place::parts(Path::new(path))?;
    Some(heaplake_kit::text::visible(&format!("{}/{}", parts.release, parts.snapshot)))
}
