//! Each tool: its answers equal those of the commands and tables, and no call changes a lake.

use crate::client::Client;
use heaplake_oracle::{Layout, Snapshot};
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, answer, heaplake};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A shop with a cache of sessions, the second of which is used elsewhere too.
fn shop() -> Vec<u8> {
    let mut it = Snapshot::new();
    let root = it.add_node("synthetic", "", 0);
    let shop = it.add_node("object", "Shop", 40);
    it.add_edge(root, "property", "shop", shop);
    let cache = it.add_node("object", "Cache", 24);
    it.add_edge(shop, "property", "cache", cache);
    for index in 0..30 {
        let session = it.add_node("object", "Session", 100 + index);
        it.add_numbered_edge(cache, "element", index, session);
        if index == 1 {
            it.add_edge(shop, "property", "current", session);
        }
    }
    it.to_json(&Layout::default())
}

pub(crate) fn one(options: &[&str]) -> (Lake, PathBuf) {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &shop());
    lake.analyze(input).args(options).args(["--snapshot", "it"]).assert().success();
    let run = lake.run();
    (lake, run)
}

/// Two releases of V8, a dump of Java with values, a trace.
pub(crate) fn mixed() -> Lake {
    let lake = Lake::new();
    for (name, release) in [("s1", "1.0"), ("s2", "1.1")] {
        lake.analyze(fixtures::v8(name)).args(["--release", release, "--label", "host=a"]).assert().success();
    }
    lake.analyze(fixtures::path("jvm/dupfix.hprof.zst")).args(["--release", "1.0", "--values"]).assert().success();
    let mut replay = heaplake();
    replay.arg("replay").arg(fixtures::path("dotnet/net8_sampled.nettrace.zst")).arg("--out").arg(lake.path());
    replay.args(["--release", "1.0", "--quiet"]).assert().success();
    lake
}

#[test]
fn answers_equal_those_of_the_commands() {
    let (lake, run) = one(&["--edges"]);
    let mut client = Client::start(&lake.path());
    let said = |words: &[&str]| answer(heaplake().arg(words[0]).arg(&run).args(&words[1..]).arg("--json"));
    let same = |ours: &Value, theirs: &Value, names: &[&str]| {
        for name in names {
            let theirs = theirs.get(*name).filter(|value| !value.is_null());
            assert_eq!(ours.get(*name), theirs, "{name}: {ours}");
        }
    };
    let columns = ["node", "id", "class", "name", "shallow_bytes", "retained_bytes", "distance"];
    let top = client.call("top", json!({"limit": 5}));
    let theirs = said(&["top", "-n", "5"]);
    for (ours, theirs) in
        top["heap_data"]["objects"].as_array().unwrap().iter().zip(theirs["objects"].as_array().unwrap())
    {
        same(ours, theirs, &columns);
    }
    let why = client.call("why", json!({"node": 4, "paths": 3}));
    let theirs = said(&["why", "4", "-n", "3"]);
    let of_step = ["node", "class", "edge", "retained_bytes"];
    let steps = |ours: &Value, theirs: &Value| {
        let (ours, theirs) = (ours.as_array().unwrap(), theirs["steps"].as_array().unwrap());
        assert_eq!(ours.len(), theirs.len());
        ours.iter().zip(theirs).for_each(|(ours, theirs)| same(ours, theirs, &of_step));
    };
    steps(&why["heap_data"]["path"], &theirs["shortest_path"]);
    steps(&why["heap_data"]["dominators"], &theirs["dominators"]);
    assert_eq!(why["heap_data"]["paths"].as_array().unwrap().len(), 2);
    steps(&why["heap_data"]["paths"][1]["steps"], &theirs["paths"][1]);
    let dominated = client.call("dominated", json!({"node": 2}));
    let theirs = said(&["dominators", "2", "--depth", "1", "--children", "40"]);
    let (ours, theirs) = (&dominated["heap_data"]["children"], &theirs["children"]);
    assert_eq!(ours.as_array().unwrap().len(), 29);
    ours.as_array().unwrap().iter().zip(theirs.as_array().unwrap()).for_each(|(a, b)| same(a, b, &columns));
    let overview = client.call("overview", json!({}));
    let theirs = said(&["show"]);
    assert_eq!(overview["heap_data"]["run"]["objects"], theirs["summary"]["node_count"]);
    assert_eq!(overview["heap_data"]["run"]["heap_bytes"], theirs["summary"]["shallow_bytes"]);
    assert!(client.end().success());
}

