//! Tool `object`: one object, its fields, and its references in both directions.

use super::asking::{Ask, OfRun};
use super::failing::{OrFail, json_of};
use heaplake_mcp::answer::Answer;
use heaplake_mcp::failure::Failure;
use heaplake_mcp::next::Next;
use heaplake_mcp::schema::{members, name_or_number, number, object, rows, text};
use heaplake_mcp::tool::Tool;
use heaplake_query::object::{self, Value as Content, Which};
use heaplake_query::references::{self, Reference};
use heaplake_query::{Subject, details, rows as node_rows};
use heaplake_schemas::{edges, nodes, values};
use serde_json::{Map, Value, json};

/// Its declaration.
pub(super) fn tool() -> Tool {
    Tool {
        name: "object",
        description: "One object: class, sizes, owner, source place, immediate dominator, fields with values where the \
                      run has them, and the references it holds and is held by.",
        arguments: members([
            ("run", text("RELEASE/NAME, if there are several")),
            ("node", name_or_number("its node, or @ and its id")),
        ]),
        data: members([
            (
                "object",
                object("node, id, class, class_id, name, shallow_bytes, retained_bytes, dominator, owner, place"),
            ),
            ("fields", rows("name, kind, value, to: node of a reference")),
            ("holds", rows("edge, kind, node, class, name, retained_bytes")),
            ("holds_total", number("all references it holds")),
            ("held_by", rows("likewise, of references to it")),
            ("held_by_total", number("all references to it")),
        ]),
    }
}

/// Answers a call.
pub(super) fn call(ask: &Ask<'_>) -> Result<Value, Failure> {
    let run = ask.need_run()?;
    let page = ask.page("object", &run)?;
    run.asked.need(&nodes::TABLE).or_fail()?;
    let Some(subject) = ask.subject()? else { return Err(no_node(&run)) };
    let node = run.asked.find(subject).or_fail()?;
    let details = details::ask(&run.asked, node).or_fail()?;
    let mut notes = Vec::new();
    let mut data = Map::new();
    let found = node_rows::fetch(&nodes_of(&run)?, [node]).or_fail()?;
    let mut row = found.get(&node).map(json_of).unwrap_or_default();
    if let (Some(row), Value::Object(more)) = (row.as_object_mut(), json_of(&details)) {
        row.extend(more);
    }
    data.insert("object".to_owned(), row);
    if run.asked.has(values::TABLE.file) {
        data.extend(fields(&run, node, ask.limits.fields)?);
    }
    let mut cut = Vec::new();
    match references::ask(&run.asked, node, ask.limits.references).or_fail()? {
        Some(found) => {
            for (name, list, total) in
                [("holds", &found.holds, found.holds_total), ("held_by", &found.held_by, found.held_by_total)]
            {
                data.insert(name.to_owned(), list.iter().map(reference).collect());
                data.insert(format!("{name}_total"), total.into());
                if total > list.len() as u64 {
                    cut.push(format!("{name}: the largest {} of {total}", list.len()));
                }
            }
        }
        None => notes.push(without_edges()),
    }
    let of = |node: u32| json!({"run": run.name, "node": node});
    let mut next = vec![Next::new("why", of(node), "the paths that keep it")];
    next.push(Next::new("dominated", of(node), "what it alone keeps"));
    next.extend(details.dominator.map(|above| Next::new("object", of(above), "its immediate dominator")));
    let class = details.class_id.map(|class| json!({"run": run.name, "class": class}));
    next.extend(class.map(|class| Next::new("class", class, "its class and what holds its instances")));
    let population = "the object, its fields and its references".to_owned();
    Ok(Answer { of: run.of(), population, cut, data, rows: None, notes, next }.page(&page))
}

fn nodes_of(run: &OfRun) -> Result<std::path::PathBuf, Failure> {
    run.asked.need(&nodes::TABLE).or_fail()
}

/// Remark of answers that need the table of edges.
pub(crate) fn without_edges() -> String {
    format!(
        "The run has no table of {}, so references are unknown; a person adds it with heaplake analyze --edges --force.",
        edges::TABLE.name
    )
}

/// Failure of a call that names no object.
pub(crate) fn no_node(run: &OfRun) -> Failure {
    let next = Next::new("top", json!({"run": run.name}), "it lists objects with their node");
    Failure::new("argument node is missing", "take node from another answer").then(vec![next])
}

pub(crate) fn reference(reference: &Reference) -> Value {
    let mut value = json_of(reference);
    if let Some(members) = value.as_object_mut() {
        ["id", "distance", "shallow_bytes"].into_iter().for_each(|name| drop(members.remove(name)));
        if reference.essential {
            members.remove("essential");
        }
    }
    value
}

/// A field of an object.
pub(crate) fn field(field: &object::Field) -> Value {
    let content: Option<&Content> = field.values.first().and_then(Option::as_ref);
    let mut value = content.map(json_of).unwrap_or_default();
    value["name"] = field.name.clone().into();
    value
}

/// Fields of an object, as members of the answer.
fn fields(run: &OfRun, node: u32, most: usize) -> Result<Map<String, Value>, Failure> {
    let found = object::ask(&run.asked, &Which::Subjects(vec![Subject::Node(node)])).or_fail()?;
    let shown: Value = found.fields.iter().take(most).map(field).collect();
    Ok(Map::from_iter([("fields".to_owned(), shown), ("fields_total".to_owned(), found.fields.len().into())]))
}
