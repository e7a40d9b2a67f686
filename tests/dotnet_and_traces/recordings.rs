//! Recordings of Java Flight Recorder, against the JDK's own tool (`tests/fixtures/jfr/answers.py`).

use heaplake_support::compress::{gzip, zstd};
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, diagnostic, read_json};
use heaplake_support::replay::replay;
use heaplake_support::table::Table;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Recordings of three garbage collectors and two JDKs, and one with TLAB events.
const ALL: [&str; 6] = ["jdk17-serial", "jdk17-parallel", "jdk17-g1", "jdk25-g1", "jdk25-zgc", "jdk25-parallel-tlab"];

fn recording(name: &str) -> Vec<u8> {
    fixtures::content(&format!("jfr/{name}.jfr"))
}

fn answer(name: &str) -> Value {
    serde_json::from_slice(&fixtures::content(&format!("jfr/{name}.answer.json"))).unwrap()
}

fn run_of(lake: &Lake, name: &str, content: &[u8]) -> std::path::PathBuf {
    replay(lake, lake.input(name, content)).assert().success();
    lake.run()
}

fn run_json(run: &Path) -> Value {
    read_json(run.join("run.json"))
}

/// Events by name: count and bytes.
fn events(run: &Path) -> BTreeMap<String, (u64, u64)> {
    let table = Table::read(run, "recorded_events.parquet");
    let numbers = table.u64s("count").into_iter().zip(table.u64s("bytes"));
    let names = table.texts("event").into_iter().map(Option::unwrap);
    names.zip(numbers.map(|(count, bytes)| (count.unwrap(), bytes.unwrap()))).collect()
}

/// An event's name in newer tools.
fn renamed(event: &str) -> String {
    event.replace("jdk.CheckPoint", "jdk.Checkpoint")
}

fn summary(answer: &Value) -> BTreeMap<String, (u64, u64)> {
    let pair = |pair: &Value| (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap());
    answer["summary"].as_object().unwrap().iter().map(|(name, counts)| (renamed(name), pair(counts))).collect()
}

/// Types: samples, and the bytes that they represent.
fn allocations(run: &Path) -> BTreeMap<String, (u64, u64)> {
    let table = Table::read(run, "allocation_types.parquet");
    let (low, high) = (table.u64s("estimated_low_bytes"), table.u64s("estimated_high_bytes"));
    let rows = table.u64s("sampled_count").into_iter().zip(table.u64s("estimated_bytes")).enumerate();
    let rows = rows.map(|(at, (count, bytes))| {
        let bytes = bytes.unwrap();
        assert!(low[at].unwrap() <= bytes && bytes <= high[at].unwrap());
        (count.unwrap(), bytes)
    });
    table.texts("type").into_iter().map(Option::unwrap).zip(rows).collect()
}

fn expected_allocations(answer: &Value) -> BTreeMap<String, (u64, u64)> {
    let pair = |pair: &Value| (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap());
    answer["allocations"].as_object().unwrap().iter().map(|(name, sums)| (name.clone(), pair(sums))).collect()
}

#[test]
fn every_kind_of_event_is_counted_as_the_jdk_does() {
    for name in ALL {
        let lake = Lake::new();
        let run = run_of(&lake, "x.jfr", &recording(name));
        assert_eq!(events(&run), summary(&answer(name)), "{name}");
    }
}

#[test]
fn allocations_are_those_of_the_jdk_by_class() {
    for name in ALL {
        let lake = Lake::new();
        let run = run_of(&lake, "x.jfr", &recording(name));
        let (found, answer) = (allocations(&run), expected_allocations(&answer(name)));
        assert!(found.len() > 4, "{name}");
        assert_eq!(found, answer, "{name}");
        let metadata = run_json(&run);
        let all: u64 = answer.values().map(|(_, bytes)| bytes).sum();
        assert_eq!(metadata["replay"]["facts"]["estimated_bytes"].as_u64(), Some(all), "{name}");
        assert_eq!(metadata["replay"]["facts"]["coverage"], "weighted");
        let tree = Table::read(&run, "allocation_callees.parquet");
        let own: u64 = tree.u64s("exclusive_bytes").into_iter().flatten().sum();
        assert!(own <= all && own > all / 2, "{name}: {own} of {all}");
        let functions = Table::read(&run, "allocation_functions.parquet").texts("function");
        assert!(functions.contains(&Some("Flight.buffers".to_owned())), "{functions:?}");
    }
}