#[test]
fn an_object_has_its_references_in_both_directions() {
    let (lake, _) = one(&["--edges", "--values"]);
    let mut client = Client::start(&lake.path());
    let session = client.call("object", json!({"node": 4}));
    let data = &session["heap_data"];
    let holders: Vec<(&str, &str)> = data["held_by"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["edge"].as_str().unwrap(), one["class"].as_str().unwrap()))
        .collect();
    assert_eq!(holders, [(".current", "Shop"), ("[1]", "Cache")]);
    assert_eq!((&data["held_by_total"], &data["holds_total"]), (&json!(2), &json!(0)));
    assert_eq!(data["object"]["dominator"], 1);
    let cache = client.call("object", json!({"node": 2}));
    assert_eq!(cache["heap_data"]["holds_total"], 30);
    assert_eq!(cache["heap_data"]["holds"].as_array().unwrap().len(), 8);
    assert_eq!(cache["heap_data"]["holds"][0]["class"], "Session");
    assert!(cache["coverage"]["cut"][0].as_str().unwrap().contains("the largest 8 of 30"), "{cache}");
    // By its id, and the ids of the answer lead back.
    let id = data["object"]["id"].as_u64().unwrap();
    assert_eq!(client.call("object", json!({"node": format!("@{id}")}))["heap_data"], *data);
}

#[test]
fn a_class_has_its_holders_and_instances() {
    let (lake, _) = one(&["--min-count", "5"]);
    let mut client = Client::start(&lake.path());
    let class = client.call("class", json!({"class": "session", "limit": 3}));
    let data = &class["heap_data"];
    assert_eq!((&data["class"]["class"], &data["class"]["count"]), (&json!("Session"), &json!(30)));
    let paths: Vec<&str> =
        data["holders"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"Cache[] → Session") && paths.contains(&"Shop.cache → Cache[] → Session"), "{paths:?}");
    assert_eq!(data["instances"][0]["retained_bytes"], 129);
    assert_eq!(class["coverage"]["total"], 30);
    let by_number = client.call("class", json!({"class": data["class"]["class_id"], "limit": 3}));
    assert_eq!(by_number["heap_data"], *data);
}

#[test]
fn values_of_java_are_fields() {
    let lake = mixed();
    let mut client = Client::start(&lake.path());
    let top = client.call("top", json!({"run": "dupfix", "class": "DupFixture*", "limit": 1}));
    let node = top["heap_data"]["objects"][0]["node"].clone();
    let object = client.call("object", json!({"run": "dupfix", "node": node}));
    let fields = object["heap_data"]["fields"].as_array().unwrap();
    assert!(fields.iter().any(|field| field["kind"] == "reference" && field["to"].is_u64()), "{object}");
}

#[test]
fn a_trace_has_types_and_findings() {
    let lake = mixed();
    let mut client = Client::start(&lake.path());
    let overview = client.call("overview", json!({"run": "net8_sampled"}));
    assert!(!overview["heap_data"]["allocations"]["types"].as_array().unwrap().is_empty(), "{overview}");
    let types = client.all("top", &json!({"run": "net8_sampled", "what": "types"}), "types");
    assert!(types.len() > 3 && types[0]["name"].is_string(), "{types:?}");
    client.call("findings", json!({"run": "net8_sampled"}));
    let error = client.fail("top", json!({"run": "net8_sampled"}));
    assert!(error["error"].as_str().unwrap().contains("no table of nodes"), "{error}");
    client.fail("why", json!({"run": "net8_sampled", "node": 1}));
}

