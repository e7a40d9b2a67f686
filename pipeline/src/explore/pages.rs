//! Pages that are longer than an agent's.

use heaplake_mcp::answer::{Answer, Page};
use serde_json::Value;

/// Rows of a page of a long list.
const ROWS: usize = 10_000;
/// Bytes of a page.
const BYTES: usize = 3 << 20;

/// A page of a long list.
pub(super) fn of_list(page: Page) -> Page {
    page.within(ROWS, BYTES)
}

/// Completes an answer.
pub(super) fn long(answer: Answer, page: &Page) -> Value {
    answer.page(&page.clone().within(page.rows, BYTES))
}
