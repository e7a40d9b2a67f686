//! `heaplake schema`: JSON Schemas of the JSON that heaplake prints and writes.

use super::{batch, diff, lake, plan};
use crate::diagnostic::{Diagnostic, Done};
use crate::engine::forecast::Forecast;
use crate::log::Line;
use crate::print;
use clap::Args;
use heaplake_compare::{rollup, trend};
use heaplake_lake::catalogue::Indexed;
use heaplake_lake::nearest::{clause, nearest};
use heaplake_lake::upkeep::{compact, list, verify};
use heaplake_query::{filter, object, top, track, tree, what_if, why};
use heaplake_redact::{Summary, secrets};
use heaplake_schemas::listing::Tables;
use heaplake_schemas::run::Run;
use heaplake_secrets::report::Report;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

const MORE: &str = "\
Examples:
  heaplake schema
  heaplake schema why > why.schema.json
  heaplake schema --all

A schema is one of JSON Schema 2020-12. An answer may get further members within a version of the tables \
 (heaplake --version); members are renamed or retyped with a new version only.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake schema why", after_long_help = MORE)]
pub(crate) struct Arguments {
    /// The command, such as why or lake drop, or run.json; without it, list all
    #[arg(value_name = "ANSWER")]
    answer: Vec<String>,
    /// Print all schemas as one, of an object with an answer of each name
    #[arg(long, conflicts_with = "answer")]
    all: bool,
}

/// An answer and its schema.
struct Answer {
    /// The command, with the option that makes it print something else.
    name: &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

/// All answers: with `--json` the commands print these, `analyze --findings-json` and each run have a file, and `events`
/// is a line of standard error with `--log-format json`.
const ANSWERS: &[Answer] = &[
    Answer { name: "run.json", schema: of::<Run> },
    Answer { name: "analyze", schema: of::<Vec<batch::Report>> },
    Answer { name: "analyze --findings-json", schema: of::<Vec<batch::FindingsJson>> },
    Answer { name: "replay", schema: of::<Vec<batch::Report>> },
    Answer { name: "duplicates", schema: of::<Vec<batch::Report>> },
    Answer { name: "track", schema: of::<track::TrackedObject> },
    Answer { name: "plan", schema: of::<Forecast> },
    Answer { name: "plan --each", schema: of::<plan::Line> },
    Answer { name: "redact", schema: of::<Summary> },
    Answer { name: "redact --check", schema: of::<secrets::Secrets> },
    Answer { name: "secrets", schema: of::<Report> },
    Answer { name: "ls", schema: of::<list::Listing> },
    Answer { name: "lake verify", schema: of::<verify::Verified> },
    Answer { name: "lake drop", schema: of::<lake::drop::Report> },
    Answer { name: "lake compact", schema: of::<compact::Compacted> },
    Answer { name: "lake index", schema: of::<Indexed> },
    Answer { name: "lake label", schema: of::<lake::label::Report> },
    Answer { name: "lake merge", schema: of::<lake::merge::Report> },
    Answer { name: "diff", schema: of::<diff::Compared> },
    Answer { name: "trend", schema: of::<trend::Answer> },
    Answer { name: "fleet rollup", schema: of::<rollup::Answer> },
    Answer { name: "show", schema: of::<Run> },
    Answer { name: "why", schema: of::<why::Why> },
    Answer { name: "what-if", schema: of::<what_if::WhatIf> },
    Answer { name: "top", schema: of::<top::Top> },
    Answer { name: "object", schema: of::<object::Objects> },
    Answer { name: "query", schema: of::<filter::Answer> },
    Answer { name: "dominators", schema: of::<tree::Branch> },
    Answer { name: "tables", schema: of::<Tables> },
    Answer { name: "events", schema: of::<Line> },
];

/// Prints the names of all answers, or the schema of one, or all schemas.
pub(crate) fn run(arguments: &Arguments) -> Done {
    if arguments.all {
        return print::json(&document(|generator| {
            let named = |answer: &Answer| (answer.name.to_owned(), (answer.schema)(generator).to_value());
            json_schema!({"type": "object", "properties": ANSWERS.iter().map(named).collect::<Map<_, _>>()})
        }));
    }
    if arguments.answer.is_empty() {
        return Ok(print::text(&ANSWERS.iter().map(|answer| format!("{}\n", answer.name)).collect::<String>()));
    }
    let name = arguments.answer.join(" ");
    match ANSWERS.iter().find(|answer| answer.name == name) {
        Some(answer) => print::json(&document(answer.schema)),
        None => {
            let near = clause(&nearest(&name, ANSWERS.iter().map(|answer| answer.name.to_owned())));
            let cause = format!("no command prints JSON called {name:?}{near}");
            Err(Diagnostic::usage(cause, "heaplake schema lists all"))
        }
    }
}

/// Schema of a type; that of each struct in it is a definition of the document.
fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A schema with its definitions, of types as they are serialised.
fn document(schema: impl FnOnce(&mut SchemaGenerator) -> Schema) -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = schema(&mut generator);
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("$defs".to_owned(), generator.take_definitions(true).into());
    let mut schema = schema.to_value();
    plain(&mut schema);
    schema
}

/// Turns links of descriptions to other items of the sources into their names, and joins their lines. A real number may
/// be null: JSON has no infinity, such as the end of an open interval.
fn plain(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.get("type").is_some_and(|kind| kind == "number") {
                members.insert("type".to_owned(), json!(["number", "null"]));
            }
            for (name, member) in members.iter_mut() {
                match member {
                    Value::String(text) if name == "description" => *text = without_links(text),
                    other => plain(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

/// A text of Rust's documentation without the targets of its links.
fn without_links(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('[') {
        out += before;
        let Some((name, behind)) = after.split_once(']') else {
            out.push('[');
            rest = after;
            continue;
        };
        let target = behind.strip_prefix('(').and_then(|target| target.split_once(')'));
        if target.is_some() || name.starts_with('`') {
            out += name;
            rest = target.map_or(behind, |(_, behind)| behind);
        } else {
            out.push('[');
            rest = after;
        }
    }
    out += rest;
    out.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_have_no_links() {
        assert_eq!(without_links("see [`Run`] and\n[a page](x.md): List[] [1]"), "see `Run` and a page: List[] [1]");
    }
}
