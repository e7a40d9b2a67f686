//! Compressed files that expand without limit, and files compressed twice.

use super::good::{GOOD, assert_as_good};
use super::refusal::failure;
use heaplake_support::compress::{gzip, zstd};
use heaplake_support::lake::{Lake, diagnostic, heaplake};

/// Bytes of white space: more than is read of any file.
const BLANK: usize = 200 << 20;

/// A valid snapshot with much white space at its end.
fn blown_up() -> Vec<u8> {
    [GOOD.as_bytes(), &vec![b' '; BLANK]].concat()
}

#[test]
fn bombs_are_refused_unless_they_are_allowed() {
    let content = blown_up();
    for (name, packed) in [("a.heapsnapshot.zst", zstd(&content)), ("a.heapsnapshot.gz", gzip(&content))] {
        assert!(packed.len() < BLANK / 1000, "{name}: {}", packed.len());
        let lake = Lake::new();
        let input = lake.input(name, &packed);
        let (cause, advice) = diagnostic(&mut lake.analyze(&input), 1);
        let expected = "expected a content at most 1000 times as large as its compressed file, found ";
        assert!(cause.contains(&format!("{name}: byte ")) && cause.contains(expected), "{cause}");
        let (_, found) = cause.split_once(expected).unwrap();
        let bytes: usize = found.split(' ').next().unwrap().parse().unwrap();
        assert!(bytes < BLANK + GOOD.len(), "it was read to its end: {cause}");
        assert!(advice.contains("--allow-bomb"), "{advice}");
        lake.assert_empty();
        lake.analyze(&input).arg("--allow-bomb").assert().success();
        assert_eq!(lake.runs().len(), 1);
    }
}

#[test]
fn what_shrinks_well_but_is_small_is_read() {
    let content = [GOOD.as_bytes(), &vec![b' '; 60 << 20]].concat();
    assert_as_good(zstd(&content));
}

#[test]
fn compression_inside_compression_is_refused() {
    let content = GOOD.as_bytes();
    for (inner, packed) in [
        ("gzip", gzip(&gzip(content))),
        ("gzip", zstd(&gzip(content))),
        ("zstd", gzip(&zstd(content))),
        ("zstd", zstd(&zstd(content))),
    ] {
        let (failure, file) = failure(&packed);
        let found = format!("found another compressed file ({inner})");
        let message = failure.to_string();
        assert!(message.starts_with(&format!("{file}: byte 0: ")) && message.ends_with(&found), "{message}");
        assert_eq!(failure.advice, "it was compressed twice: decompress it once");
        let lake = Lake::new();
        let input = lake.input("a.heapsnapshot.gz", &packed);
        let (cause, _) = diagnostic(heaplake().arg("plan").arg(&input), 1);
        assert!(cause.ends_with(&found), "{cause}");
        let (cause, _) = diagnostic(heaplake().arg("replay").arg(&input).arg("--out").arg(lake.path()), 1);
        assert!(cause.ends_with(&found), "{cause}");
    }
}
