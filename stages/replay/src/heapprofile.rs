//! `.heapprofile`: what V8's sampling heap profiler writes.
//!
//! One tree of calls, in JSON: each node has a function (`callFrame`), the bytes that it allocated itself and that
//! are alive (`selfSize`), and its callees (`children`). There are no types, no objects and no deaths in it; the
//! bytes are an estimate of all that was allocated there, so a node counts as one tick.

use crate::replay::Replay;
use crate::stacks::{At, EMPTY};
use crate::symbols::Function;
use heaplake_input::json::Scanner;
use heaplake_kit::{Budget, StageError};

/// How a profile begins, spaces apart.
pub const BEGINNING: &[u8] = b"{\"head\":";

/// Longest text that makes sense, bytes.
const MOST_TEXT: usize = 1 << 20;

/// What an object begins with, in errors.
const OBJECT: &str = "an object ({)";

/// The artificial function around all others.
const ROOT: &str = "(root)";

/// The type of all objects, which have none here.
const ANY: u64 = 0;

/// A node of the profile that has not ended.
struct Open {
    /// Node of the caller's stack.
    parent: u32,
    /// Node of its own stack, once the function is known.
    node: Option<u32>,
    bytes: u64,
    first: bool,
}

/// Reads a profile from its beginning to its end; it has no version.
///
/// # Errors
/// [`StageError::Input`] for what is not of the format, and those of the replay.
pub fn read(json: &mut Scanner<'_>, replay: &mut Replay, budget: &Budget) -> Result<Option<String>, StageError> {
    replay.types.name(ANY, b"(any)")?;
    json.expect(b'{', OBJECT)?;
    let (mut first, mut found) = (true, false);
    while let Some(key) = json.next_key(&mut first, MOST_TEXT)? {
        if key == b"head" {
            json.expect(b'{', OBJECT)?;
            tree(json, replay, budget)?;
            found = true;
        } else {
            json.skip_value()?;
        }
    }
    if found { Ok(None) } else { Err(json.error_at(json.offset(), "the head of a profile", "none".to_owned())) }
}

/// The tree, from within its first node.
fn tree(json: &mut Scanner<'_>, replay: &mut Replay, budget: &Budget) -> Result<(), StageError> {
    let mut open = budget.growing("the depth of a profile");
    open.push(Open { parent: EMPTY, node: None, bytes: 0, first: true })?;
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
            Some(b"children") => {
                let Some(parent) = top.node else {
                    return Err(json.error("the function before its callees"));
                };
                json.expect(b'[', "an array ([)")?;
                if json.next_element(&mut true)? {
                    json.expect(b'{', "a callee ({)")?;
                    open.push(Open { parent, node: None, bytes: 0, first: true })?;
                }
            }
            Some(_) => json.skip_value()?,
            None => {
                let (node, bytes, parent) = (top.node.unwrap_or(top.parent), top.bytes, top.parent);
                if bytes > 0 {
                    replay.tick(ANY, bytes, 0, &mut At(node))?;
                }
                open.pop();
                if open.is_empty() {
                    break;
                }
                if json.next_element(&mut false)? {
                    json.expect(b'{', "a callee ({)")?;
                    open.push(Open { parent, node: None, bytes: 0, first: true })?;
                }
            }
        }
    }
    Ok(())
}

/// A function; numbers in it count from 0.
fn function(json: &mut Scanner<'_>) -> Result<Function, StageError> {
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
    // What tells apart the functions of one line.
    function.handle = line(column).map_or(0, u64::from);
    if function.name.is_empty() {
        "(anonymous)".clone_into(&mut function.name);
    }
    Ok(function)
}

fn line(number: f64) -> Option<u32> {
    (number >= 0.0 && number < f64::from(u32::MAX - 1)).then(|| number as u32 + 1)
}
