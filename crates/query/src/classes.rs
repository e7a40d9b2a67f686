//! Classes of a run, their holders, chains and instances.

use crate::asked::Asked;
use crate::error::QueryError;
use crate::largest::Largest;
use crate::names::nearest;
use crate::rows::{NodeRow, fetch};
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::{chains, classes, nodes, retainer_trees};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;

/// A class. Sizes are bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClassRow {
    /// Number, as in the table of nodes.
    pub class_id: u32,
    /// Name; not unique.
    pub class: String,
    /// Instances.
    pub count: u64,
    /// Their shallow sizes.
    pub shallow_bytes: u64,
    /// Their retained size, nothing twice.
    pub retained_bytes: u64,
    /// Largest retained size of an instance.
    pub max_retained_bytes: u64,
    /// Instances in sets of duplicates; `None` if not searched.
    pub duplicate_count: Option<u64>,
    /// Whether it is big, so that it has chains.
    pub big: bool,
}

/// A branch of the retainer tree of a class, or a chain to its instances.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Held {
    /// The path as text.
    pub path: String,
    /// Instances held through it.
    pub count: u64,
    /// Instances that only it holds; `None` for a chain.
    pub only_count: Option<u64>,
    /// Instances that were looked at: all, or a sample; `None` for a chain.
    pub looked_at: Option<u64>,
    /// Retained bytes of the instances.
    pub retained_bytes: u64,
    /// A holder, or for a chain an instance.
    pub node: u32,
}

/// All classes, in the order of the table: retained size, descending.
///
/// # Errors
/// [`QueryError`] also if the run has no table of classes.
pub fn all(asked: &Asked) -> Result<Vec<ClassRow>, QueryError> {
    const NUMBERS: [&str; 4] = ["count", "shallow_bytes", "retained_bytes", "max_retained_bytes"];
    let reader = Reader::open(&asked.need(&classes::TABLE)?)?;
    let extra: Vec<&str> = ["duplicate_count", "big"].into_iter().filter(|column| reader.has(column)).collect();
    let mut batches = reader.columns(&[&["class_id", "class"], &NUMBERS[..], &extra].concat())?;
    let mut rows = Vec::new();
    while let Some(batch) = batches.batch()? {
        let (ids, names) = (batch.u32s("class_id")?, batch.texts("class")?);
        let [count, shallow, retained, max] = NUMBERS.map(|name| batch.sizes(name));
        let (count, shallow, retained, max) = (count?, shallow?, retained?, max?);
        let duplicates = batch.has("duplicate_count").then(|| batch.sizes("duplicate_count")).transpose()?;
        let big = batch.has("big").then(|| batch.flags("big")).transpose()?;
        rows.extend((0..batch.len()).map(|row| ClassRow {
            class_id: ids.value(row),
            class: names.value(row).to_owned(),
            count: count.value(row),
            shallow_bytes: shallow.value(row),
            retained_bytes: retained.value(row),
            max_retained_bytes: max.value(row),
            duplicate_count: duplicates.as_ref().and_then(|column| value(column, row)),
            big: big.is_some_and(|big| big.value(row)),
        }));
    }
    Ok(rows)
}

/// Finds a class by its number or name; of several with one name, the largest. A name without match is tried ignoring
/// case, then as the end of a name.
///
/// # Errors
/// The nearest names, if there is no such class.
pub fn find(rows: &[ClassRow], wanted: &str) -> Result<ClassRow, Vec<String>> {
    let number = wanted.parse::<u32>().ok();
    let lower = wanted.to_lowercase();
    let end = |row: &&ClassRow| {
        let name = row.class.to_lowercase();
        name.strip_suffix(&lower).is_some_and(|before| before.ends_with(['.', '/', '$', ':', ' ']))
    };
    let found = rows.iter().find(|row| number == Some(row.class_id));
    let found = found.or_else(|| rows.iter().find(|row| row.class == wanted));
    let found = found.or_else(|| rows.iter().find(|row| row.class.to_lowercase() == lower));
    let found = found.or_else(|| rows.iter().find(end).filter(|_| !lower.is_empty()));
    let names = || rows.iter().map(|row| row.class.as_str());
    found.cloned().ok_or_else(|| nearest(names(), wanted).into_iter().map(str::to_owned).collect())
}

