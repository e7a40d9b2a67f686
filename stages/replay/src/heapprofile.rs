//! `.heapprofile`: what V8's sampling heap profiler writes.
//!
//! One tree of calls, in JSON: each node has a function (`callFrame`), the bytes that it allocated itself and that are alive
//! (`selfSize`), and its callees (`children`). There are no types, no objects and no deaths in it; the bytes stand for all
//! that was allocated there, so a node counts as one tick.

use crate::blocks::Bytes;
use crate::json::{Json, Token};
use crate::replay::Replay;
use crate::stacks::{At, EMPTY};
use crate::symbols::Function;
use heaplake_kit::{Budget, StageError};

/// How a profile begins, spaces apart.
pub const BEGINNING: &[u8] = b"{\"head\":";

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
pub fn read(bytes: &mut Bytes<'_>, replay: &mut Replay, budget: &Budget) -> Result<Option<String>, StageError> {
    replay.types.name(ANY, b"(any)")?;
    let mut json = Json::new(bytes);
    json.mark(b'{')?;
    let (mut first, mut found) = (true, false);
    while let Some(key) = json.key(&mut first)? {
        if key == "head" {
            json.mark(b'{')?;
            tree(&mut json, replay, budget)?;
            found = true;
        } else {
            json.skip()?;
        }
    }
    if found { Ok(None) } else { Err(json.error("the head of a profile", "none")) }
}

/// The tree, from within its first node.
fn tree(json: &mut Json<'_, '_>, replay: &mut Replay, budget: &Budget) -> Result<(), StageError> {
    let mut open = budget.growing("the depth of a profile");
    open.push(Open { parent: EMPTY, node: None, bytes: 0, first: true })?;
    while let Some(top) = open.last_mut() {
        match json.key(&mut top.first)?.as_deref() {
            Some("callFrame") => {
                let function = function(json)?;
                top.node = Some(if function.name == ROOT && top.parent == EMPTY {
                    EMPTY
                } else {
                    let frame = replay.symbols.frame(function)?;
                    replay.stacks.callee(top.parent, frame)?
                });
            }
            Some("selfSize") => top.bytes = number(json)? as u64,
            Some("children") => {
                let Some(parent) = top.node else { return Err(json.error("the function before its callees", "none")) };
                json.mark(b'[')?;
                match json.token()? {
                    Token::Mark(b']') => {}
                    Token::Mark(b'{') => open.push(Open { parent, node: None, bytes: 0, first: true })?,
                    other => return Err(json.error("a callee", format!("{other:?}"))),
                }
            }
            Some(_) => json.skip()?,
            None => {
                let (node, bytes, parent) = (top.node.unwrap_or(top.parent), top.bytes, top.parent);
                if bytes > 0 {
                    replay.tick(ANY, bytes, 0, &mut At(node))?;
                }
                open.pop();
                if open.is_empty() {
                    break;
                }
                match json.token()? {
                    Token::Mark(b',') => {
                        json.mark(b'{')?;
                        open.push(Open { parent, node: None, bytes: 0, first: true })?;
                    }
                    Token::Mark(b']') => {}
                    other => return Err(json.error("another callee or the end of them", format!("{other:?}"))),
                }
            }
        }
    }
    Ok(())
}

/// A function; numbers in it count from 0.
fn function(json: &mut Json<'_, '_>) -> Result<Function, StageError> {
    json.mark(b'{')?;
    let (mut function, mut first, mut column) = (Function::default(), true, 0.0);
    while let Some(key) = json.key(&mut first)? {
        match key.as_str() {
            "functionName" => function.name = text(json)?,
            "url" => function.file = text(json)?,
            "lineNumber" => function.line = line(number(json)?),
            "columnNumber" => column = number(json)?,
            _ => json.skip()?,
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

fn text(json: &mut Json<'_, '_>) -> Result<String, StageError> {
    match json.token()? {
        Token::Text(text) => Ok(text),
        other => Err(json.error("a text", format!("{other:?}"))),
    }
}

fn number(json: &mut Json<'_, '_>) -> Result<f64, StageError> {
    match json.token()? {
        Token::Number(number) => Ok(number),
        other => Err(json.error("a number", format!("{other:?}"))),
    }
}
