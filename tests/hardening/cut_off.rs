//! Snapshots that are cut off, or damaged where they are compressed.

use super::good::{GOOD, accepted};
use super::refusal::failure;
use heaplake_support::compress::{gzip, zstd};
use heaplake_support::lake::{Lake, diagnostic};

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

fn assert_cut_off(bytes: &[u8]) {
    let (length, (failure, file)) = (bytes.len(), failure(bytes));
    let message = failure.to_string();
    assert!(message.starts_with(&format!("{file}: byte {length}: expected ")), "{length}: {message}");
    assert!(message.ends_with(", found the end of the input"), "{length}: {message}");
}

#[test]
fn cut_off_at_every_byte_of_a_small_snapshot() {
    (1..GOOD.len()).for_each(|length| assert_cut_off(&GOOD.as_bytes()[..length]));
}

#[test]
fn cut_off_at_every_kilobyte() {
    let whole = generated();
    assert!((60_000..100_000).contains(&whole.len()), "{}", whole.len());
    accepted(&whole);
    (1000..whole.len()).step_by(1000).for_each(|length| assert_cut_off(&whole[..length]));
}

#[test]
fn compressed_and_damaged() {
    let whole = generated();
    for (kind, bytes) in [("gzip", gzip(&whole)), ("zstd", zstd(&whole))] {
        accepted(&bytes);
        let cuts = [5, 20, bytes.len() / 3, bytes.len() / 2, bytes.len() - 9, bytes.len() - 1];
        let mut damaged: Vec<Vec<u8>> = cuts.iter().map(|&cut| bytes[..cut].to_vec()).collect();
        // Corrupts the content, then the checksum.
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
            assert!(failure.advice.contains("write or copy the snapshot again"), "{kind}: {}", failure.advice);
        }
        // The decompressed content is checked like any other file.
        let text = if kind == "gzip" { gzip(b"[1]") } else { zstd(b"[1]") };
        let (failure, file) = failure(&text);
        assert_eq!(failure.to_string(), format!("{file}: not a heap snapshot: it begins with \"[1]\""));
    }
}

#[test]
fn damage_as_the_user_sees_it() {
    let whole = generated();
    let (packed, squeezed) = (gzip(&whole), zstd(&whole));
    for (name, bytes, wanted) in [
        ("empty.heapsnapshot", &b""[..], "not a heap snapshot: the file is empty"),
        ("page.html", b"<html>", "not a heap snapshot: it begins with \"<html>\""),
        ("cut.heapsnapshot", &whole[..50_000], "byte 50000: expected "),
        ("cut.heapsnapshot.gz", &packed[..packed.len() / 2], "byte "),
        ("cut.heapsnapshot.zst", &squeezed[..squeezed.len() / 2], "byte "),
        ("two\nlines.heapsnapshot", b"{}", "byte 2: expected \"snapshot\""),
    ] {
        let lake = Lake::new();
        let input = lake.input(name, bytes);
        let (cause, _) = diagnostic(&mut lake.analyze(&input), 1);
        let input = input.display().to_string().replace('\n', "\\n");
        assert!(cause.starts_with(&format!("{input}: {wanted}")), "{cause}");
        lake.assert_empty();

        let (cause, _) = diagnostic(lake.analyze("-").write_stdin(bytes), 1);
        assert!(cause.starts_with(&format!("standard input: {wanted}")), "{cause}");
        lake.assert_empty();
    }
}