#[test]
fn collections_are_those_of_the_jdk() {
    for name in ALL {
        let lake = Lake::new();
        let run = run_of(&lake, "x.jfr", &recording(name));
        let table = Table::read(&run, "collections.parquet");
        let nanos = |column: &str| table.f64s(column).into_iter().map(|s| (s.unwrap() * 1e9).round() as i64);
        let numbers = |column: &str| table.u64s(column);
        let (sums, longest): (Vec<i64>, Vec<i64>) =
            (nanos("pause_seconds").collect(), nanos("longest_pause_seconds").collect());
        let (collectors, reasons) = (table.texts("collector"), table.texts("reason"));
        let heaps = ["heap_used_before_bytes", "heap_used_after_bytes", "heap_committed_bytes"].map(numbers);
        let pauses = numbers("pauses");
        let generations = table.u8s("generation");
        let mut found: Vec<Value> = (0..table.rows())
            .map(|at| {
                let [before, after, committed] = [heaps[0][at], heaps[1][at], heaps[2][at]];
                let young = collectors[at]
                    .as_deref()
                    .is_some_and(|name| ["DefNew", "ParallelScavenge", "G1New", "ZGC Minor"].contains(&name));
                assert_eq!(generations[at], Some(if young { 0 } else { 2 }));
                let row = (&collectors[at], &reasons[at], sums[at], longest[at], pauses[at], before, after, committed);
                let mut row = serde_json::to_value(row).unwrap();
                row.as_array_mut().unwrap().insert(0, table.u32s("gc")[at].into());
                row
            })
            .collect();
        found.sort_by_key(|row| row[0].as_u64());
        assert!(found.len() > 20, "{name}");
        assert_eq!(found, *answer(name)["collections"].as_array().unwrap(), "{name}");
        assert_eq!(run_json(&run)["replay"]["facts"]["collection_count"], found.len());
    }
}

#[test]
fn object_counts_are_those_of_the_jdk() {
    for name in ALL {
        let lake = Lake::new();
        let run = run_of(&lake, "x.jfr", &recording(name));
        let answer = answer(name);
        let expected = answer["object_counts"].as_array().unwrap();
        // ZGC does not count objects.
        assert_eq!(expected.is_empty(), name == "jdk25-zgc");
        if expected.is_empty() {
            assert!(!run.join("object_counts.parquet").exists());
            continue;
        }
        let table = Table::read(&run, "object_counts.parquet");
        let (types, after) = (table.texts("type"), table.bools("after_gc"));
        let (gcs, counts, bytes) = (table.u32s("gc"), table.u64s("count"), table.u64s("bytes"));
        let rows = (0..table.rows()).map(|at| (gcs[at], &types[at], counts[at], bytes[at], after[at]));
        let mut found: Vec<String> = rows.map(|row| serde_json::to_string(&row).unwrap()).collect();
        let mut expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        found.sort();
        expected.sort();
        assert!(found.len() > 10, "{name}");
        assert_eq!(found, expected, "{name}");
    }
}

/// The steps of a chain: type, field, index, omissions, address.
fn chains(run: &Path) -> BTreeMap<u32, Vec<Value>> {
    let table = Table::read(run, "old_object_chains.parquet");
    let (samples, types, fields) = (table.u32s("sample"), table.texts("type"), table.texts("field"));
    let (indices, skipped, addresses) = (table.u64s("array_index"), table.u64s("skipped"), table.u64s("address"));
    let mut chains: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
    for at in 0..table.rows() {
        let step = (&types[at], &fields[at], indices[at], skipped[at], addresses[at]);
        chains.entry(samples[at].unwrap()).or_default().push(serde_json::to_value(step).unwrap());
    }
    chains
}

