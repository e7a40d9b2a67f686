//! Snapshots of invalid JSON, or with invalid numbers, rows, trees, strings or objects.

use super::good::TREE;
use super::refusal::{NUMBER, assert_all_refused, assert_refused, failure};

#[test]
fn no_snapshot_at_all() {
    for (bytes, found) in [
        (&b""[..], "the file is empty"),
        (b" \n\r\t ", "the file is empty"),
        (b"\xef\xbb\xbf\n", "the file is empty"),
        (b"not a snapshot", r#"it begins with "not a snapshot""#),
        (b"<!doctype html><html>", r#"it begins with "<!doctype html><html>""#),
        (b"[1,2,3]", r#"it begins with "[1,2,3]""#),
        (b"\"a string\"", r#"it begins with "\"a string\"""#),
        (b"17", r#"it begins with "17""#),
    ] {
        let (failure, file) = failure(bytes);
        let message = failure.to_string();
        assert!(message.starts_with(&format!("{file}: not a heap snapshot: {found}")), "{message}");
        assert!(failure.advice.contains(".heapsnapshot (V8), .hprof (Java)"), "{}", failure.advice);
    }
    for text in ["{}", "{ \"other\" : { } }"] {
        assert_refused(text, text.len(), "\"snapshot\" somewhere before the end", "none");
    }
}

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
        (&[(",2,6,21", ",2,^-6,21")], "a string index or element index below 4294967296", "-6 (row 3)"),
        (&[(",2,6,21", ",2,^-2147483649,21")], "an integer from -2^31", r#""-2147483649"#),
        (&[(",2,6,21", ",2,^18446744073709551615,21")], "an integer from -2^31", r#""1844674407370955"#),
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
        (&[(node, ",^16,1,3,16,1,2,0")], "a node type below 16", "16 (row 1)"),
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
        (&[(edge, ",1,0,^9223372036854775807")], "a node offset below 28", "9223372036854775807 (row 1)"),
        (&[(edge, ",1,0,^-1")], "a node offset below 28", "-1 (row 1)"),
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
    let from = TREE;
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
