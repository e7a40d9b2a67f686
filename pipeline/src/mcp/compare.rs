//! Tool `compare`: what grew between two runs, or two groups of runs.
//!
//! The tables of a comparison go to a folder of temporary files, which is removed with the call. The last answer is
//! kept in memory for its further pages.

use super::asking::Ask;
use super::failing::{OrFail, json_of};
use super::root::{Runs, name, releases};
use crate::diagnostic::Diagnostic;
use crate::engine::workplace;
use heaplake_compare::Rules;
use heaplake_compare::diff::{self, Answer as Compared, TopRow};
use heaplake_compare::sides::Sides;
use heaplake_kit::stage::Output;
use heaplake_kit::threads::locked;
use heaplake_lake::selection::{FoundRun, Selection};
use heaplake_mcp::answer::{Answer, Page, Rows};
use heaplake_mcp::failure::Failure;
use heaplake_mcp::next::Next;
use heaplake_mcp::schema::{members, object, rows, text};
use heaplake_mcp::tool::Tool;
use heaplake_names::{Normaliser, Runtime};
use heaplake_schemas::diff::Status;
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The last comparison, by its question.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Option<(String, Arc<Compared>)>>);

/// Most runs of a comparison.
const MOST: usize = 5000;
/// Tables of which an answer lists rows: those that name holders.
const TABLES: [&str; 5] = ["diff_findings", "diff_classes", "diff_chains", "diff_owners", "diff_allocation_types"];

/// Its declaration.
pub(super) fn tool() -> Tool {
    Tool {
        name: "compare",
        description: "What grew from base to target: classes, findings, chains of holders, owners, with the holder \
                      through which they grew, and with statistics for several runs a side. Without arguments: the \
                      newest release with the one before, or the two newest runs.",
        arguments: members([
            ("base", text("RELEASE/NAME, or conditions such as release=1.2,label.host=web*")),
            ("target", text("likewise")),
        ]),
        data: members([
            ("base", object("selection, runs, mean bytes of a run")),
            ("target", object("likewise")),
            (
                "grown",
                rows(
                    "table, subject, status, base_bytes and target_bytes: means of a run, grew_through, q, changed_on hosts",
                ),
            ),
        ]),
    }
}

/// Answers a call.
pub(super) fn call(ask: &Ask<'_>, kept: &Kept) -> Result<Value, Failure> {
    let runs = ask.root.runs()?;
    let [base, target] = sides(ask, &runs)?;
    let version: String = base.1.iter().chain(&target.1).map(|found| format!("{}\n", found.run.identity)).collect();
    let page = Page::of("compare", ask.arguments, &version)?;
    let question = format!("{}\n{}\n{version}", base.0, target.0);
    let earlier =
        locked(&kept.0).as_ref().filter(|(asked, _)| *asked == question).map(|(_, answer)| Arc::clone(answer));
    let compared = match earlier {
        Some(compared) => compared,
        None => Arc::new(compared(ask, [&base.0, &target.0])?),
    };
    *locked(&kept.0) = Some((question, Arc::clone(&compared)));
    Ok(answer(&compared, &page, &target.1, &ask.root.path).page(&page))
}

/// A side: what selects it, and its runs.
type Side<'a> = (String, Vec<&'a FoundRun>);

fn sides<'a>(ask: &Ask<'_>, runs: &'a Runs) -> Result<[Side<'a>; 2], Failure> {
    let named = [ask.arguments.text("base")?, ask.arguments.text("target")?];
    let [base, target] = match named {
        [Some(base), Some(target)] => [side(&base, runs)?, side(&target, runs)?],
        [None, None] => newest(runs)?,
        _ => return Err(Failure::new("a comparison needs base and target, or neither", "name both")),
    };
    for (selection, found) in [&base, &target] {
        if found.len() > MOST {
            let problem = format!("{selection}: {} runs are more than {MOST}", found.len());
            return Err(Failure::new(problem, "add a condition, such as label.host=web1* or last=1d"));
        }
    }
    Ok([base, target])
}

/// The side that a text names: a run, or conditions.
fn side<'a>(text: &str, runs: &'a Runs) -> Result<Side<'a>, Failure> {
    let is_run = !text.contains('=') || text.starts_with("release=") && text.contains("/snapshot=");
    if is_run {
        let found = runs.named(text)?;
        return Ok((found.place.display().to_string(), vec![found]));
    }
    let selection = Selection::parse(text)
        .map_err(|problem| Failure::new(problem, "conditions are FIELD=PATTERN, separated by commas"))?;
    let mut found: Vec<FoundRun> = runs.found.iter().filter(|found| selection.takes(&found.run)).cloned().collect();
    selection.leave_newest(&mut found);
    if found.is_empty() {
        let entries: Vec<_> = runs.found.iter().map(|found| &found.run).collect();
        let unmet = selection.unmet(&entries, &[]).unwrap_or_else(|| "no run is like that".to_owned());
        let next = Next::new("overview", json!({}), "it lists releases and runs");
        return Err(Failure::new(format!("{text}: {unmet}"), "overview lists releases and runs").then(vec![next]));
    }
    let is_there = |one: &&FoundRun| found.iter().any(|other| other.place == one.place);
    Ok((text.to_owned(), runs.found.iter().filter(is_there).collect()))
}

