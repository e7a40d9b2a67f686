//! Owners: sums that must equal the heap, real programs with packages, the rule file.

use crate::findings::took;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, diagnostic, heaplake, read_json, said};
use heaplake_support::owner_sums::{check_owner_sums, node_sums, owners};
use heaplake_support::table::Table;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Count, shallow, retained and freed size of an owner.
type Share = (u64, u64, u64, Option<u64>);

pub(crate) fn check_sums(run: &Path) -> BTreeMap<String, Share> {
    check_owner_sums(run);
    owners(run)
}

fn analyzed(input: &Path, options: &[&str]) -> (Lake, PathBuf) {
    let (lake, run) = Lake::of(input, options);
    (lake, run)
}

/// Shallow sizes of the nodes of a class.
fn of_class(run: &Path, name: &str) -> u64 {
    let nodes = Table::read(run, "nodes.parquet");
    let sizes = nodes.u64s("shallow_bytes").into_iter().zip(nodes.texts("class"));
    sizes.filter(|(_, class)| class.as_deref() == Some(name)).map(|(size, _)| size.unwrap()).sum()
}

#[test]
fn owners_sum_to_the_heap() {
    for name in
        ["v8/small.heapsnapshot.zst", "jvm/weakfix.hprof.zst", "jvm/dupfix.hprof.zst", "jvm/hello-live.hprof.zst"]
    {
        let (lake, run) = analyzed(&fixtures::path("v8/..").join(name), &[]);
        let shares = check_sums(&run);
        assert!(shares.len() > 2, "{name}: {shares:?}");
        // The same with the smallest budget and other numbers of threads.
        let table = fs::read(run.join("owners.parquet")).unwrap();
        for options in [["--threads=1", "--memory=80MiB"], ["--threads=3", "--memory=2GiB"]] {
            lake.analyze(fixtures::path("v8/..").join(name)).args(options).arg("--force").assert().success();
            assert_eq!(fs::read(lake.run().join("owners.parquet")).unwrap(), table, "{name}");
        }
    }
}

#[test]
fn packages_of_a_node_program() {
    let lake = Lake::new();
    let (folder, snapshot) = (lake.folder().join("app"), lake.folder().join("app.heapsnapshot"));
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs/packages.js");
    if !took("node", &[&program, &folder, &snapshot]) {
        return;
    }
    lake.analyze(&snapshot).assert().success();
    let run = lake.run();
    let shares = check_sums(&run);
    let [hoarder, ticker, deep, node, application] =
        ["hoarder", "@scope/ticker", "deep", "node", "(application)"].map(|name| shares[name]);

    // 3,000 rows with 64 elements of 8 bytes, and their headers.
    assert!(hoarder.0 >= 3001 && hoarder.1 >= of_class(&run, "Row") && hoarder.1 < 1 << 20, "{hoarder:?}");
    assert!((3000 * 64 * 8..3000 * 64 * 8 * 3 / 2).contains(&hoarder.2), "{hoarder:?}");
    // 1,000 functions with a context and a text each.
    assert!(ticker.0 >= 2001 && ticker.2 > 1000 * 100 && ticker.2 < 400_000, "{ticker:?}");
    // 500 boxes, and plain objects in them without an owner.
    assert!(deep.0 >= 500 && deep.1 >= of_class(&run, "Box") && deep.2 >= deep.1 + 500 * 32, "{deep:?}");
    assert!(deep.3 >= Some(deep.2) && node.0 > 1000 && application.0 >= 1, "{shares:?}");

    // Without rules, the own owner of an object is the package of its code.
    let of_code = node_sums(&Table::read(&run, "nodes.parquet"), "package");
    for name in ["hoarder", "@scope/ticker", "deep", "node", "(application)"] {
        assert_eq!(of_code[name], shares[name].1, "{name}");
    }
    // The largest object that counts for a package, also through the command.
    let top = said(heaplake().arg("top").arg(&run).args(["--owner", "hoard*", "-n", "3000", "--json"]));
    let top: Value = serde_json::from_str(&top).unwrap();
    let objects = top["objects"].as_array().unwrap();
    let rows = objects.iter().filter(|object| object["class"] == "Row").count();
    assert!(rows > 2900 && objects[0]["retained_bytes"].as_u64() > Some(3000 * 64 * 8), "{rows}: {}", objects[0]);
    let (cause, _) = diagnostic(heaplake().arg("top").arg(&run).args(["--owner", "hoader"]), 2);
    assert!(cause.ends_with("no owner matches \"hoader\"; the nearest: \"hoarder\""), "{cause}");

    // Rules give the packages to a team, and nothing to anybody else.
    let rules = lake.input(
        "rules.toml",
        b"packages = false\n[[owner]]\nname = \"team\"\nscript = \"*/node_modules/*\"\npackage = [\"hoarder\", \"@scope/*\"]\n",
    );
    lake.analyze(&snapshot).arg("--force").arg("--owners").arg(&rules).assert().success();
    let taken = check_sums(&lake.run());
    assert_eq!(taken.keys().map(String::as_str).collect::<Vec<_>>(), ["(none)", "team"]);
    assert_eq!(taken["team"].1, hoarder.1 + ticker.1);
    assert_eq!(node_sums(&Table::read(&lake.run(), "nodes.parquet"), "package"), of_code);
    // The boxes are in a container of the application, so the team does not dominate them.
    assert_eq!(taken["team"].2, hoarder.2 + ticker.2);
    assert!(taken["team"].3 >= Some(taken["team"].2));
}

