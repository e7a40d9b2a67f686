//! `heaplake secrets`: planted secrets are found and near misses are not, nothing shows a secret, and gates, baselines
//! and files of rules work.

use heaplake_support::canaries::{Canaries, Search};
use heaplake_support::lake::{Lake, answer, diagnostic, heaplake, said};
use heaplake_support::secret_corpus::heaps::{java, java_key, v8, v8_keys};
use heaplake_support::secret_corpus::judge::Verdict;
use heaplake_support::secret_corpus::{Item, Place, misses, secrets};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `heaplake secrets TARGET`.
fn search(target: &Path) -> assert_cmd::Command {
    let mut command = heaplake();
    command.arg("secrets").arg(target);
    command
}

/// The heaps with the whole corpus.
fn heaps(lake: &Lake) -> [PathBuf; 3] {
    let items = [secrets(), misses()].concat();
    [
        lake.input("corpus.heapsnapshot", &v8(&items)),
        lake.input("corpus.hprof", &java(&items, 8)),
        lake.input("narrow.hprof", &java(&items, 4)),
    ]
}

#[test]
fn the_corpus_is_large_enough() {
    let (secrets, misses) = (secrets(), misses());
    let mut kinds: Vec<&str> = secrets.iter().map(|item| item.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert!(secrets.len() >= 120 && kinds.len() >= 15, "{} of {kinds:?}", secrets.len());
    assert!(misses.len() >= 200, "{}", misses.len());
    assert!(secrets.iter().all(|item| item.text.contains(&item.secret) && !item.secret.is_empty()));
}

#[test]
fn planted_secrets_are_found_and_near_misses_are_not() {
    let lake = Lake::new();
    for heap in heaps(&lake) {
        let report = answer(search(&heap).arg("--json"));
        let verdict = Verdict::of(&report, &secrets(), &misses());
        eprintln!("{}: {}", heap.display(), verdict.text());
        assert!(verdict.recall() >= 0.99, "{}", verdict.text());
        assert!(verdict.precision() >= 0.99, "{}", verdict.text());
        assert!(verdict.other.is_empty(), "{}", verdict.text());
    }
}

/// Canaries of all secrets, and of the texts around them.
fn canaries() -> Canaries {
    let mut texts: Vec<String> = secrets().into_iter().map(|item| item.secret).collect();
    // Names of fields and headers are no secrets.
    texts.retain(|text| text.len() >= 10);
    Canaries { texts, numbers: Vec::new() }
}

#[test]
fn no_output_has_a_secret() {
    let lake = Lake::new();
    let (seek, mut outputs) = (Search::new(&canaries()), 0);
    for heap in heaps(&lake) {
        for options in [&["--json"][..], &[], &["--quiet"], &["--log-format", "json", "--verbose"], &["-v"]] {
            let sarif = lake.folder().join("secrets.sarif");
            let scratch = lake.folder().join("scratch");
            let output = search(&heap).args(options).arg("--sarif").arg(&sarif).arg("--scratch").arg(&scratch).output();
            let output = output.unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            seek.expect_none("standard output", &output.stdout);
            seek.expect_none("standard error", &output.stderr);
            seek.expect_none("SARIF", &fs::read(&sarif).unwrap());
            outputs += output.stdout.len();
            // Nothing is left of the analysis.
            assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
        }
    }
    assert!(outputs > 10_000);
}

#[test]
fn the_runs_of_snapshots_are_searched_as_far_as_they_have_texts() {
    let lake = Lake::new();
    let [snapshot, dump, _] = heaps(&lake);
    for (input, name, least) in [(&snapshot, "web", 1.0), (&dump, "java", 0.5)] {
        lake.analyze(input).args(["--snapshot", name, "--edges"]).assert().success();
        let run = lake.path().join(name);
        let report = answer(search(&run).arg("--json"));
        let verdict = Verdict::of(&report, &secrets(), &misses());
        assert!(verdict.recall() >= least * 0.99 && verdict.precision() >= 0.99, "{}", verdict.text());
        assert_eq!(report["searched"]["whole"], false);
        assert!(said(&mut search(&run)).contains("note: texts are those of the run"));
        // With the snapshot, all are found.
        let report = answer(search(&run).arg("--json").arg("--input").arg(input));
        let verdict = Verdict::of(&report, &secrets(), &misses());
        assert!(verdict.recall() >= 0.99 && verdict.precision() >= 0.99, "{}", verdict.text());
        assert_eq!(report["searched"]["whole"], true);
    }
    let (cause, _) = diagnostic(search(&lake.path().join("web")).arg("--input").arg(&dump), 2);
    assert!(cause.contains("not the snapshot of this run"), "{cause}");
    let (cause, _) = diagnostic(&mut search(&lake.path()), 2);
    assert!(cause.contains("no run"), "{cause}");
}

#[test]
fn a_run_without_texts_is_an_error_and_not_clean() {
    let lake = Lake::new();
    let [snapshot, _, _] = heaps(&lake);
    for (texts, word) in [("hash", "hashed"), ("none", "absent")] {
        lake.analyze(&snapshot).args(["--snapshot", texts, "--texts", texts]).assert().success();
        let (cause, advice) = diagnostic(&mut search(&lake.path().join(texts)), 2);
        assert!(cause.contains(&format!("the texts of this run are {word}")), "{cause}");
        assert!(advice.contains("heaplake secrets FILE"), "{advice}");
    }
}

/// A heap of V8 with one item.
fn heap_of(lake: &Lake, name: &str, texts: &[(&str, &str)]) -> PathBuf {
    let item = |(at, (field, text)): (usize, &(&str, &str))| Item {
        holder: format!("Plant{at}"),
        field: (*field).to_owned(),
        kind: "",
        text: (*text).to_owned(),
        secret: String::new(),
        place: Place::Field,
    };
    lake.input(name, &v8(&texts.iter().enumerate().map(item).collect::<Vec<_>>()))
}

#[test]
fn gates_fail_by_severity_unless_the_baseline_knows() {
    let lake = Lake::new();
    let heap = heap_of(&lake, "mail.heapsnapshot", &[("value", "anna.berg@gmail.com")]);
    let code = |command: &mut assert_cmd::Command| command.output().unwrap().status.code().unwrap();
    assert_eq!(code(&mut search(&heap)), 0);
    assert_eq!(["high", "medium", "low"].map(|least| code(search(&heap).args(["--fail-on", least]))), [0, 0, 4]);
    assert_eq!(code(search(&heap).args(["--fail-on", "low", "--without", "mail"])), 0);
    let known = lake.folder().join("known.json");
    fs::write(&known, said(search(&heap).arg("--json"))).unwrap();
    let with = |heap: &Path| {
        let mut command = search(heap);
        command.args(["--fail-on", "low", "--baseline"]).arg(&known);
        command
    };
    assert_eq!(code(&mut with(&heap)), 0);
    assert!(said(&mut with(&heap)).contains("1 of them known"));
    let token = format!("glpat-{}", "Ab3dEf6hIj9lMn2pQr5t");
    let grown = heap_of(&lake, "grown.heapsnapshot", &[("value", "anna.berg@gmail.com"), ("value", &token)]);
    assert_eq!(code(&mut with(&grown)), 4);
    let report: Value = serde_json::from_slice(&with(&grown).arg("--json").output().unwrap().stdout).unwrap();
    let of = |at: usize| (report["findings"][at]["rule"].as_str().unwrap(), report["findings"][at]["known"].as_bool());
    assert_eq!([of(0), of(1)], [("gitlab-token", Some(false)), ("mail", Some(true))]);
    let (cause, _) = diagnostic(search(&heap).arg("--baseline").arg(&heap), 2);
    assert!(cause.contains("expected the JSON of an earlier search"), "{cause}");
}

#[test]
fn findings_have_holders_paths_and_counts() {
    let lake = Lake::new();
    let token = format!("glpat-{}", "Ab3dEf6hIj9lMn2pQr5t");
    let heap = heap_of(&lake, "a.heapsnapshot", &[("value", &token), ("session", &token), ("pin", "Zq7_wort-1")]);
    let report = answer(search(&heap).arg("--json"));
    let findings = report["findings"].as_array().unwrap();
    let holders: Vec<&str> = findings.iter().map(|finding| finding["holder"].as_str().unwrap()).collect();
    assert_eq!(holders, ["Plant0.value", "Plant1.session"]);
    let first = &findings[0];
    let of = |name: &str| first[name].as_u64().unwrap();
    assert_eq!(["distinct", "objects", "shortest", "longest"].map(of), [1, 1, 26, 26]);
    let path: Vec<&str> = first["path"].as_array().unwrap().iter().map(|step| step.as_str().unwrap()).collect();
    assert_eq!(path.last(), Some(&"Plant0.value"), "{path:?}");
    assert!(path.contains(&"global.h0"), "{path:?}");
}

#[test]
fn rules_of_files_come_first_and_errors_name_them() {
    let lake = Lake::new();
    let heap = heap_of(&lake, "a.heapsnapshot", &[("pin", "Zq7_wort-1"), ("value", "shop_12345678"), ("value", "a b")]);
    let rules = lake.input(
        "rules.toml",
        b"title = 'x'\n[[rules]]\nid = 'shop'\ndescription = 'Shop'\nregex = '''\\bshop_[0-9]{8}\\b'''\nkeywords = ['SHOP_']\n\
          [[rules]]\nid = 'pin'\nfield = '^pin$'\nseverity = 'low'\npath = 'x'\n",
    );
    let report = answer(search(&heap).arg("--json").arg("--no-default-rules").arg("--rules").arg(&rules));
    let findings = report["findings"].as_array().unwrap();
    let found: Vec<_> =
        findings.iter().map(|one| (one["rule"].as_str().unwrap(), one["holder"].as_str().unwrap())).collect();
    assert_eq!(found, [("shop", "Plant1.value"), ("pin", "Plant0.pin")]);
    assert!(report["searched"]["notes"].to_string().contains("its path is left out"), "{report}");
    let broken = lake.input("broken.toml", b"[[rules]]\nid = 'shop'\nregex = 'a('\n");
    let (cause, _) = diagnostic(search(&heap).arg("--rules").arg(&broken), 2);
    assert!(cause.ends_with("broken.toml: line 3: rule \"shop\": regex: unclosed group"), "{cause}");
    let bomb = lake.input("bomb.toml", b"[[rules]]\nid = 'bomb'\nregex = '((a{99}){99}){99}'\n");
    let (cause, _) = diagnostic(search(&heap).arg("--rules").arg(&bomb), 2);
    assert!(cause.ends_with("rule \"bomb\": regex: it needs more than 4 MiB"), "{cause}");
    let pipe = lake.folder().join("pipe.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (cause, _) = diagnostic(search(&heap).arg("--rules").arg(&pipe), 2);
    assert!(cause.contains("pipe.toml: cannot read"), "{cause}");
    let huge = lake.input("huge.toml", &vec![b'#'; 5 << 20]);
    let (cause, _) = diagnostic(search(&heap).arg("--rules").arg(&huge), 2);
    assert!(cause.contains("huge.toml: expected at most"), "{cause}");
    let (cause, _) = diagnostic(search(&heap).args(["--without", "nothing"]), 2);
    assert!(cause.contains("there is no rule of this id"), "{cause}");
}

#[test]
fn names_that_are_secrets_are_masked() {
    let lake = Lake::new();
    let token = format!("glpat-{}", "Ab3dEf6hIj9lMn2pQr5t");
    // A property named by a token, and one named by the password of another field.
    let heap =
        heap_of(&lake, "a.heapsnapshot", &[(&token, &token), ("password", "Qamber!7341"), ("Qamber!7341", &token)]);
    let seek = Search::new(&Canaries { texts: vec![token, "Qamber!7341".to_owned()], numbers: Vec::new() });
    for option in ["--json", "--color=never"] {
        let output = search(&heap).arg(option).output().unwrap();
        seek.expect_none("standard output", &output.stdout);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("(masked, 26 characters)") && text.contains("(masked, 11 characters)"), "{text}");
        assert!(text.contains("Plant0 (name of a property)") && text.contains("Plant1.password"), "{text}");
    }
}

#[test]
fn damaged_and_other_inputs_are_refused_without_their_texts() {
    let lake = Lake::new();
    let [snapshot, dump, _] = heaps(&lake);
    let seek = Search::new(&canaries());
    for (name, bytes) in [("a.heapsnapshot", fs::read(&snapshot).unwrap()), ("a.hprof", fs::read(&dump).unwrap())] {
        for part in 1..24 {
            let cut = lake.input(name, &bytes[..bytes.len() * part / 24]);
            let output = search(&cut).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{part}");
            seek.expect_none("standard error", &output.stderr);
            seek.expect_none("standard output", &output.stdout);
        }
        let mut broken = bytes.clone();
        let middle = broken.len() * 3 / 4;
        broken[middle..middle + 400].iter_mut().for_each(|byte| *byte = b'"');
        let broken = lake.input(name, &broken);
        seek.expect_none("standard error", &search(&broken).output().unwrap().stderr);
    }
    let other = lake.input("a.txt", b"no heap");
    let (cause, advice) = diagnostic(&mut search(&other), 1);
    assert!(cause.contains("a.txt") && advice.contains("heaplake secrets reads"), "{cause} {advice}");
    let pipe = lake.folder().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (cause, _) = diagnostic(&mut search(&pipe), 2);
    assert!(cause.contains("no regular file"), "{cause}");
    diagnostic(&mut search(&lake.folder().join("missing.hprof")), 1);
}

#[test]
fn the_log_for_viewers_is_that_of_the_standard() {
    let lake = Lake::new();
    let [snapshot, _, _] = heaps(&lake);
    let file = lake.folder().join("secrets.sarif");
    let report = answer(search(&snapshot).arg("--json").arg("--sarif").arg(&file));
    let log: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), report["findings"].as_array().unwrap().len());
    for result in results {
        let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        let place = &result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"];
        assert!(result["message"]["text"].as_str().unwrap().ends_with(place.as_str().unwrap()));
    }
    let (cause, _) = diagnostic(search(&snapshot).arg("--sarif").arg(&snapshot), 2);
    assert!(cause.contains("--sarif would replace"), "{cause}");
}