#[test]
fn old_objects_have_the_chains_of_the_jdk() {
    let mut with_chain = 0;
    for name in ALL {
        let lake = Lake::new();
        let run = run_of(&lake, "x.jfr", &recording(name));
        let (table, mut chains) = (Table::read(&run, "old_objects.parquet"), chains(&run));
        let ages = table.f64s("age_seconds").into_iter().map(|age| (age.unwrap() * 1e9).round() as i64);
        let ages: Vec<i64> = ages.collect();
        let (elements, heaps) = (table.u64s("array_elements"), table.u64s("heap_used_bytes"));
        let (functions, threads) = (table.texts("function"), table.texts("thread"));
        let roots = ["root_description", "root_system", "root_type"].map(|column| table.texts(column));
        let mut found: Vec<String> = (0..table.rows())
            .map(|at| {
                let root = [&roots[0][at], &roots[1][at], &roots[2][at]];
                let root = Some(root).filter(|root| root.iter().any(|text| text.is_some()));
                let chain = chains.remove(&(at as u32)).unwrap();
                with_chain += usize::from(chain.len() > 1);
                let row = (chain, elements[at], heaps[at], &functions[at], root, &threads[at], ages[at]);
                serde_json::to_string(&row).unwrap()
            })
            .collect();
        let answer = answer(name);
        let expected = answer["old_objects"].as_array().unwrap();
        // Objects other than arrays have a negative length there.
        let expected = expected.iter().map(|row| {
            let mut row = row.clone();
            if row[1].as_i64().is_some_and(|length| length < 0) {
                row[1] = Value::Null;
            }
            row.to_string()
        });
        let mut expected: Vec<String> = expected.collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{name}");
        assert!(chains.is_empty());
    }
    assert!(with_chain > 10, "{with_chain}");
}

#[test]
fn paths_name_the_leak() {
    let lake = Lake::new();
    let run = run_of(&lake, "x.jfr", &recording("jdk17-g1"));
    let paths: Vec<String> = Table::read(&run, "old_objects.parquet").texts("path").into_iter().flatten().collect();
    let leak = "Class Loader Data > sun.launcher.LauncherHelper.appClass > Flight.SESSIONS > java.util.HashMap.table > \
                java.util.HashMap$Node[n] > java.util.HashMap$Node.value > Flight$Session.buffer > byte[]";
    assert!(paths.iter().any(|path| path == leak), "{paths:#?}");
    let shown = heaplake_support::lake::heaplake().arg("show").arg(&run).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("Old objects by what holds them") && shown.contains("Flight.SESSIONS"), "{shown}");
}

/// Plain, compressed, from standard input.
#[test]
fn a_recording_is_the_same_however_it_comes() {
    let content = recording("jdk17-serial");
    let expected = expected_allocations(&answer("jdk17-serial"));
    for (name, bytes) in [("x.jfr", content.clone()), ("x.jfr.gz", gzip(&content)), ("x.jfr.zst", zstd(&content))] {
        let lake = Lake::new();
        assert_eq!(allocations(&run_of(&lake, name, &bytes)), expected, "{name}");
    }
    let lake = Lake::new();
    replay(&lake, "-").args(["--snapshot", "piped"]).write_stdin(gzip(&content)).assert().success();
    assert_eq!(allocations(&lake.run()), expected);
}

