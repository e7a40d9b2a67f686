//! Files of the wrong kind: each is identified, with the command that reads it, if there is one.

use super::good::{GOOD, TREE, edited};
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use std::path::Path;

/// Messages of `analyze` and `replay` for a file; `plan` must agree with `analyze`.
fn said(lake: &Lake, input: &Path) -> [(String, String); 2] {
    let analyze = diagnostic(&mut lake.analyze(input), 1);
    let replay = diagnostic(heaplake().arg("replay").arg(input).arg("--out").arg(lake.path()).arg("--quiet"), 1);
    let plan = diagnostic(heaplake().arg("plan").arg(input), 1);
    assert_eq!(plan, analyze);
    lake.assert_empty();
    [analyze, replay]
}

#[test]
fn what_no_command_reads_is_named() {
    let core = [&b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0\x3e\0"[..], &[0; 100]].concat();
    for (name, bytes, is, advice) in [
        ("core.1234", &core[..], "a core dump of Linux (ELF)", "jhsdb jmap --binaryheap"),
        ("app.dmp", b"MDMP\x93\xa7\0\0\x10\0\0\0", "a minidump of Windows (.dmp)", "while it runs"),
        ("Trace.json", br#"{"traceEvents":[{"ph":"M"}]}"#, "a trace of Chrome (trace events)", "Memory panel"),
        ("x.cpuprofile", br#"{"nodes":[{"id":1,"callFrame":{}}]}"#, "a CPU profile of V8 (.cpuprofile)", "--heap-prof"),
        ("heap.pb", b"\x0a\x04\x08\x01\x10\x02\x12\x02\x08\x01", "a profile of pprof", "go tool pprof"),
        (
            "jsc.heapsnapshot",
            br#"{"version":3,"type":"Inspector","nodes":[]}"#,
            "JavaScriptCore",
            "generateHeapSnapshot",
        ),
        ("ruby.json", RUBY, "a heap dump of Ruby", "heapy"),
        ("x.phd", b"\0\x12portable heap dump\0\0\0\x06", "a portable heap dump of OpenJ9 (.phd)", "as HPROF"),
        ("utf16.heapsnapshot", b"\xff\xfe{\0\"\0s\0", "a text in UTF-16", "convert it to UTF-8"),
        ("go.dump", b"go1.7 heap dump\n", "a heap dump of Go", "no command"),
        ("x.zip", b"PK\x03\x04", "a zip archive", "unpack it first"),
        ("tool", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0", "a program", "nothing of a heap"),
    ] {
        let lake = Lake::new();
        let input = lake.input(name, bytes);
        for ((cause, hint), command) in said(&lake, &input).into_iter().zip(["analyze", "replay"]) {
            assert!(cause.contains(&format!("{name}: this is ")) && cause.contains(is), "{cause}");
            assert!(cause.ends_with(&format!("which {command} does not read")), "{cause}");
            assert!(hint.contains(advice), "{hint}");
        }
    }
}

/// The first lines of `ObjectSpace.dump_all`.
const RUBY: &[u8] = b"{\"type\":\"ROOT\", \"root\":\"vm\", \"references\":[\"0x7f01\"]}\n{\"address\":\"0x7f01\", \"type\":\"STRING\"}\n";

/// The profiles that heaplake itself writes.
#[test]
fn its_own_profile_is_one_of_pprof() {
    let lake = Lake::new();
    let log = lake.input("x.log", LOG);
    let mut command = heaplake();
    command.arg("replay").arg(&log).arg("--out").arg(lake.path()).args(["--pprof", "--quiet"]).assert().success();
    let profile = lake.run().join("allocations.pb.gz");
    let (cause, _) = diagnostic(&mut Lake::new().analyze(profile), 1);
    assert!(cause.ends_with("this is a profile of pprof, which analyze does not read"), "{cause}");
}

const LOG: &[u8] = b"# clrprof 1 test\nT 1 X\nF 1 Some.Type::Method\nS 1 1\nA 1 108 1 18 1\n# end\n";

#[test]
fn what_another_command_reads_is_named_with_it() {
    let lake = Lake::new();
    // A log has allocations, a recording has events: no heap.
    for (name, bytes, is) in [
        ("x.jfr", &b"FLR\0\0\x02\0\x01\0\0\0\0\0\0\0\x10"[..], "a recording of Java's Flight Recorder (.jfr)"),
        ("x.heapprofile", br#"{"head":{"callFrame":{}}}"#, "an allocation profile of V8 (.heapprofile)"),
    ] {
        let (cause, advice) = diagnostic(&mut lake.analyze(lake.input(name, bytes)), 1);
        assert!(cause.ends_with(&format!("{name}: this is {is}, which analyze does not read")), "{cause}");
        assert!(advice.starts_with("heaplake replay reads it"), "{advice}");
    }
    let replay = |name: &str, bytes: &[u8]| {
        let input = lake.input(name, bytes);
        diagnostic(heaplake().arg("replay").arg(input).arg("--out").arg(lake.path()).arg("--quiet"), 1)
    };
    let (cause, advice) = replay("x.hprof", b"JAVA PROFILE 1.0.2\0\0\0\0\x08");
    assert!(cause.ends_with("this is a heap dump of Java (.hprof), which replay does not read"), "{cause}");
    assert_eq!(advice, "heaplake analyze reads it");
    // A snapshot without allocations is refused by its header.
    let header = edited(&[("\"trace_function_count\":2", "\"trace_function_count\":0")]);
    let header = &header[..header.find("\"nodes\"").unwrap()];
    for text in [header, &edited(&[(TREE, "[]")])] {
        let (cause, advice) = replay("x.heapsnapshot", text.as_bytes());
        assert!(cause.ends_with("expected a heap snapshot with an allocation tree, found one without"), "{cause}");
        assert!(advice.starts_with("heaplake analyze reads it"), "{advice}");
    }
    assert!(GOOD.starts_with("{\"snapshot\""));
}

/// Files given instead of a run: each is identified, with the command that reads it.
#[test]
fn a_file_that_is_no_run_is_named() {
    let lake = Lake::new();
    let zst = zstd::encode_all(GOOD.as_bytes(), 1).unwrap();
    for (name, bytes, is, advice) in [
        ("a.heapsnapshot", GOOD.as_bytes(), "a heap snapshot of V8", "heaplake analyze reads it"),
        ("a.heapsnapshot.zst", &zst, "a heap snapshot of V8", "heaplake analyze reads it"),
        ("a.hprof", b"JAVA PROFILE 1.0.2\0", "a heap dump of Java (.hprof)", "heaplake analyze reads it"),
        ("a.jfr", b"FLR\0\0\x02\0\x01", "a recording of Java's Flight Recorder (.jfr)", "heaplake replay reads it; "),
        ("a.log", LOG, "a profiler log", "heaplake replay reads it; heaplake analyze does where it has walks"),
        ("core", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0", "a core dump of Linux (ELF)", "jhsdb jmap"),
        ("a.txt", b"hello", "a file", "name a folder LAKE/release="),
        ("empty", b"", "a file", "name a folder LAKE/release="),
    ] {
        let input = lake.input(name, bytes);
        let said = ["show", "report", "top", "why", "dominators", "object", "track"].map(|command| {
            let rest: &[&str] = match command {
                "why" | "dominators" | "object" => &["1"],
                "track" => &["1@1"],
                _ => &[],
            };
            diagnostic(heaplake().arg(command).arg(&input).args(rest), 2)
        });
        for (cause, hint) in said {
            assert!(cause.ends_with(&format!("{name}: no run: this is {is}")), "{cause}");
            assert!(hint.contains(advice), "{hint}");
        }
    }
    lake.analyze(lake.input("b.heapsnapshot", GOOD.as_bytes())).assert().success();
    for file in ["run.json", "classes.parquet"] {
        let (cause, hint) = diagnostic(heaplake().arg("show").arg(lake.run().join(file)), 2);
        assert!(cause.ends_with(&format!("{file}: no run: this is a file of a run")), "{cause}");
        assert_eq!(hint, format!("name its folder: {}", lake.run().display()));
    }
}

/// A snapshot under DevTools' name for a recorded timeline.
#[test]
fn time_lines_are_snapshots() {
    let lake = Lake::new();
    lake.input("a.heaptimeline", GOOD.as_bytes());
    lake.analyze(lake.folder()).assert().success();
    assert_eq!(lake.runs().len(), 1);
}
