//! Valid snapshots that V8 never or seldom writes.

use super::good::{GOOD, TREE, accepted, assert_as_good, edited, nodes};
use heaplake_support::lake::{Lake, read_json};
use heaplake_support::table::Table;

#[test]
fn sections_in_any_order() {
    let starts: Vec<usize> =
        ["snapshot", "nodes", "edges", "trace_function_infos", "trace_tree", "samples", "locations", "strings"]
            .iter()
            .map(|key| GOOD.find(&format!("\"{key}\":")).unwrap())
            .collect();
    let ends = starts[1..].iter().map(|end| end - 2).chain([GOOD.len() - 1]);
    let sections: Vec<&str> = starts.iter().zip(ends).map(|(&start, end)| &GOOD[start..end]).collect();
    for order in [
        [7, 0, 1, 2, 3, 4, 5, 6],
        [7, 2, 1, 6, 5, 4, 3, 0],
        [0, 2, 1, 7, 4, 3, 6, 5],
        [1, 2, 0, 3, 7, 4, 6, 5],
        [2, 0, 7, 6, 1, 3, 4, 5],
    ] {
        let sections: Vec<&str> = order.iter().map(|&at| sections[at]).collect();
        assert_as_good(format!("{{{}}}", sections.join(",")));
    }
}

#[test]
fn keys_that_nobody_knows() {
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    for value in [
        "null",
        "-1.5e-300",
        "\"a \\\" quote, ] and }\"",
        "{\"nodes\":[1,2,{\"strings\":[\"]\",\"\\\\\"]}],\"\":{}}",
        &deep,
        &objects,
    ] {
        assert_as_good(GOOD.replace("{\"snapshot\":", &format!("{{\"new\": {value} ,\"snapshot\":")));
        assert_as_good(GOOD.replace("\"nodes\":", &format!("\"new\":{value},\"newer\":{value},\"nodes\":")));
        assert_as_good(GOOD.replace("\"make\"]}", &format!("\"make\"],\"new\":{value}\r\n}}")));
    }
    // As in V8 since 2025.
    assert_as_good(GOOD.replace(
        "\"strings\":",
        "\"scopes\":[-1,0,3,-1,2,7],\"scope_context_vars\":[0,-1],\"scope_uses\":[],\"strings\":",
    ));
    // Unknown fields in rows and header.
    assert_as_good(edited(&[
        ("\"node_count\":4", "\"extra_native_bytes\":123,\"new\":{\"nodes\":[1]},\"node_count\":4"),
        ("\"type\",\"name_or_index\",\"to_node\"", "\"new\",\"type\",\"name_or_index\",\"to_node\",\"newer\""),
        ("\"edge_types\":[", "\"edge_types\":[\"number\","),
        ("[2,4,7\n", "[9,2,4,7,9\n"),
        (",1,0,14\n", ",9,1,0,14,9\n"),
        (",2,5,14\n", ",9,2,5,14,9\n"),
        (",2,6,21\n", ",9,2,6,21,9\n"),
    ]));
}

#[test]
fn white_space_of_all_kinds() {
    assert_as_good(GOOD.replace('\n', "\r\n"));
    assert_as_good(format!("\r\n\t {GOOD} \n\n\t\r"));
    assert_as_good(GOOD.replace('\n', ""));
    // Not inside numbers or strings: no string of the file has a comma, bracket or colon.
    let airy = GOOD.replace(',', "\t,\r\n ").replace('[', " [ ").replace(']', "\n]\n").replace(':', " :\t");
    assert_as_good(airy);
    // More of it than a block of the reader.
    assert_as_good(GOOD.replace(",\n", &format!(",{}", " ".repeat(300_000))));
}

#[test]
fn strings_of_all_kinds() {
    let name = |list: &[u8]| {
        let (from, to) = GOOD.as_bytes().split_at(GOOD.find("\"List\"").unwrap());
        let text = [from, b"\"", list, b"\"", &to[6..]].concat();
        nodes(text).texts("name")[1].clone().unwrap()
    };
    assert_eq!(
        name(br#"\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\ud83d\ude00"#),
        "\"\\/\u{8}\u{c}\n\r\tA\u{e9}\u{20ac}\u{1f600}"
    );
    assert_eq!(name("caf\u{e9} \u{1f600} \0".as_bytes()), "caf\u{e9} \u{1f600} \0");
    assert_eq!(name(br"\u0000"), "\0");
    // Lone surrogates and invalid UTF-8 become U+FFFD.
    for (list, shown) in [
        (&br"a\ud800b"[..], "a\u{fffd}b"),
        (br"\ude00\ud83d", "\u{fffd}\u{fffd}"),
        (br"\ud83d\ud83d\ude00", "\u{fffd}\u{1f600}"),
        (br"\ud83d\n\ude00", "\u{fffd}\n\u{fffd}"),
        (b"a\xffb", "a\u{fffd}b"),
        (b"\xc3", "\u{fffd}"),
    ] {
        assert_eq!(name(list), shown, "{list:?}");
    }
    assert_eq!(name(b""), "");
}

/// Text without repetition at short distances, with some characters of several bytes.
fn prose(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes);
    let mut number = 0_u64;
    while text.len() < bytes - 20 {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text += &format!("{:x}\u{20ac} ", number >> 20);
    }
    text += &"x".repeat(bytes - text.len());
    text
}

