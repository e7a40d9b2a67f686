//! To whom memory belongs: sums that must be the heap, real programs with packages, the file of rules.

#![allow(clippy::unwrap_used)] // tests may fail loudly

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Lake, Table, check_owner_sums, complaint, heaplake, owners};

/// Count, shallow size, retained size of an owner, and what would go with it.
type Share = (u64, u64, u64, Option<u64>);

/// The owners of a run, whose sums are right.
fn check_sums(run: &Path) -> BTreeMap<String, Share> {
    check_owner_sums(run);
    owners(run)
}

fn analyzed(input: &Path, options: &[&str]) -> (Lake, PathBuf) {
    let lake = Lake::new();
    lake.analyze(input).args(options).assert().success();
    let run = lake.run();
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
        let (lake, run) = analyzed(&support::fixtures().join("..").join(name), &[]);
        let shares = check_sums(&run);
        assert!(shares.len() > 2, "{name}: {shares:?}");
        // The same with the smallest budget and other numbers of threads.
        let table = fs::read(run.join("owners.parquet")).unwrap();
        for options in [["--threads=1", "--memory=80MiB"], ["--threads=3", "--memory=2GiB"]] {
            lake.analyze(support::fixtures().join("..").join(name)).args(options).arg("--force").assert().success();
            assert_eq!(fs::read(lake.run().join("owners.parquet")).unwrap(), table, "{name}");
        }
    }
}

#[test]
fn packages_of_a_node_program() {
    let lake = Lake::new();
    let (folder, snapshot) = (lake.folder().join("app"), lake.folder().join("app.heapsnapshot"));
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs/packages.js");
    match Command::new("node").arg(program).arg(&folder).arg(&snapshot).output() {
        Err(error) => return eprintln!("SKIPPED: node cannot be run here: {error}"),
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
    }
    lake.analyze(&snapshot).assert().success();
    let run = lake.run();
    let shares = check_sums(&run);
    let [hoarder, ticker, deep, node, application] =
        ["hoarder", "@scope/ticker", "deep", "node", "(application)"].map(|name| shares[name]);

    // 3,000 rows with 64 elements of 8 bytes, and what is around them.
    assert!(hoarder.0 >= 3001 && hoarder.1 >= of_class(&run, "Row") && hoarder.1 < 1 << 20, "{hoarder:?}");
    assert!((3000 * 64 * 8..3000 * 64 * 8 * 3 / 2).contains(&hoarder.2), "{hoarder:?}");
    // 1,000 functions with a context and a text each.
    assert!(ticker.0 >= 2001 && ticker.2 > 1000 * 100 && ticker.2 < 400_000, "{ticker:?}");
    // 500 boxes, and plain objects in them that have no owner of their own.
    assert!(deep.0 >= 500 && deep.1 >= of_class(&run, "Box") && deep.2 >= deep.1 + 500 * 32, "{deep:?}");
    assert!(deep.3 >= Some(deep.2) && node.0 > 1000 && application.0 >= 1, "{shares:?}");

    // Somebody takes the packages over, and all that is left.
    let rules = lake.input(
        "rules.toml",
        b"packages = false\n[[owner]]\nname = \"team\"\nscript = \"*/node_modules/*\"\npackage = [\"hoarder\", \"@scope/*\"]\n",
    );
    lake.analyze(&snapshot).arg("--force").arg("--owners").arg(&rules).assert().success();
    let taken = check_sums(&lake.run());
    assert_eq!(taken.keys().map(String::as_str).collect::<Vec<_>>(), ["(none)", "team"]);
    assert_eq!(taken["team"].1, hoarder.1 + ticker.1);
    // What the boxes are in is the application's, so they are not under the team.
    assert_eq!(taken["team"].2, hoarder.2 + ticker.2);
    assert!(taken["team"].3 >= Some(taken["team"].2));
}

#[test]
fn packages_and_loaders_of_a_java_heap() {
    let input = support::fixtures().join("../jvm/dupfix.hprof.zst");
    let (lake, run) = analyzed(&input, &[]);
    let shares = check_sums(&run);
    // The fixture's own classes are in no package; what the platform's objects hold for them counts for them.
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
    let shown = heaplake().arg("show").arg(lake.run()).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("Largest owners") && shown.contains("maps"), "{shown}");
}

