//! Identifying tail of a chain or finding: the last steps of its path, which belong to the program.
//!
//! The shortest path to an object changes with any new reference near the root, so a signature has only its end: the
//! class there, the collections around it, and its **holder**, which is the nearest of
//!
//! - an object of a class with a name, with the field through which it holds;
//! - a variable of a function, or a field of a global object;
//! - a module, where nothing nearer has a name;
//! - a field of a plain object, together with the object of a named class, or the module, that refers to the plain
//!   object.
//!
//! Insides of the runtime, functions without a variable, and folded names are no steps. References from code itself
//! have the step `Function`.

use crate::chains::{Part, part};
use crate::runtime::Runtime;
use crate::steps::Step;

/// Role of a step in identifying the holder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// No information.
    Silent,
    /// A standard collection.
    Collection,
    /// An object without a class of its own, with its fields.
    Plain,
    /// A function, with its variables.
    Function,
    /// A root, such as a global object.
    Root,
    /// A module of the program.
    Module,
    /// An object of the platform amid the program's: its retainer is more informative.
    Platform,
    /// An object of a class with a name.
    Named,
}

/// Maximum objects of the platform in a signature.
const PLATFORM: usize = 3;

/// Returns the last steps of a path, the holder first.
pub(crate) fn of(runtime: Runtime, steps: Vec<Step>, script: impl Fn(&str) -> String) -> Vec<Step> {
    let mut above = steps;
    let Some(end) = above.pop() else { return above };
    let is_inside = end.name.starts_with('(') || end.name.starts_with("system / ");
    let mut tail = vec![Step::of(&end.name)];
    // Collections that belong to the next holder, if there is one.
    let mut pending = Vec::new();
    let (mut is_held, mut platform) = (false, 0);
    while let Some(mut step) = above.pop() {
        let role = role(runtime, &step, above.is_empty());
        if tail.len() == 1 && is_own(&end.name) {
            // References to shapes and code are fields of the runtime.
            step.out.clear();
        }
        step.out = told(role, &step.out);
        let is_silent = !step.out.contains('.');
        match role {
            Role::Silent => {}
            Role::Collection if step.out.is_empty() => {}
            Role::Collection => pending.push(step),
            Role::Function if is_silent && is_inside && !is_held => {
                tail.push(step);
                break;
            }
            Role::Function | Role::Plain if is_silent => {}
            Role::Function | Role::Plain | Role::Root if is_held => break,
            Role::Plain => {
                // The fields that make an interface depend on the whole heap.
                step.name = "Object".to_owned();
                tail.append(&mut pending);
                tail.push(step);
                is_held = true;
            }
            Role::Platform if platform + 1 < PLATFORM => {
                tail.append(&mut pending);
                tail.push(step);
                platform += 1;
            }
            Role::Module => {
                tail.append(&mut pending);
                tail.push(module(&step, above.last(), script));
                break;
            }
            Role::Function | Role::Root | Role::Platform | Role::Named => {
                tail.append(&mut pending);
                tail.push(step);
                break;
            }
        }
    }
    if !is_held && tail.len() == 1 {
        tail.append(&mut pending);
    }
    tail.reverse();
    tail
}

/// Whether a class is one of shapes and code, which belong to no object of the program.
fn is_own(class: &str) -> bool {
    ["(object shape)", "(compiled code)", "(system)", "system / Context"].iter().any(|own| class.starts_with(own))
}

/// Role of a step; `is_first` marks the first of the path.
fn role(runtime: Runtime, step: &Step, is_first: bool) -> Role {
    let class = &*step.name;
    let name = class.split(" (").next().unwrap_or(class);
    match runtime {
        Runtime::V8 if is_module(step) => Role::Module,
        // The root's name for its target.
        Runtime::V8 if is_first && name.starts_with('(') && part(runtime, class) == Part::Step => Role::Root,
        Runtime::V8 => v8(name),
        Runtime::Jvm | Runtime::DotNet => match part(runtime, class) {
            Part::Collection => Role::Collection,
            Part::Inside | Part::Scope | Part::Roots => Role::Silent,
            Part::Step if name.starts_with('[') => Role::Root,
            Part::Step if name == "java.lang.Class" || name.ends_with("ClassLoader") => Role::Root,
            Part::Step if is_platform(name) => Role::Platform,
            Part::Step => Role::Named,
        },
    }
}

