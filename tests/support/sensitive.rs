//! Inputs full of canaries: a snapshot of V8 and a dump of Java, with a canary in each place that can hold data.

use crate::canaries::Canaries;
use heaplake_oracle::jvm::Layout;
use heaplake_oracle::jvm::model::{
    Dump, Frame, ObjectData, Primitive, PrimitiveValues, Root, RootKind, Static, Trace, Value,
};
use serde_json::{Value as Json, json};
use std::collections::HashMap;

/// Node types, in the order of V8.
const NODE_TYPES: [&str; 15] = [
    "hidden",
    "array",
    "string",
    "object",
    "code",
    "closure",
    "regexp",
    "number",
    "native",
    "synthetic",
    "concatenated string",
    "sliced string",
    "symbol",
    "bigint",
    "object shape",
];
const EDGE_TYPES: [&str; 7] = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"];

/// A snapshot of V8 under construction.
#[derive(Default)]
pub struct Snapshot {
    strings: Vec<String>,
    numbers: HashMap<String, usize>,
    nodes: Vec<Node>,
    functions: Vec<[usize; 6]>,
}

struct Node {
    kind: usize,
    name: usize,
    bytes: u64,
    /// Type, name or index, target.
    edges: Vec<(usize, usize, usize)>,
}

impl Snapshot {
    /// Adds a string; returns its number.
    pub fn string(&mut self, text: &str) -> usize {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        self.numbers.insert(text.to_owned(), self.strings.len());
        self.strings.push(text.to_owned());
        self.strings.len() - 1
    }

    /// Adds a node; returns its number.
    pub fn node(&mut self, kind: &str, name: &str) -> usize {
        let kind = NODE_TYPES.iter().position(|other| *other == kind).unwrap();
        let bytes = (16 + name.chars().count() as u64).next_multiple_of(8);
        let name = self.string(name);
        self.nodes.push(Node { kind, name, bytes, edges: Vec::new() });
        self.nodes.len() - 1
    }

    /// Adds an edge.
    pub fn edge(&mut self, from: usize, kind: &str, name: &str, to: usize) {
        let kind = EDGE_TYPES.iter().position(|other| *other == kind).unwrap();
        let name = self.string(name);
        self.nodes[from].edges.push((kind, name, to));
    }

    /// Adds an element of a node.
    pub fn element(&mut self, from: usize, to: usize) {
        let index = self.nodes[from].edges.len();
        self.nodes[from].edges.push((1, index, to));
    }

    /// Adds a function of the allocation trace.
    fn function(&mut self, name: &str, script: &str) {
        let [name, script] = [name, script].map(|text| self.string(text));
        self.functions.push([self.functions.len(), name, script, 7, 1, 1]);
    }

    /// The file; `order` lists the members behind the header.
    pub fn file(&self, order: [&str; 3]) -> Vec<u8> {
        let (mut nodes, mut edges) = (Vec::new(), Vec::new());
        for (at, node) in self.nodes.iter().enumerate() {
            let numbers =
                [node.kind as u64, node.name as u64, 2 * at as u64 + 1, node.bytes, node.edges.len() as u64, 0];
            nodes.extend(numbers);
            edges.extend(node.edges.iter().flat_map(|&(kind, name, to)| [kind, name, 6 * to]));
        }
        let meta = json!({
            "node_fields": ["type", "name", "id", "self_size", "edge_count", "trace_node_id"],
            "node_types": [NODE_TYPES, "string", "number", "number", "number", "number"],
            "edge_fields": ["type", "name_or_index", "to_node"],
            "edge_types": [EDGE_TYPES, "string_or_number", "node"],
            "trace_function_info_fields": ["function_id", "name", "script_name", "script_id", "line", "column"],
            "trace_node_fields": ["id", "function_info_index", "count", "size", "children"],
        });
        let header = json!({ "meta": meta, "node_count": self.nodes.len(), "edge_count": edges.len() / 3 });
        let children: Vec<Json> = (1..self.functions.len())
            .flat_map(|at| [json!(at + 1), json!(at), json!(1), json!(16), json!([])])
            .collect();
        let functions: Vec<usize> = self.functions.iter().flatten().copied().collect();
        let tree = json!([1, 0, 0, 0, children]);
        let mut text = format!("{{\"snapshot\":{header}");
        for member in order {
            text += &match member {
                "nodes" => format!(",\n\"nodes\":{}", json!(nodes)),
                "edges" => format!(",\n\"edges\":{}", json!(edges)),
                _ => format!(
                    ",\n\"trace_function_infos\":{},\"trace_tree\":{tree},\"strings\":{}",
                    json!(functions),
                    json!(self.strings)
                ),
            };
        }
        (text + "}").into_bytes()
    }
}

