//! Roles of the classes and kinds of V8's heap.

use heaplake_schemas::roles::{NamePatterns, Resources, Roles};

/// Returns the roles.
pub fn roles() -> Roles {
    Roles {
        part_kinds: NamePatterns::of(&["array", "hidden", "code", "object shape", "native"]),
        restated_kinds: NamePatterns::of(&["array", "hidden", "code", "object shape", "native"]),
        part_classes: NamePatterns::of(&["system / *"]),
        texts: NamePatterns::of(&["string", "concatenated string", "sliced string"]),
        plain_texts: NamePatterns::of(&["string"]),
        native_memory: NamePatterns::of(&["native"]),
        common_classes: NamePatterns::of(&[
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
        shape_classes: NamePatterns::of(&["{*"]),
        register_classes: NamePatterns::of(&[
            "Module",
            "BuiltinModule",
            "NativeModule",
            "ModuleWrap",
            "SourceTextModule",
            "SyntheticModule",
            "workerd / HeapTracer",
            "process",
            "Window",
            "Window / *",
            "Window [JSGlobalObject]*",
            "Window (global*",
        ]),
        containers: NamePatterns::of(&["Map", "Set", "Array", "Object"]),
        closure_contexts: NamePatterns::of(&["system / Context", "system / Context / *"]),
        code: NamePatterns::of(&["code"]),
        functions: NamePatterns::of(&["closure"]),
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
        // Native objects of Node and of inspectors, which V8 marks like elements.
        no_documents: NamePatterns::of(&["Node / *", "Detached Node / *"]),
        resources: resources(),
        ..Roles::default()
    }
}

fn resources() -> Resources {
    Resources {
        timer_advice: "Keep what setInterval or setTimeout returns, and call clearInterval or clearTimeout when the \
                       owner is done."
            .to_owned(),
        listener_advice: "Remove each listener when its owner is done: removeListener, removeEventListener or the \
                          option `signal`; or add one listener that serves all."
            .to_owned(),
        promise_advice: "See to it that the promise is settled in any case: a timeout, an AbortSignal, and `reject` \
                         on every way out."
            .to_owned(),
        realms: "V8 contexts".to_owned(),
        realm_advice:
            "Each vm.createContext, iframe or test file has a context. A single function or object of it that \
                       is kept elsewhere (callbacks, timers, listeners, caches) keeps all of it alive: let go of it."
                .to_owned(),
        memory_advice: "A memory of WebAssembly never shrinks: drop the instance that grew it, or share one instance."
            .to_owned(),
    }
}
