//! Inputs that are damaged, or make no sense.
//!
//! Whatever is wrong, there is one line that says what and where, one that says what to do, the right exit code, and
//! nothing left behind.

#![allow(clippy::unwrap_used)] // helpers of tests may fail loudly

mod support;

use heaplake::analyze::Failure;
use heaplake_kit::StageError;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use support::good::{GOOD, accepted, assert_as_good, edited};
use support::{Lake, Table, complaint, gzip, zstd};

/// Analyses bytes that must be refused, in a lake of their own; the failure and how the input is called.
fn failure(bytes: &[u8]) -> (Failure, String) {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", bytes);
    let failure = lake.analyze_here(&input, 2).map(|outcome| outcome.place).unwrap_err();
    lake.assert_empty();
    assert_eq!(failure.to_string().lines().count(), 1, "{failure}");
    assert_eq!(failure.advice().lines().count(), 1, "{failure}");
    (failure, input.display().to_string())
}

/// Asserts that a text is refused at this offset, with words that begin like these.
fn assert_refused(text: impl AsRef<[u8]>, offset: usize, expected: &str, found: &str) {
    let (failure, file) = failure(text.as_ref());
    let message = failure.to_string();
    let (one, other) = message.split_once(", found ").unwrap_or_else(|| panic!("{message}"));
    let wanted = format!("{file}: byte {offset}: expected {expected}");
    assert!(one.starts_with(&wanted) && other.starts_with(found), "\n{message}\n{wanted}…, found {found}…");
    assert!(failure.advice().contains("write or copy the snapshot again"), "{}", failure.advice());
    assert!(!failure.is_resource() && !failure.is_cancelled());
}

/// What to change in [`GOOD`], with a `^` where the error must be seen (else at the end of the file); what the message
/// must then name as expected; how what was found must begin.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a str);

