//! Tool `why`: the paths that keep an object alive, and its dominators.

use super::asking::Ask;
use super::failing::{OrFail, json_of};
use super::object::no_node;
use heaplake_kit::text::size;
use heaplake_mcp::answer::Answer;
use heaplake_mcp::failure::Failure;
use heaplake_mcp::next::Next;
use heaplake_mcp::schema::{members, name_or_number, number, rows, text};
use heaplake_mcp::tool::Tool;
use heaplake_query::why::{self, Shown, Wanted};
use heaplake_schemas::nodes;
use serde_json::{Map, Value, json};

/// Most paths of a call.
const PATHS: u64 = 10;
/// Bytes that a search for several paths takes per node and per edge.
const OF_SEVERAL: (u64, u64) = (41, 12);
/// Steps of a path of a finding.
const STORED: usize = 24;

/// Its declaration.
pub(super) fn tool() -> Tool {
    Tool {
        name: "why",
        description: "Why an object is alive: a shortest path from a root with the names of the references, up to 10 \
                      further paths, and its dominators, each of which alone keeps what is below it.",
        arguments: members([
            ("run", text("RELEASE/NAME, if there are several")),
            ("node", name_or_number("its node, or @ and its id")),
            ("paths", number("further shortest paths, up to 10")),
        ]),
        data: members([
            ("path", rows("from the root down: edge that leads here, class, name, node, retained_bytes")),
            ("path_of_finding", rows("without the table of edges: the path of a finding about it, as texts")),
            ("paths", rows("several paths, each like path")),
            ("dominators", rows("from the root to the object")),
        ]),
    }
}

/// Answers a call.
pub(super) fn call(ask: &Ask<'_>) -> Result<Value, Failure> {
    let run = ask.need_run()?;
    let page = ask.page("why", &run)?;
    run.asked.need(&nodes::TABLE).or_fail()?;
    let Some(subject) = ask.subject()? else { return Err(no_node(&run)) };
    let node = run.asked.find(subject).or_fail()?;
    let paths = ask.arguments.number("paths")?.unwrap_or(0).min(PATHS);
    let mut notes = Vec::new();
    let summary = &run.asked.run().summary;
    let bytes = OF_SEVERAL.0.saturating_mul(summary.node_count) + OF_SEVERAL.1.saturating_mul(summary.edge_count);
    let fits = bytes <= ask.resources.memory;
    if !fits && paths > 0 {
        notes.push(format!("Only the shortest path: several take {}, and --memory is less.", size(bytes)));
    }
    let several = (paths > 0 && fits).then_some(paths as usize);
    let found = why::ask(&run.asked, subject, Wanted { paths: several, all: false }).or_fail()?;
    let mut cut = Vec::new();
    let mut data = Map::new();
    if let Some(path) = &found.shortest_path {
        data.insert("path".to_owned(), steps(path, ask.limits.steps, "path", &mut cut));
    }
    if let Some(stored) = &found.stored_path {
        data.insert(
            "path_of_finding".to_owned(),
            stored.steps.iter().take(STORED).map(|step| json!({"step": step})).collect(),
        );
    }
    let paths: Vec<Value> =
        found.paths.iter().map(|path| json!({"steps": steps(path, ask.limits.steps, "paths", &mut cut)})).collect();
    data.insert("paths".to_owned(), paths.into());
    data.insert("dominators".to_owned(), steps(&found.dominators, ask.limits.steps, "dominators", &mut cut));
    if let Some(note) = found.note {
        // The command that adds a table is for people, and longer than the rest.
        notes.push(note.split(":\n").next().unwrap_or_default().to_owned());
    }
    cut.dedup();
    let above = found.dominators.steps.iter().rev().nth(1).map(|step| step.node.node);
    let of = |node: u32| json!({"run": run.name, "node": node});
    let mut next = vec![Next::new("object", of(node), "its fields, and all references to it")];
    next.extend(above.map(|above| Next::new("dominated", of(above), "all that its immediate dominator keeps")));
    let population = "paths from a root to the object, and its dominators".to_owned();
    Ok(Answer { of: run.of(), population, cut, data, rows: None, notes, next }.page(&page))
}

/// Steps of a path, without its middle if it is longer than `most`.
fn steps(path: &Shown, most: usize, name: &str, cut: &mut Vec<String>) -> Value {
    let count = path.steps.len();
    let left_out = path.left_out + count.saturating_sub(most);
    if left_out > 0 {
        cut.push(format!("{name}: {left_out} steps in the middle, after the first {}", most / 2));
    }
    let kept = |at: usize| at < most / 2 || at + most / 2 >= count || count <= most;
    let step = |step: &why::Step| {
        let mut value = json_of(step);
        if let Some(members) = value.as_object_mut() {
            ["id", "distance", "shallow_bytes"].into_iter().for_each(|name| drop(members.remove(name)));
        }
        value
    };
    path.steps.iter().enumerate().filter(|(at, _)| kept(*at)).map(|(_, one)| step(one)).collect()
}
