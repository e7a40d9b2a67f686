//! Names of V8.

use crate::rules::Rule;
use crate::scan::{Edit, digits, drop_number, ends_in_identifier, goes_on, rewrite, until_closed};

/// The rules.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "scopes",
        matches: "what newer versions say of a context behind its class",
        becomes: "nothing",
        examples: &[("system / Context / scope @41491", "system / Context"), ("system / Context", "system / Context")],
        apply: |text| {
            rewrite(text, "system / Context / ", |_, after| {
                let kind = after.bytes().take_while(u8::is_ascii_alphabetic).count();
                (kind > 0).then_some(Edit { back: 0, put: "system / Context", forward: kind })
            })
        },
    },
    Rule {
        name: "interfaces",
        matches: "the properties of an interface, whose order is that of the heap",
        becomes: "the same in alphabetical order",
        examples: &[("{disconnect, constructor, dispatch}", "{constructor, disconnect, dispatch}"), ("{a}", "{a}")],
        apply: interfaces,
    },
    Rule {
        name: "pages",
        matches: "the address of the page behind the class of a global object",
        becomes: "nothing",
        examples: &[("Window / https://shop.example:8443", "Window"), ("Detached Window / ://", "Detached Window")],
        apply: |text| {
            rewrite(text, " / ", |before, after| {
                (after.contains("://") && ends_in_identifier(before)).then_some(Edit {
                    back: 0,
                    put: "",
                    forward: after.len(),
                })
            })
        },
    },
    Rule {
        name: "parts of Node",
        matches: "`Detached`, which old versions call the native objects of Node",
        becomes: "nothing",
        examples: &[("Detached Node / BindingData", "Node / BindingData")],
        apply: |text| rewrite(text, "Detached Node / ", |_, _| Some(Edit { back: 0, put: "Node / ", forward: 0 })),
    },
    Rule {
        name: "code in eval",
        matches: "the place behind `eval at NAME`",
        becomes: "nothing",
        examples: &[("eval at load (/srv/app.js:3:14), <anonymous>:1:7", "eval at load, <anonymous>")],
        apply: |text| {
            rewrite(text, "eval at ", |_, after| {
                let name = after.find(" (")?;
                let place = until_closed(&after[name + 2..], '(', ')')?;
                let whole = text.len() - after.len() - "eval at ".len();
                let put = &text[whole..whole + "eval at ".len() + name];
                Some(Edit { back: 0, put, forward: name + 2 + place })
            })
        },
    },
    Rule {
        name: "modules of webpack",
        matches: "the number of a module that webpack loads",
        becomes: "`#`",
        examples: &[("__webpack_require__(123)", "__webpack_require__(#)")],
        apply: |text| {
            rewrite(text, "webpack_require__(", |_, after| {
                let number = digits(after);
                (number > 0).then_some(Edit { back: 0, put: "webpack_require__(#", forward: number })
            })
        },
    },
    Rule {
        name: "copies of names",
        matches: "`$` and a number at the end of a name, by which Rollup, Terser and Babel tell equal names apart",
        becomes: "nothing",
        examples: &[("Session$1", "Session"), ("cache$2.entries", "cache.entries"), ("$1", "$1")],
        apply: |text| {
            rewrite(text, "$", |before, after| {
                let number = digits(after);
                let is_copy = number > 0 && ends_in_identifier(before) && !goes_on(&after[number..]);
                is_copy.then_some(Edit { back: 0, put: "", forward: number })
            })
        },
    },
    Rule {
        name: "classes without a name",
        matches: "the number behind `_class`, `_default` and `_a`, as Babel, esbuild and TypeScript call them",
        becomes: "nothing",
        examples: &[("_class2", "_class"), ("session_default3", "session_default")],
        apply: |text| drop_number(text, "_class", "_class").or_else(|| drop_number(text, "_default", "_default")),
    },
    Rule {
        name: "bound functions",
        matches: "the numbers of `bound_1` and `bound_argument_1`",
        becomes: "`#`",
        examples: &[("bound_argument_2", "bound_argument_#"), ("bound_123", "bound_#")],
        apply: |text| {
            rewrite(text, "bound_", |_, after| {
                let argument = if after.starts_with("argument_") { "argument_".len() } else { 0 };
                let number = digits(&after[argument..]);
                let put = if argument > 0 { "bound_argument_#" } else { "bound_#" };
                (number > 0).then_some(Edit { back: 0, put, forward: argument + number })
            })
        },
    },
];

fn interfaces(text: &str) -> Option<String> {
    let inside = text.strip_prefix('{')?;
    let end = inside.rfind('}')?;
    let mut properties: Vec<&str> = inside[..end].split(", ").collect();
    if properties.is_sorted() {
        return None;
    }
    properties.sort_unstable();
    Some(format!("{{{}{}", properties.join(", "), &inside[end..]))
}

/// Name of a V8 class, from its key with or without a place.
pub(crate) fn name_of_key(class_key: &str) -> &str {
    if let Some(name) = class_key.strip_prefix(',') {
        return name;
    }
    let mut rest = class_key;
    for _ in 0..3 {
        match rest.split_once(',') {
            Some((number, after)) if !number.is_empty() && digits(number) == number.len() => rest = after,
            _ => return class_key,
        }
    }
    rest
}

/// Classes of the language and its host, which every program has: uninformative as holders.
const BUILT_IN: [&str; 28] = [
    "Array",
    "ArrayBuffer",
    "AsyncFunction",
    "AsyncGenerator",
    "Boolean",
    "Buffer",
    "Date",
    "Error",
    "Function",
    "Generator",
    "Map",
    "Number",
    "Object",
    "Promise",
    "RegExp",
    "Set",
    "SharedArrayBuffer",
    "String",
    "Symbol",
    "Uint8Array",
    "WeakMap",
    "WeakRef",
    "WeakSet",
    "Window",
    "console",
    "global",
    "globalThis",
    "process",
];

/// Whether a class signature names a class of the program, or of a package.
pub(crate) fn is_named(class: &str) -> bool {
    !class.starts_with(['{', '(', '<', '"'])
        && !["system / ", "Node / ", "Detached "].iter().any(|start| class.starts_with(start))
        && !class.ends_with("()")
        && BUILT_IN.binary_search(&class).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_classes() {
        for (key, name) in [
            ("7,12,30,Session", "Session"),
            (",{a, b}", "{a, b}"),
            ("7,1,2,{a, b}", "{a, b}"),
            (",", ""),
            ("Session", "Session"),
            ("{a, b, c, d}", "{a, b, c, d}"),
            ("1,2,Session", "1,2,Session"),
        ] {
            assert_eq!(name_of_key(key), name, "{key}");
        }
    }

    #[test]
    fn classes_of_programs() {
        let mut sorted = BUILT_IN;
        sorted.sort_unstable();
        assert!(sorted.iter().all(|class| !is_named(class)));
        assert!(is_named("Session (main.*.js)") && !is_named("{a}") && !is_named("onPrice()"));
    }
}
