//! Tool `query`: SQL over the tables of all runs, if heaplake was built with it.

use super::asking::Ask;
use heaplake_mcp::failure::Failure;
use heaplake_mcp::schema::{members, rows, text};
use heaplake_mcp::tool::Tool;
use serde_json::Value;

#[cfg(feature = "sql")]
mod statement;

/// Its declaration.
pub(super) fn tool() -> Tool {
    Tool {
        name: "query",
        description: "A SELECT over the tables of all runs (dialect of DataFusion), for what no other tool answers. \
                      Without sql: the tables; with table: its columns. Each table begins with release, snapshot, \
                      captured_at, labels. Rows of pages keep an order only with ORDER BY.",
        arguments: members([
            ("sql", text("one statement: SELECT, EXPLAIN, SHOW, DESCRIBE")),
            ("table", text("a table whose columns to list")),
        ]),
        data: members([
            ("tables", rows("table, what a row is")),
            ("columns", rows("column, type, meaning")),
            ("rows", rows("of the statement")),
        ]),
    }
}

/// Answers a call.
#[cfg(feature = "sql")]
pub(super) fn call(ask: &Ask<'_>) -> Result<Value, Failure> {
    statement::call(ask)
}

/// Explains that this build has no SQL.
#[cfg(not(feature = "sql"))]
pub(super) fn call(_: &Ask<'_>) -> Result<Value, Failure> {
    Err(Failure::new("this heaplake was built without SQL", "use the other tools; they need none"))
}
