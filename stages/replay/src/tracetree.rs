//! The allocation tree of a V8 `.heapsnapshot` that was taken while allocations were tracked.
//!
//! `trace_tree` is a tree of calls: each node has a function, how many objects it allocated itself since the tracking
//! began, and their bytes, whether or not they are still alive. So the numbers are of every allocation, but there are
//! no types, no objects and no deaths in them. Functions stand before the tree, their names behind it, so functions
//! are numbered first and named at the end. Nodes and edges of the snapshot are passed over.

use crate::replay::Replay;
use crate::stacks::{At, EMPTY};
use crate::symbols::Function;
use heaplake_input::json::{Scanner, StringSink, readable};
use heaplake_kit::charge::Charge;
use heaplake_kit::{Budget, BudgetVec, InputError, StageError};
use rustc_hash::FxHashMap;

/// How a snapshot begins, spaces apart.
pub const BEGINNING: &[u8] = b"{\"snapshot\":";

/// The type of all objects, which have none here.
const ANY: u64 = 0;

/// What errors about snapshots without such a tree advise.
const HINT: &str = "heaplake analyze reads it; replay needs one that was taken while allocations were tracked";

/// Longest key and name of a field that make sense, bytes.
const MOST_KEY: usize = 1 << 20;

/// Names of functions and scripts are cut where they are longer, bytes.
const MOST_NAME: usize = 1 << 20;

/// Bytes of an entry of the table of names besides its text, also while it grows.
const ENTRY: u64 = 96;

/// What an object or an array begins with, in errors.
const OBJECT: &str = "an object ({)";
/// See [`OBJECT`].
const ARRAY: &str = "an array ([)";

/// Fields of a function that are taken, in this order.
const FUNCTION_FIELDS: [&str; 4] = ["name", "script_name", "line", "column"];

/// Fields of a node that are taken, in this order; the children come last.
const NODE_FIELDS: [&str; 3] = ["function_info_index", "count", "size"];

/// A function as the file has it.
#[derive(Clone, Copy)]
struct Info {
    /// Positions of name and script among the strings.
    texts: [u32; 2],
    /// Line and column; 0 for unknown.
    place: [u32; 2],
}

/// Where fields are in a row, and how many it has.
struct Fields<const N: usize> {
    at: [usize; N],
    count: usize,
}

/// Reads the tree of a snapshot; it has no version.
///
/// # Errors
/// [`StageError::Input`] for what is not of the format or has no such tree, and those of the replay.
pub fn read(json: &mut Scanner<'_>, replay: &mut Replay, budget: &Budget) -> Result<Option<String>, StageError> {
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

/// The refusal of a snapshot that was taken without tracking.
fn without(json: &Scanner<'_>) -> StageError {
    let expected = "a heap snapshot with an allocation tree".to_owned();
    let (file, found) = (json.name().to_owned(), "one without".to_owned());
    InputError { file, offset: 0, expected, found, hint: HINT }.into()
}

type Meta = (Fields<4>, Fields<3>);

/// The description of the fields, from within the value of `snapshot`; nothing where it has none of allocations. A
/// snapshot whose header says that it has nodes and no function that allocated is refused before the rest is read.
fn meta(json: &mut Scanner<'_>) -> Result<Option<Meta>, StageError> {
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
                // The children, which are not taken, come last.
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

/// Where these fields are among those of a list of names; nothing where one is not.
fn positions<const N: usize>(json: &mut Scanner<'_>, wanted: [&str; N]) -> Result<Option<Fields<N>>, StageError> {
    const MOST: usize = 64;
    let mut names = Vec::new();
    json.expect(b'[', ARRAY)?;
    let mut first = true;
    while json.next_element(&mut first)? {
        if names.len() == MOST {
            return Err(json.error(&format!("at most {MOST} fields")));
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

fn infos(json: &mut Scanner<'_>, fields: &Fields<4>, functions: &mut BudgetVec<Info>) -> Result<(), StageError> {
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

/// The tree, in a stack of four bytes a level: a node's list of children is what stands open. Gives the number of
/// nodes.
fn tree(
    json: &mut Scanner<'_>,
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
            return Err(json.error_at(json.offset(), &expected, format!("number {function}")));
        }
        // The outermost node is the root, which is no function.
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

/// Keeps the strings that functions need.
struct Names {
    /// By position among the strings.
    texts: FxHashMap<u32, Vec<u8>>,
    charge: Charge,
    /// Position of the string that comes.
    number: u32,
}

impl StringSink for Names {
    fn piece(&mut self, bytes: &[u8]) -> Result<(), StageError> {
        if let Some(text) = self.texts.get_mut(&self.number) {
            let piece = &bytes[..bytes.len().min(MOST_NAME - text.len())];
            self.charge.make_room(text, piece.len())?;
            text.extend_from_slice(piece);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), StageError> {
        self.number = self.number.saturating_add(1);
        Ok(())
    }
}

/// Names the functions by the strings, of which they need few.
fn name(json: &mut Scanner<'_>, functions: &[Info], replay: &mut Replay, budget: &Budget) -> Result<(), StageError> {
    let charge = Charge::new(budget, "the names of the allocation tree")?;
    let mut names = Names { texts: FxHashMap::default(), charge, number: 0 };
    for text in functions.iter().flat_map(|info| info.texts) {
        if names.texts.insert(text, Vec::new()).is_none() {
            names.charge.add(ENTRY)?;
        }
    }
    json.string_array(&mut names)?;
    let text = |number| names.texts.get(&number).map(|text| readable(text)).unwrap_or_default();
    for (info, number) in functions.iter().zip(0..) {
        let [name, file] = info.texts.map(text);
        let name = if name.is_empty() { "(anonymous)".to_owned() } else { name };
        let [line, column] = info.place;
        let line = (line > 0).then_some(line);
        // The column tells apart the functions of one line.
        let function = Function { name, file, line, column, ..Function::default() };
        replay.symbols.define(number, function)?;
    }
    Ok(())
}