/// Concatenated recordings are one, as for the JDK.
#[test]
fn joined_recordings_add_up() {
    let names = ["jdk17-parallel", "jdk25-g1"];
    let joined = names.map(recording).concat();
    let lake = Lake::new();
    let run = run_of(&lake, "joined.jfr", &joined);
    let mut expected = expected_allocations(&answer(names[0]));
    for (name, (count, bytes)) in expected_allocations(&answer(names[1])) {
        let sums = expected.entry(name).or_default();
        *sums = (sums.0 + count, sums.1 + bytes);
    }
    assert_eq!(allocations(&run), expected);
    let gcs = names.map(|name| answer(name)["collections"].as_array().unwrap().len()).iter().sum::<usize>();
    assert_eq!(Table::read(&run, "collections.parquet").rows(), gcs);
}

/// The whole chunks are read; the summary and `run.json` name the tail.
#[test]
fn what_ends_inside_a_chunk_is_read_up_to_it() {
    let (first, second) = (recording("jdk17-serial"), recording("jdk17-g1"));
    for kept in [2, 40, 68, 70_000, second.len() - 1] {
        let cut = [&first[..], &second[..kept]].concat();
        let lake = Lake::new();
        let run = run_of(&lake, "cut.jfr", &cut);
        assert_eq!(allocations(&run), expected_allocations(&answer("jdk17-serial")), "{kept}");
        let partial = run_json(&run)["summary"]["partial"].as_str().unwrap().to_owned();
        assert!(partial.contains(&format!("what follows byte {}", first.len())), "{partial}");
        let shown = heaplake_support::lake::heaplake().arg("show").arg(&run).output().unwrap();
        assert!(String::from_utf8(shown.stdout).unwrap().contains("PARTIAL"), "{kept}");
    }
    let lake = Lake::new();
    let (cause, _) = diagnostic(&mut replay(&lake, lake.input("cut.jfr", &first[..70_000])), 1);
    assert!(cause.contains("a whole chunk"), "{cause}");
    lake.assert_empty();
}

/// A new recording in several chunks, with the installed JDK.
#[test]
fn a_recording_of_this_machine() {
    let lake = Lake::new();
    let folder = lake.folder();
    let source = fixtures::path("jfr/Flight.java");
    let chunks = "-XX:FlightRecorderOptions:maxchunksize=1M";
    for (collector, seconds) in [("-XX:+UseSerialGC", "1.5"), ("-XX:+UseParallelGC", "1.5"), ("-XX:+UseG1GC", "5")] {
        let path = folder.join(format!("{}.jfr", &collector[8..]));
        let settings = fixtures::path("jfr/tlab.jfc");
        let recorder = format!(
            "-XX:StartFlightRecording:filename={},settings={},path-to-gc-roots=true",
            path.display(),
            settings.display()
        );
        let java =
            Command::new("java").args(["-Xmx96m", collector, chunks, &recorder]).arg(&source).arg(seconds).output();
        let whole = java.is_ok_and(|output| output.status.success());
        let summary = Command::new("jfr").arg("summary").arg(&path).output();
        let (true, Ok(summary)) = (whole, summary) else {
            return eprintln!("SKIPPED: a JDK with Flight Recorder cannot be run here");
        };
        let summary = String::from_utf8(summary.stdout).unwrap();
        let expected: BTreeMap<String, (u64, u64)> = summary
            .lines()
            .filter_map(|line| {
                let [name, count, bytes] = line.split_whitespace().collect::<Vec<_>>()[..] else { return None };
                let counts = (count.parse().ok()?, bytes.parse().ok()?);
                (counts.0 > 0).then(|| (renamed(name), counts))
            })
            .collect();
        let own = Lake::new();
        replay(&own, &path).assert().success();
        assert_eq!(events(&own.run()), expected, "{collector}");
        let table = Table::read(&own.run(), "collections.parquet");
        assert_eq!(table.rows() as u64, expected["jdk.GarbageCollection"].0, "{collector}");
        let samples: u64 = allocations(&own.run()).values().map(|(count, _)| count).sum();
        let tlabs = ["jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB"];
        let tlabs = tlabs.iter().filter_map(|name| expected.get(*name)).map(|counts| counts.0).sum::<u64>();
        assert_eq!(samples, tlabs, "{collector}");
    }
}
