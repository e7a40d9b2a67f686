//! Snapshots from other writers, shells and tools: read with a remark, or identified.

use super::good::{GOOD, edited};
use heaplake_support::compress::{gzip, zstd};
use heaplake_support::lake::{Lake, diagnostic, heaplake, read_json};
use heaplake_support::table::Table;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/v8").join(name)).unwrap()
}

/// Analyses bytes; returns the lake, the remarks, and kinds and names of the nodes.
fn analyzed(bytes: &[u8], options: &[&str]) -> (Lake, Vec<String>, Vec<(String, String)>) {
    let lake = Lake::new();
    let input = lake.input("a.heapsnapshot", bytes);
    lake.analyze(input).args(options).assert().success();
    let run = lake.run();
    let json: Value = read_json(run.join("run.json"));
    let remarks = json["summary"]["remarks"].as_array().cloned().unwrap_or_default();
    let remarks = remarks.iter().map(|remark| remark.as_str().unwrap().to_owned()).collect();
    let nodes = Table::read(&run, "nodes.parquet");
    let nodes = nodes.texts("kind").into_iter().zip(nodes.texts("name"));
    (lake, remarks, nodes.map(|(kind, name)| (kind.unwrap(), name.unwrap())).collect())
}

fn refused(bytes: &[u8]) -> String {
    let lake = Lake::new();
    let (cause, _) = diagnostic(&mut lake.analyze(lake.input("a.heapsnapshot", bytes)), 1);
    lake.assert_empty();
    cause
}

/// Node.js 8 to 11 writes symbols and bigints with a type missing from its list of names.
#[test]
fn types_beyond_the_names_are_those_of_v8() {
    let file = fixture("unnamed_types.heapsnapshot");
    for options in [&[][..], &["--salvage"]] {
        let (_lake, remarks, nodes) = analyzed(&file, options);
        assert_eq!(nodes[2].0, "symbol");
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(remarks[0].contains("beyond the file's list of names") && remarks[0].ends_with(": 1 (symbol)"));
    }
    let text = String::from_utf8(file).unwrap();
    for (number, kind) in [(13, "bigint"), (14, "object shape"), (15, "(unknown type 15)")] {
        let (_lake, remarks, nodes) = analyzed(text.replace(",12,2,5", &format!(",{number},2,5")).as_bytes(), &[]);
        assert_eq!(nodes[2].0, kind);
        assert!(remarks[0].contains(kind), "{remarks:?}");
    }
    // Numbers unknown in any V8.
    for number in ["16", "255", "256", "4294967308"] {
        let cause = refused(text.replace(",12,2,5", &format!(",{number},2,5")).as_bytes());
        assert!(cause.contains(&format!("expected a node type below 16, found {number} (row 2)")), "{cause}");
    }
    // Names other than V8's imply nothing about further types.
    let (_lake, remarks, nodes) = analyzed(edited(&[(",2,3,7,32", ",^7,3,7,32")]).replace('^', "").as_bytes(), &[]);
    assert_eq!(nodes[3].0, "(unknown type 7)");
    assert!(remarks[0].ends_with(": 1 ((unknown type 5), (unknown type 6), (unknown type 7))"), "{remarks:?}");
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let marked = [&b"\xef\xbb\xbf"[..], GOOD.as_bytes()].concat();
    let (_lake, _, plain) = analyzed(GOOD.as_bytes(), &[]);
    for bytes in [&marked, &gzip(&marked), &zstd(&marked), &[&b"\xef\xbb\xbf \r\n"[..], GOOD.as_bytes()].concat()] {
        for options in [&[][..], &["--salvage"]] {
            let (_lake, remarks, nodes) = analyzed(bytes, options);
            assert_eq!((&nodes, remarks), (&plain, Vec::new()));
        }
    }
    // `plan` and `replay` read it, too.
    let lake = Lake::new();
    let input = lake.input("a.heapsnapshot", &marked);
    heaplake().arg("plan").arg(&input).assert().success();
    heaplake().arg("replay").arg(&input).arg("--out").arg(lake.path()).assert().success();
    // A part of one, two of them, and one of UTF-16.
    for mark in [&b"\xef"[..], b"\xef\xbb", b"\xef\xbb\xbf\xef\xbb\xbf", b"\xef\xbf\xbf"] {
        refused(&[mark, GOOD.as_bytes()].concat());
    }
    let wide: Vec<u8> = "\u{feff}{\"snapshot\":".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(refused(&wide).contains("this is a text in UTF-16"));
}

#[test]
fn what_stands_behind_the_end_is_said() {
    let behind = |tail: &[u8]| analyzed(&[GOOD.as_bytes(), tail].concat(), &[]).1;
    let end = GOOD.len();
    assert_eq!(behind(b"\0\0"), [format!("2 NUL bytes behind the end of the JSON are left out, from byte {end}")]);
    assert_eq!(behind(&vec![0; 300_000]).len(), 1);
    assert_eq!(behind(b" \n\0 \n\0\0").len(), 1);
    let text = behind(b"\nWritten to disk.\n");
    assert!(text[0].starts_with("17 bytes of text behind the end of the JSON are left out, from byte "), "{text:?}");
    // A second JSON text, the rest of one, or a long tail.
    let long = [b'x'; 1025];
    for tail in [&b"{}"[..], b"\0{", b"]", b",1", b"done: {", b"\"a\"", &long, &[&[0; 9][..], b"[1]"].concat()] {
        let cause = refused(&[GOOD.as_bytes(), tail].concat());
        assert!(cause.contains("expected the end of the input"), "{cause}");
    }
    assert_eq!(behind(&long[..1024]).len(), 1);
}

#[test]
fn the_layout_of_2012_is_named() {
    let lake = Lake::new();
    let input = lake.input("a.heapsnapshot", &fixture("chrome2012.heapsnapshot"));
    for options in [&[][..], &["--salvage"]] {
        let (cause, advice) = diagnostic(lake.analyze(&input).args(options), 1);
        assert!(cause.ends_with("found the layout of 2012 and before (\"edges_index\")"), "{cause}");
        assert!(advice.starts_with("take the snapshot again with a current version"), "{advice}");
    }
    let cause = refused(&fixture("chrome2012.heapsnapshot"));
    assert!(cause.ends_with("found the layout of 2012 and before (\"edges_index\")"), "{cause}");
    // Without that version's field, the missing one is named.
    let other = refused(edited(&[("\"edge_count\",", "\"edges\",")]).as_bytes());
    assert!(other.contains("expected \"edge_count\" among snapshot.meta.node_fields"), "{other}");
}

#[test]
fn native_bytes_of_no_node_are_said() {
    let with = |value: &str| {
        analyzed(
            edited(&[("\"node_count\":4", &format!("\"extra_native_bytes\":{value},\"node_count\":4"))]).as_bytes(),
            &[],
        )
        .1
    };
    assert_eq!(
        with("5000000"),
        ["4.8 MiB of native memory belong to no node (extra_native_bytes): they are in no size below"]
    );
    for nothing in ["0", "-1", "1.5", "null", "\"7\""] {
        assert_eq!(with(nothing), Vec::<String>::new(), "{nothing}");
    }
}
