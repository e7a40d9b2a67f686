//! Damaged Java heap dumps.
//!
//! Each is refused with one line of cause, which has the offset and the number of objects read, one line of advice and
//! the right exit code, and nothing is left in the lake.

use super::check::check;
use super::dumps::{
    END, accepted, assert_means, assert_survives, bytes, chain, failure, file_of, heap, large, refused, some_dump,
};
use heaplake_oracle::jvm::write::{header, u4};
use heaplake_oracle::jvm::{Layout, Referents, truth};
use heaplake_oracle::strategies;
use heaplake_support::cases::cases;
use heaplake_support::compress::{gzip, zstd};
use heaplake_support::lake::{Lake, diagnostic, heaplake, read_json, said};
use heaplake_support::table::Table;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

#[test]
fn the_good_one_is_good() {
    for dump in [chain(3), some_dump(4), some_dump(8)] {
        assert_means(&bytes(&dump), &dump);
        let (file, _) = file_of(&dump, &heap(&dump));
        assert_means(&file, &dump);
    }
}

#[test]
fn no_dump_at_all() {
    let good = header("1.0.2", 8, 0);
    for (bytes, offset) in [
        (&b"JAVA PROFILE 1.0.2"[..], 18),
        (b"JAVA PROFILE 1.0.2 and then no zero for a very long time, much longer than a version", 0),
        (&good[..20], 19),
        (&good[..30], 19),
        (&good, good.len()),
    ] {
        let message = refused(bytes, offset);
        assert!(!message.is_empty());
    }
    for size in [0, 1, 2, 3, 5, 7, 9, 16, 0xffff_ffff] {
        let mut file = bytes(&chain(1));
        file[19..23].copy_from_slice(&u4(size));
        let message = refused(&file, 19);
        assert!(message.starts_with("ids of 4 or 8 bytes") && message.contains(&size.to_string()), "{message}");
    }
    // Neither snapshot nor dump.
    let lake = Lake::new();
    for (bytes, is) in [
        (&b""[..], "not a heap snapshot: "),
        (b"JAVA", "not a heap snapshot: "),
        (b"PK\x03\x04 a zip", "this is a zip archive, which analyze does not read"),
        (b"\0\0\0\0", "not a heap snapshot: "),
        (b"JAVA PROFILE 9.0.2\0\0\0\0\x08\0\0\0\0", "not a heap snapshot: "),
    ] {
        let (cause, _) = diagnostic(&mut lake.analyze(lake.input("heap.hprof", bytes)), 1);
        assert!(cause.contains(&format!("heap.hprof: {is}")), "{cause}");
        lake.assert_empty();
    }
}

#[test]
fn cut_off_at_every_kilobyte() {
    let whole = bytes(&large());
    accepted(&whole);
    for length in (1000..whole.len()).step_by(1000) {
        let (failure, file) = failure(&whole[..length]);
        let message = failure.to_string();
        let offset = message.strip_prefix(&format!("{file}: byte ")).and_then(|rest| rest.split_once(": expected "));
        let offset: usize = offset.unwrap_or_else(|| panic!("{length}: {message}")).0.parse().unwrap();
        assert!(offset <= length, "{length}: {message}");
        assert!(message.contains("objects)"), "{length}: {message}");
        assert!(failure.advice.contains("--salvage"), "{length}: {}", failure.advice);
    }
}

/// Beginning of every dump.
const MAGIC: &[u8] = b"JAVA PROFILE 1.0.";

#[test]
fn cut_off_at_every_byte_of_a_small_dump() {
    let dump = chain(2);
    let (whole, starts) = file_of(&dump, &heap(&dump));
    let first = starts[0];
    for length in 0..whole.len() {
        let (failure, _) = failure(&whole[..length]);
        let message = failure.to_string();
        // A file shorter than a dump's first word may be anything.
        let unknown = length < MAGIC.len() && message.contains("not a heap snapshot");
        assert!((unknown || message.contains(": byte ")) && message.lines().count() == 1, "{length}: {message}");
        if length > first {
            // Complete records only; classes are objects, too.
            let ends = starts.iter().skip(1).copied().chain([whole.len() - END]);
            let read = ends.skip(dump.roots.len()).filter(|&end| end <= length).count();
            assert!(message.ends_with(&format!("(after {read} objects)")), "{length}: {message}");
        }
    }
}

/// The run of a file with `--salvage`.
fn salvaged(bytes: &[u8]) -> (Lake, PathBuf) {
    let lake = Lake::new();
    let input = lake.input("heap.hprof", bytes);
    lake.analyze(&input).args(["--salvage", "--edges"]).assert().success();
    let run = lake.run();
    (lake, run)
}