/// Branches of the retainer tree of a class, down to the third level: the parts of a run that hold its instances. Empty
/// if the run has none of the class.
pub fn holders(asked: &Asked, class: u32) -> Result<Vec<Held>, QueryError> {
    const DEEPEST: u32 = 3;
    const NUMBERS: [&str; 4] = ["looked_at", "count", "retained_bytes", "exclusive_count"];
    if !asked.has(retainer_trees::TABLE.file) {
        return Ok(Vec::new());
    }
    let columns = [&["class_id", "level", "kind", "text", "example_node"], &NUMBERS[..]].concat();
    let mut batches = Reader::open(&asked.need(&retainer_trees::TABLE)?)?.columns(&columns)?;
    let mut found = Vec::new();
    while let Some(batch) = batches.batch()? {
        let (ids, levels, examples) = (batch.u32s("class_id")?, batch.u32s("level")?, batch.u32s("example_node")?);
        let (kinds, texts) = (batch.texts("kind")?, batch.texts("text")?);
        let [looked_at, count, retained, only] = NUMBERS.map(|name| batch.sizes(name));
        let (looked_at, count, retained, only) = (looked_at?, count?, retained?, only?);
        for row in (0..batch.len()).filter(|&row| ids.value(row) == class) {
            if levels.value(row) <= DEEPEST && kinds.value(row) != "rest" {
                found.push(Held {
                    path: texts.value(row).to_owned(),
                    count: count.value(row),
                    only_count: Some(only.value(row)),
                    looked_at: Some(looked_at.value(row)),
                    retained_bytes: retained.value(row),
                    node: examples.value(row),
                });
            }
        }
    }
    Ok(found)
}

/// Chains of shortest paths to the instances of a class, by retained size. Empty if the class is not big.
pub fn chains_of(asked: &Asked, class: u32, most: usize) -> Result<Vec<Held>, QueryError> {
    if !asked.has(chains::TABLE.file) {
        return Ok(Vec::new());
    }
    let columns = ["kind", "class_id", "text", "count", "retained_bytes", "example_node"];
    let mut batches = Reader::open(&asked.need(&chains::TABLE)?)?.columns(&columns)?;
    let mut found = Vec::new();
    while let Some(batch) = batches.batch()? {
        let (kinds, ids, texts) = (batch.texts("kind")?, batch.u32s("class_id")?, batch.texts("text")?);
        let (count, retained) = (batch.sizes("count")?, batch.sizes("retained_bytes")?);
        let examples = batch.u32s("example_node")?;
        for row in (0..batch.len()).filter(|&row| ids.value(row) == class && kinds.value(row) == chains::KINDS[0]) {
            found.push(Held {
                path: texts.value(row).to_owned(),
                count: count.value(row),
                only_count: None,
                looked_at: None,
                retained_bytes: retained.value(row),
                node: examples.value(row),
            });
            if found.len() == most {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// Instances of a class by retained size, from the place `first` to the place `end`: one pass over two columns.
pub fn instances(asked: &Asked, class: u32, first: usize, end: usize) -> Result<Vec<NodeRow>, QueryError> {
    let table = asked.need(&nodes::TABLE)?;
    let mut largest = Largest::new(end);
    let counts_empty = !asked.run.summary.format.starts_with("v8");
    let mut batches = Reader::open(&table)?.columns(&["class_id", "retained_bytes", "shallow_bytes", "reachable"])?;
    while let Some(batch) = batches.batch()? {
        let (ids, retained) = (batch.u32s("class_id")?, batch.sizes("retained_bytes")?);
        let (shallow, reachable) = (batch.sizes("shallow_bytes")?, batch.flags("reachable")?);
        for (row, &id) in ids.values().iter().enumerate() {
            // As the table of classes counts: no garbage, and in V8 no nodes without a size.
            if id == class && reachable.value(row) && (counts_empty || shallow.value(row) > 0) {
                largest.add((Reverse(retained.value(row)), (batch.first_row() + row as u64) as u32));
            }
        }
    }
    let page: Vec<u32> = largest.from(first).into_iter().map(|entry| entry.1).collect();
    let rows = fetch(&table, page.iter().copied())?;
    Ok(page.iter().filter_map(|node| rows.get(node).cloned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(class_id: u32, class: &str) -> ClassRow {
        ClassRow {
            class_id,
            class: class.to_owned(),
            count: 1,
            shallow_bytes: 1,
            retained_bytes: 1,
            max_retained_bytes: 1,
            duplicate_count: None,
            big: false,
        }
    }

    #[test]
    fn a_class_is_found_by_number_name_and_end() {
        let rows = [row(7, "com.shop.Cart"), row(9, "Session"), row(3, "Session"), row(4, "7")];
        let found = |wanted: &str| find(&rows, wanted).map(|row| row.class_id);
        assert_eq!(found("3"), Ok(3));
        assert_eq!(found("Session"), Ok(9));
        assert_eq!(found("session"), Ok(9));
        assert_eq!(found("Cart"), Ok(7));
        assert_eq!(found("7"), Ok(7), "a number is a number");
        assert_eq!(found("Sesion"), Err(vec!["Session".to_owned(), "Session".to_owned()]));
        assert!(found("").is_err() && found("Quaternion").unwrap_err().is_empty());
    }
}