/// Longest text stored in full, bytes.
const MEBIBYTE: usize = 1 << 20;

#[test]
fn names_of_megabytes() {
    for bytes in [1_000_000, 5_000_000] {
        let long = prose(bytes);
        // A name, one that is almost equal, and one that is equal but written with escapes.
        let text = edited(&[
            ("\"List\"", &format!("\"{long}\"")),
            ("\"Item\"", &format!("\"{long}!\"")),
            ("\"text\"", &format!("\"{}\"", long.replace('\u{20ac}', "\\u20ac"))),
        ]);
        let nodes = nodes(text);
        let names = nodes.texts("name");
        // Texts longer than a mebibyte are truncated in tables.
        let is_told = |name: &Option<String>, text: &str| match (name.as_deref(), text.len()) {
            (Some(name), 0..=MEBIBYTE) => name == text,
            (Some(name), _) => name.strip_suffix('…').is_some_and(|beginning| {
                text.starts_with(beginning) && (MEBIBYTE..MEBIBYTE + 5).contains(&beginning.len())
            }),
            (None, _) => false,
        };
        // Not assert_eq, which would print them.
        assert!(is_told(&names[1], &long) && is_told(&names[3], &long), "{bytes}");
        assert!(is_told(&names[2], &format!("{long}!")), "{bytes}");
        let classes = nodes.u32s("class_id");
        assert_ne!(classes[1], classes[2]);
    }
}

#[test]
fn a_long_name_of_many_nodes() {
    let mut snapshot = heaplake_oracle::Snapshot::new();
    let root = snapshot.add_node("synthetic", "", 0);
    let long = prose(1_000_000);
    for i in 0..500 {
        let node = snapshot.add_node("object", "short", 16);
        snapshot.add_numbered_edge(root, "element", i, node);
        snapshot.add_edge(node, "property", "short", root);
    }
    let text = String::from_utf8(snapshot.to_json(&heaplake_oracle::Layout::default())).unwrap();
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", text.replace("\"short\"", &format!("\"{long}\"")).as_bytes());
    lake.analyze(&input).args(["--memory", "96MiB", "--edges"]).assert().success();
    let run: serde_json::Value = read_json(lake.run().join("run.json"));
    let peak = run["summary"]["peak_rss_bytes"].as_u64().unwrap() >> 20;
    assert!(peak < 120, "{peak} MiB for a budget of 96");
}

#[test]
fn equal_strings_are_one() {
    // Two entries of the string table are the same text, one written with an escape. Without a location, the class is
    // the name.
    let (_lake, run) = accepted(edited(&[("\"Item\"", "\"\\u004cist\""), ("[7,1,4,2\n", "[")]));
    let ids = Table::read(&run, "nodes.parquet").u32s("class_id");
    assert_eq!(ids[1], ids[2]);
    let classes = Table::read(&run, "classes.parquet");
    let row = classes.texts("class").iter().position(|name| name.as_deref() == Some("List")).unwrap();
    assert_eq!((classes.u32s("class_id")[row], classes.u64s("count")[row]), (ids[1], Some(2)));
}

#[test]
fn trees_nested_very_deep() {
    let depth = 100_000;
    let tree = format!("{}[]{}", "[1,0,0,0,".repeat(depth), "]".repeat(depth));
    assert_as_good(edited(&[(TREE, &tree)]));
}

#[test]
fn little_is_enough() {
    assert_as_good(edited(&[("\"trace_function_count\":2", "\"trace_function_count\":1")]));
    assert_as_good(edited(&[(",\"trace_function_count\":2", "")]));
    assert_as_good(edited(&[("[0,3\n,1000,7\n]", "[]"), (TREE, "[]")]));
    for locations in ["", "\n", " \r\n"] {
        let nodes = nodes(edited(&[("[7,1,4,2\n]", &format!("[{locations}]"))]));
        assert_eq!(nodes.u32s("line"), [None; 4]);
    }
    let small = |nodes: &str, node_count: usize, edges: &str, edge_count: usize| {
        format!(
            r#"{{"snapshot":{{"meta":{{"node_fields":["type","name","id","self_size","edge_count"],
            "node_types":[["synthetic","object"]],"edge_fields":["type","name_or_index","to_node"],
            "edge_types":[["element","property"]]}},"node_count":{node_count},"edge_count":{edge_count}}},
            "nodes":[{nodes}],"edges":[{edges}],"strings":["a"]}}"#
        )
    };
    let one = nodes(small("0,0,1,8,0", 1, "", 0));
    assert_eq!((one.rows(), one.u64s("retained_bytes")), (1, vec![Some(8)]));
    let selfish = nodes(small("0,0,1,8,1", 1, "0,0,0", 1));
    assert_eq!(selfish.u64s("retained_bytes"), [Some(8)]);
    let apart = nodes(small("0,0,1,8,0, 1,0,3,4,0, 1,0,5,2,0", 3, "", 0));
    assert_eq!(apart.u64s("retained_bytes"), [14, 4, 2].map(Some));
    assert_eq!(apart.u32s("dominator"), [0; 3].map(Some));
}
