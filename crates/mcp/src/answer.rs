//! Answers: data in pages that fit into a number of bytes, with their coverage and the next useful calls.
//!
//! An answer has these members:
//!
//! | member | content |
//! |---|---|
//! | `of` | the run or the lake that it is about |
//! | `coverage` | `population`: the listed things and their whole; `total`, `first` and `shown` rows; `cut`: omissions; `cursor` of the next page |
//! | `heap_data` | the data, with all texts that come from heaps |
//! | `notes` | remarks of heaplake, a sentence each |
//! | `next` | the next useful calls: `tool`, `arguments`, `because` |
//!
//! A page takes rows until the bytes are full, at least one. A cursor is the number of the next row and a hash of the
//! question and of the version of the run, so that it fits no other question and no run that was replaced.

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::next::Next;
use crate::texts::{LONGEST, tame, tamed, without_nulls};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of an answer, unless the call says otherwise.
pub const BYTES: usize = 6000;
/// Least and most bytes that a call may ask for.
pub const BOUNDS: (usize, usize) = (1500, 64_000);
/// Most rows of a page.
pub const ROWS: usize = 200;
/// Characters to which texts are cut, one after the other, until the parts of an answer that are not rows fit.
const SHORTER: [usize; 5] = [LONGEST, 160, 80, 40, 20];

/// The page that a call asks for.
#[derive(Clone, Debug)]
pub struct Page {
    /// Rows before it.
    pub first: usize,
    /// Most rows.
    pub rows: usize,
    /// Most bytes of the answer.
    pub bytes: usize,
    /// Hash of the question and of the versions of its runs.
    question: u64,
}

impl Page {
    /// Reads the arguments `cursor`, `limit` and `max_bytes`. `version` changes with the rows.
    ///
    /// # Errors
    /// A cursor of another question, or of a run that was replaced.
    pub fn of(tool: &str, arguments: &Arguments, version: &str) -> Result<Self, Failure> {
        let text = format!("{tool}\n{}\n{version}", arguments.without_page());
        let question = xxh3_64(text.as_bytes());
        let rows = arguments.number("limit")?.unwrap_or(ROWS as u64).clamp(1, ROWS as u64) as usize;
        let most = (BOUNDS.0 as u64, BOUNDS.1 as u64);
        let bytes = arguments.number("max_bytes")?.unwrap_or(BYTES as u64).clamp(most.0, most.1) as usize;
        let first = match arguments.text("cursor")? {
            None => 0,
            Some(cursor) => {
                let parts = cursor.split_once('-').filter(|(_, hash)| *hash == format!("{:08x}", question as u32));
                parts.and_then(|(first, _)| first.parse().ok()).ok_or_else(|| {
                    Failure::new(
                        "this cursor belongs to another question, or the run was replaced",
                        "repeat the call without cursor",
                    )
                })?
            }
        };
        Ok(Self { first, rows, bytes, question })
    }

    /// The same page with other bounds than those of agents.
    #[must_use]
    pub fn within(self, rows: usize, bytes: usize) -> Self {
        Self { rows, bytes, ..self }
    }

    /// The last row that the page can show, plus one.
    #[must_use]
    pub fn end(&self) -> usize {
        self.first.saturating_add(self.rows)
    }

    fn cursor(&self, next: usize) -> String {
        format!("{next}-{:08x}", self.question as u32)
    }
}

/// Rows of an answer.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Name of the list in `heap_data`.
    pub name: &'static str,
    /// Rows from the first of the page on, at least those of the page if there are as many.
    pub rows: Vec<Value>,
    /// Number of rows that the question has; `None` if unknown.
    pub total: Option<u64>,
    /// Whether there are rows after these, if the total is unknown.
    pub more: bool,
}

/// An answer in the making.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Run or lake.
    pub of: String,
    /// The set that its rows or numbers describe.
    pub population: String,
    /// Omissions, besides rows of further pages and ends of texts.
    pub cut: Vec<String>,
    /// Data besides the rows.
    pub data: Map<String, Value>,
    /// Rows.
    pub rows: Option<Rows>,
    /// Remarks.
    pub notes: Vec<String>,
    /// Next calls.
    pub next: Vec<Next>,
}

impl Answer {
    /// Completes the answer: takes as many rows as fit, escapes and cuts the texts.
    #[must_use]
    pub fn page(self, page: &Page) -> Value {
        let room = page.bytes - page.bytes / 20;
        for most in SHORTER {
            let value = self.clone().cut_to(page, most, room);
            if size(&value) <= page.bytes || most == SHORTER[SHORTER.len() - 1] {
                return value;
            }
        }
        json!({})
    }

