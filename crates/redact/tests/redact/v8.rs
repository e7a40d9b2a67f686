//! Snapshots of V8.

use crate::snapshot::{Parsed, Snapshot};
use crate::{check, fixture, options, redact, try_redact};
use heaplake_redact::{Key, Texts};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

const REAL: [&str; 5] = ["small_internals_numeric", "alloc20", "node24_numeric", "chromium138_dom", "unnamed_types"];

fn real(name: &str) -> Vec<u8> {
    let ending = if name == "unnamed_types" { "" } else { ".zst" };
    fixture(&format!("v8/{name}.heapsnapshot{ending}"))
}

fn is_text(kind: &str) -> bool {
    ["string", "regexp", "concatenated string", "sliced string"].contains(&kind)
}

#[test]
fn numbers_and_names_of_real_snapshots_stay_and_texts_do_not() {
    for name in REAL {
        let original = real(name);
        for texts in Texts::ALL {
            let (redacted, summary) = redact(&original, &options(texts));
            let (before, after) = (Parsed::new(&original), Parsed::new(&redacted));
            let (nodes, masked) = (before.nodes(), after.nodes());
            assert_eq!(nodes.len(), masked.len(), "{name}");
            for ((kind, text, numbers), (_, mask, others)) in nodes.iter().zip(&masked) {
                assert_eq!(numbers, others, "{name}");
                if is_text(kind) {
                    // These may be their own masks; V8 writes `???` for characters that it loses.
                    let is_short = text.chars().count() == 1 || text.chars().all(|c| "?x".contains(c));
                    let is_kept = text == mask && !is_short && !text.starts_with('(');
                    assert!(!is_kept, "{name}: {kind} {text:?}");
                }
            }
            for section in ["edges", "locations", "samples", "trace_function_infos"] {
                if section == "edges" || original.windows(section.len()).any(|window| window == section.as_bytes()) {
                    assert_eq!(before.numbers(section), after.numbers(section), "{name}");
                }
            }
            let (edges, edges_after) = (before.edges(), after.edges());
            let changed = edges.iter().zip(&edges_after).filter(|(one, other)| one != other).count();
            assert!(changed * 50 < edges.len(), "{name}: {changed} of {} labels changed", edges.len());
            assert_eq!(summary.output_bytes, redacted.len() as u64);
            assert!(check(&redacted).is_clean(), "{name}: {:?}", check(&redacted));
        }
    }
}

#[test]
fn equal_texts_stay_equal_and_different_ones_different() {
    for name in REAL {
        let original = real(name);
        let (redacted, _) = redact(&original, &options(Texts::Hash));
        let (before, after) = (Parsed::new(&original), Parsed::new(&redacted));
        let mut masks = HashMap::new();
        for ((kind, text, _), (_, mask, _)) in before.nodes().iter().zip(&after.nodes()) {
            if is_text(kind) {
                assert_eq!(*masks.entry(text.to_string()).or_insert(mask.to_string()), **mask, "{name}");
            }
        }
        let different: HashSet<&String> = masks.values().collect();
        assert_eq!(different.len(), masks.len(), "{name}");
    }
}

#[test]
fn a_string_that_is_a_name_and_a_text_is_split() {
    let mut snapshot = Snapshot::default();
    snapshot.node("synthetic", "");
    snapshot.node("object", "Account");
    snapshot.edge("property", "owner");
    snapshot.node("string", "owner");
    snapshot.node("string", "Account");
    snapshot.node("string", "hunter2");
    snapshot.edge("property", "bob@example.com");
    snapshot.node("string", "bob@example.com");
    for texts in Texts::ALL {
        let (redacted, summary) = redact(&snapshot.file(&[]), &options(texts));
        let parsed = Parsed::new(&redacted);
        let nodes: Vec<&str> = parsed.nodes().iter().map(|(_, name, _)| *name).collect();
        let edges: Vec<_> = parsed.edges().into_iter().map(|(_, name)| name.unwrap()).collect();
        assert_eq!((nodes[1], edges[0]), ("Account", "owner"));
        for text in ["owner", "Account", "hunter2", "bob@example.com"] {
            assert!(!nodes[2..].contains(&text), "{nodes:?}");
        }
        assert!(edges[1].len() == 15 && !edges[1].contains('@'), "{edges:?}");
        assert_eq!(summary.masked["texts"].count, 4);
        assert_eq!(summary.masked["names that look like data"].count, 1);
        assert!(summary.remarks[0].starts_with("3 texts"), "{:?}", summary.remarks);
    }
}

