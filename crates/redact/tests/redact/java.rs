//! Dumps of Java.

use crate::dump::{BYTE, Dump, sample};
use crate::{check, fixture, options, redact};
use heaplake_redact::{Choice, Options, Texts};
use std::collections::HashMap;

/// Offsets at which two files of one length differ.
fn differences(one: &[u8], other: &[u8]) -> Vec<usize> {
    assert_eq!(one.len(), other.len());
    (0..one.len()).filter(|&at| one[at] != other[at]).collect()
}

fn find(file: &[u8], bytes: &[u8]) -> Option<usize> {
    file.windows(bytes.len()).position(|window| window == bytes)
}

#[test]
fn contents_are_masked_and_all_else_stays() {
    for id in [4, 8] {
        for is_whole in [true, false] {
            for texts in Texts::ALL {
                let original = sample(id, is_whole).file();
                let (redacted, summary) = redact(&original, &options(texts));
                let secrets: [&[u8]; 9] = [
                    b"hunter2",
                    b"alice",
                    b"\0s\0e\0c\0r",
                    b"\x12\x34\x56\x78",
                    b"\x0a\x0b\x0c\x0d",
                    b"\0B\x01\x02",
                    &[9; 40],
                    b"\x11\x22\x33\x44",
                    b"w\0o\0r\0d\0",
                ];
                for secret in secrets {
                    assert!(find(&original, secret).is_some() && find(&redacted, secret).is_none(), "{secret:?}");
                }
                for name in ["java/lang/String", "hash", "coder", "app/Account", "balance", "cached"] {
                    assert_eq!(find(&original, name.as_bytes()), find(&redacted, name.as_bytes()));
                }
                // The size of the map, and the thread's number.
                assert!(find(&redacted, &[0, 0, 0, 0, 0, 0, 0, 42]).is_some());
                let size = find(&original, &[0, 0, 0, 9]).unwrap();
                assert_eq!(redacted[size..size + 4], [0, 0, 0, 9]);
                let counts: HashMap<&str, u64> =
                    summary.masked.iter().map(|(kind, masked)| (*kind, masked.count)).collect();
                assert_eq!((counts["byte arrays"], counts["char arrays"], counts["arrays of numbers"]), (4, 1, 2));
                assert_eq!((counts["fields"], counts["boxed values"]), (5, 1));
                assert_eq!((counts["static fields and constants"], counts["texts of the dump"]), (1, 1));
            }
        }
    }
}

#[test]
fn what_the_options_keep_stays() {
    let original = sample(8, false).file();
    let numbers = Options { numbers: Choice::Keep, ..options(Texts::Hash) };
    let (redacted, _) = redact(&original, &numbers);
    for kept in [&b"\x0a\x0b\x0c\x0d"[..], &[9; 40], b"\x11\x22\x33\x44"] {
        assert_eq!(find(&original, kept), find(&redacted, kept));
    }
    for secret in [&b"\x12\x34\x56\x78"[..], b"\0B\x01", b"alice"] {
        assert_eq!(find(&redacted, secret), None, "hashes of texts and characters are texts");
    }
    let threads = Options { thread_names: Choice::Keep, ..options(Texts::Hash) };
    let (redacted, summary) = redact(&original, &threads);
    assert!(find(&redacted, b"worker-of-alice").is_some() && find(&redacted, b"\0s\0e\0c").is_none());
    assert!(summary.remarks.iter().any(|remark| remark.contains("names of threads stay")));
}

#[test]
fn equal_arrays_stay_equal_and_different_ones_different() {
    let mut dump = Dump::new(8, false);
    dump.class(100, "java/lang/Object", &[], &[]);
    let text = |at: u64| format!("{:0width$}", at, width = 1 + at as usize % 40);
    for at in 0..4000 {
        dump.array(1000 + at, BYTE, 1, text(at / 2).as_bytes());
    }
    let original = dump.file();
    let (redacted, _) = redact(&original, &options(Texts::Hash));
    let mut masks: HashMap<String, Vec<u8>> = HashMap::new();
    let mut at = find(&original, &[0x23]).unwrap();
    for number in 0..4000u64 {
        at = at + find(&original[at..], &(1000 + number).to_be_bytes()).unwrap() + 8 + 4 + 4 + 1;
        let text = text(number / 2);
        let mask = redacted[at..at + text.len()].to_vec();
        assert_eq!(*masks.entry(text).or_insert(mask.clone()), mask);
    }
    let mut different: Vec<_> = masks.values().collect();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), masks.len());
}

#[test]
fn real_dumps_keep_their_length_and_are_clean() {
    for name in ["dupfix", "hello-live", "weakfix", "headers-compact", "two-dumps"] {
        let original = fixture(&format!("jvm/{name}.hprof.zst"));
        for texts in Texts::ALL {
            let (redacted, summary) = redact(&original, &options(texts));
            let changed = differences(&original, &redacted).len() as u64;
            assert!(changed <= summary.all().bytes && changed * 2 > summary.all().bytes, "{name}: {summary:?}");
            assert!(!summary.masked.contains_key("instances of unknown classes"), "{name}: {summary:?}");
            assert!(check(&redacted).is_clean(), "{name}: {:?}", check(&redacted));
        }
    }
}

#[test]
fn redactions_by_others_are_told() {
    let mut dump = sample(8, false);
    dump.record(0xde, b"mark");
    let (redacted, summary) = redact(&dump.file(), &options(Texts::Hash));
    assert!(find(&redacted, b"mark").is_none());
    assert!(summary.remarks[0].contains("hprof-analyzer"), "{:?}", summary.remarks);
    let mut stars = Dump::new(4, true);
    stars.class(100, "java/lang/Object", &[], &[]);
    (0..200).for_each(|at| stars.array(1000 + at, BYTE, 1, b"******"));
    let (_, summary) = redact(&stars.file(), &options(Texts::Hash));
    assert!(summary.remarks[0].contains("heap-dump-tool"), "{:?}", summary.remarks);
}