#[test]
fn packages_and_loaders_of_a_java_heap() {
    let input = fixtures::path("jvm/dupfix.hprof.zst");
    let (lake, run) = analyzed(&input, &[]);
    let shares = check_sums(&run);
    // The fixture's own classes are in no package. Objects of the platform that they dominate count for them.
    let own = shares["(unnamed package)"];
    assert!(own.2 > own.1 && own.3 >= Some(own.2), "{shares:?}");
    let util = shares["java.util"];
    assert!(util.1 > 0 && util.3 >= Some(util.1), "{shares:?}");

    let rules = lake.input(
        "rules.toml",
        b"[[owner]]\nname = \"maps\"\nclass = \"java.util.*Map*\"\n[[owner]]\nname = \"boot\"\nloader = \"(boot)\"\n",
    );
    lake.analyze(&input).arg("--force").arg("--owners").arg(&rules).assert().success();
    let taken = check_sums(&lake.run());
    assert!(!taken.contains_key("java.util") && taken["maps"].1 > 0 && taken["boot"].1 > taken["maps"].1, "{taken:?}");
    assert_eq!(taken["(unnamed package)"].1, own.1);
    let shown = said(heaplake().arg("show").arg(lake.run()));
    assert!(shown.contains("Largest owners") && shown.contains("maps"), "{shown}");
}

/// Compiles and runs this test's Java program; returns its dump, or `None` without Java.
fn dumped(lake: &Lake) -> Option<PathBuf> {
    let (classes, dump) = (lake.folder().join("classes"), lake.folder().join("shop.hprof"));
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs/owners");
    let mut compile = Command::new("javac");
    compile.arg("-d").arg(&classes);
    compile.args(
        ["cache/Cache.java", "shop/Shop.java", "plugin/Plugin.java"].map(|file| sources.join("com/acme").join(file)),
    );
    let mut run = Command::new("java");
    run.arg("-cp").arg(&classes).arg("com.acme.shop.Shop").arg(&classes).arg(&dump);
    for mut command in [compile, run] {
        match command.output() {
            Err(error) => {
                eprintln!("SKIPPED: {command:?} cannot be run here: {error}");
                return None;
            }
            Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        }
    }
    Some(dump)
}