#[test]
fn fixed_texts_stay_where_they_are_names_too() {
    let mut snapshot = Snapshot::default();
    snapshot.node("synthetic", "");
    for text in ["0", "(concatenated string)", ""] {
        snapshot.edge("property", text);
        snapshot.node("string", text);
    }
    let (redacted, _) = redact(&snapshot.file(&[]), &options(Texts::Hash));
    let parsed = Parsed::new(&redacted);
    let nodes: Vec<&str> = parsed.nodes().iter().map(|(_, name, _)| *name).collect();
    assert_eq!(nodes, ["", "0", "(concatenated string)", ""]);
}

#[test]
fn one_key_gives_one_mask_and_another_key_another() {
    let original = real("small");
    let (one, other) = (options(Texts::Hash), options(Texts::Hash));
    assert_eq!(redact(&original, &one).0, redact(&original, &one).0);
    assert_ne!(redact(&original, &one).0, redact(&original, &other).0);
    let none = |key: Key| redact(&original, &heaplake_redact::Options { key, ..options(Texts::None) }).0;
    assert_eq!(none(one.key).len(), none(other.key).len());
}

#[test]
fn sections_come_in_any_order_and_unknown_ones_are_masked() {
    let mut snapshot = Snapshot::default();
    snapshot.node("synthetic", "");
    snapshot.node("string", "secret one");
    snapshot.unused("secret two");
    let more = [("notes", serde_json::json!({"a": ["secret \"three\"", 7]}))];
    let text = String::from_utf8(snapshot.file(&more)).unwrap();
    let (head, strings) = text.split_once(",\n\"strings\":").unwrap();
    let head = head.strip_prefix('{').unwrap();
    let strings = strings.strip_suffix('}').unwrap();
    let moved = format!("\u{feff}{{\"strings\":{strings}, {head}}} \n secret four");
    let (redacted, summary) = redact(moved.as_bytes(), &options(Texts::Hash));
    let text = String::from_utf8(redacted).unwrap();
    assert!(!text.contains("secret") && text.contains("[\"xxxxxxxxxxxxxxxx\",7]"), "{text}");
    assert!(summary.remarks.iter().any(|remark| remark.contains("left out")), "{:?}", summary.remarks);
    assert_eq!(Parsed::new(text.as_bytes()).nodes().len(), 2);
}

proptest! {
    #[test]
    fn random_snapshots_keep_their_shape(
        nodes in prop::collection::vec((0usize..15, "[a-zé\"\\\\\u{1}文😀@.]{0,20}"), 1..40),
        edges in prop::collection::vec((0usize..7, "[a-c]{1,2}|[a-z]{3,9}@[a-z]{2,5}\\.com"), 0..40),
        block in 1usize..300,
        is_hashed in any::<bool>(),
    ) {
        const KINDS: [&str; 15] = [
            "hidden", "array", "string", "object", "code", "closure", "regexp", "number", "native", "synthetic",
            "concatenated string", "sliced string", "symbol", "bigint", "object shape",
        ];
        const EDGES: [&str; 7] = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"];
        let mut snapshot = Snapshot::default();
        nodes.iter().for_each(|(kind, name)| snapshot.node(KINDS[*kind], name));
        edges.iter().for_each(|(kind, name)| snapshot.edge(EDGES[*kind], name));
        let original = snapshot.file(&[]);
        let texts = if is_hashed { Texts::Hash } else { Texts::None };
        let options = options(texts);
        let (redacted, _) = try_redact(&original, block, &options).unwrap();
        prop_assert_eq!(&redacted, &redact(&original, &options).0);
        let (before, after) = (Parsed::new(&original), Parsed::new(&redacted));
        prop_assert_eq!(before.numbers("edges"), after.numbers("edges"));
        for ((kind, text, numbers), (_, mask, others)) in before.nodes().iter().zip(&after.nodes()) {
            prop_assert_eq!(numbers, others);
            prop_assert_eq!(text.is_empty(), mask.is_empty());
            if !is_hashed && is_text(kind) {
                prop_assert_eq!(text.encode_utf16().count(), mask.encode_utf16().count());
            }
        }
        prop_assert!(check(&redacted).is_clean());
    }
}
