//! Threads and their stacks.

use super::super::model::{Frame, RootKind, Value};
use super::edges;
use super::index::Index;
use super::names::text;
use super::node::NodeTruth;
use super::spelling::{in_java, modified_utf8};

/// A thread of the dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadTruth {
    pub address: u64,
    /// Its name, if the dump has one.
    pub name: Option<String>,
    /// Its frames, innermost first: class and method, then source file and line.
    pub frames: Vec<String>,
    /// Number of references from its stack to objects of the dump.
    pub locals: u64,
    pub retained: u64,
}

/// All threads with objects in the dump, by address.
pub(super) fn threads(index: &Index<'_>, nodes: &[NodeTruth]) -> Vec<ThreadTruth> {
    let mut threads: Vec<ThreadTruth> = Vec::new();
    for root in &index.dump.roots {
        let RootKind::Thread(serial, trace) = root.kind else { continue };
        let Some(object) = index.object(root.object) else { continue };
        let name = match index.field(object, "java.lang.Thread", "name") {
            Some(Value::Object(name)) => index.object(name).and_then(|name| text(index, name)),
            // A string may pass for a thread.
            _ => text(index, object),
        };
        let own = index.dump.roots.iter().filter(|root| edges::thread_of(root.kind) == Some(serial));
        let locals = own.filter(|root| index.target(root.object).is_some()).count() as u64;
        let node = index.target(root.object).expect("it is in the dump");
        let frames = frames(index, trace);
        threads.push(ThreadTruth { address: object.address, name, frames, locals, retained: nodes[node].retained });
    }
    threads.sort_by_key(|thread| thread.address);
    threads
}

fn frames(index: &Index<'_>, trace: u32) -> Vec<String> {
    let Some(trace) = index.dump.traces.iter().find(|known| known.serial == trace) else { return Vec::new() };
    let known = |id: &u64| index.dump.frames.iter().find(|frame| frame.id == *id);
    trace.frames.iter().filter_map(known).map(|frame| line(index, frame)).collect()
}

/// A frame as Java prints it.
fn line(index: &Index<'_>, frame: &Frame) -> String {
    let text = |id| index.text(id).map(modified_utf8);
    let loaded = index.dump.loaded.iter().find(|class| class.serial == frame.class_serial);
    let class = loaded.and_then(|class| text(class.name)).map_or_else(|| "?".to_owned(), |name| in_java(&name));
    let method = text(frame.method).unwrap_or_else(|| "?".to_owned());
    let place = match (text(frame.source), frame.line) {
        (_, -3) => "Native Method".to_owned(),
        (Some(file), line) if line > 0 => format!("{file}:{line}"),
        (Some(file), _) => file,
        (None, _) => "Unknown Source".to_owned(),
    };
    format!("{class}.{method}({place})")
}
