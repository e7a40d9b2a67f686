//! Snapshots written unlike those of V8's present versions, with the same meaning.

use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, diagnostic};
use heaplake_support::table::Table;

/// A snapshot of a root, an object and a second one, referred to by name or index `place` and offset `to`.
fn referring(kind: usize, place: &str, to: &str) -> String {
    let kinds = r#"["hidden","array","string","object"]"#;
    let edge_kinds = r#"["context","element","property","internal","hidden","shortcut","weak"]"#;
    let meta = format!(
        r#"{{"node_fields":["type","name","id","self_size","edge_count","detachedness"],
        "node_types":[{kinds},"string","number","number","number","number"],
        "edge_fields":["type","name_or_index","to_node"],"edge_types":[{edge_kinds},"string_or_number","node"]}}"#
    );
    format!(
        r#"{{"snapshot":{{"meta":{meta},"node_count":3,"edge_count":2}},
        "nodes":[0,0,1,0,1,0,3,1,3,32,1,0,3,1,5,32,0,0],"edges":[1,1,6,{kind},{place},{to}],"strings":["","Object"]}}"#
    )
}

#[test]
fn indices_from_2_to_the_31_on_are_read_as_what_they_are() {
    // Element and hidden edges.
    for kind in [1, 4] {
        for (written, index) in [("-6", 4_294_967_290), ("-2147483648", 1 << 31), ("2147483647", (1 << 31) - 1)] {
            let lake = Lake::new();
            let input = lake.input("it.heapsnapshot", referring(kind, written, "12").as_bytes());
            lake.analyze(&input).args(["--edges", "--duplicates", "all"]).assert().success();
            let edges = Table::read(&lake.run(), "edges.parquet");
            assert_eq!(edges.u32s("index"), [Some(1), Some(index)], "{written}");
        }
    }
}

#[test]
fn other_negative_numbers_are_damage() {
    for (kind, place, to, expected) in [
        (1, "-2147483649", "12", "an integer from -2^31"),
        (1, "18446744073709551610", "12", "an integer from -2^31"),
        (1, "-6", "-12", "a node offset"),
        (2, "-1", "12", "a string index"),
        (9, "-1", "12", "an edge type"),
    ] {
        let lake = Lake::new();
        let input = lake.input("it.heapsnapshot", referring(kind, place, to).as_bytes());
        let (cause, _) = diagnostic(&mut lake.analyze(&input), 1);
        assert!(cause.contains(expected), "{cause}");
        lake.assert_empty();
    }
    let lake = Lake::new();
    let damaged = referring(1, "1", "12").replace("3,32,1,0", "3,32,-1,0");
    let (cause, _) = diagnostic(&mut lake.analyze(lake.input("it.heapsnapshot", damaged.as_bytes())), 1);
    assert!(cause.contains("an unsigned integer"), "{cause}");
}

fn with_counts(text: &str, nodes: u64, edges: u64) -> String {
    let at = text.find(r#""node_count":"#).unwrap();
    let end = at + text[at..].find(r#","trace_function_count""#).unwrap();
    format!(r#"{}"node_count":{nodes},"edge_count":{edges}{}"#, &text[..at], &text[end..])
}

/// Hermes writes 0 for counts, since it does not know them at the start.
#[test]
fn counts_of_zero_are_unknown() {
    let text = fixtures::text("v8/node24_odd.heapsnapshot");
    let tables = |text: &str| {
        let lake = Lake::new();
        let input = lake.input("it.heapsnapshot", text.as_bytes());
        lake.analyze(&input).arg("--edges").assert().success();
        let run = lake.run();
        let [nodes, edges] = ["nodes.parquet", "edges.parquet"].map(|file| Table::read(&run, file));
        let sizes = ["shallow_bytes", "retained_bytes"].map(|column| nodes.u64s(column));
        let places = [nodes.u32s("dominator"), edges.u32s("to"), edges.u32s("index")];
        (sizes, places, nodes.i32s("distance"), [nodes.texts("class"), edges.texts("name")])
    };
    let expected = tables(&text);
    assert!(tables(&with_counts(&text, 0, 0)) == expected);
    let (nodes, edges) = (text.find("\"nodes\":").unwrap(), text.find("\"edges\":").unwrap());
    let end = edges + text[edges..].find(']').unwrap() + 2;
    let turned = [&text[..nodes], &text[edges..end], &text[nodes..edges], &text[end..]].concat();
    assert!(tables(&with_counts(&turned, 0, 0)) == expected);

    let lake = Lake::new();
    let input = lake.input("it.heapsnapshot", with_counts(&text, 1, 0).as_bytes());
    let (cause, _) = diagnostic(&mut lake.analyze(&input), 1);
    assert!(cause.contains("1 nodes as snapshot.node_count promises"), "{cause}");
}

/// Bun writes snapshots of JavaScriptCore unless asked for V8's.
#[test]
fn snapshots_of_javascript_core_are_refused_by_name() {
    let text = r#"{"version":3,"type":"Inspector","nodes":[0,0,0,0],"nodeClassNames":["<root>"],"edges":[]}"#;
    let lake = Lake::new();
    let input = lake.input("it.heapsnapshot", text.as_bytes());
    let (cause, advice) = diagnostic(&mut lake.analyze(&input), 1);
    assert!(
        cause.ends_with("this is a heap snapshot of JavaScriptCore (Bun, Safari), which analyze does not read"),
        "{cause}"
    );
    assert!(advice.contains("Bun.generateHeapSnapshot(\"v8\")"), "{advice}");
}
