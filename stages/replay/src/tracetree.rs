//! The allocation tree of a V8 `.heapsnapshot` with allocation tracking.
//!
//! `trace_tree` is a call tree: each node has a function, and number and bytes of the objects that it allocated itself
//! since tracking began, dead or alive. So every allocation counts, but there are no types, objects or deaths.
//! Functions come before the tree and their names after it, so functions are numbered first and named at the end. Nodes
//! and edges of the snapshot are skipped.

use crate::replay::Replay;
use crate::stacks::{At, EMPTY};
use crate::symbols::Function;
use heaplake_input::bytes::Bytes;
use heaplake_input::json::{StringSink, readable};
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, BudgetVec, InputError, StageError};
use rustc_hash::FxHashMap;

/// Beginning of a snapshot, without spaces.
pub(crate) const BEGINNING: &[u8] = b"{\"snapshot\":";

/// The type of all objects; the tree has none.
const ANY: u64 = 0;

/// Advice for snapshots without such a tree.
const HINT: &str = "heaplake analyze reads it; replay needs one that was taken while allocations were tracked";

/// Longest accepted key and field name, bytes.
const MOST_KEY: usize = 1 << 20;

/// Longest name of a function or script, bytes; longer ones are cut.
const MOST_NAME: usize = 1 << 20;

/// Bytes per entry of the name table, without its text, growth included.
const ENTRY: u64 = 96;

/// Beginnings of an object and an array, for errors.
const OBJECT: &str = "an object ({)";
/// See [`OBJECT`].
const ARRAY: &str = "an array ([)";

/// Selected fields of a function, in this order.
const FUNCTION_FIELDS: [&str; 4] = ["name", "script_name", "line", "column"];

/// Selected fields of a node, in this order; the children come last.
const NODE_FIELDS: [&str; 3] = ["function_info_index", "count", "size"];

/// A function as in the file.
#[derive(Clone, Copy)]
struct Info {
    /// Positions of name and script among the strings.
    texts: [u32; 2],
    /// Line and column; 0 if unknown.
    place: [u32; 2],
}

/// Positions of fields in a row, and its length.
struct Fields<const N: usize> {
    at: [usize; N],
    count: usize,
}

/// Reads the tree of a snapshot; the format has no version. Refuses snapshots without such a tree.
pub(crate) fn read(json: &mut Bytes<'_>, replay: &mut Replay, budget: &Budget) -> Result<Option<String>, StageError> {
    replay.types.name(ANY, b"(any)")?;
    json.skip_byte_order_mark()?;
    json.expect(b'{', OBJECT)?;
    let mut fields = None;
    let mut functions = budget.growing("functions of the allocation tree");
    let (mut first, mut nodes) = (true, 0);
    while let Some(key) = json.next_key(&mut first, MOST_KEY)? {
        match (&key[..], &fields) {
            (b"snapshot", _) => fields = meta(json)?,
            (b"trace_function_infos", Some((of_function, _))) => infos(json, of_function, &mut functions)?,
            (b"trace_tree", Some((_, of_node))) => nodes = tree(json, of_node, &functions, replay, budget)?,
            (b"strings", _) => name(json, &functions, replay, budget)?,
            _ => json.skip_value()?,
        }
    }
    if nodes > 0 {
        return Ok(None);
    }
    Err(without(json))
}

/// The refusal of a snapshot without tracking.
fn without(json: &Bytes<'_>) -> StageError {
    let expected = "a heap snapshot with an allocation tree".to_owned();
    let (file, found) = (json.name().to_owned(), "one without".to_owned());
    InputError { file, offset: 0, expected, found, hint: HINT }.into()
}

type Meta = (Fields<4>, Fields<3>);

/// Reads the field descriptions, inside the value of `snapshot`; `None` if allocations have none. Refuses a snapshot
/// early if its header has nodes but no allocating function.
fn meta(json: &mut Bytes<'_>) -> Result<Option<Meta>, StageError> {
    let (mut of_function, mut of_node) = (None, None);
    json.expect(b'{', OBJECT)?;
    let (mut first, mut nodes, mut functionless) = (true, 0, false);
    while let Some(key) = json.next_key(&mut first, MOST_KEY)? {
        match &key[..] {
            b"node_count" => nodes = json.number()?,
            b"trace_function_count" => functionless = json.number()? == 0,
            b"meta" => {}
            _ => json.skip_value()?,
        }
        if key != b"meta" {
            continue;
        }
        json.expect(b'{', OBJECT)?;
        let mut first = true;
        while let Some(key) = json.next_key(&mut first, MOST_KEY)? {
            match &key[..] {
                b"trace_function_info_fields" => of_function = positions(json, FUNCTION_FIELDS)?,
                // The children, which are not selected, come last.
                b"trace_node_fields" => {
                    of_node = positions(json, NODE_FIELDS)?
                        .filter(|fields: &Fields<3>| fields.at.iter().all(|&at| at + 1 < fields.count));
                }
                _ => json.skip_value()?,
            }
        }
    }
    if functionless && nodes > 0 {
        return Err(without(json));
    }
    Ok(of_function.zip(of_node))
}