fn assert_all_refused(cases: &[Case<'_>]) {
    for (edits, expected, found) in cases {
        let text = edited(edits);
        let offset = text.find('^').unwrap_or(text.len());
        assert_refused(text.replace('^', ""), offset, expected, found);
    }
}

// What is refused.

#[test]
fn the_good_one_is_good() {
    assert_as_good(GOOD);
}

#[test]
fn no_snapshot_at_all() {
    let start = "a V8 heap snapshot, which begins with {";
    for (bytes, offset, found) in [
        (&b""[..], 0, "the end of the input"),
        (b" \n\r\t ", 5, "the end of the input"),
        (b"not a snapshot", 0, r#""not a snapshot""#),
        (b"<!doctype html><html>", 0, r#""<!doctype html><""#),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0", 0, r#""\u{7f}ELF"#),
        (b"[1,2,3]", 0, r#""[1,2,3]""#),
        (b"\"a string\"", 0, r#""\"a string\"""#),
        (b"17", 0, r#""17""#),
        (b"\xef\xbb\xbf{\"snapshot\":{}}", 0, r#""\u{feff}{"#),
        (b"\xff\xfe{\0\"\0", 0, "\"\u{fffd}\u{fffd}{"),
    ] {
        assert_refused(bytes, offset, start, found);
    }
    for text in ["{}", "{ \"head\" : { } }"] {
        assert_refused(text, text.len(), "\"snapshot\" somewhere before the end", "none");
    }
}

const NUMBER: &str = "an unsigned integer below 2^64";

#[test]
fn numbers_that_are_none() {
    let from = ",1,1,3,16,1,2,0";
    assert_all_refused(&[
        (&[(from, ",1,1,3,^-16,1,2,0")], NUMBER, r#""-16"#),
        (&[(from, ",1,1,3,^18446744073709551616,1,2,0")], NUMBER, r#""1844674407370955"#),
        (&[(from, ",1,1,3,^99999999999999999999999999,1,2,0")], NUMBER, r#""9999999999999999"#),
        (&[(from, ",1,1,3,^1.5,1,2,0")], NUMBER, r#""1.5"#),
        (&[(from, ",1,1,3,^1e9,1,2,0")], NUMBER, r#""1e9"#),
        (&[(from, ",1,1,3,^+16,1,2,0")], NUMBER, r#""+16"#),
        (&[(from, ",1,1,3,^null,1,2,0")], NUMBER, r#""null"#),
        (&[(from, ",1,1,3,^\"16\",1,2,0")], NUMBER, r#""\"16\""#),
        (&[(from, ",1,1,3,^[16],1,2,0")], NUMBER, r#""["#),
        (&[(from, ",1,1,3,16^abc,1,2,0")], "a comma", r#""abc"#),
        (&[(from, ",1,1,3,16 ^1,2,0")], "a comma", r#""1,2,0"#),
        (&[(from, ",1,1,3,^,16,1,2,0")], NUMBER, r#"",16"#),
        (&[(",2,3,7,32,0,0,0\n]", ",2,3,7,32,0,0,0,\n^]")], NUMBER, "nothing"),
        (&[("[4,0,1,0,2,0,0", "[^,4,0,1,0,2,0,0")], NUMBER, r#"",4"#),
        (&[(",2,6,21", ",2,^-6,21")], NUMBER, r#""-6"#),
        (&[("[7,1,4,2", "[7,1,^-1,2")], NUMBER, r#""-1"#),
        (&[(",1000,7", ",^-1000,7")], NUMBER, r#""-1000"#),
        (&[(",1,8,7,1,4,2", ",1,8,7,1,^4.0,2")], NUMBER, r#""4.0"#),
    ]);
}

#[test]
fn rows_that_cannot_be() {
    let node = ",1,1,3,16,1,2,0";
    let last = ",2,3,7,32,0,0,0\n]";
    let edge = ",1,0,14";
    let array = "an array ([)";
    assert_all_refused(&[
        (&[(node, ",^5,1,3,16,1,2,0")], "a node type below 5", "5 (row 1)"),
        (&[(node, ",1,^4294967295,3,16,1,2,0")], "a string index below 4294967295", "4294967295 (row 1)"),
        (&[(node, ",1,1,3,16,^4294967296,2,0")], "an edge count below 4294967296", "4294967296 (row 1)"),
        (&[(node, ",1,1,3,16,1,^4294967296,0")], "a trace node id below 4294967296", "4294967296 (row 1)"),
        (&[(node, ",1,1,3,16,1,2,^4")], "a detachedness below 4", "4 (row 1)"),
        (&[(last, ",2,3,7,32,0,0\n^]")], "rows of 7 numbers", "6 numbers too many after row 3"),
        (&[(last, ",2,3,7,32,0,0,0,0\n^]")], "rows of 7 numbers", "1 numbers too many after row 4"),
        (&[(edge, ",^4,0,14")], "an edge type below 4", "4 (row 1)"),
        (&[(edge, ",1,^4294967296,14")], "a string index or element index below 4294967296", "4294967296 (row 1)"),
        (&[(edge, ",1,0,^15")], "a node offset that is a multiple of 7", "15 (row 1)"),
        (&[(edge, ",1,0,^28")], "a node offset below 28", "28 (row 1)"),
        (&[(edge, ",1,0,^18446744073709551615")], "a node offset below 28", "18446744073709551615 (row 1)"),
        (&[(",2,6,21\n]", ",2,6,21,2\n^]")], "rows of 3 numbers", "1 numbers too many after row 4"),
        (&[("[7,1,4,2", "[^28,1,4,2")], "a node offset below 28", "28 (row 0)"),
        (&[("[7,1,4,2", "[^8,1,4,2")], "a node offset that is a multiple of 7", "8 (row 0)"),
        (&[("[7,1,4,2", "[7,^4294967296,4,2")], "a script id below 4294967296", "4294967296 (row 0)"),
        (&[("[7,1,4,2", "[7,1,^4294967296,2")], "a line below 4294967296", "4294967296 (row 0)"),
        (&[("[7,1,4,2", "[7,1,4,^4294967296")], "a column below 4294967296", "4294967296 (row 0)"),
        (&[(",1,8,7,1,4,2", ",1,8,7,1,^4294967296,2")], "a number below 2^32", "4294967296 (row 1)"),
        (&[("\"nodes\":[", "\"nodes\":^{")], array, r#""{4"#),
        (&[("\"edges\":[", "\"edges\": ^\"[")], array, r#""\"["#),
        (&[("\"strings\":[", "\"strings\":^null,[")], array, r#""null"#),
        (&[("\"trace_tree\":[", "\"trace_tree\":^1,[")], array, r#""1,["#),
    ]);
}

#[test]
fn trees_that_cannot_be() {
    let from = "[1,0,0,0,[2,1,1,16,[]]]";
    assert_all_refused(&[
        (&[(from, "[1,0,0,^[2,1,1,16,[]]]")], "an unsigned integer", r#""["#),
        (&[(from, "[1,0,0,0,^2,1,1,16]")], "the children ([)", r#""2"#),
        (&[(from, "[1,0,0,0,[],^]")], "an unsigned integer", r#""]"#),
        (&[(from, "[1,0,0,0,[] ^2,1,1,16,[]]")], "a comma or the end of the array (])", r#""2"#),
        (&[(from, "[1,0,^-1,0,[]]")], "an unsigned integer", r#""-1"#),
        (&[(from, "[1,0,^18446744073709551616,0,[]]")], NUMBER, "a larger number"),
        (&[(from, "[4294967296,0,0,0,[^]]")], "a trace node", "4294967296, which is no 32-bit number"),
        (&[("\"size\",\"children\"", "\"children\",\"size\""), (from, "^[]")], "\"children\" as the last", "\"[]"),
    ]);
}

#[test]
fn strings_that_cannot_be() {
    assert_all_refused(&[
        (&[("\"make\"]}", "\"make]}")], "the end of this string (\")", "the end of the input"),
        (&[("\"make\"]}", "\"make\\")], "an escape (one of", "the end of the input"),
        (&[("\"make\"]}", "\"make\\u12")], "four hexadecimal digits", "the end of the input"),
        (&[("\"List\"", "\"Li\\^xst\"")], "an escape (one of", r#""xst"#),
        (&[("\"List\"", "\"Li\\u00^g0\"")], "four hexadecimal digits", r#""g0"#),
        (&[("\"List\"", "^17")], "a string", r#""17"#),
        (&[("\"List\"", "^null")], "a string", r#""null"#),
        (&[("\"List\",\n", "\"List\"\n^")], "a comma or the end of the array (])", r#""\"Item"#),
        (&[("\"List\",\n", "\"List\",^,\n")], "a string", r#"","#),
        (&[("\"make\"]", "\"make\",^]")], "a string", r#""]}"#),
    ]);
}

#[test]
fn objects_that_cannot_be() {
    let end = "the end of the input";
    assert_all_refused(&[
        (&[("\"nodes\":[", "\"nodes\"^[")], "a colon", r#""["#),
        (&[("\"nodes\":", "^nodes:")], "a string", r#""nodes:"#),
        (&[("],\n\"edges\"", "],,\n\"edges\""), ("],,", "],^,")], "a string", r#"","#),
        (&[("],\n\"edges\"", "]\n^\"edges\"")], "a comma or the end of the snapshot (})", r#""\"edges"#),
        (&[("\"make\"]}", "\"make\"],^}")], "a string", r#""}"#),
        (&[("\"make\"]}", "\"make\"]")], "a comma or the end of the snapshot (})", end),
        (&[("\"make\"]}", "\"make\"]}^,")], end, r#"",""#),
        (&[("\"make\"]}", "\"make\"]}\n^{}")], end, r#""{}""#),
        (&[("\"make\"]}", "\"make\"]}^\0\0\0")], end, r#""\0\0\0""#),
        (&[("\"samples\":", "^\"nodes\":")], "each key once", "a second \"nodes\""),
        (&[("\"samples\":", "\"samples\":[],^\"samples\":")], "each key once", "a second \"samples\""),
        (&[("\"make\"]}", "\"make\"],^\"snapshot\":{}}")], "each key once", "a second \"snapshot\""),
        (&[("\"make\"]}", "\"make\"],^\"str\\u0069ngs\":[]}")], "each key once", "a second \"strings\""),
        (&[("\"make\"]}", "\"make\"],\"more\":^}")], "a value", r#""}"#),
    ]);
    for section in ["snapshot", "nodes", "edges", "strings"] {
        let (from, to) = (format!("\"{section}\":"), format!("\"not {section}\":"));
        let expected = format!("\"{section}\" somewhere before the end");
        assert_all_refused(&[(&[(&from, &to)], &expected, "none")]);
    }
    let long_key = format!("{{\"{}\":1}}", "k".repeat(5000));
    assert_refused(long_key, 2, "at most 1024 bytes", "5000 bytes");
}

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
    assert!(matches!(failure, Failure::Stage(StageError::Overflow(_))), "{file}: {failure}");
    assert!(failure.advice().contains("take the snapshot again"));
}

#[test]
fn nesting_that_never_ends() {
    let open = "[".repeat(1_000_000);
    let text = GOOD.replace("\"nodes\":", &format!("\"deep\":{open},\"nodes\":"));
    assert_refused(&text, text.len(), "the end of this value", "the end of the input");
    let more = GOOD.replace("\"nodes\":", "\"deep\":[[]]],\"nodes\":");
    let at = more.find("]],\"nodes\"").unwrap() + 1;
    assert_refused(&more, at, "a comma or the end of the snapshot (})", "\"],");
    let text = edited(&[("[1,0,0,0,[2,1,1,16,[]]]", &"[1,0,0,0,".repeat(100_000))]);
    let end = text.find("\n\"samples").unwrap();
    assert_refused(&text, end - 1, "the children ([)", "\",\\n\\\"samples");
}

// What is cut off.

/// A snapshot of 60 to 100 KB.
fn generated() -> Vec<u8> {
    let mut snapshot = heaplake_oracle::Snapshot::new();
    let root = snapshot.add_node("synthetic", "", 0);
    for i in 0..1200_u64 {
        let node =
            snapshot.add_node(["object", "string", "array", "closure"][i as usize % 4], &*format!("name {i}"), 8 * i);
        snapshot.add_numbered_edge(root, "element", i, node);
        snapshot.add_edge(node, "property", &*format!("to \u{e9} {}", i % 50), (i as usize * 7) % (node + 1));
    }
    let layout = heaplake_oracle::Layout { trace_tree: true, samples: true, ..Default::default() };
    snapshot.to_json(&layout)
}

#[test]
fn cut_off_at_every_byte_of_a_small_snapshot() {
    for length in 1..GOOD.len() {
        let (failure, file) = failure(&GOOD.as_bytes()[..length]);
        let message = failure.to_string();
        assert!(message.starts_with(&format!("{file}: byte {length}: expected ")), "{length}: {message}");
        assert!(message.ends_with(", found the end of the input"), "{length}: {message}");
    }
}

#[test]
fn cut_off_at_every_kilobyte() {
    let whole = generated();
    assert!((60_000..100_000).contains(&whole.len()), "{}", whole.len());
    accepted(&whole);
    for length in (1000..whole.len()).step_by(1000) {
        let (failure, file) = failure(&whole[..length]);
        let message = failure.to_string();
        assert!(message.starts_with(&format!("{file}: byte {length}: expected ")), "{length}: {message}");
        assert!(message.ends_with(", found the end of the input"), "{length}: {message}");
    }
}

#[test]
fn compressed_and_damaged() {
    let whole = generated();
    for (kind, bytes) in [("gzip", gzip(&whole)), ("zstd", zstd(&whole))] {
        accepted(&bytes);
        let cuts = [5, 20, bytes.len() / 3, bytes.len() / 2, bytes.len() - 9, bytes.len() - 1];
        let mut damaged: Vec<Vec<u8>> = cuts.iter().map(|&cut| bytes[..cut].to_vec()).collect();
        // Neither content nor checksum survive this.
        for at in [bytes.len() / 2, bytes.len() - 3] {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0xff;
            damaged.push(flipped);
        }
        damaged.push([&bytes[..], b"and more"].concat());
        for bytes in damaged {
            let (failure, file) = failure(&bytes);
            let message = failure.to_string();
            assert!(message.starts_with(&format!("{file}: byte ")), "{kind}: {message}");
            assert!(failure.advice().contains("write or copy the snapshot again"), "{kind}: {}", failure.advice());
        }
        // What is inside is judged like any other file.
        let text = if kind == "gzip" { gzip(b"[1]") } else { zstd(b"[1]") };
        assert_refused(text, 0, "a V8 heap snapshot, which begins with {", "\"[1]\"");
    }
}

#[test]
fn damage_as_the_user_sees_it() {
    let whole = generated();
    let (packed, squeezed) = (gzip(&whole), zstd(&whole));
    for (name, bytes, wanted) in [
        ("empty.heapsnapshot", &b""[..], "byte 0: expected a V8 heap snapshot, which begins with {, found the end"),
        ("page.html", b"<html>", "byte 0: expected a V8 heap snapshot, which begins with {, found \"<html>\""),
        ("cut.heapsnapshot", &whole[..50_000], "byte 50000: expected "),
        ("cut.heapsnapshot.gz", &packed[..packed.len() / 2], "byte "),
        ("cut.heapsnapshot.zst", &squeezed[..squeezed.len() / 2], "byte "),
        ("two\nlines.heapsnapshot", b"{}", "byte 2: expected \"snapshot\""),
    ] {
        let lake = Lake::new();
        let input = lake.input(name, bytes);
        let (cause, _) = complaint(&mut lake.analyze(&input), 1);
        let input = input.display().to_string().replace('\n', " ");
        assert!(cause.starts_with(&format!("{input}: {wanted}")), "{cause}");
        lake.assert_empty();

        let (cause, _) = complaint(lake.analyze("-").write_stdin(bytes), 1);
        assert!(cause.starts_with(&format!("standard input: {wanted}")), "{cause}");
        lake.assert_empty();
    }
}

// What chance does to a file.

/// One change to a file.
#[derive(Clone, Debug)]
enum Mutation {
    Set(u8),
    Flip(u8),
    Delete(usize),
    Insert(Vec<u8>),
    /// Another number in place of the next one.
    Number(u64),
    /// Another piece of the file in place of this one.
    Copy(prop::sample::Index, usize),
    Truncate,
}

impl Mutation {
    fn apply(&self, at: &prop::sample::Index, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let at = at.index(bytes.len());
        match self {
            Self::Set(byte) => bytes[at] = *byte,
            Self::Flip(bit) => bytes[at] ^= 1 << bit,
            Self::Delete(count) => drop(bytes.drain(at..(at + count).min(bytes.len()))),
            Self::Insert(more) => drop(bytes.splice(at..at, more.iter().copied())),
            Self::Number(number) => {
                let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|i| at + i) else { return };
                let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                bytes.splice(start..start + length, number.to_string().into_bytes());
            }
            Self::Copy(from, length) => {
                let from = from.index(bytes.len());
                let piece = bytes[from..(from + length).min(bytes.len())].to_vec();
                bytes.splice(at..(at + length).min(bytes.len()), piece);
            }
            Self::Truncate => bytes.truncate(at),
        }
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let telling = prop::sample::select(b"0123456789,,,[]{}\"\\:-.e \n\xff".to_vec());
    let numbers = prop_oneof![
        0..40_u64,
        prop::sample::select(vec![254, 255, 256, 65_536, u64::from(u32::MAX) - 1, u64::from(u32::MAX), 1 << 32]),
        prop::sample::select(vec![i64::MAX as u64, 1 << 63, u64::MAX - 1, u64::MAX]),
    ];
    prop_oneof![
        3 => telling.clone().prop_map(Mutation::Set),
        2 => (0..8_u8).prop_map(Mutation::Flip),
        2 => (1..20_usize).prop_map(Mutation::Delete),
        2 => prop::collection::vec(telling, 1..5).prop_map(Mutation::Insert),
        8 => numbers.prop_map(Mutation::Number),
        2 => (any::<prop::sample::Index>(), 1..60_usize).prop_map(|(from, length)| Mutation::Copy(from, length)),
        1 => Just(Mutation::Truncate),
    ]
}

/// The same few thousand cases every time, or other ones and as many as HEAPLAKE_CASES says (`make test-long`).
fn chance() -> ProptestConfig {
    let cases = std::env::var("HEAPLAKE_CASES").ok().and_then(|cases| cases.parse().ok());
    let rng_seed = if cases.is_some() { RngSeed::Random } else { RngSeed::Fixed(7) };
    ProptestConfig { cases: cases.unwrap_or(3000), rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// Whether a failure is one that an input may cause: anything else would be a defect of heaplake.
fn is_of_the_input(failure: &Failure) -> bool {
    use StageError::{Budget, Input, Overflow, Plan};
    matches!(failure, Failure::Stage(Input(_) | Budget { .. } | Plan { .. } | Overflow(_)))
}

proptest! {
    #![proptest_config(chance())]
    #[test]
    fn mutated_snapshots_are_read_or_refused(
        mutations in prop::collection::vec((any::<prop::sample::Index>(), mutation()), 1..4),
    ) {
        let mut bytes = GOOD.as_bytes().to_vec();
        mutations.iter().for_each(|(at, mutation)| mutation.apply(at, &mut bytes));
        let lake = Lake::new();
        let input = lake.input("Heap.heapsnapshot", &bytes);
        match lake.analyze_here(&input, 2) {
            Ok(outcome) => prop_assert!(Table::read(&outcome.place, "nodes.parquet").rows() > 0),
            Err(failure) => {
                prop_assert!(is_of_the_input(&failure), "{failure}");
                prop_assert!(!failure.advice().is_empty());
                prop_assert_eq!(failure.to_string().lines().count(), 1);
                lake.assert_empty();
            }
        }
    }
}
