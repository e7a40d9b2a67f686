//! `heaplake explore`: its answers are those of the tools and tables, and lead to every leak; nothing changes a lake.

use crate::browser::Browser;
use crate::client::Client;
use crate::tools::{mixed, one, tree};
use heaplake_support::lake::{Lake, answer, diagnostic, heaplake};
use heaplake_support::leaky::{Leak, snapshot};
use serde_json::{Value, json};

#[test]
fn answers_are_those_of_the_tools() {
    let lake = mixed();
    let before = tree(&lake.path());
    let (mut client, browser) = (Client::start(&lake.path()), Browser::open(&lake.path(), &[]));
    let run = "1.0/s1";
    let most = 64_000;
    for (tool, arguments) in [
        ("overview", json!({})),
        ("overview", json!({"run": run})),
        ("overview", json!({"run": "dupfix"})),
        ("findings", json!({"run": "dupfix"})),
        ("top", json!({"run": run, "what": "classes"})),
        ("top", json!({"run": run, "what": "owners"})),
        ("top", json!({"run": run, "what": "objects", "limit": 50})),
        ("dominated", json!({"run": run})),
        ("dominated", json!({"run": run, "node": 5})),
        ("compare", json!({"base": "1.0/s1", "target": "1.1/s2"})),
        ("clusters", json!({})),
    ] {
        let mut with_bytes = arguments.clone();
        with_bytes["max_bytes"] = json!(most);
        let theirs = client.call(tool, with_bytes);
        let texts: Vec<(String, String)> = arguments
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
            .collect();
        let pairs: Vec<(&str, &str)> = texts.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut ours = browser.ask(tool, &pairs);
        // A cursor depends on how a number was written; a page has the steps of paths as a list too.
        let mut theirs = theirs;
        for list in ["suspects", "findings"] {
            for row in ours["heap_data"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                assert!(row.as_object_mut().unwrap().remove("steps").is_some() || row["path"].is_null(), "{row}");
            }
        }
        for answer in [&mut ours, &mut theirs] {
            answer["coverage"].as_object_mut().unwrap().remove("cursor");
        }
        assert_eq!(ours, theirs, "{tool} {arguments}");
    }
    assert!(client.end().success());
    drop(browser);
    assert_eq!(tree(&lake.path()), before, "nothing is written");
}

#[test]
fn all_classes_come_in_one_list() {
    let lake = mixed();
    let browser = Browser::open(&lake.path(), &[]);
    let run = lake.runs().into_iter().find(|run| run.to_string_lossy().contains("s1")).unwrap();
    let answered = browser.ask("classes", &[("run", "1.0/s1")]);
    let rows = answered["heap_data"]["classes"].as_array().unwrap();
    let whole = answer(heaplake().arg("show").arg(&run).arg("--json"));
    assert_eq!(rows.len() as u64, whole["summary"]["class_count"].as_u64().unwrap());
    assert!(rows.windows(2).all(|two| two[0]["retained_bytes"].as_u64() >= two[1]["retained_bytes"].as_u64()));
    for (ours, theirs) in rows.iter().zip(whole["summary"]["classes"].as_array().unwrap()) {
        for name in ["class", "class_id", "count", "retained_bytes", "shallow_bytes"] {
            assert_eq!(ours[name], theirs[name], "{name}");
        }
    }
}

/// Rows of all pages of a question.
fn all(browser: &Browser, question: &str, arguments: &[(&str, &str)], list: &str) -> Vec<Value> {
    let (mut rows, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = browser.ask(question, &[arguments, &[("cursor", &cursor)]].concat());
        rows.extend(page["heap_data"][list].as_array().into_iter().flatten().cloned());
        match page["coverage"]["cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => return rows,
        }
    }
}

