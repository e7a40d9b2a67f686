//! Each rule does to its examples what it says, and what all of them promise holds for any name.

#![expect(clippy::unwrap_used, reason = "tests may fail loudly")]

use heaplake_names::{Normaliser, Runtime, check_pattern, fingerprint, lists};
use heaplake_schemas::names::{NameRule, NameRules};
use proptest::prelude::*;

/// A class whose signature is that of a name.
fn class(runtime: Runtime, name: &str) -> String {
    let key = if runtime == Runtime::V8 { format!(",{name}") } else { name.to_owned() };
    Normaliser::of(runtime).class(&key, None)
}

/// What the rules of a list make of an example.
fn normal(title: &str, text: &str) -> String {
    match title {
        "Names of Java virtual machines" => class(Runtime::Jvm, text),
        "Names of .NET" => class(Runtime::DotNet, text),
        "Scripts of V8" => {
            let signature = Normaliser::of(Runtime::V8).class("1,2,3,X", Some(text));
            signature.strip_prefix("X (").unwrap().strip_suffix(')').unwrap().to_owned()
        }
        "Edges and steps of paths" => Normaliser::of(Runtime::V8).path([text].into_iter()).join(" → "),
        _ => class(Runtime::V8, text),
    }
}

#[test]
fn rules_do_what_their_examples_say() {
    let mut wrong = Vec::new();
    for list in lists() {
        for rule in list.rules {
            assert!(!rule.examples.is_empty(), "{}", rule.name);
            for (from, to) in rule.examples {
                let found = normal(list.title, from);
                if found != *to {
                    wrong.push(format!("{}, {}: {from} becomes {found}, expected {to}", list.title, rule.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} examples:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn rules_of_all_runtimes_hold_in_each() {
    for list in lists().iter().filter(|list| list.title == "Names of all runtimes") {
        for (from, to) in list.rules.iter().flat_map(|rule| rule.examples) {
            for runtime in Runtime::ALL {
                // In .NET, `@` and a line number belong to closures of F#, which have a rule of their own.
                if runtime != Runtime::DotNet || !from.contains('@') {
                    assert_eq!(class(runtime, from), *to, "{runtime:?}");
                }
            }
        }
    }
}

#[test]
fn rules_of_the_user_come_first() {
    let rule = |pattern: &str, replace: &str, runtime: Option<&str>| NameRule {
        pattern: pattern.to_owned(),
        replace: replace.to_owned(),
        runtime: runtime.map(str::to_owned),
    };
    let rules = NameRules {
        rules: vec![
            rule("^Session_r(\\d+)$", "Session of round $1", None),
            rule("Session", "Visit", Some("v8")),
            rule("Session", "Besuch", Some("jvm")),
            rule("^.*$", "", Some("dotnet")),
        ],
    };
    let v8 = Normaliser::of(Runtime::V8).with_rules(&rules);
    assert_eq!(v8.class("1,2,3,Session_r12345", Some("/a/b.js")), "Visit of round # (b.js)");
    assert_eq!(Normaliser::of(Runtime::Jvm).with_rules(&rules).class("a.Session$1", None), "a.Besuch$#");
    assert_eq!(Normaliser::of(Runtime::DotNet).with_rules(&rules).class("Session", None), "Session");
    assert_eq!(Normaliser::of(Runtime::V8).with_rules(&NameRules::default()).owner("lodash@4.17.21"), "lodash");
}

#[test]
fn wrong_patterns_are_told_in_one_line() {
    assert_eq!(check_pattern("a(b)*"), Ok(()));
    for pattern in ["(", "a{9,1}", "[z-a]", "\\p{No}{1000}{1000}"] {
        let problem = check_pattern(pattern).unwrap_err();
        assert!(!problem.is_empty() && !problem.contains('\n'), "{pattern}: {problem}");
    }
}

/// What rules look for.
const PIECES: [&str; 63] = [
    "$$Lambda",
    "$",
    "/0x",
    "+0x",
    ".0x",
    "00007f58a9002800",
    "1",
    "42",
    "12345",
    "_class",
    "@",
    " @ 0x",
    " (",
    ")",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "<",
    ">",
    "d__",
    "b__",
    "c__DisplayClass",
    "g__",
    "|",
    "_",
    ".",
    ":",
    "-",
    "Proxy",
    "$Proxy",
    "jdk.proxy",
    "Accessor",
    "CGLIB",
    "$$",
    "a",
    "Foo",
    "é",
    "system / Context / ",
    "eval at ",
    " / ",
    "://",
    "Detached Node / ",
    "webpack_require__(",
    "bound_",
    "argument_",
    "closure",
    "fn__",
    ", Version=",
    "!0x",
    "*",
    "#",
    "?",
    "deadbee1",
    "node_modules/",
    "/",
    "VM",
    "data:",
    "index.js",
    "_idlePrev",
    "[]",
    "=",
];

/// Texts in which rules find much to do.
fn names() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(PIECES.to_vec());
    prop::collection::vec(pieces, 1..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_signature_is_its_own_signature(name in names(), script in prop::option::of(names())) {
        for runtime in Runtime::ALL {
            let once = class(runtime, &name);
            prop_assert_eq!(class(runtime, &once), once.clone(), "{:?}", runtime);
            prop_assert!(!once.is_empty());
            let again = Normaliser::of(runtime).finding("rule", &once, std::iter::empty(), None);
            prop_assert_eq!(again, format!("rule {once}"));
        }
        if let Some(script) = script {
            let names = Normaliser::of(Runtime::V8);
            let once = names.function("f", None, Some(&script), None);
            if let Some(place) = once.strip_prefix("f (").and_then(|place| place.strip_suffix(')')) {
                prop_assert_eq!(names.function("f", None, Some(place), None), once.clone());
            }
        }
    }

    #[test]
    fn no_name_is_without_signature(name in any::<String>(), script in any::<String>()) {
        for runtime in Runtime::ALL {
            let names = Normaliser::of(runtime);
            for signature in [
                names.class(&name, Some(&script)),
                names.owner(&name),
                names.allocated_type(&name),
                names.function(&name, Some(&script), Some(&script), Some(&script)),
                names.duplicate_set(&name, "exact", Some(&script)),
                names.finding(&name, &script, [&*name, &*script].into_iter(), Some(&script)),
                names.chain("reference", [(Some(&*name), &*script, false), (None, &*name, true)].into_iter()),
            ] {
                prop_assert!(!signature.is_empty() || (name.is_empty() && script.is_empty()));
            }
        }
    }

    #[test]
    fn indices_and_lengths_of_lists_do_not_matter(at in 0..100_000u32, other in 0..100_000u32, length in 1..9usize) {
        let names = Normaliser::of(Runtime::V8);
        let chain = |at: u32, length: usize| {
            let index = format!("[{at}]");
            let head = [(None, "global", false), (Some("rows"), "Array", false), (Some(&*index), "Row (a.js)", false)];
            let tail = (1..length).map(|_| (Some("next"), "Row (a.js)", true));
            names.chain("reference", head.into_iter().chain(tail))
        };
        prop_assert_eq!(fingerprint(&chain(at, length)), fingerprint(&chain(other, 1)));
        let finding = |at: u32| names.finding("r", "Row", [&*format!("Table.rows[{at}]")].into_iter(), None);
        prop_assert_eq!(finding(at), finding(other));
    }
}
