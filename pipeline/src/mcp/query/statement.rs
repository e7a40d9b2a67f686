//! Statements of the tool `query`.

use crate::bucket;
use crate::engine::workplace;
use crate::mcp::asking::Ask;
use crate::mcp::failing::OrFail;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_kit::{raise_open_files, text};
use heaplake_lake::nearest::nearest;
use heaplake_mcp::answer::{Answer, Page, Rows};
use heaplake_mcp::failure::Failure;
use heaplake_mcp::next::Next;
use heaplake_schemas::table::TableSchema;
use heaplake_schemas::tables;
use heaplake_sql::collected::Collected;
use heaplake_sql::error::{Kind, SqlError};
use heaplake_sql::session::{Limits, Session};
use serde_json::{Map, Value, json};

/// Rows that pages reach: each page runs the statement anew.
const DEEPEST: usize = 100_000;
/// Tries of a statement whose runs are replaced meanwhile.
const TRIES: usize = 3;

/// Answers a call.
pub(super) fn call(ask: &Ask<'_>) -> Result<Value, Failure> {
    let page = Page::of("query", ask.arguments, "")?;
    if let Some(table) = ask.arguments.text("table")? {
        return Ok(columns(&table, &page)?.page(&page));
    }
    let Some(sql) = ask.arguments.text("sql")? else { return Ok(listed(&page).page(&page)) };
    if ask.root.is_run {
        let advice = "serve the lake for SQL: heaplake mcp LAKE; the other tools need none";
        return Err(Failure::new("SQL asks a lake, and this is one run", advice));
    }
    Ok(answered(ask, &sql, &page)?.page(&page))
}

fn known() -> impl Iterator<Item = &'static TableSchema> {
    tables::ALL.iter().filter(|table| table.runs.have_it())
}

fn listed(page: &Page) -> Answer {
    let own = known().map(|table| json!({"table": table.name, "row": table.row}));
    let rows: Vec<Value> = own.chain([json!({"table": "runs", "row": "run, with its labels and sums"})]).collect();
    let total = Some(rows.len() as u64);
    let next = Next::new("query", json!({"table": "classes"}), "the columns of a table");
    Answer {
        of: "lake".to_owned(),
        population: "tables; a run may lack some".to_owned(),
        rows: Some(Rows { name: "tables", rows: rows.into_iter().skip(page.first).collect(), total, more: false }),
        next: vec![next],
        ..Answer::default()
    }
}

fn columns(name: &str, page: &Page) -> Result<Answer, Failure> {
    let Some(table) = known().find(|table| table.name == name) else {
        let near = nearest(name, known().map(|table| table.name.to_owned()));
        let next = Next::new("query", json!({}), "it lists the tables");
        return Err(Failure::new(format!("there is no table {name:?}"), "name one of the tables")
            .near(near)
            .then(vec![next]));
    };
    let plain = |meaning: &str| meaning.replace('`', "");
    let rows: Vec<Value> = table
        .columns
        .iter()
        .map(|column| json!({"column": column.name, "nullable": column.nullable, "meaning": plain(column.meaning)}))
        .collect();
    let total = Some(rows.len() as u64);
    Ok(Answer {
        of: "lake".to_owned(),
        population: format!("columns of {}, after release, snapshot, captured_at and labels of the run", table.name),
        data: Map::from_iter([("order".to_owned(), plain(table.order).into())]),
        rows: Some(Rows { name: "columns", rows: rows.into_iter().skip(page.first).collect(), total, more: false }),
        ..Answer::default()
    })
}

fn answered(ask: &Ask<'_>, sql: &str, page: &Page) -> Result<Answer, Failure> {
    let statements = Session::statements(sql).map_err(failed)?;
    let [statement] = &statements[..] else {
        let problem = format!("expected one statement, found {}", statements.len());
        return Err(Failure::new(problem, "call once for each statement"));
    };
    if page.first >= DEEPEST {
        return Err(Failure::new(format!("pages reach {DEEPEST} rows"), "add conditions, or LIMIT with OFFSET"));
    }
    let scratch = workplace::passing(None).or_fail()?;
    let store = bucket::of(&ask.root.path).or_fail()?;
    let memory = ask.resources.memory.saturating_sub(FIXED_OVERHEAD);
    let limits = Limits { memory, threads: ask.resources.threads, scratch: scratch.path(), bucket: store.as_ref() };
    raise_open_files();
    let mut tries = 0;
    let (rows, damaged) = loop {
        let session = Session::open(&ask.root.path, limits, ask.cancel).map_err(failed)?;
        let mut rows = Collected::new(page.first, page.rows, 2 * page.bytes);
        tries += 1;
        match session.run(statement.clone(), None, &mut rows, ask.cancel) {
            Err(error) if error.kind == Kind::Changed && tries < TRIES => {}
            Err(error) => return Err(failed(error)),
            Ok(_) => break (rows, session.lake().damaged.len()),
        }
    };
    let notes = if damaged > 0 { vec![format!("{damaged} unreadable runs are left out.")] } else { Vec::new() };
    Ok(answer(rows, notes))
}

fn answer(found: Collected, notes: Vec<String>) -> Answer {
    // A row shows which columns are null by their absence, so an empty answer names its columns.
    let names: Vec<String> = found.columns.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
    let is_empty = found.rows.is_empty();
    Answer {
        of: "lake".to_owned(),
        population: "rows of the statement; nulls are left out".to_owned(),
        data: if is_empty { Map::from_iter([("columns".to_owned(), json!(names))]) } else { Map::new() },
        rows: Some(Rows { name: "rows", rows: found.rows, total: None, more: found.more }),
        notes,
        ..Answer::default()
    }
}

fn failed(error: SqlError) -> Failure {
    let next = Next::new("query", json!({}), "it lists the tables");
    Failure::new(text::visible(&error.cause), error.advice).then(vec![next])
}
