//! Leaks in pairs of runs: in two versions of Node, in a bundle before and after an unrelated change, in two runs of
//! Java with lambdas and proxies renumbered. The tables' names of a leak agree in both runs, and differ between leaks.
//! `HEAPLAKE_UPDATE=1` stores all names as a fixture, which the tests of `crates/names` read.

mod side;

use crate::packages::source;
use heaplake_support::lake::Lake;
use heaplake_support::npm::Packages;
use serde_json::{Value, json};
use side::Side;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Bundlers of `bundle.mjs`.
const BUNDLERS: [&str; 7] = ["webpack", "webpack_terser", "webpack_eval", "rollup", "vite", "esbuild", "esbuild_dense"];
/// Leaks tried in each bundle.
const BUNDLED: [&str; 7] = ["closures", "linked_list", "listeners", "map_cache", "memoize", "static_field", "timers"];

/// A leak, and the commands that make its two snapshots; each takes a path.
struct Pair {
    family: String,
    leak: String,
    commands: [Vec<String>; 2],
}

fn run(command: &[String], out: &Path) {
    let output = Command::new(&command[0]).args(&command[1..]).arg(out).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && out.exists(), "{command:?}: {said}");
}

fn ask(program: &str, arguments: &[&str], folder: &Path) -> Result<String, String> {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.map_err(|error| format!("{program} cannot be run here: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout).unwrap());
    }
    Err(format!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Names of the leaks: the files of `kinds`.
fn kinds(programs: &Path) -> Vec<String> {
    let files = fs::read_dir(programs.join("kinds")).unwrap().flatten();
    let mut kinds: Vec<String> =
        files.map(|file| file.path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    kinds.sort();
    kinds
}

fn pairs_of_node(folder: &Path) -> Result<Vec<Pair>, String> {
    let programs = folder.join("programs");
    let wanted = vec![("package.json", fs::read(programs.join("package.json")).unwrap())];
    let modules = Packages::new("leak-pairs", wanted, &["install", "--no-package-lock"]).install()?;
    let tools = modules.parent().unwrap();
    let node = |version: u32| tools.join(format!("node_modules/node{version}/bin/node")).display().to_string();
    let main = programs.join("main.js").display().to_string();
    let mut pairs: Vec<Pair> = Vec::new();
    for kind in kinds(&programs) {
        let command = |version| vec![node(version), main.clone(), kind.clone()];
        pairs.push(Pair { family: "node".into(), leak: kind.clone(), commands: [command(22), command(24)] });
    }
    for bundler in BUNDLERS {
        let bundle = |version: &str| {
            let out = folder.join(format!("{bundler}-{version}")).display().to_string();
            let arguments = ["bundle.mjs", bundler, version, tools.to_str().unwrap(), &out];
            ask(&node(22), &arguments, &programs).map(|path| path.trim().to_owned())
        };
        let bundles = [bundle("before")?, bundle("after")?];
        for kind in BUNDLED {
            let commands = bundles.clone().map(|bundle| vec![node(22), bundle, kind.to_owned()]);
            pairs.push(Pair { family: bundler.to_owned(), leak: kind.to_owned(), commands });
        }
    }
    Ok(pairs)
}

fn pairs_of_java(folder: &Path) -> Result<Vec<Pair>, String> {
    let programs = folder.join("programs");
    let classes = folder.display().to_string();
    ask("javac", &["-d", &classes, "Leaks.java"], &programs)?;
    let text = fs::read_to_string(programs.join("Leaks.java")).unwrap();
    let kinds = text.lines().filter_map(|line| line.trim().strip_prefix("case \"")?.split('"').next());
    let pair = |kind: &str| {
        let command = |numbers: &str| {
            let java = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-cp", &classes, "Leaks", kind, numbers];
            java.map(str::to_owned).to_vec()
        };
        Pair { family: "java".into(), leak: kind.to_owned(), commands: [command("plain"), command("renumbered")] }
    };
    Ok(kinds.map(pair).collect())
}

/// The leak's names in the tables of both runs, which must agree.
fn sides(pair: &Pair) -> [Side; 2] {
    let sides = [0, 1].map(|at: usize| {
        let lake = Lake::new();
        let extension = if pair.family == "java" { "hprof" } else { "heapsnapshot" };
        let snapshot = lake.folder().join(format!("heap.{extension}"));
        run(&pair.commands[at], &snapshot);
        lake.analyze(&snapshot).arg("--no-edges").assert().success();
        Side::read(&lake.run(), if pair.family == "java" { "Leaks$Session" } else { "Session" })
    });
    assert_eq!(sides[0].signatures, sides[1].signatures, "{} {}", pair.family, pair.leak);
    sides
}

fn check(pairs: &[Pair]) -> Vec<Value> {
    let mut known: BTreeMap<(String, Vec<String>), &str> = BTreeMap::new();
    let mut kept = Vec::new();
    for pair in pairs {
        let sides = sides(pair);
        let other = known.insert((pair.family.clone(), sides[0].signatures.clone()), &pair.leak);
        assert_eq!(other, None, "{}: {} has the same signatures", pair.family, pair.leak);
        kept.push(json!({ "family": pair.family, "leak": pair.leak, "sides": sides.map(|side| side.names) }));
    }
    kept
}

#[test]
#[ignore = "long, and needs Java and the npm registry"]
fn leaks_are_what_they_are_in_other_runs() {
    let lake = Lake::new();
    let folder = lake.folder().canonicalize().unwrap();
    copy(&source("leak_pairs"), &folder.join("programs"));
    let mut pairs = Vec::new();
    for found in [pairs_of_node(&folder), pairs_of_java(&folder)] {
        match found {
            Ok(found) => pairs.extend(found),
            Err(why) => return eprintln!("SKIPPED: pairs of leaks: {why}"),
        }
    }
    let kept = check(&pairs);
    eprintln!("{} pairs of runs have equal signatures", kept.len());
    if std::env::var_os("HEAPLAKE_UPDATE").is_some() {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/names/pairs.json.zst");
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        let text = serde_json::to_vec(&kept).unwrap();
        fs::write(place, zstd::encode_all(&text[..], 19).unwrap()).unwrap();
    }
}
