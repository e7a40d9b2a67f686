//! Wrong arguments, missing tables, dropped and damaged runs, empty lakes: an error that helps, and the server goes on.

use crate::client::Client;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake};
use serde_json::json;
use std::fs;

#[test]
fn wrong_arguments_are_explained() {
    let lake = Lake::new();
    for (release, name) in [("1.0", "web1"), ("1.0", "web2")] {
        lake.analyze(fixtures::v8("s1")).args(["--release", release, "--snapshot", name, "--force"]).assert().success();
    }
    let mut client = Client::start(&lake.path());
    for (tool, arguments, said) in [
        ("findings", json!({}), "name one"),
        ("findings", json!({"run": "web"}), "1.0/web1"),
        ("findings", json!({"run": "1.0/wbe1"}), "1.0/web1"),
        ("findings", json!({"run": ""}), "there is no run"),
        ("findings", json!({"run": "../../../etc"}), "there is no run"),
        ("findings", json!({"run": ["web1"]}), "expected a text"),
        ("findings", json!({"run": "web1", "severity": "urgent"}), "low, medium, high"),
        ("findings", json!({"run": "web1", "rule": "leak"}), "possible-duplicates"),
        ("findings", json!({"run": "web1", "runs": "web1"}), "no argument"),
        ("top", json!({"run": "web1", "limit": "many"}), "whole number"),
        ("top", json!({"run": "web1", "class": "Maap"}), "Map"),
        ("top", json!({"run": "web1", "class": "[z"}), "glob"),
        ("top", json!({"run": "web1", "owner": "x".repeat(20_000)}), "16384"),
        ("top", json!({"run": "web1", "what": "types"}), "no types"),
        ("top", json!({"run": "web1", "cursor": "5-00000000"}), "cursor"),
        ("class", json!({"run": "web1"}), "class is missing"),
        ("class", json!({"run": "web1", "class": "Functoin"}), "Function"),
        ("class", json!({"run": "web1", "class": 4_000_000_000u64}), "no class"),
        ("object", json!({"run": "web1"}), "node is missing"),
        ("object", json!({"run": "web1", "node": 99_999_999}), "the last is"),
        ("object", json!({"run": "web1", "node": "@99999999999"}), "no node has the id"),
        ("object", json!({"run": "web1", "node": "Shop"}), "neither"),
        ("object", json!({"run": "web1", "node": -1}), "neither"),
        ("why", json!({"run": "web1", "node": 1e300}), "neither"),
        ("why", json!({"run": "web1", "node": 3, "paths": -2}), "whole number"),
        ("dominated", json!({"run": "web1", "node": "x"}), "neither"),
        ("compare", json!({"base": "web1", "target": "nothing"}), "there is no run"),
        ("compare", json!({"base": "color=red", "target": "web1"}), "no field"),
        ("nothing", json!({}), "no such tool"),
    ] {
        let error = client.fail(tool, arguments.clone());
        assert!(error.to_string().contains(said), "{tool} {arguments}: {error}");
    }
    // Limits of any size are those of the tool.
    for limit in [json!(0), json!(1), json!(u64::MAX), json!(1e300)] {
        client.call("top", json!({"run": "web1", "what": "classes", "limit": limit}));
        client.call("why", json!({"run": "web1", "node": 3, "paths": limit}));
    }
    for bytes in [json!(0), json!(u64::MAX)] {
        client.call("top", json!({"run": "web1", "max_bytes": bytes}));
    }
    assert!(client.end().success());
}

#[test]
fn missing_tables_are_named() {
    let lake = Lake::new();
    lake.analyze(fixtures::v8("s1")).args(["--tables", "classes", "--snapshot", "few"]).assert().success();
    lake.analyze(fixtures::v8("s1")).args(["--no-edges", "--snapshot", "no-edges"]).assert().success();
    let mut client = Client::start(&lake.path());
    client.call("overview", json!({"run": "few"}));
    client.call("findings", json!({"run": "few"}));
    client.call("top", json!({"run": "few", "what": "classes"}));
    for (tool, arguments) in [
        ("top", json!({"run": "few"})),
        ("class", json!({"run": "few", "class": "Map"})),
        ("object", json!({"run": "few", "node": 3})),
        ("why", json!({"run": "few", "node": 3})),
        ("dominated", json!({"run": "few"})),
    ] {
        let error = client.fail(tool, arguments);
        assert!(error["error"].as_str().unwrap().contains("no table of nodes"), "{tool}: {error}");
    }
    let error = client.fail("top", json!({"run": "few", "what": "owners"}));
    assert!(error["error"].as_str().unwrap().contains("no table of owners"), "{error}");
    let object = client.call("object", json!({"run": "no-edges", "node": 30}));
    assert!(object["notes"][0].as_str().unwrap().contains("no table of edges"), "{object}");
    assert!(client.call("why", json!({"run": "no-edges", "node": 30}))["heap_data"]["dominators"].is_array());
}

#[test]
fn dropped_and_damaged_runs_do_not_stop_the_others() {
    let lake = Lake::new();
    for name in ["a", "b", "c"] {
        lake.analyze(fixtures::v8("small")).args(["--snapshot", name, "--force"]).assert().success();
    }
    let mut client = Client::start(&lake.path());
    client.call("findings", json!({"run": "a"}));
    heaplake().args(["lake", "drop"]).arg(lake.path()).args(["a", "--yes", "--quiet"]).assert().success();
    assert!(client.fail("findings", json!({"run": "a"}))["error"].as_str().unwrap().contains("no run"));
    let damaged = lake.path().join("release=none/snapshot=b");
    fs::write(damaged.join("nodes.parquet"), b"no table").unwrap();
    client.fail("dominated", json!({"run": "b"}));
    fs::write(damaged.join("run.json"), b"{").unwrap();
    let overview = client.call("overview", json!({}));
    assert!(overview["notes"].to_string().contains("cannot be read") || overview["of"] == "run none/c", "{overview}");
    client.call("findings", json!({"run": "c"}));
    assert!(client.end().success());
}

#[test]
fn an_empty_lake_is_no_end() {
    let lake = Lake::new();
    fs::create_dir_all(lake.path()).unwrap();
    let mut client = Client::start(&lake.path());
    let overview = client.call("overview", json!({}));
    assert!(overview["notes"][0].as_str().unwrap().contains("no run"), "{overview}");
    for tool in ["findings", "top", "class", "object", "why", "dominated", "compare", "clusters"] {
        client.fail(tool, json!({}));
    }
    // A run that comes later is seen.
    lake.analyze(fixtures::v8("small")).assert().success();
    client.call("findings", json!({}));
    assert!(client.end().success());
}

#[test]
fn a_folder_of_one_release_is_served() {
    let lake = Lake::new();
    for release in ["1.0", "1.1"] {
        lake.analyze(fixtures::v8("small")).args(["--release", release, "--snapshot", "it"]).assert().success();
    }
    let mut client = Client::start(&lake.path().join("release=1.1"));
    assert_eq!(client.call("overview", json!({}))["of"], "run 1.1/it");
    client.fail("findings", json!({"run": "1.0/it"}));
}
