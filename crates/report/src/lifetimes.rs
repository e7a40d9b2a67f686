//! Deaths of objects, by the call path that allocated them.

use crate::tables::Shown;
use crate::texts::Texts;
use heaplake_kit::StageError;
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::lifetime_paths;
use heaplake_schemas::object_lifetimes::GENERATIONS;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::path::Path;

/// Maximum paths shown.
const PATHS: usize = 500;
/// Maximum functions shown of a path, from the innermost.
const FUNCTIONS: usize = 12;
/// Maximum bytes of a path's text.
const LONGEST: usize = 2000;

/// Bytes and objects by generation.
type Ends = [(u64, u64); GENERATIONS.len()];

/// A call path, and the deaths of the objects allocated at its inner end.
#[derive(Serialize)]
pub struct Ended {
    /// Functions, innermost first.
    name: u32,
    bytes: u64,
    count: u64,
    /// Bytes and objects that died in each generation, or live.
    ends: Ends,
}

/// Reads the paths with most bytes; `None` if the run has no such table.
pub fn paths(folder: &Path, texts: &mut Texts) -> Result<Option<Shown<Ended>>, StageError> {
    let file = folder.join(lifetime_paths::TABLE.file);
    let Some(reader) = Reader::open_if_present(&file)? else { return Ok(None) };
    // Largest paths so far, by bytes, then in table order.
    let mut most: Vec<(u64, u32, Ends)> = Vec::new();
    let mut of = 0;
    let mut last: Option<(u32, Ends)> = None;
    let mut end = |last: Option<(u32, Ends)>| {
        let Some((node, ends)) = last.filter(|(_, ends)| ends.iter().any(|&(_, count)| count > 0)) else { return };
        of += 1;
        let bytes = ends.iter().fold(0, |sum: u64, &(bytes, _)| sum.saturating_add(bytes));
        let at = most.partition_point(|&(other, ..)| other >= bytes);
        if at < PATHS {
            most.insert(at, (bytes, node, ends));
            most.truncate(PATHS);
        }
    };
    let mut batches = reader.columns(&["node", "generation", "exclusive_bytes", "exclusive_count"])?;
    while let Some(rows) = batches.batch()? {
        let (nodes, generations) = (rows.u32s("node")?, rows.texts("generation")?);
        let (bytes, counts) = (rows.sizes("exclusive_bytes")?, rows.sizes("exclusive_count")?);
        for at in 0..rows.len() {
            let Some(generation) = GENERATIONS.iter().position(|&name| name == generations.value(at)) else { continue };
            let node = nodes.value(at);
            if last.is_none_or(|(before, _)| before != node) {
                end(last.replace((node, Ends::default())));
            }
            if let Some((_, ends)) = &mut last {
                ends[generation] = (bytes.value(at), counts.value(at));
            }
        }
    }
    end(last);
    let names = names(&file, &most.iter().map(|&(_, node, _)| node).collect::<Vec<_>>())?;
    let rows = most.into_iter().map(|(bytes, node, ends)| Ended {
        name: texts.add_within(names.get(&node).map_or("", String::as_str), LONGEST),
        bytes,
        count: ends.iter().fold(0, |sum, &(_, count)| sum.saturating_add(count)),
        ends,
    });
    Ok(Some(Shown { of, rows: rows.collect() }))
}

/// Texts of paths.
fn names(file: &Path, nodes: &[u32]) -> Result<FxHashMap<u32, String>, StageError> {
    let mut names: FxHashMap<u32, String> = nodes.iter().map(|&node| (node, String::new())).collect();
    let mut batches = Reader::open(file)?.columns(&["node", "depth", "function"])?;
    // Intern functions: a path may be long.
    let (mut numbers, mut functions) = (FxHashMap::<String, usize>::default(), Vec::<String>::new());
    let mut path: Vec<usize> = Vec::new();
    while let Some(rows) = batches.batch()? {
        let (ids, depths, of) = (rows.u32s("node")?, rows.u32s("depth")?, rows.texts("function")?);
        for at in 0..rows.len() {
            // Rows are in preorder: callers precede their callees.
            path.truncate(depths.value(at) as usize);
            let function = value(of, at).unwrap_or("?");
            let number = numbers.get(function).copied().unwrap_or(functions.len());
            if number == functions.len() {
                numbers.insert(function.to_owned(), number);
                functions.push(function.to_owned());
            }
            path.push(number);
            if let Some(name) = names.get_mut(&ids.value(at)).filter(|name| name.is_empty()) {
                let inner: Vec<&str> = path.iter().rev().take(FUNCTIONS).map(|&number| &*functions[number]).collect();
                *name = inner.join(" < ");
                name.push_str(if path.len() > FUNCTIONS { " < …" } else { "" });
            }
        }
    }
    Ok(names)
}