#[test]
fn comparisons_say_what_grew() {
    let lake = mixed();
    let mut client = Client::start(&lake.path());
    let newest = client.call("compare", json!({}));
    assert_eq!(newest["heap_data"]["target"]["selection"], "release=1.1");
    let named = client.call("compare", json!({"base": "1.0/s1", "target": "1.1/s2", "max_bytes": 60_000}));
    let theirs = answer(
        heaplake()
            .arg("diff")
            .args(["release=1.0,snapshot=s1*", "release=1.1"])
            .arg("--lake")
            .arg(lake.path())
            .arg("--json"),
    );
    let classes = theirs["compared"].as_array().unwrap().iter().find(|of| of["table"] == "diff_classes").unwrap();
    let grown = |row: &&Value| ["grew", "appeared", "new_path"].contains(&row["status"].as_str().unwrap());
    let theirs: Vec<(&Value, &Value)> = classes["top"]
        .as_array()
        .unwrap()
        .iter()
        .filter(grown)
        .map(|row| (&row["signature"], &row["target"]["mean"]))
        .collect();
    let ours: Vec<(&Value, &Value)> = named["heap_data"]["grown"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["table"] == "classes")
        .map(|row| (&row["subject"], &row["target"]))
        .collect();
    assert!(!ours.is_empty());
    for row in &ours {
        assert!(theirs.contains(row), "{row:?} {theirs:?}");
    }
    assert_eq!(ours.len(), theirs.len());
    // Formats have nothing in common.
    client.fail("compare", json!({"base": "dupfix", "target": "s2"}));
    client.fail("compare", json!({"base": "s1"}));
    client.fail("compare", json!({"base": "release=9*", "target": "release=1.1"}));
}

#[test]
fn statements_are_answered_where_there_is_sql() {
    let lake = mixed();
    let mut client = Client::start(&lake.path());
    if !cfg!(feature = "sql") {
        assert!(client.fail("query", json!({"sql": "SELECT 1"}))["error"].as_str().unwrap().contains("without SQL"));
        return;
    }
    let tables = client.all("query", &json!({}), "tables");
    assert!(tables.iter().any(|row| row["table"] == "classes") && tables.len() > 10);
    let columns = client.all("query", &json!({"table": "classes"}), "columns");
    assert!(columns.iter().any(|row| row["column"] == "retained_bytes"));
    let statement = "SELECT release, snapshot, class_id FROM classes ORDER BY release, snapshot, class_id";
    let rows = client.all("query", &json!({"sql": statement, "max_bytes": 20_000}), "rows");
    let theirs = answer(heaplake().arg("sql").arg(statement).args(["--format", "json", "--lake"]).arg(lake.path()));
    assert_eq!(json!(rows), theirs);
    for (statement, said) in [
        ("SELEC 1", "SQL"),
        ("SELECT * FROM clases", "classes"),
        ("DROP TABLE classes", "read only"),
        ("COPY (SELECT 1) TO '/tmp/x.csv'", "read only"),
        ("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'", "read only"),
        ("SET datafusion.execution.batch_size = 1", "read only"),
        ("SELECT 1; SELECT 2", "one statement"),
        ("", "one statement"),
    ] {
        let error = client.fail("query", json!({"sql": statement}));
        assert!(error.to_string().contains(said), "{statement}: {error}");
    }
    assert!(client.call("query", json!({"sql": "SELECT repeat('x', 100000) AS t"}))["coverage"]["cut"].is_array());
}

#[test]
fn answers_of_a_compacted_lake_are_the_same() {
    let lake = Lake::new();
    for (name, release) in [("s1", "1.0"), ("s2", "1.0"), ("small", "1.1")] {
        lake.analyze(fixtures::v8(name)).args(["--release", release, "--label", "host=a"]).assert().success();
    }
    let calls = || {
        let mut client = Client::start(&lake.path());
        [
            client.call("overview", json!({"run": "s1"})),
            client.call("findings", json!({"run": "s1"})),
            client.call("top", json!({"run": "s1", "what": "classes"})),
            client.call("class", json!({"run": "s1", "class": "Map"})),
            client.call("why", json!({"run": "s1", "node": 40})),
            client.call("compare", json!({})),
        ]
        .map(|answer| answer["heap_data"].to_string())
    };
    let before = calls();
    heaplake().args(["lake", "compact", "--quiet"]).arg(lake.path()).assert().success();
    assert!(
        !lake
            .path()
            .join("release=1.0")
            .read_dir()
            .unwrap()
            .flatten()
            .any(|run| run.path().join("classes.parquet").exists())
    );
    assert_eq!(calls(), before);
}

