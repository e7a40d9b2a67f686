//! What part the classes and kinds of V8's heap play.

use heaplake_schemas::roles::{Names, Roles};

/// The roles.
#[must_use]
pub fn roles() -> Roles {
    Roles {
        part_kinds: Names::of(&["array", "hidden", "code", "object shape", "native"]),
        part_classes: Names::of(&["system / *"]),
        texts: Names::of(&["string", "concatenated string", "sliced string"]),
        plain_texts: Names::of(&["string"]),
        native_memory: Names::of(&["native"]),
        common_classes: Names::of(&[
            "Object",
            "Array",
            "Function",
            "Map",
            "Set",
            "Promise",
            "global",
            "(*",
            "{*",
            "*[]",
            "system / *",
            "Node / *",
        ]),
        containers: Names::of(&["Map", "Set", "Array", "Object"]),
        closure_contexts: Names::of(&["system / Context"]),
        code: Names::of(&["code"]),
        functions: Names::of(&["closure"]),
        root_names: [
            ("(Stack roots)", "stack"),
            ("(Handle scope)", "handles of running code"),
            ("(Global handles)", "handles of native code"),
            ("(Eternal handles)", "handles of native code"),
            ("(Traced handles)", "handles of native code"),
            ("(Microtasks)", "pending microtasks"),
            ("(Strong root list)", "runtime"),
            ("(Builtins)", "runtime"),
            ("(GC roots)", "runtime"),
        ]
        .map(|(name, words)| (name.to_owned(), words.to_owned()))
        .to_vec(),
        ..Roles::default()
    }
}