#[test]
fn other_rules_are_another_run() {
    let lake = Lake::new();
    let input = support::fixtures().join("small.heapsnapshot.zst");
    lake.analyze(&input).assert().success();
    let rules = lake.input("rules.toml", b"[[owner]]\nname = \"a\"\nclass = \"*\"\n");
    let (cause, _) = complaint(lake.analyze(&input).arg("--owners").arg(&rules), 1);
    assert!(cause.contains("differs in --owners"), "{cause}");
    lake.analyze(&input).arg("--owners").arg(&rules).arg("--force").assert().success();
    let shares = check_sums(&lake.run());
    // What is synthetic is nobody's, whatever the rule.
    assert_eq!(shares.keys().map(String::as_str).collect::<Vec<_>>(), ["(none)", "a"]);
    let json: serde_json::Value = serde_json::from_slice(&fs::read(lake.run().join("run.json")).unwrap()).unwrap();
    assert_eq!(json["options"]["owners"]["rules"][0]["name"], "a");
    assert_eq!(json["summary"]["owners"][0]["owner"], "a");
}

#[test]
fn a_bad_file_of_rules_is_refused_before_anything_is_done() {
    let lake = Lake::new();
    let input = support::fixtures().join("small.heapsnapshot.zst");
    for (text, problem) in [
        (&b"[[owner]]\nname = \"a\"\nclas = \"X\"\n"[..], "rules.toml: line 3: expected name, class, script"),
        (b"[[owner]]\nname = \"a\"\nclass = \"[\"\n", "line 3: expected a glob pattern, found \"[\""),
        (b"x = \xff\n", "line 1: expected UTF-8"),
        (b"[[owner\n", "line 1: expected TOML"),
        (&[b'#'; 5 << 20], "at most 4194304 bytes"),
    ] {
        let rules = lake.input("rules.toml", text);
        let (cause, advice) = complaint(lake.analyze(&input).arg("--owners").arg(&rules), 2);
        assert!(cause.contains(problem), "{cause}");
        assert!(advice.contains("[[owner]]"), "{advice}");
    }
    let (cause, _) = complaint(lake.analyze(&input).args(["--owners", "/nowhere.toml"]), 2);
    assert!(cause.contains("/nowhere.toml: cannot read"), "{cause}");
    lake.assert_empty();
}

/// Bytes that the file itself says were allocated, by name of the script of the allocating function.
fn traced(text: &str) -> BTreeMap<String, u64> {
    let file: serde_json::Value = serde_json::from_str(text).unwrap();
    let numbers = |name: &str| -> Vec<u64> {
        file[name].as_array().unwrap().iter().map(|number| number.as_u64().unwrap_or(u64::MAX)).collect()
    };
    let infos = numbers("trace_function_infos");
    let width = file["snapshot"]["meta"]["trace_function_info_fields"].as_array().unwrap().len();
    let script = |function: u64| file["strings"][infos[function as usize * width + 2] as usize].as_str().unwrap();
    let mut sums = BTreeMap::new();
    // A node is five elements, of which the last one is the list of what it calls; with the nearest script above.
    let mut open = vec![(&file["trace_tree"], "")];
    while let Some((list, above)) = open.pop() {
        for node in list.as_array().unwrap().chunks(5) {
            let own = script(node[1].as_u64().unwrap());
            let nearest = if own.is_empty() { above } else { own };
            *sums.entry(nearest.to_owned()).or_default() += node[3].as_u64().unwrap();
            open.push((&node[4], nearest));
        }
    }
    sums
}

#[test]
fn allocations_belong_to_the_innermost_owned_function() {
    for name in ["alloc20.heapsnapshot", "node24_alloc.heapsnapshot"] {
        let text = String::from_utf8(support::fixture(name)).unwrap();
        let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
        for (script, bytes) in traced(&text) {
            let owner = match script.as_str() {
                "" => "(none)",
                script if script.starts_with("node:") => "node",
                _ => "(application)",
            };
            *expected.entry(owner).or_default() += bytes;
        }
        assert!(expected["(application)"] > 1 << 20, "{expected:?}");
        let lake = Lake::new();
        lake.analyze(lake.input(name, text.as_bytes())).assert().success();
        let table = Table::read(&lake.run(), "owners.parquet");
        let allocated = table.u64s("allocated_bytes");
        for (row, owner) in table.texts("owner").into_iter().enumerate() {
            let expected = expected.get(owner.as_deref().unwrap()).copied();
            assert_eq!(allocated[row].unwrap(), expected.unwrap_or(0), "{name}: {owner:?}");
        }
    }
}

