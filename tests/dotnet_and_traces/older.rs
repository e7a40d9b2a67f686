//! Recordings and traces of older runtimes: read if their layout is today's, refused by name otherwise.

use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, diagnostic};
use heaplake_support::replay::replay;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// JDK 9 writes version 1.0 with the layout of version 2 and other class names. Counts are those of `jfr summary`.
#[test]
fn recordings_of_jdk_9_are_read() {
    let lake = Lake::new();
    replay(&lake, lake.input("x.jfr", &fixtures::content("jfr/jdk9.jfr"))).assert().success();
    let table = Table::read(&lake.run(), "recorded_events.parquet");
    let counts = table.u64s("count").into_iter().zip(table.u64s("bytes"));
    let counts: BTreeMap<String, (u64, u64)> = table
        .texts("event")
        .into_iter()
        .zip(counts)
        .map(|(event, (count, bytes))| (event.unwrap(), (count.unwrap(), bytes.unwrap())))
        .collect();
    assert_eq!(counts.len(), 32);
    for (event, count) in [
        ("jdk.BooleanFlag", (661, 22_185)),
        ("jdk.ActiveSetting", (218, 7_117)),
        ("jdk.ThreadAllocationStatistics", (25, 334)),
        ("jdk.Checkpoint", (3, 5_421)),
        ("jdk.Metadata", (1, 63_235)),
        ("jdk.ThreadDump", (1, 11_807)),
    ] {
        assert_eq!(counts[event], count, "{event}");
    }
}

/// Cut off, and with wrong headers.
#[test]
fn damaged_recordings_of_jdk_9_are_refused() {
    let whole = fixtures::content("jfr/jdk9.jfr");
    for kept in [5, 40, 68, 1000, whole.len() - 1] {
        let lake = Lake::new();
        diagnostic(&mut replay(&lake, lake.input("x.jfr", &whole[..kept])), 1);
        lake.assert_empty();
    }
    // Size, constants, metadata, ticks per second.
    for at in [8, 16, 24, 56] {
        let lake = Lake::new();
        let lying = [&whole[..at], &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], &whole[at + 8..]].concat();
        let outcome = replay(&lake, lake.input("x.jfr", &lying)).output().unwrap();
        assert!(matches!(outcome.status.code(), Some(0 | 1)), "{at}");
        assert!(at == 56 || outcome.status.code() == Some(1), "{at}");
    }
}

#[test]
fn what_no_command_reads_is_named() {
    let netperf = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/dotnet/netcore21.netperf"));
    let old = b"FLR\0\0\0\0\x09\0\0\0\0\0\0\xf8\x9a";
    for (name, bytes, is, tool) in [
        ("x.netperf", &netperf.unwrap()[..], "an event trace of .NET Core 2.0 or 2.1 (.netperf)", "PerfView does"),
        ("x.jfr", &old[..], "a recording of the Flight Recorder of Oracle's JDK 7 or 8", "JDK Mission Control does"),
    ] {
        let lake = Lake::new();
        let input = lake.input(name, bytes);
        for command in [&mut replay(&lake, &input), &mut lake.analyze(&input)] {
            let (cause, advice) = diagnostic(command, 1);
            assert!(cause.contains(&format!("{name}: this is {is}")), "{cause}");
            assert!(advice.contains(tool), "{advice}");
        }
        lake.assert_empty();
    }
}

/// A number of seven bits per byte, and the bytes after it.
fn number(bytes: &[u8]) -> (u64, &[u8]) {
    let length = bytes.iter().position(|byte| *byte < 0x80).unwrap() + 1;
    let value = bytes[..length].iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f));
    (value, &bytes[length..])
}

/// A number below 2^28 in four bytes, possibly longer than necessary.
fn padded(value: usize) -> [u8; 4] {
    [0, 7, 14, 21].map(|shift| (value >> shift & 0x7f) as u8 | if shift < 21 { 0x80 } else { 0 })
}

/// The metadata event with the class names of JDK 9.
fn with_former_names(event: &[u8]) -> Vec<u8> {
    let mut rest = number(event).1;
    // Class of the event, start, duration, id of the metadata.
    for _ in 0..4 {
        rest = number(rest).1;
    }
    let (count, mut rest) = number(rest);
    let mut body = event[4..event.len() - rest.len()].to_vec();
    for _ in 0..count {
        // Bytes, or units of 16 bits as numbers.
        let encoding = rest[0];
        assert!(matches!(encoding, 3..=5), "{encoding}");
        let (length, mut behind) = number(&rest[1..]);
        let mut name = String::new();
        for _ in 0..length {
            let (unit, next) = if encoding == 4 { number(behind) } else { (behind[0].into(), &behind[1..]) };
            name.push(char::from_u32(unit as u32).unwrap());
            behind = next;
        }
        let raw = &rest[..rest.len() - behind.len()];
        rest = behind;
        if !name.is_ascii() {
            body.extend(raw);
            continue;
        }
        let former = match name.strip_prefix("jdk.types.") {
            Some(name) => format!("com.oracle.jfr.types.{name}"),
            None => match name.strip_prefix("jdk.").filter(|name| !name.starts_with("jfr.")) {
                Some(name) => format!("com.oracle.jdk.{name}"),
                None => name,
            },
        };
        body.push(encoding);
        body.extend(padded(former.len()));
        body.extend(former.as_bytes());
    }
    body.extend(rest);
    [&padded(body.len() + 4)[..], &body].concat()
}

/// A recording of one chunk as JDK 9 would have written it.
fn of_jdk_9(recording: &[u8]) -> Vec<u8> {
    let place = |at: usize| u64::from_be_bytes(recording[at..at + 8].try_into().unwrap());
    let (size, constants, metadata) = (place(8), place(16), place(24) as usize);
    assert_eq!(size as usize, recording.len(), "one chunk");
    let end = metadata + number(&recording[metadata..]).0 as usize;
    let event = with_former_names(&recording[metadata..end]);
    let mut file = [&recording[..metadata], &event, &recording[end..]].concat();
    let longer = (event.len() - (end - metadata)) as u64;
    file[4..8].copy_from_slice(&[0, 1, 0, 0]);
    file[8..16].copy_from_slice(&(size + longer).to_be_bytes());
    let moved = if constants as usize > metadata { longer } else { 0 };
    file[16..24].copy_from_slice(&(constants + moved).to_be_bytes());
    file
}

#[test]
fn former_names_tell_the_same() {
    let today = fixtures::content("jfr/jdk17-serial.jfr");
    let runs = [today.clone(), of_jdk_9(&today)].map(|bytes| {
        let lake = Lake::new();
        replay(&lake, lake.input("x.jfr", &bytes)).assert().success();
        let run = lake.run();
        ["allocation_types", "allocation_callees", "collections", "old_objects", "object_counts"].map(|table| {
            let table = Table::read(&run, &format!("{table}.parquet"));
            assert!(table.rows() > 0);
            // The first two columns name the run.
            table.0.columns()[2..].to_vec()
        })
    });
    assert!(runs[0] == runs[1]);
}
