//! `.heapprofile`: output of V8's sampling heap profiler.
//!
//! A call tree in JSON: each node has a function (`callFrame`), the bytes that it allocated itself and that are alive
//! (`selfSize`), and its callees (`children`). There are no types, objects or deaths; the bytes estimate all
//! allocations there. The list `samples` names the node of each sample: a node counts as many ticks as it has samples,
//! and one if it has bytes but no sample in the list, or the profile has no list.
//!
//! Resident memory: 24 bytes per node with bytes and 8 per sample.

use crate::replay::Replay;
use crate::stacks::{At, EMPTY};
use crate::symbols::Function;
use heaplake_input::bytes::Bytes;
use heaplake_kit::{Budget, BudgetVec, StageError};

/// Beginning of a profile, without spaces.
pub(crate) const BEGINNING: &[u8] = b"{\"head\":";

/// Longest accepted text, bytes.
const MOST_TEXT: usize = 1 << 20;

/// Beginning of an object, for errors.
const OBJECT: &str = "an object ({)";

/// The artificial outermost function.
const ROOT: &str = "(root)";

/// The type of all objects; profiles have none.
const ANY: u64 = 0;

/// An unfinished node of the profile.
struct Open {
    /// Stack node of the caller.
    parent: u32,
    /// Stack node of its own, once the function is known.
    node: Option<u32>,
    bytes: u64,
    /// Its `id`, as in samples.
    id: u64,
    first: bool,
}

impl Open {
    fn below(parent: u32) -> Self {
        Self { parent, node: None, bytes: 0, id: NO_ID, first: true }
    }
}

/// Id of nodes that no sample names.
const NO_ID: u64 = u64::MAX;

/// A node with bytes.
#[derive(Clone, Copy)]
struct Counted {
    id: u64,
    node: u32,
    bytes: u64,
}

/// Reads a profile; the format has no version.
pub(crate) fn read(json: &mut Bytes<'_>, replay: &mut Replay, budget: &Budget) -> Result<Option<String>, StageError> {
    replay.types.name(ANY, b"(any)")?;
    json.skip_byte_order_mark()?;
    json.expect(b'{', OBJECT)?;
    let (mut first, mut found) = (true, false);
    let (mut nodes, mut samples) = (budget.growing("nodes of a profile"), budget.growing("samples of a profile"));
    while let Some(key) = json.next_key(&mut first, MOST_TEXT)? {
        if key == b"head" {
            json.expect(b'{', OBJECT)?;
            tree(json, replay, &mut nodes, budget)?;
            found = true;
        } else if key == b"samples" {
            read_samples(json, &mut samples)?;
        } else {
            json.skip_value()?;
        }
    }
    if !found {
        return Err(json.error(json.offset(), "the head of a profile", "none".to_owned()));
    }
    samples.sort_unstable();
    for &Counted { id, node, bytes } in nodes.iter() {
        let from = samples.partition_point(|&sample| sample < id);
        // By binary search, since any number of nodes may have one id.
        let end = if id == NO_ID { from } else { samples.partition_point(|&sample| sample <= id) };
        let count = end - from;
        replay.ticks(ANY, (count.max(1) as u64, bytes), 0, &mut At(node))?;
    }
    Ok(None)
}

/// Reads the list of samples: the node id of each.
fn read_samples(json: &mut Bytes<'_>, samples: &mut BudgetVec<u64>) -> Result<(), StageError> {
    json.expect(b'[', "an array ([)")?;
    let mut first = true;
    while json.next_element(&mut first)? {
        json.expect(b'{', OBJECT)?;
        let mut first = true;
        while let Some(key) = json.next_key(&mut first, MOST_TEXT)? {
            if key == b"nodeId" {
                samples.push(json.decimal()? as u64)?;
            } else {
                json.skip_value()?;
            }
        }
    }
    Ok(())
}

/// Reads the tree, from inside its first node.
fn tree(
    json: &mut Bytes<'_>,
    replay: &mut Replay,
    nodes: &mut BudgetVec<Counted>,
    budget: &Budget,
) -> Result<(), StageError> {
    let mut open = budget.growing("the depth of a profile");
    open.push(Open::below(EMPTY))?;
    while let Some(top) = open.last_mut() {
        match json.next_key(&mut top.first, MOST_TEXT)?.as_deref() {
            Some(b"callFrame") => {
                let function = function(json)?;
                top.node = Some(if function.name == ROOT && top.parent == EMPTY {
                    EMPTY
                } else {
                    let frame = replay.symbols.frame(function)?;
                    replay.stacks.callee(top.parent, frame)?
                });
            }
            Some(b"selfSize") => top.bytes = json.decimal()? as u64,
            Some(b"id") => top.id = json.decimal()? as u64,
            Some(b"children") => {
                let Some(parent) = top.node else {
                    return Err(json.unexpected("the function before its callees"));
                };
                json.expect(b'[', "an array ([)")?;
                if json.next_element(&mut true)? {
                    json.expect(b'{', "a callee ({)")?;
                    open.push(Open::below(parent))?;
                }
            }
            Some(_) => json.skip_value()?,
            None => {
                let (node, bytes, parent) = (top.node.unwrap_or(top.parent), top.bytes, top.parent);
                if bytes > 0 {
                    nodes.push(Counted { id: top.id, node, bytes })?;
                }
                open.pop();
                if open.is_empty() {
                    break;
                }
                if json.next_element(&mut false)? {
                    json.expect(b'{', "a callee ({)")?;
                    open.push(Open::below(parent))?;
                }
            }
        }
    }
    Ok(())
}

/// Reads a function; its numbers count from 0.
fn function(json: &mut Bytes<'_>) -> Result<Function, StageError> {
    json.expect(b'{', OBJECT)?;
    let (mut function, mut first, mut column) = (Function::default(), true, 0.0);
    while let Some(key) = json.next_key(&mut first, MOST_TEXT)? {
        match &key[..] {
            b"functionName" => function.name = json.short_text(MOST_TEXT)?,
            b"url" => function.file = json.short_text(MOST_TEXT)?,
            b"lineNumber" => function.line = line(json.decimal()?),
            b"columnNumber" => column = json.decimal()?,
            _ => json.skip_value()?,
        }
    }
    // Distinguishes functions on one line.
    function.column = line(column).unwrap_or(0);
    if function.name.is_empty() {
        "(anonymous)".clone_into(&mut function.name);
    }
    Ok(function)
}

fn line(number: f64) -> Option<u32> {
    (number >= 0.0 && number < f64::from(u32::MAX - 1)).then(|| number as u32 + 1)
}