/// A snapshot of V8 with canaries in all places.
pub fn v8(rounds: usize) -> (Snapshot, Canaries) {
    let (mut snapshot, mut canaries) = (Snapshot::default(), Canaries::default());
    let root = snapshot.node("synthetic", "");
    let roots = snapshot.node("synthetic", "(GC roots)");
    snapshot.element(root, roots);
    snapshot.function("(root)", "");
    for round in 0..rounds {
        texts(&mut snapshot, &mut canaries, roots);
        names(&mut snapshot, &mut canaries, roots, round);
        duplicates(&mut snapshot, &mut canaries, roots);
    }
    (snapshot, canaries)
}

/// Strings of all kinds.
fn texts(snapshot: &mut Snapshot, canaries: &mut Canaries, roots: usize) {
    let account = snapshot.node("object", "Account");
    snapshot.element(roots, account);
    let (owner, other) = (canaries.any(), canaries.any());
    let (first, second) = (snapshot.node("string", &owner), snapshot.node("string", &other));
    let rope = snapshot.node("concatenated string", "(concatenated string)");
    snapshot.edge(rope, "internal", "first", first);
    snapshot.edge(rope, "internal", "second", second);
    let flat = snapshot.node("concatenated string", &canaries.any());
    let slice = snapshot.node("sliced string", &canaries.any());
    snapshot.edge(slice, "internal", "parent", first);
    let pattern = snapshot.node("regexp", &canaries.any());
    let long = snapshot.node("string", &format!("{}{}", "long ".repeat(900), canaries.any()));
    let number = snapshot.node("number", &format!("{}", canaries.number()));
    // A name that is a text, too.
    let shared = canaries.shaped();
    let twice = snapshot.node("string", &shared);
    snapshot.edge(account, "property", &shared, twice);
    for (name, to) in
        [("rope", rope), ("flat", flat), ("slice", slice), ("pattern", pattern), ("long", long), ("number", number)]
    {
        snapshot.edge(account, "property", name, to);
    }
    // Used by nothing.
    snapshot.string(&canaries.any());
}

/// Names of all kinds that look like data.
fn names(snapshot: &mut Snapshot, canaries: &mut Canaries, roots: usize, round: usize) {
    let map = snapshot.node("object", "Object");
    snapshot.element(roots, map);
    for kind in ["object", "closure", "code", "symbol", "hidden", "array", "bigint", "object shape"] {
        let node = snapshot.node(kind, &canaries.shaped());
        snapshot.edge(map, "property", &canaries.shaped(), node);
    }
    for kind in ["context", "internal", "shortcut", "weak"] {
        let node = snapshot.node("object", "Object");
        snapshot.edge(map, kind, &canaries.shaped(), node);
    }
    let page = snapshot.node("object", &format!("Window / https://shop.example/cart?token={}", canaries.any()));
    let element = snapshot.node("native", &format!("<div id=\"{}\" class=\"x\">", canaries.any()));
    let script = snapshot.node("code", &format!("https://bob:{}@host.example/app.js", canaries.shaped()));
    for (name, to) in [("page", page), ("element", element), ("script", script)] {
        snapshot.edge(map, "internal", name, to);
    }
    let table = snapshot.node("array", "(object elements)");
    snapshot.edge(map, "internal", "table", table);
    let id = 2 * table + 1;
    let label =
        format!("{round} / part of key (Foo @5) -> value ({} @7) pair in WeakMap (table @{id})", canaries.any());
    snapshot.edge(table, "internal", &label, page);
    snapshot.function(&canaries.shaped(), &format!("https://cdn.example/app.js?key={}", canaries.any()));
}

/// Objects with equal texts.
fn duplicates(snapshot: &mut Snapshot, canaries: &mut Canaries, roots: usize) {
    let text = canaries.any();
    for _ in 0..3 {
        let holder = snapshot.node("object", "Settings");
        snapshot.element(roots, holder);
        let string = snapshot.node("string", &text);
        snapshot.edge(holder, "property", "value", string);
    }
}

/// Addresses of the classes of a dump.
struct Classes {
    string: u64,
    integer: u64,
    long: u64,
    thread: u64,
    account: u64,
    holder: u64,
}

/// A dump of Java with canaries in all places, with ids of this many bytes.
pub fn java(rounds: usize, id_size: usize) -> (Vec<u8>, Canaries) {
    let (mut dump, mut canaries) = (Dump::new(id_size), Canaries::default());
    let classes = classes(&mut dump, &mut canaries);
    for round in 0..rounds {
        account(&mut dump, &mut canaries, &classes);
        thread(&mut dump, &mut canaries, &classes, round as u32 + 1);
        dump.intern(&canaries.any());
        let text = canaries.latin();
        for _ in 0..3 {
            let value = string(&mut dump, &classes, &text);
            let holder = dump.add_instance(classes.holder, &[Value::Object(value)]);
            dump.roots.push(Root { kind: RootKind::JniGlobal, object: holder });
        }
    }
    (dump.to_bytes(&Layout::default()), canaries)
}