#[test]
fn references_and_fields_come_in_pages() {
    let (lake, _) = one(&["--edges", "--values"]);
    let browser = Browser::open(&lake.path(), &[]);
    let references = all(&browser, "references", &[("node", "2"), ("limit", "7")], "references");
    assert_eq!(references.len(), 30);
    let sizes: Vec<u64> = references.iter().map(|row| row["retained_bytes"].as_u64().unwrap()).collect();
    assert!(sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
    let whole = browser.ask("object", &[("node", "2")]);
    assert_eq!(whole["heap_data"]["holds"].as_array().unwrap()[..], references[..]);
    let holders = all(&browser, "references", &[("node", "4"), ("direction", "held_by")], "references");
    let edges: Vec<&str> = holders.iter().map(|row| row["edge"].as_str().unwrap()).collect();
    assert_eq!(edges, [".current", "[1]"]);
    let fields = all(&browser, "fields", &[("node", "2"), ("limit", "7")], "fields");
    assert_eq!(fields.len() as u64, whole["heap_data"]["fields_total"].as_u64().unwrap_or(0));
}

#[test]
fn the_tree_is_that_of_the_command() {
    let (lake, run) = one(&[]);
    let browser = Browser::open(&run, &[]);
    let tree = browser.ask("tree", &[("depth", "3")]);
    let rows = tree["heap_data"]["objects"].as_array().unwrap().clone();
    let theirs = answer(heaplake().arg("dominators").arg(&run).args(["--depth", "3", "--children", "40", "--json"]));
    let mut expected = Vec::new();
    let mut level = vec![(Value::Null, &theirs)];
    while !level.is_empty() {
        let mut next = Vec::new();
        for (parent, branch) in level {
            expected.push((parent, branch["node"].clone(), branch["retained_bytes"].clone()));
            let at = json!(expected.len() - 1);
            next.extend(branch["children"].as_array().unwrap().iter().map(|child| (at.clone(), child)));
        }
        level = next;
    }
    let found: Vec<_> =
        rows.iter().map(|row| (row["parent"].clone(), row["node"].clone(), row["retained_bytes"].clone())).collect();
    assert_eq!(found, expected);
    drop(lake);
}

#[test]
fn sets_of_duplicates_have_their_members() {
    let lake = mixed();
    let browser = Browser::open(&lake.path(), &[]);
    let run = lake.runs().into_iter().find(|run| run.to_string_lossy().contains("dupfix")).unwrap();
    let name = format!("1.0/{}", run.file_name().unwrap().to_string_lossy().trim_start_matches("snapshot="));
    let page = |cursor: &str| browser.ask("sets", &[("run", &name), ("limit", "13"), ("cursor", cursor)]);
    let first = page("");
    let second = page(first["coverage"]["cursor"].as_str().unwrap());
    let rows = |page: &Value| page["heap_data"]["sets"].as_array().unwrap().clone();
    let sets = [rows(&first), rows(&second)].concat();
    assert_eq!((sets.len(), &second["coverage"]["first"]), (26, &json!(13)));
    let additional = |row: &Value| row["additional_bytes"].as_u64();
    assert!(sets.windows(2).all(|two| additional(&two[0]) >= additional(&two[1])));
    let set = sets.iter().min_by_key(|set| set["members"].as_u64()).unwrap();
    let (number, count) = (set["set"].to_string(), set["members"].as_u64().unwrap());
    let limit = count.div_ceil(3).to_string();
    let members = all(&browser, "members", &[("run", &name), ("set", &number), ("limit", &limit)], "members");
    assert_eq!(members.len() as u64, count);
    let nodes: Vec<u64> = members.iter().map(|member| member["node"].as_u64().unwrap()).collect();
    assert!(nodes.is_sorted_by(|a, b| a < b), "{nodes:?}");
    for member in members.iter().take(4) {
        let object = browser.ask("object", &[("run", &name), ("node", &member["node"].to_string())]);
        assert_eq!(object["heap_data"]["object"]["duplicate_set"].to_string(), number, "{object}");
    }
}

/// From the lake to the object that leaks: run, finding, object; then its path names the container.
#[test]
fn planted_leaks_are_three_answers_away() {
    for (at, leak) in Leak::ALL.into_iter().enumerate() {
        let lake = Lake::new();
        for (host, leaks) in [("web0", false), ("web1", true)] {
            let input =
                lake.input(&format!("{host}.heapsnapshot"), &snapshot(Some(leak).filter(|_| leaks), 40 + at as u64));
            lake.analyze(input).args(["--edges", "--label", &format!("host={host}")]).assert().success();
        }
        let browser = Browser::open(&lake.path(), &[]);
        let runs = browser.ask("overview", &[]);
        let runs = runs["heap_data"]["runs"].as_array().unwrap();
        let worst = runs.iter().max_by_key(|row| (row["findings"][0].as_u64(), row["findings"][1].as_u64())).unwrap();
        let run = worst["run"].as_str().unwrap();
        assert!(run.contains("web1"), "{runs:?}");
        let findings = browser.ask("findings", &[("run", run)]);
        let first = &findings["heap_data"]["findings"][0];
        let node = first["node"].to_string();
        let why = browser.ask("why", &[("run", run), ("node", &node)]);
        let path = why["heap_data"]["path"].to_string();
        let field = leak.path().rsplit('.').next().unwrap();
        assert!(path.contains(&format!(".{field}\"")), "{leak:?}: {path}");
        assert!(first["steps"].is_array(), "{first}");
    }
}

#[test]
fn a_memory_that_is_too_small_is_named() {
    let (lake, _) = one(&["--edges"]);
    let browser = Browser::open(&lake.path(), &["--memory", "40MiB"]);
    let refused = browser.asked("why", &[("node", "4")]);
    assert_eq!(refused.status, 400);
    assert!(refused.json()["advice"].as_str().unwrap().contains("--memory 49MiB"), "{}", refused.body);
    let enough = Browser::open(&lake.path(), &["--memory", "49MiB"]);
    assert_eq!(enough.asked("why", &[("node", "4")]).status, 200);
}

#[test]
fn what_is_no_lake_is_refused_before_it_listens() {
    let lake = Lake::new();
    let file = lake.input("a.txt", b"no lake");
    let (cause, _) = diagnostic(heaplake().arg("explore").arg(&file), 2);
    assert!(cause.contains("a.txt"), "{cause}");
    let (lake, _) = one(&[]);
    let browser = Browser::open(&lake.path(), &[]);
    let (cause, advice) =
        diagnostic(heaplake().arg("explore").arg(lake.path()).args(["--port", &browser.port.to_string()]), 2);
    assert!(cause.contains(&browser.port.to_string()) && advice.contains("--port"), "{cause} {advice}");
}
