//! Compressed files as other programs write them: several frames and members, some without content, large windows.

use super::good::{GOOD, assert_as_good};
use flate2::{Compression, GzBuilder};
use heaplake_support::compress::{gzip, zstd};
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use std::io::Write;

/// A skippable frame, as written by `pzstd` and the seekable format.
const SKIPPABLE: &[u8] = b"\x50\x2a\x4d\x18\x04\0\0\0size";

fn halves() -> (&'static [u8], &'static [u8]) {
    GOOD.as_bytes().split_at(GOOD.len() / 2)
}

#[test]
fn zstd_in_frames_is_read() {
    let (first, second) = halves();
    let (one, two, empty) = (zstd(first), zstd(second), zstd(b""));
    for parts in [
        vec![SKIPPABLE, &one, SKIPPABLE, &two],
        vec![&one, &two, SKIPPABLE, SKIPPABLE],
        vec![&empty, &one, &empty, SKIPPABLE, &two, &empty],
    ] {
        assert_as_good(parts.concat());
    }
    let lake = Lake::new();
    let cut = [SKIPPABLE, &one, &two[..two.len() - 1]].concat();
    let (cause, _) = diagnostic(&mut lake.analyze(lake.input("a.heapsnapshot", &cut)), 1);
    assert!(cause.contains("expected intact compressed data, found incomplete frame"), "{cause}");
    let (cause, _) = diagnostic(&mut lake.analyze(lake.input("a.heapsnapshot", &SKIPPABLE.repeat(3))), 1);
    assert!(cause.contains("the file is empty"), "{cause}");
    let (cause, _) = diagnostic(&mut lake.analyze(lake.input("a.heapsnapshot", &zstd(&[SKIPPABLE, &one].concat()))), 1);
    assert!(cause.ends_with("found another compressed file (zstd)"), "{cause}");
}

/// A frame with a window of 2^`log` bytes.
fn windowed(log: u8) -> Vec<u8> {
    // Written piece by piece, so that its header does not contain the content's length.
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.write_all(GOOD.as_bytes()).unwrap();
    encoder.flush().unwrap();
    let mut frame = encoder.finish().unwrap();
    assert_eq!(frame[4] & 0xe0, 0, "it has a window");
    frame[5] = (log - 10) << 3;
    frame
}

#[test]
fn a_window_is_decoded_if_the_memory_suffices() {
    let lake = Lake::new();
    // Like `zstd --long=28` and `--long=31`.
    let (large, largest) = (lake.input("a.heapsnapshot", &windowed(28)), lake.input("b.heapsnapshot", &windowed(31)));
    // The size that the refusal below names.
    lake.analyze(&large).arg("--memory=345MiB").assert().success();
    assert_eq!(lake.runs().len(), 1);
    for (input, window) in [(&large, 1_u64 << 28), (&largest, 1 << 31)] {
        for verb in ["analyze", "plan"] {
            let mut command = heaplake();
            command.arg(verb).arg(input).arg("--memory=200MiB");
            if verb == "analyze" {
                command.arg("--out").arg(lake.path()).arg("--force");
            }
            let (cause, advice) = diagnostic(&mut command, 3);
            assert!(cause.contains("the window of its zstd frame (zstd --long)"), "{cause}");
            let named: u64 =
                advice.split(|c: char| !c.is_ascii_digit()).find_map(|number| number.parse().ok()).unwrap();
            assert!((window >> 20..(window >> 20) + 100).contains(&named), "{advice}");
        }
    }
    let (cause, _) = diagnostic(&mut lake.analyze(lake.input("c.heapsnapshot", &windowed(33))), 1);
    assert!(cause.contains("a zstd window of at most 2147483648 bytes, found one of 8589934592"), "{cause}");
}

#[test]
fn gzip_in_members_is_read() {
    let (first, second) = halves();
    let member = |content: &[u8], builder: GzBuilder| {
        let mut encoder = builder.write(Vec::new(), Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    };
    // Every member of BGZF has this field, and its last one is empty.
    let bgzf = |content| member(content, GzBuilder::new().extra(vec![b'B', b'C', 2, 0, 27, 0]));
    let named = member(first, GzBuilder::new().filename("Heap.heapsnapshot").comment("taken at night").mtime(9));
    for parts in [
        vec![bgzf(first), bgzf(second), bgzf(b"")],
        vec![named.clone(), gzip(b""), gzip(second)],
        vec![named, gzip(second), vec![0; 100_000]],
    ] {
        assert_as_good(parts.concat());
    }
    let lake = Lake::new();
    let odd = [gzip(GOOD.as_bytes()), vec![0; 512], b"text".to_vec()].concat();
    let (cause, _) = diagnostic(&mut lake.analyze(lake.input("a.heapsnapshot", &odd)), 1);
    assert!(cause.contains("expected intact compressed data, found other bytes behind zeros at the end"), "{cause}");
}