/// Whether a step is a module of Node. Paths of findings name its class without the script.
fn is_module(step: &Step) -> bool {
    const CLASSES: [&str; 4] = ["BuiltinModule", "ModuleWrap", "SourceTextModule", "ModuleJob"];
    const FIELDS: [&str; 3] = [".exports", ".children", ".<symbol node:"];
    match step.name.split_once(" (") {
        None if step.name == "Module" => FIELDS.iter().any(|field| step.out.starts_with(field)),
        Some(("Module", script)) => script.starts_with("node:internal"),
        named => CLASSES.contains(&named.map_or(&*step.name, |(name, _)| name)),
    }
}

fn v8(name: &str) -> Role {
    const COLLECTIONS: [&str; 5] = ["Array", "Map", "Set", "WeakMap", "WeakSet"];
    const ROOTS: [&str; 7] = ["global", "globalThis", "Window", "process", "stack", "timers", "console"];
    const FUNCTIONS: [&str; 6] =
        ["Function", "AsyncFunction", "GeneratorFunction", "AsyncGeneratorFunction", "Generator", "(scope)"];
    // The references to these are more informative.
    const VALUES: [&str; 10] = [
        "ArrayBuffer",
        "Boolean",
        "Buffer",
        "DataView",
        "Date",
        "Number",
        "RegExp",
        "SharedArrayBuffer",
        "String",
        "WeakRef",
    ];
    match name {
        "(scope)" => Role::Function,
        _ if name.is_empty() || name.starts_with('(') || name.starts_with("system / ") => Role::Silent,
        _ if COLLECTIONS.contains(&name) => Role::Collection,
        _ if ROOTS.contains(&name) => Role::Root,
        _ if FUNCTIONS.contains(&name) || name.ends_with("()") => Role::Function,
        _ if VALUES.contains(&name) || name.ends_with("Array") => Role::Silent,
        "Object" | "Promise" | "Error" => Role::Plain,
        _ if name.starts_with('{') => Role::Plain,
        _ => Role::Named,
    }
}

fn is_platform(class: &str) -> bool {
    ["java.", "javax.", "jdk.", "sun.", "com.sun.", "System.", "Microsoft."]
        .iter()
        .any(|start| class.starts_with(start))
}

/// Rest of a step, without folded names and fields that every object of the runtime has.
fn told(role: Role, out: &str) -> String {
    const OF_RUNTIME: [&str; 7] = ["prototype", "shared", "context", "map", "code", "constructor", "__proto__"];
    if role == Role::Collection {
        return if out.ends_with("[]") { "[]".to_owned() } else { String::new() };
    }
    let mut told = out.replace(".(any)", "");
    let first = told.strip_prefix('.').map(|rest| rest.split(['.', '[']).next().unwrap_or(rest)).unwrap_or_default();
    let is_runtime = OF_RUNTIME.contains(&first) || first.starts_with("bound_");
    if matches!(role, Role::Function | Role::Plain) && is_runtime {
        told.clear();
    }
    told
}

