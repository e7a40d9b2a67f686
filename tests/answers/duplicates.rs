//! Duplicate instances end to end: real snapshots against the lists of other programs, and planted sets.

use super::duplicate_sets::{Set, sets};
use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::planted;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::path::Path;

/// A text as in DevTools' list.
fn shown(text: &str) -> String {
    let text: String = text.chars().take(60).collect();
    text.replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r")
}

/// Compares the duplicate strings of a snapshot with DevTools' list.
///
/// DevTools merges strings that V8 keeps as two parts (`concatenated string`) with those of the same text; here they
/// are another kind of instance that refers to its parts. So a row of DevTools may differ only if it counts more
/// strings than there are plain ones.
fn check_strings(name: &str) {
    let (_lake, run) = Lake::of(fixtures::v8(name), &[]);
    let nodes = Table::read(&run, "nodes.parquet");
    let (kinds, names, sizes) = (nodes.texts("kind"), nodes.texts("name"), nodes.u64s("self_bytes"));
    let is_string = |node: usize| kinds[node].as_deref() == Some("string") && sizes[node] != Some(0);
    let mut plain: BTreeMap<String, u64> = BTreeMap::new();
    for node in (0..nodes.rows()).filter(|&node| is_string(node)) {
        *plain.entry(shown(names[node].as_deref().unwrap())).or_default() += 1;
    }
    let mut ours = Vec::new();
    for set in sets(&run).iter().filter(|set| is_string(set.members[0] as usize)) {
        let text = shown(names[set.members[0] as usize].as_deref().unwrap());
        assert_eq!(set.additional_bytes, set.instance_bytes * (set.members.len() as u64 - 1));
        assert!(set.trivial && set.class == "(string)");
        ours.push((text, set.members.len() as u64, set.instance_bytes * set.members.len() as u64));
    }
    let list = fixtures::text(&format!("v8/{name}.devtools.tsv.dups"));
    let mut theirs: Vec<(String, u64, u64)> = list
        .lines()
        .skip(1)
        .map(|line| {
            let mut cells = line.split('\t');
            let mut next = || cells.next().unwrap();
            (next().to_owned(), next().parse().unwrap(), next().parse().unwrap())
        })
        .collect();
    assert!(ours.len() >= 200, "{name}: {}", ours.len());
    for set in &ours {
        let at = theirs.iter().position(|row| row == set);
        theirs.remove(at.unwrap_or_else(|| panic!("{name}: DevTools does not have {set:?}")));
    }
    for (text, count, _) in theirs {
        assert!(plain.get(&text).copied().unwrap_or(0) < count, "{name}: {text:?} is {count} times in DevTools' list");
    }
}

/// Findings about possible duplicates: scope, message and next step.
fn possible(run: &Path) -> Vec<[String; 3]> {
    let table = Table::read(run, "findings.parquet");
    let (rules, texts) = (table.texts("rule"), ["scope", "message", "next_step"].map(|name| table.texts(name)));
    let of_rule = |row: &usize| rules[*row].as_deref() == Some("possible-duplicates");
    (0..table.rows()).filter(of_rule).map(|row| texts.each_ref().map(|texts| texts[row].clone().unwrap())).collect()
}

#[test]
fn what_was_not_looked_into_is_a_finding() {
    let lake = Lake::new();
    let input = fixtures::v8("small");
    lake.analyze(&input).args(["--snapshot", "it"]).assert().success();
    let run = lake.run();
    let open = sets(&run).into_iter().filter(|set| !set.trivial && set.status == "possible");
    let members: u64 = open.map(|set| set.members.len() as u64).sum();
    let found = possible(&run);
    let [[scope, message, step]] = &found[..] else { panic!("one line per run: {found:?}") };
    assert_eq!(scope, "snapshot");
    let members = heaplake_kit::text::count(members);
    assert!(message.contains(&format!("{members} objects look alike, but what they refer to was not")), "{message}");
    assert!(message.ends_with(" without what they refer to"), "{message}");
    assert!(step.contains("heaplake duplicates RUN --class "), "{step}");
    lake.analyze(&input).args(["--snapshot", "it", "--force", "--duplicates", "all"]).assert().success();
    let found = possible(&lake.run());
    assert!(found.iter().all(|[_, message, _]| !message.contains("was not compared")), "{found:?}");
}

#[test]
fn duplicate_strings_are_those_of_devtools() {
    ["small", "s1"].into_iter().for_each(check_strings);
}

#[test]
#[ignore = "long"]
fn duplicate_strings_of_all_snapshots_are_those_of_devtools() {
    ["s2", "alloc20", "insp_plain", "small_internals_numeric"].into_iter().for_each(check_strings);
}

/// Planted set, kind of its members, and their name (a prefix for strings).
const PLANTED: [(&str, &str, &str); 10] = [
    ("flags", "object", "DupFlag"),
    ("texts", "string", "twin "),
    ("near miss texts", "string", "near "),
    ("ring texts", "string", "ring "),
    ("lists", "object", "DupList"),
    ("list nodes", "object", "DupListNode"),
    ("tree nodes", "object", "DupTreeNode"),
    ("rings", "object", "DupRing"),
    ("ring nodes", "object", "DupRingNode"),
    ("near misses", "object", "NearMiss"),
];

/// All planted sets are found, with all members and bytes, and no others of their classes.
#[test]
fn planted_duplicates_are_found_and_none_invented() {
    let plan = planted::realistic(11, 3 << 20);
    let lake = Lake::new();
    let input = planted::write(&plan, lake.folder());
    lake.analyze(&input).args(["--duplicates", "all"]).assert().success();
    let run = lake.run();
    let nodes = Table::read(&run, "nodes.parquet");
    let (names, kinds) = (nodes.texts("name"), nodes.texts("kind"));
    let answers: serde_json::Value = serde_json::from_str(&heaplake_generator::file::answers(&plan).to_json()).unwrap();
    let sets = sets(&run);
    assert_eq!(answers["duplicates"].as_object().unwrap().len(), PLANTED.len());
    for (id, kind, name) in PLANTED {
        let planted = &answers["duplicates"][id];
        let of_kind = |set: &&Set| {
            let node = set.members[0] as usize;
            let own = names[node].as_deref().unwrap();
            kinds[node].as_deref() == Some(kind) && (own == name || (kind == "string" && own.starts_with(name)))
        };
        check_planted(id, planted, kind == "string", &sets.iter().filter(of_kind).collect::<Vec<_>>());
    }
}

fn check_planted(id: &str, planted: &serde_json::Value, strings: bool, found: &[&Set]) {
    assert_eq!(planted["sets"], found.len(), "{id}");
    assert_eq!(planted["additional_bytes"], found.iter().map(|set| set.additional_bytes).sum::<u64>(), "{id}");
    // No other set dominates the topmost nodes of a tree.
    assert_eq!(planted["outermost"], found.is_empty() || found.iter().any(|set| set.held_by.is_none()), "{id}");
    for set in found {
        assert_eq!(planted["members_per_set"], set.members.len(), "{id}");
        assert!(set.additional_exact, "{id}");
        // Objects may differ in small integers that the file omits; strings may not.
        assert_eq!(set.status, if strings { "exact" } else { "possible" }, "{id}");
    }
}
