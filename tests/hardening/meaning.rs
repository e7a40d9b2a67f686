//! Snapshots of valid JSON that are inconsistent: headers, counts that disagree, missing strings.

use super::good::{GOOD, TREE, assert_as_good, edited};
use super::refusal::{NUMBER, assert_all_refused, assert_refused, failure};
use heaplake_kit::StageError;

/// Marks the beginning of the `snapshot` object.
const HEADER: (&str, &str) = ("{\"snapshot\":{", "{\"snapshot\":^{");

#[test]
fn fields_that_are_missing() {
    for (list, before, fields) in [
        ("node_fields", "\"node_fields\":[", &["type", "name", "id", "self_size", "edge_count"][..]),
        ("edge_fields", "\"edge_fields\":[", &["type", "name_or_index", "to_node"]),
    ] {
        for field in fields {
            let start = GOOD.find(before).unwrap();
            let end = start + GOOD[start..].find(']').unwrap();
            let from = &GOOD[start..end];
            let to = from.replace(&format!("\"{field}\""), "\"else\"");
            let expected = format!("\"{field}\" among snapshot.meta.{list}");
            assert_all_refused(&[(&[(from, &to), HEADER], &expected, "only ")]);
        }
    }
    for key in ["meta", "node_count", "edge_count"] {
        let (from, to) = (format!("\"{key}\":"), format!("\"{key}s\":"));
        let expected = if key == "meta" { "snapshot.meta".to_owned() } else { format!("snapshot.{key}") };
        assert_all_refused(&[(&[(&from, &to), HEADER], &expected, "nothing")]);
    }
    for key in ["node_fields", "node_types", "edge_fields", "edge_types"] {
        let (from, to) = (format!("\"{key}\":"), format!("\"{key}s\":"));
        assert_all_refused(&[(&[(&from, &to), HEADER], &format!("snapshot.meta.{key}"), "nothing")]);
    }
}

#[test]
fn headers_that_make_no_sense() {
    let header = "a snapshot object as V8 writes it";
    let node_types = "[[\"hidden\",\"object\",\"string\",\"native\",\"synthetic\"],";
    let edge_types = "[[\"context\",\"element\",\"property\",\"weak\"],";
    let many = format!("[[{}],", vec!["\"t\""; 257].join(","));
    let types = "snapshot.meta.node_types";
    let list = "a list of names in snapshot.meta.node_types[0]";
    let edge_list = "a list of names in snapshot.meta.edge_types[0]";
    let (nodes, edges) = ("\"node_count\":4", "\"edge_count\":4");
    let count = "snapshot.node_count to be an unsigned integer";
    assert_all_refused(&[
        (&[(node_types, "[[1,2,3],"), HEADER], list, "something else"),
        (&[(node_types, "[\"hidden\","), HEADER], list, "something else"),
        (&[(node_types, "[{},"), HEADER], list, "something else"),
        (&[(node_types, "[null,"), HEADER], list, "something else"),
        (&[(node_types, &many), HEADER], &format!("at most 256 names in {types}"), "257"),
        (&[(edge_types, "[[null],"), HEADER], edge_list, "something else"),
        (&[("\"node_types\":[", "\"node_types\":[],\"other\":["), HEADER], list, "something else"),
        (&[("\"node_types\":[", "\"node_types\":{},\"other\":["), HEADER], header, "invalid type"),
        (&[("\"node_fields\":[", "\"node_fields\":[1,"), HEADER], header, "invalid type"),
        (&[("\"edge_fields\":[", "\"edge_fields\":3,\"other\":["), HEADER], header, "invalid type"),
        (&[("\"location_fields\":[", "\"location_fields\":7,\"other\":["), HEADER], header, "invalid type"),
        (&[(nodes, "\"node_count\":-4"), HEADER], count, "-4"),
        (&[(nodes, "\"node_count\":4.5"), HEADER], count, "4.5"),
        (&[(nodes, "\"node_count\":\"4\""), HEADER], count, "\"4\""),
        (&[(nodes, "\"node_count\":[4]"), HEADER], count, "[4]"),
        (&[(nodes, "\"node_count\":null"), HEADER], "snapshot.node_count", "nothing"),
        (&[(nodes, "\"node_count\":4,,"), HEADER], header, "key must be a string"),
        (&[(edges, "\"edge_count\":1e3"), HEADER], "snapshot.edge_count to be an unsigned integer", "1000.0"),
        (&[(nodes, "\"root_index\":8,\"node_count\":4"), HEADER], "snapshot.root_index to be a multiple of 7", "8"),
        (&[(nodes, "\"root_index\":-7,\"node_count\":4"), HEADER], "snapshot.root_index to be an unsigned", "-7"),
        (&[(nodes, "\"root_index\":28,\"node_count\":4")], "a root node", "root 4 of 4 nodes"),
        (
            &[(nodes, "\"node_count\":1000000000000000000"), HEADER],
            "snapshot.node_count of at most 4294967294",
            "1000000000000000000",
        ),
    ]);
    for value in ["17", "\"text\"", "[]", "null", "true"] {
        let text = format!("{{\"snapshot\":{value},\"nodes\":[],\"edges\":[],\"strings\":[]}}");
        assert_refused(text, 12, header, "invalid");
    }
    let huge = GOOD.replace("\"meta\":{", &format!("\"text\":\"{}\",\"meta\":{{", "x".repeat(5 << 20)));
    assert_refused(huge, 12, "a snapshot object of some kilobytes", "a huge one");
}