/// The newest release and the one before, or else the two newest runs.
fn newest(runs: &Runs) -> Result<[Side<'_>; 2], Failure> {
    if let [(last, _), (before, _), ..] = &releases(runs.found.iter())[..] {
        return Ok([release(before, runs), release(last, runs)]);
    }
    let mut found: Vec<&FoundRun> = runs.found.iter().collect();
    found.sort_by_key(|found| (Reverse(found.run.captured_at_us), Reverse(name(found))));
    match found[..] {
        [last, before, ..] => Ok([side(&name(before), runs)?, side(&name(last), runs)?]),
        [_] => Err(Failure::new("there is only one run: nothing to compare it with", "look at its findings")
            .then(vec![Next::new("overview", json!({}), "what the run has")])),
        [] => Err(runs.unnamed()),
    }
}

/// All runs of a release, named by their folder: the name of a release may look like a pattern.
fn release<'a>(name: &str, runs: &'a Runs) -> Side<'a> {
    let found: Vec<&FoundRun> = runs.found.iter().filter(|found| *found.run.release == *name).collect();
    let folder = found.first().and_then(|found| found.place.parent());
    (folder.map(|folder| folder.display().to_string()).unwrap_or_default(), found)
}

fn compared(ask: &Ask<'_>, named: [&String; 2]) -> Result<Compared, Failure> {
    let context = ask.context();
    let scratch = workplace::passing(None).or_fail()?;
    let sides = Sides::find(&named.map(Clone::clone), Some(&ask.root.path), true, &context).or_fail()?;
    let formats = sides.by_format(diff::BOTH).or_fail()?;
    let rules = |part: &heaplake_compare::sides::OfFormat| Rules {
        names: Normaliser::of(Runtime::of_format(&part.format)),
        own_names: false,
        pair: Some("host"),
        scratch: scratch.path(),
    };
    let rules: Vec<Rules<'_>> = formats.parts.iter().map(rules).collect();
    let output = Output { folder: scratch.path().to_owned(), ..Output::default() };
    diff::compare(&sides, &formats, &rules, &output, &context).map_err(Diagnostic::from).or_fail()
}

fn answer(compared: &Compared, page: &Page, target: &[&FoundRun], root: &Path) -> Answer {
    let comparison = &compared.comparison;
    let about = |side: &heaplake_schemas::comparison::Side| {
        let bytes: u64 = side.runs.iter().map(|run| run.bytes).sum();
        let folder = Path::new(&side.selection);
        let within = folder.strip_prefix(root).unwrap_or(folder);
        json!({
            "selection": within.display().to_string(),
            "runs": side.runs.len(),
            "mean_bytes": bytes / (side.runs.len() as u64).max(1),
        })
    };
    let mut grown = grown(compared);
    let total = grown.len() as u64;
    let mut notes: Vec<String> = comparison.remarks.iter().take(3).cloned().collect();
    if grown.is_empty() {
        notes.push("Nothing grew beyond what runs differ by anyway.".to_owned());
    }
    let mut data = Map::new();
    if page.first == 0 {
        data.insert("base".to_owned(), about(&comparison.base));
        data.insert("target".to_owned(), about(&comparison.target));
    }
    grown.drain(..page.first.min(grown.len()));
    let largest = target.iter().max_by_key(|found| (found.run.findings.map(|number| number.min(1)), found.run.bytes));
    let next = largest.map(|found| {
        Next::new("overview", json!({"run": name(found)}), "the run of the target with the most severe findings")
    });
    Answer {
        of: "lake".to_owned(),
        population: "subjects that grew, the first 20 of each table: findings, classes, chains, owners".to_owned(),
        cut: Vec::new(),
        data,
        rows: Some(Rows { name: "grown", rows: grown, total: Some(total), more: false }),
        notes,
        next: next.into_iter().collect(),
    }
}

/// Subjects that grew: of the findings first, then by bytes.
fn grown(compared: &Compared) -> Vec<Value> {
    let names: Vec<&str> = Status::ALL.iter().filter(|status| status.is_growth()).map(|status| status.name()).collect();
    let mut rows: Vec<(usize, Reverse<i64>, Value)> = Vec::new();
    for brief in &compared.compared {
        let Some(at) = TABLES.iter().position(|table| *table == brief.table) else { continue };
        for row in brief.top.iter().filter(|row| names.contains(&row.status)) {
            let order = usize::from(at > 0);
            rows.push((order, Reverse(row.delta_sum.unwrap_or(0)), grown_row(brief.table, brief.measure, row)));
        }
    }
    rows.sort_by_key(|(order, delta, _)| (*order, *delta));
    rows.into_iter().map(|(_, _, row)| row).collect()
}

fn grown_row(table: &str, measure: &str, row: &TopRow) -> Value {
    let through = row.grew_through.as_ref().map(|through| &through.text);
    json!({
        "table": table.trim_start_matches("diff_"),
        "subject": row.signature,
        "measure": measure,
        "status": row.status,
        "base": row.base.map(|amount| amount.mean),
        "target": row.target.map(|amount| amount.mean),
        "grew_through": through,
        "q": row.q,
        "changed_on": (row.of > 1).then(|| format!("{} of {}", row.changed_on, row.of)),
        "hosts": json_of(&row.changed_on_names),
    })
}