/// Returns the positions of fields in a list of names; `None` if one is missing.
fn positions<const N: usize>(json: &mut Bytes<'_>, wanted: [&str; N]) -> Result<Option<Fields<N>>, StageError> {
    const MOST: usize = 64;
    let mut names = Vec::new();
    json.expect(b'[', ARRAY)?;
    let mut first = true;
    while json.next_element(&mut first)? {
        if names.len() == MOST {
            return Err(json.unexpected(format!("at most {MOST} fields")));
        }
        names.push(json.short_string(MOST_KEY)?);
    }
    let mut at = [0; N];
    for (slot, wanted) in at.iter_mut().zip(wanted) {
        let Some(position) = names.iter().position(|name| name == wanted.as_bytes()) else { return Ok(None) };
        *slot = position;
    }
    Ok(Some(Fields { at, count: names.len() }))
}

fn infos(json: &mut Bytes<'_>, fields: &Fields<4>, functions: &mut BudgetVec<Info>) -> Result<(), StageError> {
    let mut row = Vec::with_capacity(fields.count);
    json.expect(b'[', ARRAY)?;
    let mut first = true;
    while json.next_element(&mut first)? {
        row.push(json.number()? as u32);
        if row.len() == fields.count {
            let [name, script, line, column] = fields.at.map(|at| row[at]);
            functions.push(Info { texts: [name, script], place: [line, column] })?;
            row.clear();
        }
    }
    Ok(())
}

/// Reads the tree, with a stack of four bytes per level: one entry per open list of children. Returns the number of
/// nodes.
fn tree(
    json: &mut Bytes<'_>,
    fields: &Fields<3>,
    functions: &[Info],
    replay: &mut Replay,
    budget: &Budget,
) -> Result<u64, StageError> {
    let mut open = budget.growing::<u32>("the depth of the allocation tree");
    let mut row = vec![0; fields.count - 1];
    let mut nodes = 0;
    json.expect(b'[', ARRAY)?;
    open.push(EMPTY)?;
    let mut first = true;
    while let Some(&caller) = open.last() {
        if !json.next_element(&mut first)? {
            open.pop();
            first = false;
            continue;
        }
        for value in &mut row {
            *value = json.number()?;
            json.expect(b',', "a comma")?;
        }
        json.expect(b'[', "the children ([)")?;
        let [function, count, bytes] = fields.at.map(|at| row[at]);
        if function >= functions.len() as u64 {
            let expected = format!("one of {} functions", functions.len());
            return Err(json.error(json.offset(), &expected, format!("number {function}")));
        }
        // The outermost node is the root, not a function.
        let node = if open.len() == 1 { EMPTY } else { replay.stacks.callee(caller, function)? };
        if count > 0 {
            replay.site(ANY, (count, bytes), &mut At(node))?;
        }
        nodes += 1;
        open.push(node)?;
        first = true;
    }
    Ok(nodes)
}

/// Keeps the strings of functions.
struct FunctionStrings {
    /// By position among the strings.
    texts: FxHashMap<u32, Vec<u8>>,
    account: MemoryAccount,
    /// Position of the next string.
    number: u32,
}

impl StringSink for FunctionStrings {
    fn piece(&mut self, bytes: &[u8]) -> Result<(), StageError> {
        if let Some(text) = self.texts.get_mut(&self.number) {
            let piece = &bytes[..bytes.len().min(MOST_NAME - text.len())];
            self.account.make_room(text, piece.len())?;
            text.extend_from_slice(piece);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), StageError> {
        self.number = self.number.saturating_add(1);
        Ok(())
    }
}

/// Names the functions from the strings, of which they need few.
fn name(json: &mut Bytes<'_>, functions: &[Info], replay: &mut Replay, budget: &Budget) -> Result<(), StageError> {
    let account = MemoryAccount::new(budget, "the names of the allocation tree")?;
    let mut names = FunctionStrings { texts: FxHashMap::default(), account, number: 0 };
    for text in functions.iter().flat_map(|info| info.texts) {
        if names.texts.insert(text, Vec::new()).is_none() {
            names.account.add(ENTRY)?;
        }
    }
    json.string_array(&mut names)?;
    let text = |number| names.texts.get(&number).map(|text| readable(text)).unwrap_or_default();
    for (info, number) in functions.iter().zip(0..) {
        let [name, file] = info.texts.map(text);
        let name = if name.is_empty() { "(anonymous)".to_owned() } else { name };
        let [line, column] = info.place;
        let line = (line > 0).then_some(line);
        // The column distinguishes functions on one line.
        let function = Function { name, file, line, column, ..Function::default() };
        replay.symbols.define(number, function)?;
    }
    Ok(())
}