#[test]
fn several_paths_need_memory() {
    let (lake, _) = one(&["--edges"]);
    let run = lake.path().join("release=none/snapshot=it");
    let mut client = Client::start(&run);
    assert!(client.call("why", json!({"node": 4, "paths": 2}))["heap_data"]["paths"].is_array());
    drop(client);
    let mut client = Client::with(&run, &["--memory", "1KiB"]);
    let why = client.call("why", json!({"node": 4, "paths": 2}));
    assert!(why["heap_data"]["paths"].is_null() && why["notes"][0].as_str().unwrap().contains("--memory"), "{why}");
    assert!(why["heap_data"]["path"].is_array());
}

/// Content, time of change and mode of each file and folder below a folder.
pub(crate) fn tree(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, i64, i64, u32)> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let of = fs::metadata(&next).unwrap();
        all.insert(next.clone(), (Vec::new(), of.mtime(), of.mtime_nsec(), of.mode()));
        for entry in fs::read_dir(&next).unwrap().flatten() {
            let (path, of) = (entry.path(), entry.metadata().unwrap());
            if of.is_dir() {
                folders.push(path);
            } else {
                all.insert(path.clone(), (fs::read(&path).unwrap(), of.mtime(), of.mtime_nsec(), of.mode()));
            }
        }
    }
    all
}

#[test]
fn no_call_changes_a_lake() {
    let lake = mixed();
    let before = tree(&lake.path());
    let mut client = Client::start(&lake.path());
    for run in ["s1", "s2", "dupfix", "net8_sampled"] {
        for (tool, arguments) in [
            ("overview", json!({"run": run})),
            ("findings", json!({"run": run})),
            ("top", json!({"run": run, "what": "classes"})),
            ("top", json!({"run": run, "what": "owners"})),
            ("class", json!({"run": run, "class": 3})),
            ("object", json!({"run": run, "node": 9})),
            ("why", json!({"run": run, "node": 9, "paths": 4})),
            ("dominated", json!({"run": run})),
        ] {
            // Some have no answer for a trace.
            client.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        }
    }
    client.call("overview", json!({}));
    client.call("compare", json!({}));
    client.call("clusters", json!({}));
    client.ask("tools/call", &json!({"name": "query", "arguments": {"sql": "SELECT count(*) FROM nodes"}}));
    client.ask("tools/call", &json!({"name": "query", "arguments": {"sql": "COPY (SELECT 1) TO 'x.csv'"}}));
    assert!(client.end().success());
    assert!(tree(&lake.path()) == before, "the lake has changed");
}

#[test]
fn filters_find_what_the_command_finds() {
    let (lake, run) = one(&["--edges"]);
    let mut client = Client::start(&lake.path());
    for filter in [
        "class = \"Session\" and shallow > 120 order by shallow",
        "dominator.class = \"Cache\" and not (node in (5, 6)) limit 3",
        "path contains \"cache\" and referenced by any (class = \"Shop\")",
        "group by class order by count desc",
    ] {
        let theirs = answer(heaplake().arg("query").arg(&run).args([filter, "-n", "200", "--json"]));
        let ours = client.all("top", &json!({"filter": filter, "limit": 2}), "objects");
        let limit = if filter.contains("limit") { 3 } else { 200 };
        assert_eq!(
            ours,
            theirs["rows"].as_array().unwrap()[..].iter().take(limit).cloned().collect::<Vec<_>>(),
            "{filter}"
        );
        assert!(!ours.is_empty(), "{filter}");
    }
    let page = client.call("top", json!({"filter": "class = \"Session\"", "limit": 2}));
    assert_eq!((&page["coverage"]["total"], &page["coverage"]["shown"]), (&json!(30), &json!(2)), "{page}");
    assert!(page["coverage"]["population"].as_str().unwrap().contains("of 33 of the run"), "{page}");
    assert_eq!(page["next"][0]["tool"], "why");
    let wrong = client.fail("top", json!({"filter": "clas = \"a\""}));
    assert!(wrong["error"].as_str().unwrap().contains("column 1 of the filter"), "{wrong}");
    let both = client.fail("top", json!({"filter": "shallow > 1", "class": "Session"}));
    assert!(both["error"].as_str().unwrap().contains("without the arguments"), "{both}");
}
