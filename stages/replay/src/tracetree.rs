//! The allocation tree of a V8 `.heapsnapshot` that was taken while allocations were tracked.
//!
//! `trace_tree` is a tree of calls: each node has a function, how many objects it allocated itself since the tracking
//! began, and their bytes, whether or not they are still alive. So the numbers are of every allocation, but there are no
//! types, no objects and no deaths in them. Functions stand before the tree, their names behind it, so functions are
//! numbered first and named at the end. Nodes and edges of the snapshot are passed over.

use crate::blocks::Bytes;
use crate::json::{Json, Token};
use crate::replay::Replay;
use crate::stacks::{At, EMPTY};
use crate::symbols::Function;
use heaplake_kit::{Budget, BudgetVec, InputError, StageError};
use rustc_hash::FxHashMap;

/// How a snapshot begins, spaces apart.
pub const BEGINNING: &[u8] = b"{\"snapshot\":";

/// The type of all objects, which have none here.
const ANY: u64 = 0;

/// What errors about snapshots without such a tree advise.
const HINT: &str = "take the snapshot while allocations are tracked, or give it to heaplake analyze";

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
pub fn read(bytes: &mut Bytes<'_>, replay: &mut Replay, budget: &Budget) -> Result<Option<String>, StageError> {
    replay.types.name(ANY, b"(any)")?;
    let start = bytes.error(0, "a snapshot with an allocation tree", "none");
    let mut json = Json::new(bytes);
    json.mark(b'{')?;
    let mut fields = None;
    let mut functions = budget.growing("functions of the allocation tree");
    let (mut first, mut nodes) = (true, 0);
    while let Some(key) = json.key(&mut first)? {
        match (key.as_str(), &fields) {
            ("snapshot", _) => fields = meta(&mut json)?,
            ("trace_function_infos", Some((of_function, _))) => infos(&mut json, of_function, &mut functions)?,
            ("trace_tree", Some((_, of_node))) => nodes = tree(&mut json, of_node, &functions, replay, budget)?,
            ("strings", _) => name(&mut json, &functions, replay)?,
            _ => json.skip()?,
        }
    }
    if nodes > 0 {
        return Ok(None);
    }
    Err(match start {
        StageError::Input(error) => InputError { hint: HINT, ..*error }.into(),
        other => other,
    })
}

type Meta = (Fields<4>, Fields<3>);

/// The description of the fields, from within the value of `snapshot`; nothing where it has none of allocations.
fn meta(json: &mut Json<'_, '_>) -> Result<Option<Meta>, StageError> {
    let (mut of_function, mut of_node) = (None, None);
    json.mark(b'{')?;
    let mut first = true;
    while let Some(key) = json.key(&mut first)? {
        if key != "meta" {
            json.skip()?;
            continue;
        }
        json.mark(b'{')?;
        let mut first = true;
        while let Some(key) = json.key(&mut first)? {
            match key.as_str() {
                "trace_function_info_fields" => of_function = positions(json, FUNCTION_FIELDS)?,
                // The children, which are not taken, come last.
                "trace_node_fields" => {
                    of_node = positions(json, NODE_FIELDS)?
                        .filter(|fields: &Fields<3>| fields.at.iter().all(|&at| at + 1 < fields.count));
                }
                _ => json.skip()?,
            }
        }
    }
    Ok(of_function.zip(of_node))
}

/// Where these fields are among those of a list of names; nothing where one is not.
fn positions<const N: usize>(json: &mut Json<'_, '_>, wanted: [&str; N]) -> Result<Option<Fields<N>>, StageError> {
    const MOST: usize = 64;
    let mut names = Vec::new();
    json.mark(b'[')?;
    let mut first = true;
    while let Some(token) = json.element(&mut first)? {
        match token {
            Token::Text(name) if names.len() < MOST => names.push(name),
            other => return Err(json.error("the name of a field", format!("{other:?}"))),
        }
    }
    let mut at = [0; N];
    for (slot, wanted) in at.iter_mut().zip(wanted) {
        let Some(position) = names.iter().position(|name| name == wanted) else { return Ok(None) };
        *slot = position;
    }
    Ok(Some(Fields { at, count: names.len() }))
}

fn infos(json: &mut Json<'_, '_>, fields: &Fields<4>, functions: &mut BudgetVec<Info>) -> Result<(), StageError> {
    let mut row = Vec::with_capacity(fields.count);
    json.mark(b'[')?;
    let mut first = true;
    while let Some(token) = json.element(&mut first)? {
        row.push(whole(json, &token)? as u32);
        if row.len() == fields.count {
            let [name, script, line, column] = fields.at.map(|at| row[at]);
            functions.push(Info { texts: [name, script], place: [line, column] })?;
            row.clear();
        }
    }
    Ok(())
}

/// The tree, in a stack of four bytes a level: a node's list of children is what stands open. Gives the number of nodes.
fn tree(
    json: &mut Json<'_, '_>,
    fields: &Fields<3>,
    functions: &[Info],
    replay: &mut Replay,
    budget: &Budget,
) -> Result<u64, StageError> {
    let mut open = budget.growing::<u32>("the depth of the allocation tree");
    let mut row = vec![0; fields.count - 1];
    let mut nodes = 0;
    json.mark(b'[')?;
    open.push(EMPTY)?;
    let mut first = true;
    while let Some(&caller) = open.last() {
        let Some(token) = json.element(&mut first)? else {
            open.pop();
            first = false;
            continue;
        };
        row[0] = whole(json, &token)?;
        for value in &mut row[1..] {
            json.mark(b',')?;
            let token = json.token()?;
            *value = whole(json, &token)?;
        }
        json.mark(b',')?;
        json.mark(b'[')?;
        let [function, count, bytes] = fields.at.map(|at| row[at]);
        if function >= functions.len() as u64 {
            let expected = format!("one of {} functions", functions.len());
            return Err(json.error(&expected, format!("number {function}")));
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

/// Names the functions by the strings, of which they need few.
fn name(json: &mut Json<'_, '_>, functions: &[Info], replay: &mut Replay) -> Result<(), StageError> {
    let mut texts: FxHashMap<u32, String> = FxHashMap::default();
    for info in functions {
        texts.extend(info.texts.map(|text| (text, String::new())));
    }
    json.mark(b'[')?;
    let (mut first, mut number) = (true, 0u32);
    while let Some(token) = json.element(&mut first)? {
        let Token::Text(text) = token else { return Err(json.error("a text", format!("{token:?}"))) };
        if let Some(slot) = texts.get_mut(&number) {
            *slot = text;
        }
        number = number.saturating_add(1);
    }
    for (info, number) in functions.iter().zip(0..) {
        let [name, file] = info.texts.map(|text| texts.get(&text).cloned().unwrap_or_default());
        let name = if name.is_empty() { "(anonymous)".to_owned() } else { name };
        let [line, column] = info.place;
        let line = (line > 0).then_some(line);
        // The column tells apart the functions of one line.
        let function = Function { name, file, line, handle: column.into(), ..Function::default() };
        replay.symbols.define(number, function)?;
    }
    Ok(())
}

/// A number that is not negative and has no fraction.
fn whole(json: &mut Json<'_, '_>, token: &Token) -> Result<u64, StageError> {
    match token {
        Token::Number(number) if *number >= 0.0 && number.fract() == 0.0 && *number < 2f64.powi(53) => {
            Ok(*number as u64)
        }
        other => Err(json.error("a whole number", format!("{other:?}"))),
    }
}
