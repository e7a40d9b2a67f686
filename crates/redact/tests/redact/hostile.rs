//! Damaged files: an error in one line, with an offset; never a panic.

use crate::dump::sample;
use crate::snapshot::Snapshot;
use crate::{options, try_redact};
use heaplake_kit::StageError;
use heaplake_redact::Texts;

fn snapshot() -> Vec<u8> {
    let mut snapshot = Snapshot::default();
    snapshot.node("synthetic", "");
    snapshot.node("string", "secret \"é\"");
    snapshot.edge("property", "name");
    snapshot.edge("element", "x");
    snapshot.node("object", "name");
    snapshot.node("closure", "last");
    snapshot.file(&[("trace_function_infos", serde_json::json!([0, 1, 1, 0, 0, 0]))])
}

/// Redacts a damaged file, which may succeed.
fn survives(bytes: &[u8]) -> Option<String> {
    let error = try_redact(bytes, 100, &options(Texts::Hash)).err()?;
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    if let StageError::Input(_) = error {
        assert!(text.starts_with("memory: byte ") && text.contains("expected"), "{text}");
    }
    Some(text)
}

#[test]
fn files_cut_at_any_byte_are_refused() {
    for file in [snapshot(), sample(8, false).file(), sample(4, false).file(), sample(4, true).file()] {
        assert_eq!(survives(&file), None);
        for length in 0..file.len() {
            assert!(survives(&file[..length]).is_some(), "{length} of {}", file.len());
        }
    }
}

#[test]
fn flipped_bytes_never_panic() {
    for file in [snapshot(), sample(8, false).file(), sample(4, true).file()] {
        for at in 0..file.len() {
            for flip in [0x01, 0x80] {
                let mut flipped = file.clone();
                flipped[at] ^= flip;
                survives(&flipped);
            }
        }
    }
}

#[test]
fn other_files_are_named() {
    for (file, named) in [
        (&b""[..], "an empty file"),
        (b"Nettrace", ".nettrace"),
        (b"hello", "another kind of file"),
        (b"FLR\0\0\x02\0\x01", "Java"),
        (b"{\"traceEvents\":[]}", "Chrome"),
    ] {
        let text = survives(file).unwrap();
        assert!(text.contains("expected a heap snapshot of V8 or Java") && text.contains(named), "{text}");
    }
}

#[test]
fn missing_parts_are_named() {
    for (file, expected) in [
        (&b"{}"[..], "the key \"snapshot\""),
        (b"{\"snapshot\":{}}", "snapshot.meta"),
        (b"{\"snapshot\":{},\"snapshot\":{}}", "snapshot.meta"),
    ] {
        let text = survives(file).unwrap();
        assert!(text.contains(expected), "{text}");
    }
    let text = String::from_utf8(snapshot()).unwrap();
    let fewer = text.replace(",\"last\"]", "]");
    assert!(survives(fewer.as_bytes()).unwrap().contains("strings, as nodes and edges name them"));
    let without = &text[..text.find(",\n\"strings\"").unwrap()];
    assert!(survives(format!("{without}}}").as_bytes()).unwrap().contains("the key \"strings\""));
}