#[test]
fn salvage_analyses_what_was_read_and_says_so() {
    let dump = chain(40);
    let records = heap(&dump);
    let (whole, starts) = file_of(&dump, &records);
    for kept in [dump.roots.len() + 1, dump.roots.len() + 5, 20, 43, records.len() - 1] {
        // In the middle of a record: the previous ones are complete.
        let cut = starts[kept] + records[kept].len() / 2;
        let (_lake, run) = salvaged(&whole[..cut]);
        let objects = kept - dump.roots.len();
        let classes = objects.min(dump.classes.len());
        let mut rest = dump.clone();
        rest.classes.truncate(classes);
        rest.objects.truncate(objects - classes);
        check(&truth(&rest, Referents::Hold), &run);
        assert_partial(&run, true);
    }
    // A complete dump is not partial under `--salvage`.
    let (_lake, run) = salvaged(&whole);
    check(&truth(&dump, Referents::Hold), &run);
    assert_partial(&run, false);
}

/// A dump cut between two of its segments looks complete up to there.
#[test]
fn cut_off_between_segments() {
    let dump = chain(40);
    let whole = dump.to_bytes(&Layout { segment: 7, ..Layout::default() });
    accepted(&whole);
    for segment in segments(&whole).into_iter().skip(1) {
        let message = refused(&whole[..segment], segment);
        assert!(message.contains("another segment, or the record (0x2c) that ends the heap dump"), "{message}");
        let (_lake, run) = salvaged(&whole[..segment]);
        assert_partial(&run, true);
    }
    // A heap dump of one record has its end in its length.
    assert_means(&dump.to_bytes(&Layout { segment: 0, version: "1.0.1", ..Layout::default() }), &dump);
}

/// Start of every segment and of their end record.
fn segments(file: &[u8]) -> Vec<usize> {
    let mut at = MAGIC.len() + 2 + 12;
    let mut starts = Vec::new();
    while at < file.len() {
        if matches!(file[at], 0x1c | 0x2c) {
            starts.push(at);
        }
        at += 9 + u32::from_be_bytes(file[at + 5..at + 9].try_into().unwrap()) as usize;
    }
    starts
}

/// Checks that tables, `run.json` and summary agree on whether a run is partial.
fn assert_partial(run: &Path, expected: bool) {
    let snapshot = Table::read(run, "snapshot.parquet");
    assert_eq!(snapshot.bools("partial"), [Some(expected)]);
    assert_eq!(snapshot.texts("partial_reason")[0].is_some(), expected);
    let json: serde_json::Value = read_json(run.join("run.json"));
    assert_eq!(json["summary"]["partial"].is_string(), expected, "{json}");
    let text = said(heaplake().arg("show").arg(run));
    assert_eq!(text.contains("PARTIAL"), expected, "{text}");
}

#[test]
fn nothing_to_salvage() {
    let dump = chain(3);
    let (whole, starts) = file_of(&dump, &heap(&dump));
    for cut in [10, 25, 31, 60, starts[0] - 4] {
        let lake = Lake::new();
        let input = lake.input("heap.hprof", &whole[..cut]);
        diagnostic(lake.analyze(&input).arg("--salvage"), 1);
        lake.assert_empty();
    }
}

#[test]
fn compressed_and_damaged() {
    let whole = bytes(&large());
    for (kind, packed) in [("gzip", gzip(&whole)), ("zstd", zstd(&whole))] {
        accepted(&packed);
        let cuts = [20, packed.len() / 3, packed.len() / 2, packed.len() - 9, packed.len() - 1];
        let mut damaged: Vec<Vec<u8>> = cuts.iter().map(|&cut| packed[..cut].to_vec()).collect();
        let mut flipped = packed.clone();
        flipped[packed.len() / 2] ^= 0xff;
        damaged.push(flipped);
        for bytes in damaged {
            let (failure, file) = failure(&bytes);
            assert!(failure.to_string().starts_with(&format!("{file}: byte ")), "{kind}: {failure}");
        }
    }
    let packed = gzip(&bytes(&chain(20_000)));
    let (_lake, run) = salvaged(&packed[..packed.len() - packed.len() / 4]);
    assert_partial(&run, true);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(600),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    /// Changed bytes, zeros, or a cut: a run or one line of cause, never a panic, and nothing left.
    #[test]
    fn damage_of_any_kind(
        draft in strategies::dump_drafts(20),
        layout in strategies::dump_layouts(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        hole in proptest::option::weighted(0.3, (any::<prop::sample::Index>(), any::<prop::sample::Index>())),
        cut in proptest::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut file = draft.build().to_bytes(&layout);
        for (at, value) in changes {
            let at = at.index(file.len() - 31) + 31;
            file[at] = value;
        }
        // A part that reads as zeros, like a hole in the middle or at the end of a copied file.
        if let Some((from, until)) = hole {
            let (from, until) = (from.index(file.len() - 31) + 31, until.index(2 * file.len()).min(file.len()));
            file[from.min(until)..until].fill(0);
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        assert_survives(&file);
    }
}
