//! Recordings and traces of older runtimes: read where their layout is that of today, named where it is not.

use crate::fixtures;
use crate::lake::{Lake, complaint};
use crate::replay::replay;
use crate::table::Table;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// JDK 9 writes version 1.0 with the layout of version 2 and other names of classes. Counts are those of `jfr summary`.
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

/// Cut off, and with headers that lie.
#[test]
fn damaged_recordings_of_jdk_9_are_refused() {
    let whole = fixtures::content("jfr/jdk9.jfr");
    for kept in [5, 40, 68, 1000, whole.len() - 1] {
        let lake = Lake::new();
        complaint(&mut replay(&lake, lake.input("x.jfr", &whole[..kept])), 1);
        lake.assert_empty();
    }
    // Size, constants, metadata, ticks of a second.
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
            let (cause, advice) = complaint(command, 1);
            assert!(cause.contains(&format!("{name}: this is {is}")), "{cause}");
            assert!(advice.contains(tool), "{advice}");
        }
        lake.assert_empty();
    }
}
