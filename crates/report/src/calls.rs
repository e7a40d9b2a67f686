//! Call trees, folded to a size that a page can show.
//!
//! A node is shown if it is among those with the largest share of all bytes or of all objects. Its ancestors have at
//! least the same share, so they are shown, too. The page knows the exclusive and inclusive values of a node, so it can
//! compute the sum of the omitted nodes below it.

use crate::tables::Shown;
use crate::texts::Texts;
use heaplake_kit::StageError;
use heaplake_lake::reader::{Reader, damaged, value};
use heaplake_schemas::{allocation_callees, allocation_callers, allocation_functions, allocation_types};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

/// Maximum nodes shown per tree.
const SHOWN: usize = 3000;

/// A node: parent index (null at the top), name, inclusive bytes and objects, exclusive bytes and objects.
pub type Call = (Option<u32>, u32, u64, u64, u64, u64);

/// A table with a call tree in preorder.
struct Form {
    file: &'static str,
    /// Columns of inclusive bytes and objects.
    inclusive: [&'static str; 2],
    /// Columns of exclusive bytes and objects; `None` means 0.
    exclusive: Option<[&'static str; 2]>,
    /// Whether there is a tree per type.
    typed: bool,
}

const CALLEES: Form = Form {
    file: allocation_callees::TABLE.file,
    inclusive: ["inclusive_bytes", "inclusive_count"],
    exclusive: Some(["exclusive_bytes", "exclusive_count"]),
    typed: false,
};

const CALLERS: Form = Form {
    file: allocation_callers::TABLE.file,
    inclusive: ["estimated_bytes", "estimated_count"],
    exclusive: None,
    typed: true,
};

/// Reads the call tree, from the outermost functions down; `None` if the run has none.
pub fn callees(folder: &Path, texts: &mut Texts) -> Result<Option<Shown<Call>>, StageError> {
    CALLEES.read(folder, texts)
}

/// Reads the reversed call trees: types, their allocating functions, the callers of these, and so on.
pub fn callers(folder: &Path, texts: &mut Texts) -> Result<Option<Shown<Call>>, StageError> {
    CALLERS.read(folder, texts)
}

/// A row to show.
struct Row {
    node: u32,
    parent: Option<u32>,
    type_id: u32,
    function: u32,
    inclusive: [u64; 2],
    exclusive: [u64; 2],
}

impl Form {
    fn read(&self, folder: &Path, texts: &mut Texts) -> Result<Option<Shown<Call>>, StageError> {
        let Some(reader) = Reader::open_if_present(&folder.join(self.file))? else { return Ok(None) };
        let of = reader.rows();
        let Some(kept) = self.largest(folder)? else { return Ok(None) };
        let rows = self.rows(reader, &kept)?;
        let functions: Vec<u32> = rows.iter().map(|row| row.function).collect();
        let functions =
            names(folder, allocation_functions::TABLE.file, ["function_id", "function"], &functions, texts)?;
        let types: Vec<u32> = rows.iter().filter(|_| self.typed).map(|row| row.type_id).collect();
        let types = names(folder, allocation_types::TABLE.file, ["type_id", "type"], &types, texts)?;
        let mut calls: Vec<Call> = Vec::new();
        let mut places = FxHashMap::default();
        let mut top: Option<(u32, u32)> = None;
        for row in rows {
            // Insert the type as the root of its tree.
            if self.typed && top.is_none_or(|(type_id, _)| type_id != row.type_id) {
                top = Some((row.type_id, calls.len() as u32));
                calls.push((None, named(&types, row.type_id, "type", texts), 0, 0, 0, 0));
            }
            let parent = match row.parent {
                None => top.map(|(_, place)| place),
                Some(parent) => Some(places.get(&parent).copied().ok_or_else(|| {
                    let problem = format!("expected that node {parent} has more than node {} below it", row.node);
                    damaged(&folder.join(self.file), problem)
                })?),
            };
            if let (None, Some((_, place))) = (row.parent, top) {
                let all = &mut calls[place as usize];
                (all.2, all.3) = (all.2.saturating_add(row.inclusive[0]), all.3.saturating_add(row.inclusive[1]));
            }
            places.insert(row.node, calls.len() as u32);
            let name = named(&functions, row.function, "function", texts);
            calls.push((parent, name, row.inclusive[0], row.inclusive[1], row.exclusive[0], row.exclusive[1]));
        }
        Ok(Some(Shown { of, rows: calls }))
    }

    /// Nodes with the largest shares of the total, in order; `None` if an older table lacks a column.
    fn largest(&self, folder: &Path) -> Result<Option<Vec<u32>>, StageError> {
        let mut totals = [0_u64; 2];
        let columns = [self.inclusive[0], self.inclusive[1], "depth"];
        let open = || Reader::open_if_present(&folder.join(self.file));
        if open()?.is_none_or(|reader| columns.iter().any(|column| !reader.has(column))) {
            return Ok(None);
        }
        let each = |visit: &mut dyn FnMut(u32, [u64; 2], u32)| -> Result<(), StageError> {
            let Some(reader) = open()? else { return Ok(()) };
            let mut batches = reader.columns(&columns)?;
            let mut node = 0;
            while let Some(rows) = batches.batch()? {
                let [bytes, count] = [columns[0], columns[1]].map(|name| rows.sizes(name));
                let (bytes, count, depth) = (bytes?, count?, rows.u32s("depth")?);
                for at in 0..rows.len() {
                    visit(node, [bytes.value(at), count.value(at)], depth.value(at));
                    node += 1;
                }
            }
            Ok(())
        };
        each(&mut |_, amounts, depth| {
            if depth == 0 {
                totals = [totals[0].saturating_add(amounts[0]), totals[1].saturating_add(amounts[1])];
            }
        })?;
        // On ties the first wins, which is the ancestor.
        let mut best = BinaryHeap::with_capacity(SHOWN + 1);
        each(&mut |node, [bytes, count], _| {
            let part = (u128::from(bytes) * u128::from(totals[1])).max(u128::from(count) * u128::from(totals[0]));
            best.push(Reverse((part, Reverse(node))));
            if best.len() > SHOWN {
                best.pop();
            }
        })?;
        let mut kept: Vec<u32> = best.into_iter().map(|Reverse((_, Reverse(node)))| node).collect();
        kept.sort_unstable();
        Ok(Some(kept))
    }

    /// Reads rows of the table.
    fn rows(&self, reader: Reader, kept: &[u32]) -> Result<Vec<Row>, StageError> {
        let mut columns = vec!["node", "parent", "function_id", self.inclusive[0], self.inclusive[1]];
        columns.extend(self.exclusive.into_iter().flatten());
        columns.extend(self.typed.then_some("type_id"));
        let mut batches = reader.only(kept)?.columns(&columns)?;
        let mut rows = Vec::with_capacity(kept.len());
        while let Some(batch) = batches.batch()? {
            let numbers = |names: [&str; 2], at: usize| -> Result<[u64; 2], StageError> {
                let [bytes, count] = names.map(|name| batch.sizes(name));
                Ok([bytes?.value(at), count?.value(at)])
            };
            let id = |name: &str, at: usize| batch.u32s(name).map(|column| value(column, at));
            for at in 0..batch.len() {
                rows.push(Row {
                    node: id("node", at)?.unwrap_or(u32::MAX),
                    parent: id("parent", at)?,
                    type_id: if self.typed { id("type_id", at)?.unwrap_or(u32::MAX) } else { u32::MAX },
                    function: id("function_id", at)?.unwrap_or(u32::MAX),
                    inclusive: numbers(self.inclusive, at)?,
                    exclusive: self.exclusive.map_or(Ok([0; 2]), |names| numbers(names, at))?,
                });
            }
        }
        Ok(rows)
    }
}

fn named(names: &FxHashMap<u32, u32>, id: u32, what: &str, texts: &mut Texts) -> u32 {
    names.get(&id).copied().unwrap_or_else(|| texts.add(&format!("{what} {id}")))
}

/// Names of ids, from a table in any order; empty if the run has no such table.
fn names(
    folder: &Path,
    file: &str,
    [id, name]: [&str; 2],
    wanted: &[u32],
    texts: &mut Texts,
) -> Result<FxHashMap<u32, u32>, StageError> {
    let wanted: FxHashSet<u32> = wanted.iter().copied().collect();
    let mut names = FxHashMap::default();
    let (Some(ids), Some(reader)) =
        (Reader::open_if_present(&folder.join(file))?, Reader::open_if_present(&folder.join(file))?)
    else {
        return Ok(names);
    };
    let (mut batches, mut rows, mut row) = (ids.columns(&[id])?, Vec::new(), 0);
    while let Some(batch) = batches.batch()? {
        for &id in batch.u32s(id)?.values() {
            rows.extend(wanted.contains(&id).then_some(row));
            row += 1;
        }
    }
    let mut batches = reader.only(&rows)?.columns(&[id, name])?;
    while let Some(batch) = batches.batch()? {
        for at in 0..batch.len() {
            let text = texts.add(batch.texts(name)?.value(at));
            names.insert(batch.u32s(id)?.value(at), text);
        }
    }
    Ok(names)
}