fn classes(dump: &mut Dump, canaries: &mut Canaries) -> Classes {
    let base = dump.add_base_classes();
    let (reference, int) = (Value::Object(0), Value::Primitive(Primitive::Int, 0));
    let (byte, long) = (Value::Primitive(Primitive::Byte, 0), Value::Primitive(Primitive::Long, 0));
    let mut add = |name: &str, fields: &[(&str, Value)]| dump.add_class(name, Some(base.object), fields);
    let classes = Classes {
        string: add("java/lang/String", &[("value", reference), ("hash", int), ("coder", byte)]),
        integer: add("java/lang/Integer", &[("value", int)]),
        long: add("java/lang/Long", &[("value", long)]),
        thread: add("java/lang/Thread", &[("name", reference), ("tid", long)]),
        account: add(
            "app/Account",
            &[("owner", reference), ("note", reference), ("card", long), ("pin", int), ("all", reference)],
        ),
        holder: add("app/Holder", &[("value", reference)]),
    };
    let statics = dump.add_class("app/Statics", Some(base.object), &[]);
    let name = dump.intern("secret");
    let value = Value::Primitive(Primitive::Long, canaries.number());
    dump.classes
        .iter_mut()
        .filter(|class| class.address == statics)
        .for_each(|class| class.statics.push(Static { name, value }));
    dump.classes
        .iter()
        .map(|class| class.address)
        .for_each(|object| dump.roots.push(Root { kind: RootKind::StickyClass, object }));
    classes
}

/// Adds a string, of one or two bytes per character; returns it.
fn string(dump: &mut Dump, classes: &Classes, text: &str) -> u64 {
    let is_latin = text.chars().all(|c| (c as u32) < 256);
    let bytes: Vec<u64> = if is_latin {
        text.chars().map(u64::from).collect()
    } else {
        text.encode_utf16().flat_map(u16::to_le_bytes).map(u64::from).collect()
    };
    let value = dump.add(ObjectData::PrimitiveArray(Primitive::Byte, PrimitiveValues::Known(bytes)));
    // As the virtual machine hashes texts.
    let hash = text.encode_utf16().fold(0u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)));
    let fields = [
        Value::Object(value),
        Value::Primitive(Primitive::Int, hash.into()),
        Value::Primitive(Primitive::Byte, u64::from(!is_latin)),
    ];
    dump.add_instance(classes.string, &fields)
}

fn account(dump: &mut Dump, canaries: &mut Canaries, classes: &Classes) {
    let owner = string(dump, classes, &canaries.latin());
    let note = string(dump, classes, &canaries.any());
    let units: Vec<u64> = canaries.any().encode_utf16().map(u64::from).collect();
    let number = canaries.number();
    let arrays = [
        (Primitive::Char, units),
        (Primitive::Byte, format!("{}{}", "x".repeat(900), canaries.any()).bytes().map(u64::from).collect()),
        (Primitive::Long, vec![canaries.number(), 7, 7]),
        (Primitive::Int, vec![number >> 32, number & 0xffff_ffff]),
    ];
    let mut parts: Vec<u64> = arrays
        .into_iter()
        .map(|(of, values)| dump.add(ObjectData::PrimitiveArray(of, PrimitiveValues::Known(values))))
        .collect();
    parts.push(dump.add_instance(classes.long, &[Value::Primitive(Primitive::Long, canaries.number())]));
    parts.push(dump.add_instance(classes.integer, &[Value::Primitive(Primitive::Int, 7)]));
    let all = dump.add(ObjectData::ObjectArray(classes.holder, parts));
    let fields = [
        Value::Object(owner),
        Value::Object(note),
        Value::Primitive(Primitive::Long, canaries.number()),
        Value::Primitive(Primitive::Int, 1234),
        Value::Object(all),
    ];
    let account = dump.add_instance(classes.account, &fields);
    dump.roots.push(Root { kind: RootKind::JniGlobal, object: account });
}

/// A thread with a name and a stack.
fn thread(dump: &mut Dump, canaries: &mut Canaries, classes: &Classes, serial: u32) {
    let name = string(dump, classes, &canaries.any());
    let thread =
        dump.add_instance(classes.thread, &[Value::Object(name), Value::Primitive(Primitive::Long, serial.into())]);
    let [method, signature, source] = ["run", "()V", "Account.java"].map(|text| dump.intern(text));
    let id = 0x9000 + u64::from(serial);
    dump.frames.push(Frame { id, method, signature, source, class_serial: 8, line: 12 });
    dump.traces.push(Trace { serial, thread: serial, frames: vec![id] });
    dump.roots.push(Root { kind: RootKind::Thread(serial, serial), object: thread });
    dump.roots.push(Root { kind: RootKind::JavaFrame(serial, 0), object: name });
}
