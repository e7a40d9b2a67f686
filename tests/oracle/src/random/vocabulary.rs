//! Words of random snapshots: all with a meaning to DevTools, and near misses.

/// A node's type and name.
pub(super) type Cast = (&'static str, &'static str);

/// Nodes. Plain objects are frequent, since an interface takes several.
pub(super) const CASTS: &[Cast] = &[
    ("object", "Object"),
    ("object", "Object"),
    ("object", "Object"),
    ("object", "Object"),
    ("object", "Object"),
    ("object", "Object"),
    ("object", "Widget"),
    ("object", "Widget"),
    ("object", "Array"),
    ("object", "<p id=\"x\">"),
    ("object", "Detached <p id=\"x\">"),
    ("object", "(map descriptors)"),
    ("object", ""),
    ("native", "<div id=\"a\" class=\"b\">"),
    ("native", "<div id=\"c\">"),
    ("native", "<div>"),
    ("native", "< odd"),
    ("native", "Detached <div id=1>"),
    ("native", "Detached < odd"),
    ("native", "Detached Tree"),
    ("object", "system / Context / scope @41491"),
    ("object", "system / Context / scope @7"),
    ("object", "odd @12"),
    ("native", "Node"),
    ("native", "system / ExternalStringData"),
    ("native", "system / ExternalStringData"),
    ("hidden", "system / NativeContext"),
    ("hidden", "system / NativeContext"),
    ("hidden", "system / ExternalStringData"),
    ("hidden", "system / Map"),
    ("hidden", "Object"),
    ("array", "(map descriptors)"),
    ("array", "(map descriptors)"),
    ("array", "(object elements)"),
    ("array", ""),
    ("synthetic", "(GC roots)"),
    ("synthetic", "(Document DOM trees)"),
    ("synthetic", "(Document DOM trees)"),
    ("synthetic", "(Traced handles)"),
    ("closure", "f"),
    ("closure", "(Document DOM trees)"),
    ("string", "text \u{e9} \u{1f600} \"quoted\" back\\slash\n"),
    ("concatenated string", "a, b"),
    ("sliced string", "slice"),
    ("code", "system / Code"),
    ("regexp", "/x+/"),
    ("number", "smi number"),
    ("symbol", "Symbol(s)"),
    ("bigint", "bigint"),
    ("object shape", "system / Map"),
    ("wasm object", "WasmInstance"),
];

/// Nodes named like classes that others get from their types, interfaces or state. DevTools' class rows then lose
/// nodes.
pub(super) const COLLIDING_CASTS: &[Cast] = &[
    ("object", "Function"),
    ("object", "RegExp"),
    ("native", "(string)"),
    ("native", "(system)"),
    ("native", "{a, b}"),
    ("native", "Detached Node"),
];

/// Types of edges, `internal` and `weak` twice.
pub(super) const EDGE_KINDS: &[&str] =
    &["property", "internal", "element", "hidden", "shortcut", "weak", "context", "internal", "weak"];

/// Names of edges.
pub(super) const EDGE_NAMES: &[&str] = &[
    "a",
    "b",
    "sloppy_function_map",
    "__proto__",
    "map",
    "4",
    " 7th",
    "-2",
    "13.5",
    "value",
    "1 / part of key (K @1) -> value (V @3) pair in WeakMap",
    "1 / part of key (K @1) -> value (V @3) pair in WeakMap (table @1)",
];

/// Names of weak map entries' keys and values.
pub(super) const ENTRY_NAMES: &[&str] = &["Key", "", "a @1) -> value (b", "two\nlines", "\u{2028}"];

/// Property lists. Some fit into others, some differ in order only, some repeat a name, and some have names that must
/// be quoted or that make the interface's name too long.
pub(super) const RECORDS: &[&[&str]] = &[
    &["a", "b"],
    &["b", "a"],
    &["a"],
    &["a", "b", "c"],
    &["a", "c"],
    &["c", "b"],
    &["c", "a", "b"],
    &["a", "a"],
    &["a", "a", "b"],
    &["__proto__"],
    &["__proto__", "a", "b"],
    &["x,y", "it's", "{z}", "say \"hi\"\t\\"],
    &["", "a"],
    &["", ""],
    &[LONG],
    &["short", LONG, "after"],
    &[LONG, "after"],
    &["p23456789 p23456789 p23456789 p23456789 p23456789 p23456789", FILLS_UP],
    &["p23456789 p23456789 p23456789 p23456789 p23456789 p23456789x", FILLS_UP],
];

/// 60 units: with 59 before and the brace the name just fits.
const FILLS_UP: &str = "q23456789 q23456789 q23456789 q23456789 q23456789 q234567890";

const LONG: &str = "a property whose name goes on and on until it is longer than what the name of an \
                    interface may have, which is one hundred and twenty letters";