/// Owners of the nodes of a snapshot by their scripts, worked out with maps from the file itself.
fn owners_by_script(file: &serde_json::Value) -> Vec<Option<String>> {
    let numbers = |name: &str| -> Vec<usize> {
        file[name].as_array().unwrap().iter().map(|number| number.as_u64().unwrap_or(u64::MAX) as usize).collect()
    };
    let (meta, strings) = (&file["snapshot"]["meta"], file["strings"].as_array().unwrap());
    let (nodes, edges, locations) = (numbers("nodes"), numbers("edges"), numbers("locations"));
    let fields: Vec<&str> =
        meta["node_fields"].as_array().unwrap().iter().map(|field| field.as_str().unwrap()).collect();
    let field = |name: &str| fields.iter().position(|field| *field == name).unwrap();
    let (width, kind, name, edge_count) = (fields.len(), field("type"), field("name"), field("edge_count"));
    let count = nodes.len() / width;
    let string = |id: usize| strings[id].as_str().unwrap_or("");
    let kind_of = |node: usize| meta["node_types"][kind][nodes[node * width + kind]].as_str().unwrap();
    let name_of = |node: usize| string(nodes[node * width + name]);
    // Target of an internal edge with one of these names, if it is of kind code.
    let mut starts = vec![0];
    (0..count).for_each(|node| starts.push(starts[node] + nodes[node * width + edge_count]));
    let internal = |node: usize, names: &[&str]| -> Vec<usize> {
        let all = (starts[node]..starts[node + 1]).map(|edge| &edges[edge * 3..edge * 3 + 3]);
        all.filter(|edge| meta["edge_types"][0][edge[0]] == "internal" && names.contains(&string(edge[1])))
            .map(|edge| edge[2] / width)
            .filter(|&to| kind_of(to) == "code")
            .collect()
    };
    let mut script: Vec<Option<String>> = vec![None; count];
    let say = |script: &mut Vec<Option<String>>, node: usize, what: Option<String>| {
        if script[node].is_none() {
            script[node] = what;
        }
    };
    let of_kind = |wanted: &str| (0..count).filter(|&node| kind_of(node) == wanted).collect::<Vec<_>>();
    for node in of_kind("code") {
        for to in internal(node, &["script", "script_or_debug_info", "raw_script"]) {
            let path = name_of(to).trim_start_matches("system / Script / ").to_owned();
            let path = Some(path).filter(|path| !path.is_empty() && !path.starts_with("system / "));
            say(&mut script, node, path.clone());
            say(&mut script, to, path);
        }
    }
    for node in of_kind("code") {
        for to in internal(node, &["name_or_scope_info", "scope_info"]) {
            let path = script[node].clone();
            say(&mut script, to, path);
        }
    }
    for node in of_kind("object").into_iter().filter(|&node| name_of(node) == "system / Context") {
        for to in internal(node, &["scope_info"]) {
            let path = script[to].clone();
            say(&mut script, node, path);
        }
    }
    let mut by_number = BTreeMap::new();
    for node in of_kind("closure") {
        for to in internal(node, &["shared"]) {
            let path = script[to].clone();
            say(&mut script, node, path);
        }
    }
    // Object and number of the script come first.
    let location = meta["location_fields"].as_array().unwrap().len();
    let mut located: Vec<&[usize]> = locations.chunks(location).collect();
    located.sort();
    for location in &located {
        if let Some(path) = &script[location[0] / width] {
            by_number.entry(location[1]).or_insert_with(|| path.clone());
        }
    }
    for location in &located {
        say(&mut script, location[0] / width, by_number.get(&location[1]).cloned());
    }
    let owner = |path: String| if path.starts_with("node:") { "node" } else { "(application)" }.to_owned();
    let synthetic = |node: usize| kind_of(node) == "synthetic";
    script.into_iter().enumerate().map(|(node, path)| path.filter(|_| !synthetic(node)).map(owner)).collect()
}

#[test]
fn objects_belong_to_the_scripts_of_their_functions_and_constructors() {
    for name in
        ["s1.heapsnapshot", "node24_app.heapsnapshot", "chromium_dom.heapsnapshot", "chromium138_dom.heapsnapshot"]
    {
        let text = support::fixture(name);
        let expected = owners_by_script(&serde_json::from_slice(&text).unwrap());
        let lake = Lake::new();
        lake.analyze(lake.input(name, &text)).assert().success();
        let run = lake.run();
        let mut theirs: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (owner, size) in expected.into_iter().zip(Table::read(&run, "nodes.parquet").u64s("shallow_bytes")) {
            let sums = theirs.entry(owner.unwrap_or_else(|| "(none)".to_owned())).or_default();
            *sums = (sums.0 + u64::from(size > Some(0)), sums.1 + size.unwrap());
        }
        let ours = check_sums(&run).into_iter().map(|(owner, share)| (owner, (share.0, share.1))).collect();
        assert_eq!(theirs, ours, "{name}");
        assert!(theirs["(application)"].0 > 20, "{name}: {theirs:?}");
    }
}