#[test]
fn answers_do_not_depend_on_threads_memory_or_compression() {
    let lake = Lake::new();
    let [snapshot, dump, _] = heaps(&lake);
    for heap in [snapshot, dump] {
        let report = |options: &[&str], heap: &Path| {
            let mut report = answer(search(heap).arg("--json").args(options));
            report["input"].take();
            report
        };
        let first = report(&["--threads", "1"], &heap);
        assert_eq!(first, report(&["--threads", "4", "--memory", "256MiB"], &heap));
        let packed = heap.with_extension("zst");
        fs::write(&packed, zstd::encode_all(fs::read(&heap).unwrap().as_slice(), 3).unwrap()).unwrap();
        assert_eq!(first, report(&[], &packed));
    }
}

#[test]
fn keys_of_maps_and_lists_tell() {
    let lake = Lake::new();
    let value = "Zq7wort1Ab3dEf6hIj9l";
    let v8 = lake.input("a.heapsnapshot", &v8_keys("authorization", value));
    let java = lake.input("a.hprof", &java_key("spring.datasource.password", "Zq7_wort-1"));
    let holders = |heap: &Path| -> Vec<String> {
        let report = answer(search(heap).arg("--json"));
        let findings = report["findings"].as_array().unwrap();
        findings.iter().map(|finding| finding["holder"].as_str().unwrap().to_owned()).collect()
    };
    let keys = [r#"Request.rawHeaders["authorization"]"#, r#"Store.settings["authorization"]"#];
    assert_eq!(holders(&v8), keys);
    assert_eq!(holders(&java), [r#"app.Settings.all["spring.datasource.password"]"#]);
}

#[test]
fn the_page_has_all_rules() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/privacy.md");
    let page = fs::read_to_string(page).unwrap();
    let rules = heaplake_secrets::rules::builtin().unwrap().rules;
    let missing: Vec<&str> =
        rules.iter().map(|rule| rule.id.as_str()).filter(|id| !page.contains(&format!("`{id}`"))).collect();
    assert!(missing.is_empty(), "docs/privacy.md lacks {missing:?}");
}