#[test]
fn counts_that_disagree() {
    let (after_nodes, after_edges) =
        (("],\n\"edges\"", "]^,\n\"edges\""), ("],\n\"trace_function_infos", "]^,\n\"trace_function_infos"));
    let row = ",2,3,7,32,0,0,0\n";
    let sum = "the nodes' edge_count fields to sum up to 4 edges";
    assert_all_refused(&[
        (&[("\"node_count\":4", "\"node_count\":3"), after_nodes], "3 nodes as snapshot.node_count promises", "4"),
        (&[("\"node_count\":4", "\"node_count\":5"), after_nodes], "5 nodes as snapshot.node_count promises", "4"),
        (&[(row, ""), after_nodes], "4 nodes as snapshot.node_count promises", "3"),
        (&[("\"edge_count\":4", "\"edge_count\":3"), after_edges], "3 edges as snapshot.edge_count promises", "4"),
        (
            &[("\"edge_count\":4", "\"edge_count\":1000000000000000000"), after_edges],
            "1000000000000000000 edges as snapshot.edge_count promises",
            "4",
        ),
        (&[(",2,6,21\n", ""), after_edges], "4 edges as snapshot.edge_count promises", "3"),
        (&[(",1,2,5,24,1,0,0", ",1,2,5,24,2,0,0")], sum, "5"),
        (&[(",1,2,5,24,1,0,0", ",1,2,5,24,0,0,0")], sum, "3"),
        (&[(",1,2,5,24,1,0,0", ",1,2,5,24,4294967295,0,0")], sum, "4294967298"),
    ]);
    let none = r#"{"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count"],"node_types":[["a"]],
        "edge_fields":["type","name_or_index","to_node"],"edge_types":[["b"]]},"node_count":0,"edge_count":0},
        "nodes":[],"edges":[],"strings":[]}"#;
    assert_refused(none, none.len(), "a root node", "root 0 of 0 nodes");
}

#[test]
fn strings_that_are_not_there() {
    let below = "string indexes below 9";
    assert_all_refused(&[
        (&[(",1,1,3,16,1,2,0", ",1,9,3,16,1,2,0")], below, "9 in row 1 of nodes"),
        (&[(",2,6,21", ",2,9,21")], below, "9 in row 3 of edges"),
        (&[(",2,6,21", ",2,4294967295,21")], below, "4294967295 in row 3 of edges"),
        (&[(",1,8,7,1,4,2", ",1,9,7,1,4,2")], below, "9 in row 1 of trace_function_infos"),
        (&[(",1,8,7,1,4,2", ",1,8,9,1,4,2")], below, "9 in row 1 of trace_function_infos"),
        (&[("\"strings\":[", "\"strings\":[],\"other\":[")], "string indexes below 0", "8 in row 1 of trace_function"),
    ]);
    // Elements have numbers, which name no string.
    assert_as_good(edited(&[(",1,0,14", ",1,4294967295,14")]));
}

#[test]
fn offsets_are_those_of_the_file_when_sections_come_before_the_header() {
    let at = GOOD.find("\"nodes\":").unwrap();
    let (header, rest) = GOOD[1..].split_at(at - 1);
    let header = header.trim_end().trim_end_matches(',');
    let text = format!("{{{},\n{header}}}", rest.strip_suffix('}').unwrap());
    assert_as_good(&text);
    for (from, to, expected, found) in [
        (",1,1,3,16,1,2,0", ",1,1,3,^x,1,2,0", NUMBER, "\"x"),
        (",1,0,14", ",1,0,^15", "a node offset that is a multiple of 7", "15 (row 1)"),
        ("\"edges\":[2,4,7", "\"edges\": \r\n [2,4,^8", "a node offset that is a multiple of 7", "8 (row 0)"),
        ("\"locations\":[7,1,4,2\n]", "\"locations\":\t^{\"at\":[7]}", "an array ([)", "\"{\\\"at"),
    ] {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        let text = text.replace(from, to);
        assert_refused(text.replace('^', ""), text.find('^').unwrap(), expected, found);
    }
}

#[test]
fn sums_beyond_64_bits() {
    let most = u64::MAX.to_string();
    let text = edited(&[
        (",1,1,3,16,1,2,0", &format!(",1,1,3,{most},1,2,0")),
        (",2,3,7,32,0,0,0", &format!(",2,3,7,{most},0,0,0")),
    ]);
    let (failure, file) = failure(text.as_bytes());
    assert!(matches!(failure.error.as_deref(), Some(StageError::Overflow(_))), "{file}: {failure}");
    assert!(failure.advice.contains("take the snapshot again"));
}

#[test]
fn nesting_that_never_ends() {
    let open = "[".repeat(1_000_000);
    let text = GOOD.replace("\"nodes\":", &format!("\"deep\":{open},\"nodes\":"));
    assert_refused(&text, text.len(), "the end of this value", "the end of the input");
    let more = GOOD.replace("\"nodes\":", "\"deep\":[[]]],\"nodes\":");
    let at = more.find("]],\"nodes\"").unwrap() + 1;
    assert_refused(&more, at, "a comma or the end of the snapshot (})", "\"],");
    let text = edited(&[(TREE, &"[1,0,0,0,".repeat(100_000))]);
    let end = text.find("\n\"samples").unwrap();
    assert_refused(&text, end - 1, "the children ([)", "\",\\n\\\"samples");
}