#[test]
fn packages_of_a_java_program() {
    let lake = Lake::new();
    let Some(dump) = dumped(&lake) else { return };
    lake.analyze(&dump).assert().success();
    let shares = check_sums(&lake.run());
    let [cache, shop, plugin] = ["cache", "shop", "plugin"].map(|name| shares[&format!("com.acme.{name}")]);
    // A map, strings and bytes: all are of platform classes, and the cache dominates them.
    assert!(cache.1 < 1000 && (2000 * 1000..2000 * 1300).contains(&cache.2), "{cache:?}");
    // 500 orders with their strings; without the shop the entries of the cache would be unreachable, too.
    assert!(shop.0 >= 502 && (500 * 50..500 * 150).contains(&shop.2), "{shop:?}");
    assert!(shop.3 >= Some(shop.2 + 2000 * 1000), "{shop:?}");
    // Targets of a static field count for its class.
    assert!((100 * 800..100 * 1000).contains(&plugin.2) && plugin.3 >= Some(plugin.2), "{plugin:?}");

    let rules = lake.input(
        "rules.toml",
        b"[[owner]]\nname = \"plugins\"\nloader = \"*$PluginLoader\"\n[[owner]]\nname = \"acme\"\npackage = \"com.acme.*\"\n",
    );
    lake.analyze(&dump).arg("--force").arg("--owners").arg(&rules).assert().success();
    let taken = check_sums(&lake.run());
    assert_eq!((taken["plugins"].1, taken["plugins"].2), (plugin.1, plugin.2));
    assert_eq!((taken["acme"].1, taken["acme"].2), (cache.1 + shop.1, cache.2 + shop.2));
}

#[test]
fn other_rules_are_another_run() {
    let lake = Lake::new();
    let input = fixtures::v8("small");
    lake.analyze(&input).assert().success();
    let rules = lake.input("rules.toml", b"[[owner]]\nname = \"a\"\nclass = \"*\"\n");
    let (cause, _) = diagnostic(lake.analyze(&input).arg("--owners").arg(&rules), 1);
    assert!(cause.contains("differs in --owners"), "{cause}");
    lake.analyze(&input).arg("--owners").arg(&rules).arg("--force").assert().success();
    let shares = check_sums(&lake.run());
    // Synthetic nodes have no owner, whatever the rule.
    assert_eq!(shares.keys().map(String::as_str).collect::<Vec<_>>(), ["(none)", "a"]);
    let json: serde_json::Value = read_json(lake.run().join("run.json"));
    assert_eq!(json["options"]["owners"]["rules"][0]["name"], "a");
    assert_eq!(json["summary"]["owners"][0]["owner"], "a");
}

#[test]
fn a_bad_file_of_rules_is_refused_before_anything_is_done() {
    let lake = Lake::new();
    let input = fixtures::v8("small");
    for (text, problem) in [
        (&b"[[owner]]\nname = \"a\"\nclas = \"X\"\n"[..], "rules.toml: line 3: expected name, class, script"),
        (b"[[owner]]\nname = \"a\"\nclass = \"[\"\n", "line 3: expected a glob pattern, found \"[\""),
        (b"x = \xff\n", "line 1: expected UTF-8"),
        (b"[[owner\n", "line 1: expected TOML"),
        (&[b'#'; 5 << 20], "at most 4194304 bytes"),
    ] {
        let rules = lake.input("rules.toml", text);
        let (cause, advice) = diagnostic(lake.analyze(&input).arg("--owners").arg(&rules), 2);
        assert!(cause.contains(problem), "{cause}");
        assert!(advice.contains("[[owner]]"), "{advice}");
    }
    let (cause, _) = diagnostic(lake.analyze(&input).args(["--owners", "/nowhere.toml"]), 2);
    assert!(cause.contains("/nowhere.toml: cannot read"), "{cause}");
    lake.assert_empty();
}