/// Step of a module, named by its key in the table of modules above.
fn module(step: &Step, table: Option<&Step>, script: impl Fn(&str) -> String) -> Step {
    let name = table.and_then(|table| table.out.strip_prefix('.')).filter(|name| name.contains(['/', '\\', ':']));
    let name = name.map_or_else(|| "module".to_owned(), |name| format!("module {}", script(name)));
    let out = step.out.strip_prefix(".exports").unwrap_or(&step.out);
    Step { name, out: if out == ".children" { String::new() } else { out.to_owned() } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::join;

    /// Tail of a path of `name` or `name|out`.
    fn tail(runtime: Runtime, path: &str) -> String {
        let step = |text: &str| {
            let (name, out) = text.split_once('|').unwrap_or((text, ""));
            Step { name: name.to_owned(), out: out.to_owned() }
        };
        let steps =
            of(runtime, path.split(" → ").map(step).collect(), |url| url.rsplit('/').next().unwrap().to_owned());
        join(steps.iter().map(|step| (&*step.name, &*step.out)), " → ")
    }

    fn v8(path: &str) -> String {
        tail(Runtime::V8, path)
    }

    #[test]
    fn a_path_that_moves_keeps_its_end() {
        let one =
            "global|.zService → Object|.deep → Object|.reg → Object|.inner → Object|.orders → Map|[] → Order (a.js)";
        let other = "global|.aDebug → Object|.inner → Object|.orders → Map|[] → Order (a.js)";
        assert_eq!(v8(one), "Object.orders → Map[] → Order (a.js)");
        assert_eq!(v8(one), v8(other));
        let one = "global|.app → Server (s.js)|.sessions → Map|[] → Session (s.js)";
        let other =
            "global|.timers → Function|.loop → Object|.server → Server (s.js)|.sessions → Map|[] → Session (s.js)";
        assert_eq!(v8(one), "Server (s.js).sessions → Map[] → Session (s.js)");
        assert_eq!(v8(one), v8(other));
        // Two functions that share a variable.
        let one = "global|.a → Object|.GET → Function|.cache → Map|[] → Object";
        assert_eq!(v8(one), v8("global|.b → Function|.cache → Map|[] → Object"));
    }

    #[test]
    fn different_holders_differ() {
        let ends = [
            "global|.app → Server (s.js)|.sessions → Map|[] → Session (s.js)",
            "global|.app → Server (s.js)|.guests → Map|[] → Session (s.js)",
            "global|.app → Server (s.js)|.sessions → Array|[] → Session (s.js)",
            "global|.app → Store (s.js)|.sessions → Map|[] → Session (s.js)",
            "global|.app → Store (t.js)|.sessions → Map|[] → Session (s.js)",
            "global|.app → Object|.sessions → Map|[] → Session (s.js)",
            "global|.sessions → Map|[] → Session (s.js)",
            "global|.f → Function|.sessions → Map|[] → Session (s.js)",
            "global|.f → Function|.guests → Map|[] → Session (s.js)",
            "global|.f → Object|./srv/a.js → Module (node:internal/m)|.exports → Map|[] → Session (s.js)",
            "global|.f → Object|./srv/b.js → Module (node:internal/m)|.exports → Map|[] → Session (s.js)",
            "global|.app → Server (s.js)|.sessions → Map|[] → Cart (s.js)",
        ];
        let mut tails: Vec<String> = ends.map(v8).to_vec();
        assert_eq!(tails[9], "module a.js → Map[] → Session (s.js)");
        tails.sort();
        tails.dedup();
        assert_eq!(tails.len(), ends.len(), "{tails:?}");
    }

    #[test]
    fn plain_objects_of_a_holder_come_with_it() {
        assert_eq!(
            v8("global|.s → Server (node:net)|._events → Object|.data → Array|[] → Function"),
            "Server (node:net)._events → Object.data → Array[] → Function"
        );
        assert_eq!(
            v8("global|.s → Rooms (r.js)|.byId → Map|[] → Object|.members → Set|[] → Client (c.js)"),
            "Rooms (r.js).byId → Map[] → Object.members → Set[] → Client (c.js)"
        );
    }

    #[test]
    fn insides_of_the_runtime_are_no_steps() {
        assert_eq!(v8("global|.f → Server (s.js)|.map.(any) → (object shape)"), "Server (s.js) → (object shape)");
        assert_eq!(v8("global|.f → Object|.x → Function|.shared.source → (string)"), "Function → (string)");
        assert_eq!(v8("global|.(any) → {a, b}|.text → (string)"), "Object.text → (string)");
        let buffer = "global|.s → Store (s.js)|.pages → Array|[] → Buffer (node:buffer)|.buffer → ArrayBuffer";
        assert_eq!(v8(buffer), "Store (s.js).pages → Array[] → ArrayBuffer");
        assert_eq!(v8("global|.a → Object|.orders → Map|[] → (array)"), "Object.orders → Map[] → (array)");
        assert_eq!(v8("(pending) → Array|[] → Order"), "(pending) → Array[] → Order");
        assert_eq!(v8("global"), "global");
        assert_eq!(v8("(synthetic) → Map|[] → Order"), "Map[] → Order");
    }

    #[test]
    fn java_has_static_fields_and_platform_objects() {
        let java = |path: &str| tail(Runtime::Jvm, path);
        assert_eq!(
            java("java.lang.Thread|.main → App|.x → App$Cache|.SESSIONS → java.util.HashMap|[] → App$Session"),
            "App$Cache.SESSIONS → java.util.HashMap[] → App$Session"
        );
        assert_eq!(
            java(
                "App|.pool → java.lang.Thread|.threadLocals → java.lang.ThreadLocal$ThreadLocalMap$Entry|.value → App$Session"
            ),
            "App.pool → java.lang.Thread.threadLocals → java.lang.ThreadLocal$ThreadLocalMap$Entry.value → App$Session"
        );
    }
}
