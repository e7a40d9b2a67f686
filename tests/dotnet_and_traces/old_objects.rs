//! Old objects in Java recordings: their display on the page, and findings. The fixtures' program
//! (`tests/fixtures/jfr/Flight.java`) leaks its sessions.

use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, read_json};
use heaplake_support::replay::replay;
use heaplake_support::table::Table;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Path to the planted leak, whatever the map's bucket and the length of the list in it.
const LEAK: [&str; 8] = [
    "Class Loader Data",
    "sun.launcher.LauncherHelper.appClass",
    "Flight.SESSIONS",
    "java.util.HashMap.table",
    "java.util.HashMap$Node[n]",
    "java.util.HashMap$Node.value",
    "Flight$Session.buffer",
    "byte[]",
];

fn recordings(names: &[&str]) -> Vec<u8> {
    names.iter().flat_map(|name| fixtures::content(&format!("jfr/{name}.jfr"))).collect()
}

/// Findings about old objects in concatenated recordings.
fn found(names: &[&str]) -> Vec<Value> {
    let lake = Lake::new();
    let (trace, file) = (lake.input("x.jfr", &recordings(names)), lake.folder().join("findings.json"));
    replay(&lake, &trace).arg("--findings-json").arg(&file).assert().success();
    let all: Value = read_json(file);
    let findings = all[0]["findings"].as_array().unwrap().iter();
    findings.filter(|finding| finding["rule"] == "held-old-objects").cloned().collect()
}

/// The buffers of sessions are sampled in all ages. A recording has too few of them for high severity, two have enough.
#[test]
fn the_leak_of_a_recording_is_found() {
    let cases: [(&[&str], &str, u64, u64); 4] = [
        (&["jdk17-g1"], "medium", 6, 8),
        (&["jdk17-serial"], "medium", 7, 11),
        (&["jdk25-g1"], "medium", 4, 7),
        (&["jdk17-g1", "jdk17-serial"], "high", 13, 19),
    ];
    for (names, severity, count, held) in cases {
        let findings = found(names);
        let finding = &findings[0];
        assert_eq!(
            (finding["severity"].as_str(), finding["count"].as_u64()),
            (Some(severity), Some(count)),
            "{names:?}"
        );
        assert_eq!((finding["scope"].as_str(), finding["subject"].as_str()), (Some("type"), Some("byte[]")));
        assert_eq!(finding["path"], serde_json::to_value(LEAK).unwrap());
        // The JDK records sizes from 19 on.
        assert_eq!(finding["bytes"].as_u64(), Some(if names[0] == "jdk25-g1" { 4 * 528 } else { 0 }));
        let message = finding["message"].as_str().unwrap();
        assert!(
            message.starts_with(&format!("{count} × byte[] of {held} old objects that something holds")),
            "{message}"
        );
        assert!(message.contains("; the oldest is from Flight$Session.<init>: Class Loader Data → "), "{message}");
        if names.len() == 1 {
            assert_eq!(findings.len(), 1, "{findings:#?}");
        }
    }
    let message = found(&["jdk17-g1"])[0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains(", 0.6 s to 2.6 s old; "), "{message}");
}

/// Single samples, and objects without a known retainer, are no leaks.
#[test]
fn few_samples_are_no_finding() {
    for name in ["jdk25-zgc", "jdk25-parallel-tlab"] {
        assert_eq!(found(&[name]), Vec::<Value>::new(), "{name}");
    }
}

fn data(run: &Path) -> Value {
    let html = fs::read_to_string(run.join("report.html")).unwrap();
    let (_, rest) = html.split_once("type=\"application/json\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// Each object equals the table, retained ones first, then the oldest; omissions are reported.
#[test]
fn the_page_shows_old_objects() {
    for names in [&["jdk17-serial"][..], &["jdk25-g1"], &["jdk25-g1", "jdk25-g1", "jdk25-g1"]] {
        let lake = Lake::new();
        let trace = lake.input("x.jfr", &recordings(names));
        replay(&lake, &trace).arg("--report").assert().success();
        let run = lake.run();
        let (page, table) = (data(&run), Table::read(&run, "old_objects.parquet"));
        let text =
            |position: &Value| position.as_u64().map(|at| page["texts"][at as usize].as_str().unwrap().to_owned());
        let (ages, bytes, paths) = (table.f64s("age_seconds"), table.u64s("bytes"), table.texts("path"));
        let mut order: Vec<usize> = (0..table.rows()).collect();
        order.sort_by(|&a, &b| {
            (paths[a].is_none().cmp(&paths[b].is_none()))
                .then(ages[b].unwrap().total_cmp(&ages[a].unwrap()))
                .then(bytes[b].cmp(&bytes[a]))
                .then(a.cmp(&b))
        });
        let rows = page["old_objects"]["rows"].as_array().unwrap();
        assert_eq!(page["old_objects"]["of"], table.rows());
        assert_eq!(rows.len(), table.rows().min(300));
        assert_eq!(table.rows() > 300, names.len() == 3);
        let (types, functions, threads) = (table.texts("type"), table.texts("function"), table.texts("thread"));
        let (kinds, systems) = (table.texts("root_type"), table.texts("root_system"));
        let (cut, lengths, elements) =
            (table.bools("chain_cut"), table.u64s("chain_length"), table.u64s("array_elements"));
        for (row, at) in rows.iter().zip(order) {
            assert_eq!(row["sample"].as_u64(), Some(at as u64));
            assert_eq!((row["age"].as_f64(), row["bytes"].as_u64()), (ages[at], bytes[at]));
            assert_eq!((row["elements"].as_u64(), row["length"].as_u64()), (elements[at], lengths[at]));
            assert_eq!((text(&row["name"]), text(&row["path"])), (types[at].clone(), paths[at].clone()));
            assert_eq!((text(&row["function"]), text(&row["thread"])), (functions[at].clone(), threads[at].clone()));
            assert_eq!((text(&row["root"][0]), text(&row["root"][1])), (systems[at].clone(), kinds[at].clone()));
            assert_eq!(row["cut"].as_bool(), cut[at]);
        }
        for section in ["types", "functions", "collections"] {
            assert!(!page["allocations"][section]["rows"].as_array().unwrap().is_empty(), "{section}");
        }
    }
}