    fn cut_to(self, page: &Page, most: usize, room: usize) -> Value {
        let mut data = Value::Object(self.data);
        without_nulls(&mut data);
        let mut texts_cut = tame(&mut data, most);
        let mut coverage = json!({"population": tamed(&self.population, LONGEST)});
        let notes: Vec<String> = self.notes.iter().map(|note| tamed(note, LONGEST)).collect();
        let mut value = json!({"of": tamed(&self.of, LONGEST)});
        let mut next: Vec<Value> = Vec::new();
        for call in &self.next {
            let is_new = |other: &Value| other["tool"] != call.tool || other["arguments"] != json!(call.arguments);
            if next.iter().all(is_new) {
                next.push(call.value());
            }
        }
        if let Some(rows) = self.rows {
            // 200: coverage.
            let around = size(&data) + size(&json!(notes)) + size(&json!(next)) + size(&value) + 200;
            let (taken, cut) = fitting(rows.rows, page, most, room.saturating_sub(around));
            texts_cut |= cut;
            let shown = taken.rows.len();
            coverage["total"] = json!(rows.total);
            coverage["first"] = json!(page.first);
            coverage["shown"] = json!(shown);
            let end = page.first + shown;
            if taken.left > 0 || rows.more || rows.total.is_some_and(|total| (end as u64) < total && shown > 0) {
                coverage["cursor"] = json!(page.cursor(end));
            }
            data[rows.name] = Value::Array(taken.rows);
        }
        let mut cut = self.cut;
        if texts_cut {
            cut.push(format!("texts after {most} characters"));
        }
        if !cut.is_empty() {
            coverage["cut"] = json!(cut);
        }
        without_nulls(&mut coverage);
        value["coverage"] = coverage;
        value["heap_data"] = data;
        if !notes.is_empty() {
            value["notes"] = json!(notes);
        }
        value["next"] = json!(next);
        value
    }
}

/// Rows of a page, and the number of those after it.
struct Taken {
    rows: Vec<Value>,
    left: usize,
}

/// Takes rows until the bytes are full, at least one; returns also whether a text was cut.
fn fitting(rows: Vec<Value>, page: &Page, most: usize, room: usize) -> (Taken, bool) {
    let (mut taken, mut bytes, mut cut) = (Vec::new(), 0, false);
    let total = rows.len();
    for mut row in rows.into_iter().take(page.rows) {
        without_nulls(&mut row);
        let was_cut = tame(&mut row, most);
        bytes += size(&row) + 1;
        if bytes > room && !taken.is_empty() {
            break;
        }
        cut |= was_cut;
        taken.push(row);
    }
    let left = total - taken.len();
    (Taken { rows: taken, left }, cut)
}

/// Bytes of a value as JSON.
fn size(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(value: &Value) -> Arguments {
        Arguments::new(value.as_object().cloned().unwrap_or_default())
    }

    fn answer(count: usize, from: usize) -> Answer {
        let rows = (from..count).map(|at| json!({"at": at, "name": "x".repeat(at % 90)})).collect();
        Answer {
            of: "run a".to_owned(),
            population: "numbers".to_owned(),
            rows: Some(Rows { name: "rows", rows, total: Some(count as u64), more: false }),
            next: vec![Next::new("top", json!({"run": "a", "node": null}), "it is there")],
            ..Answer::default()
        }
    }

    #[test]
    fn pages_fit_and_reach_the_end() {
        for (count, bytes) in [(0, 6000), (1, 1500), (500, 1500), (500, 6000), (500, 64_000)] {
            let (mut seen, mut cursor, mut pages) = (Vec::new(), None, 0);
            loop {
                let asked = arguments(&json!({"max_bytes": bytes, "cursor": cursor, "run": "a"}));
                let page = Page::of("top", &asked, "1").unwrap();
                let value = answer(count, page.first).page(&page);
                assert!(value.to_string().len() <= bytes, "{}", value.to_string().len());
                seen.extend(value["heap_data"]["rows"].as_array().unwrap().iter().map(|row| row["at"].clone()));
                pages += 1;
                match value["coverage"]["cursor"].as_str() {
                    Some(next) => cursor = Some(next.to_owned()),
                    None => break,
                }
            }
            assert_eq!(seen, (0..count).map(|at| json!(at)).collect::<Vec<_>>(), "{count} {bytes}");
            assert!(pages <= 1 + count / 3);
        }
    }

    #[test]
    fn a_cursor_fits_its_question_only() {
        let page = Page::of("top", &arguments(&json!({"run": "a"})), "1").unwrap();
        let cursor = page.cursor(7);
        let of = |tool: &str, run: &str, version: &str| {
            Page::of(tool, &arguments(&json!({"run": run, "cursor": cursor, "limit": 3})), version)
                .map(|page| page.first)
        };
        assert_eq!(of("top", "a", "1").unwrap(), 7);
        assert!(of("class", "a", "1").is_err() && of("top", "b", "1").is_err() && of("top", "a", "2").is_err());
        for bad in ["", "7", "-", "x-00000000", "99999999999999999999999-00000000"] {
            assert!(Page::of("top", &arguments(&json!({"run": "a", "cursor": bad})), "1").is_err(), "{bad}");
        }
    }

    #[test]
    fn large_parts_that_are_no_rows_are_cut_until_they_fit() {
        let data: Map<String, Value> = (0..30).map(|at| (format!("m{at}"), json!("y".repeat(5000)))).collect();
        let page = Page::of("why", &arguments(&json!({})), "1").unwrap();
        let value = Answer { data, ..answer(9, 0) }.page(&page);
        assert!(value.to_string().len() <= BYTES, "{}", value.to_string().len());
        assert!(value["coverage"]["cut"][0].as_str().unwrap().starts_with("texts after"));
        assert_eq!(value["heap_data"]["rows"].as_array().unwrap().len(), 9);
    }
}
