//! Duplicate instances end to end: real snapshots against the lists of other programs, and planted sets.

#![allow(clippy::unwrap_used)] // helpers of tests may fail loudly

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use support::{Lake, Table, fixture, fixtures, planted};

/// A row of `duplicate_sets` with its members.
#[derive(Debug, Clone)]
struct Set {
    class: String,
    status: String,
    trivial: bool,
    instance_bytes: u64,
    additional_bytes: u64,
    additional_exact: bool,
    held_by: Option<u32>,
    members: Vec<u32>,
    preview: Option<String>,
}

/// Reads both tables, and checks what must hold of them in any case.
fn sets(run: &Path) -> Vec<Set> {
    let table = Table::read(run, "duplicate_sets.parquet");
    let members = Table::read(run, "duplicate_members.parquet");
    let mut lists: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (set, node) in members.u32s("set").into_iter().zip(members.u32s("node")) {
        lists.entry(set.unwrap()).or_default().push(node.unwrap());
    }
    let (classes, statuses) = (table.texts("class"), table.texts("status"));
    let (trivial, exact) = (table.bools("trivial"), table.bools("additional_exact"));
    let (counts, bytes, additional) =
        (table.u64s("members"), table.u64s("instance_bytes"), table.u64s("additional_bytes"));
    let (held, examples, numbers) = (table.u32s("held_by"), table.u32s("example_node"), table.u32s("set"));
    let (reasons, previews) = (table.texts("reason"), table.texts("preview"));
    let in_nodes = Table::read(run, "nodes.parquet").u32s("duplicate_set");
    assert_eq!(in_nodes.iter().flatten().count(), members.rows());
    (0..table.rows())
        .map(|at| {
            let list = lists.remove(&(at as u32)).unwrap();
            assert_eq!(numbers[at], Some(at as u32));
            assert_eq!(counts[at], Some(list.len() as u64));
            assert_eq!(examples[at], Some(list[0]));
            assert!(list.is_sorted() && list.len() > 1);
            assert!(list.iter().all(|&node| in_nodes[node as usize] == Some(at as u32)));
            assert_eq!(statuses[at].as_deref() == Some("exact"), reasons[at].is_none());
            Set {
                class: classes[at].clone().unwrap(),
                status: statuses[at].clone().unwrap(),
                trivial: trivial[at].unwrap(),
                instance_bytes: bytes[at].unwrap(),
                additional_bytes: additional[at].unwrap(),
                additional_exact: exact[at].unwrap(),
                held_by: held[at],
                members: list,
                preview: previews[at].clone(),
            }
        })
        .collect()
}

/// How DevTools' list shows a text.
fn shown(text: &str) -> String {
    let text: String = text.chars().take(60).collect();
    text.replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r")
}

/// The duplicate strings of a snapshot against DevTools' list of them.
///
/// DevTools puts strings that V8 keeps as two parts (`concatenated string`) with those of the same text; such a one is
/// another kind of instance here, which refers to its parts. So a row of DevTools may count more strings than there are
/// plain ones, and only then may it differ.
fn check_strings(name: &str) {
    let lake = Lake::new();
    lake.analyze(fixtures().join(format!("{name}.heapsnapshot.zst"))).assert().success();
    let run = lake.run();
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
    let list = String::from_utf8(fixture(&format!("{name}.devtools.tsv.dups"))).unwrap();
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

/// Findings about what was not looked into: scope, count and next step.
fn open_questions(run: &Path) -> Vec<(String, u64, String)> {
    let table = Table::read(run, "findings.parquet");
    let (rules, scopes, steps) = (table.texts("rule"), table.texts("scope"), table.texts("next_step"));
    let counts = table.u64s("count");
    (0..table.rows())
        .filter(|&row| rules[row].as_deref() == Some("possible-duplicate-instances"))
        .map(|row| (scopes[row].clone().unwrap(), counts[row].unwrap(), steps[row].clone().unwrap()))
        .collect()
}

#[test]
fn what_was_not_looked_into_is_a_finding() {
    let lake = Lake::new();
    let input = fixtures().join("small.heapsnapshot.zst");
    lake.analyze(&input).args(["--snapshot", "it"]).assert().success();
    let run = lake.run();
    let open = sets(&run).into_iter().filter(|set| !set.trivial && set.status == "possible");
    let members: u64 = open.map(|set| set.members.len() as u64).sum();
    let found = open_questions(&run);
    let whole: Vec<_> = found.iter().filter(|(scope, ..)| scope == "snapshot").collect();
    assert_eq!((whole.len(), whole[0].1), (1, members), "{found:?}");
    assert!(whole[0].2.contains("heaplake duplicates RUN"), "{found:?}");
    let classes: Vec<_> = found.iter().filter(|(scope, ..)| scope == "class").collect();
    assert!(!classes.is_empty() && classes.iter().all(|(.., step)| step.contains("--duplicates-of '")), "{found:?}");
    lake.analyze(&input).args(["--snapshot", "it", "--force", "--duplicates", "all"]).assert().success();
    assert_eq!(open_questions(&lake.run()), []);
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

/// The planted sets of a generated snapshot: all are found, with all members and bytes, and no others of their classes.
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
    let queries = [
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
    assert_eq!(answers["duplicates"].as_object().unwrap().len(), queries.len());
    for (id, kind, name) in queries {
        let planted = &answers["duplicates"][id];
        let of_kind = |set: &&Set| {
            let node = set.members[0] as usize;
            let own = names[node].as_deref().unwrap();
            kinds[node].as_deref() == Some(kind) && (own == name || (kind == "string" && own.starts_with(name)))
        };
        let found: Vec<&Set> = sets.iter().filter(of_kind).collect();
        assert_eq!(planted["sets"], found.len(), "{id}");
        assert_eq!(planted["additional_bytes"], found.iter().map(|set| set.additional_bytes).sum::<u64>(), "{id}");
        // Of the nodes of a tree those at the top are held by no other set.
        assert_eq!(planted["outermost"], found.is_empty() || found.iter().any(|set| set.held_by.is_none()), "{id}");
        for set in found {
            assert_eq!(planted["members_per_set"], set.members.len(), "{id}");
            assert!(set.additional_exact, "{id}");
            // Objects may differ in small integers that the file leaves out; strings are what they are.
            assert_eq!(set.status, if kind == "string" { "exact" } else { "possible" }, "{id}");
        }
    }
}

/// The groups that DupFixture.java plants in a Java heap, under the strict definition.
mod dupfix {
    use super::*;

    /// Members and additional bytes of the sets of a class that hold one of the nodes, most members first.
    struct Heap {
        sets: Vec<Set>,
        by_node: Vec<Option<u32>>,
        nodes: Table,
        /// Targets of each node, with the name of the field or the index.
        edges: BTreeMap<u32, Vec<(String, u32)>>,
    }

    impl Heap {
        fn read() -> Self {
            let lake = Lake::new();
            let input = fixtures().join("../jvm/dupfix.hprof.zst");
            lake.analyze(input).args(["--duplicates", "all", "--edges"]).assert().success();
            let run = lake.run();
            let nodes = Table::read(&run, "nodes.parquet");
            let edge = Table::read(&run, "edges.parquet");
            let mut edges: BTreeMap<u32, Vec<(String, u32)>> = BTreeMap::new();
            let (from, to) = (edge.u32s("from"), edge.u32s("to"));
            let (names, indices) = (edge.texts("name"), edge.u32s("index"));
            for i in 0..edge.rows() {
                let label = names[i].clone().unwrap_or_else(|| indices[i].unwrap_or_default().to_string());
                edges.entry(from[i].unwrap()).or_default().push((label, to[i].unwrap()));
            }
            Self { sets: sets(&run), by_node: nodes.u32s("duplicate_set"), nodes, edges }
        }

        fn target(&self, node: u32, label: &str) -> u32 {
            let edges = &self.edges[&node];
            let found = edges.iter().find(|(name, _)| name == label);
            found.unwrap_or_else(|| panic!("no {label} in {edges:?}")).1
        }

        /// What a static field of DupFixture refers to.
        fn fixture(&self, field: &str) -> u32 {
            let (names, kinds) = (self.nodes.texts("name"), self.nodes.texts("kind"));
            let is = |&i: &usize| kinds[i].as_deref() == Some("class") && names[i].as_deref() == Some("DupFixture");
            self.target((0..names.len()).find(is).unwrap() as u32, field)
        }

        /// Elements of an array.
        fn elements(&self, array: u32) -> Vec<u32> {
            let edges = &self.edges[&array];
            edges.iter().filter(|(name, _)| name.parse::<u32>().is_ok()).map(|&(_, to)| to).collect()
        }

        fn set(&self, node: u32) -> Option<&Set> {
            self.by_node[node as usize].map(|set| &self.sets[set as usize])
        }

        /// All these are one set with so many members.
        fn one_set(&self, nodes: &[u32], members: usize) {
            let set = self.by_node[nodes[0] as usize];
            assert!(nodes.iter().all(|&node| self.by_node[node as usize] == set), "{nodes:?}");
            let set = self.set(nodes[0]).unwrap_or_else(|| panic!("{nodes:?} are in no set"));
            assert_eq!((set.members.len(), set.status.as_str(), set.additional_exact), (members, "exact", true));
        }
    }

    #[test]
    fn sets_have_previews() {
        let heap = Heap::read();
        let of = |field: &str, at: usize| {
            let node = heap.elements(heap.fixture(field))[at];
            heap.set(node).unwrap_or_else(|| panic!("{field} {at} is in no set")).preview.clone().unwrap()
        };
        let expected = [
            ("S", 0, "\"dup-value\""),
            ("AR", 0, "int[3]{1, 2, 3}"),
            ("AR", 100, "short[3]{1, 2, 3}"),
            ("AR", 300, "int[0]{}"),
            ("AL", 0, "ArrayList{size: 3, elementData: Object[10], modCount: 3}"),
            ("CY", 0, "DupFixture$Ring{next: DupFixture$Ring, label: 0}"),
            ("DE", 0, "DupFixture$Deep{next: DupFixture$Deep, v: 0}"),
            ("ID1", 0, "DupFixture$A1{x: 1}"),
            ("NUL", 0, "DupFixture$Pair{b: null, a: null}"),
            ("NUL", 50, "DupFixture$Pair{b: null, a: DupFixture$Box}"),
            ("HC", 0, "Object{}"),
        ];
        // Fields are in the order of the dump.
        let found: Vec<_> = expected.iter().map(|&(field, at, _)| of(field, at)).collect();
        assert_eq!(found, expected.map(|(_, _, preview)| preview));
        // The fields of a class come before those above it.
        let subs: Vec<String> = heap
            .elements(heap.fixture("SUB"))
            .into_iter()
            .map(|row| heap.set(heap.elements(row)[0]).unwrap().preview.clone().unwrap())
            .collect();
        assert_eq!(subs, ["DupFixture$Sub{x: 2, x: 1}", "DupFixture$Sub{x: 1, x: 2}"]);
        let numbers: Vec<String> = heap
            .elements(heap.fixture("FL"))
            .into_iter()
            .map(|row| heap.set(heap.elements(row)[0]).unwrap().preview.clone().unwrap())
            .collect();
        let num = |value: &str| format!("DupFixture$Num{{d: {value}}}");
        assert_eq!(numbers, ["NaN", "NaN", "0.0", "-0.0"].map(num));
        assert!(heap.sets.iter().any(|set| set.preview.as_deref() == Some("byte[9]\"dup-value\"")), "bytes of texts");
    }

    #[test]
    fn groups_are_those_of_the_header() {
        let heap = Heap::read();
        let elements = |field: &str| heap.elements(heap.fixture(field));
        let of = |nodes: &[u32], label: &str| nodes.iter().map(|&node| heap.target(node, label)).collect::<Vec<_>>();
        // S: strings with arrays of their own; one more is the constant that they are
        // made of, and one array is the program's own. SH: strings that share one.
        let strings = elements("S");
        heap.one_set(&strings, 1001);
        heap.one_set(&of(&strings, "value"), 1002);
        let shared = elements("SH");
        // Besides, there are the one that they were made of, and the constant with an array of its own: a string with an
        // array is a duplicate of any other, whoever else refers to the array. But all others have only one.
        heap.one_set(&shared, 502);
        let array = heap.target(shared[0], "value");
        assert!(shared.iter().all(|&string| heap.target(string, "value") == array));
        heap.one_set(&[array], 2);
        // AL: lists with arrays and boxes of their own; ALN ends otherwise, but two of its boxes are the same.
        let lists = elements("AL");
        heap.one_set(&lists, 200);
        let arrays = of(&lists, "elementData");
        heap.one_set(&arrays, 200);
        assert_eq!(heap.set(arrays[0]).unwrap().held_by, heap.by_node[lists[0] as usize]);
        let odd = heap.fixture("ALN");
        assert!(heap.set(odd).is_none() && heap.set(heap.target(odd, "elementData")).is_none());
        for (index, members) in [("0", 201), ("1", 201), ("2", 200)] {
            heap.one_set(&of(&arrays, index), members);
        }
        // CY: rings of five, each place a set; CYN differs in one place.
        let mut rings = elements("CY");
        for _ in 0..5 {
            heap.one_set(&rings, 100);
            rings = of(&rings, "next");
        }
        assert!(heap.set(heap.fixture("CYN")).is_none());
        // CY2: self-loops. CY3: rings of two equal nodes, which are another thing, and each other's duplicates.
        let loops = elements("CY2");
        heap.one_set(&loops, 50);
        let pairs = elements("CY3");
        heap.one_set(&pairs, 20);
        assert_ne!(heap.by_node[loops[0] as usize], heap.by_node[pairs[0] as usize]);
        // DE: long chains; DEN differs at its very end.
        let mut chain = elements("DE");
        let mut odd = heap.fixture("DEN");
        for depth in 0..1000 {
            heap.one_set(&chain, 64);
            assert!(heap.set(odd).is_none());
            if depth < 999 {
                (chain, odd) = (of(&chain, "next"), heap.target(odd, "next"));
            }
        }
        // OW: two parents share a child that knows only one of them. OWP: each has its own.
        let owners: Vec<Vec<u32>> = elements("OW").into_iter().map(|pair| heap.elements(pair)).collect();
        let [first, second]: [Vec<u32>; 2] = [0, 1].map(|i| owners.iter().map(|pair| pair[i]).collect());
        heap.one_set(&first, 10);
        heap.one_set(&second, 10);
        assert_ne!(heap.by_node[first[0] as usize], heap.by_node[second[0] as usize]);
        let parents: Vec<u32> = elements("OWP").into_iter().flat_map(|pair| heap.elements(pair)).collect();
        heap.one_set(&parents, 20);
        heap.one_set(&of(&parents, "child"), 20);
        // FL: the bits of numbers count. The virtual machine writes one bit pattern for all that are no number.
        let numbers: Vec<Vec<u32>> = elements("FL").into_iter().map(|list| heap.elements(list)).collect();
        heap.one_set(&[&numbers[0][..], &numbers[1][..]].concat(), 200);
        heap.one_set(&numbers[2], 100);
        heap.one_set(&numbers[3], 100);
        // ID: the class counts. SUB: so does which class has which field.
        heap.one_set(&elements("ID1"), 100);
        heap.one_set(&elements("ID2"), 100);
        for list in elements("SUB") {
            heap.one_set(&heap.elements(list), 100);
        }
        // AR: type and length of arrays. There are other empty arrays besides.
        let arrays = elements("AR");
        for part in 0..3 {
            heap.one_set(&arrays[part * 100..(part + 1) * 100], 100);
        }
        assert!(heap.set(arrays[300]).unwrap().members.len() >= 100);
        assert!(arrays[300..].iter().all(|&array| heap.by_node[array as usize] == heap.by_node[arrays[300] as usize]));
        // HC: the header of an object is not in the dump. There are other plain objects besides.
        let plain = elements("HC");
        assert!(plain.iter().all(|&node| heap.by_node[node as usize] == heap.by_node[plain[0] as usize]));
        assert!(heap.set(plain[0]).unwrap().members.len() >= 200);
        // NUL: which reference is null.
        let pairs = elements("NUL");
        for part in 0..3 {
            heap.one_set(&pairs[part * 50..(part + 1) * 50], 50);
        }
    }
}

/// Tables of a run, byte by byte; what measures time is left out.
fn files(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let kept = files.filter(|path| !["run.json", "snapshot.parquet"].contains(&name(path).as_str()));
    kept.map(|path| (name(&path), std::fs::read(&path).unwrap())).collect()
}

#[test]
fn duplicates_can_be_looked_for_later() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &fixture("small.heapsnapshot"));
    lake.analyze(&input).args(["--duplicates", "none", "--label", "a=b", "--report"]).assert().success();
    let run = lake.run();
    assert!(!run.join("duplicate_sets.parquet").exists());
    let page = run.join("report.html");
    let before = std::fs::read(&page).unwrap();
    support::heaplake().arg("duplicates").arg(&run).arg("--quiet").assert().success();
    assert_eq!(lake.run(), run);
    assert!(lake.leftovers().is_empty());
    assert_ne!(std::fs::read(&page).unwrap(), before, "the page is of the new run");
    std::fs::remove_file(&page).unwrap();
    let later = files(&run);
    assert!(std::fs::read_to_string(run.join("run.json")).unwrap().contains("\"a\": \"b\""));
    lake.analyze(&input).args(["--duplicates", "all", "--force"]).assert().success();
    assert_eq!(files(&run), later, "the same as at once");
    // With a budget that pages nearly everything, and one thread.
    let small = heaplake::plan::smallest_budget().to_string();
    lake.analyze(&input)
        .args(["--duplicates", "all", "--force", "--threads", "1", "--memory", &small])
        .assert()
        .success();
    assert_eq!(files(&run), later, "the same with less memory");

    // Of some classes only.
    support::heaplake()
        .arg("duplicates")
        .arg(&run)
        .args(["--quiet", "--duplicates", "trivial", "--duplicates-of", "Arr*"])
        .assert()
        .success();
    for set in sets(&run).iter().filter(|set| set.class == "Array") {
        assert_ne!(set.status, "exact");
    }

    // The input changed, is gone, or lies elsewhere.
    let complaint = |more: &[&str], code| {
        let mut command = support::heaplake();
        command.arg("duplicates").arg(&run).args(more);
        support::complaint(&mut command, code).0
    };
    let moved = lake.folder().join("moved.heapsnapshot");
    std::fs::rename(&input, &moved).unwrap();
    assert!(complaint(&[], 1).contains("its input is gone"));
    std::fs::write(&input, fixture("s1.heapsnapshot")).unwrap();
    assert!(complaint(&[], 1).contains("is not what it was made from"));
    support::heaplake().arg("duplicates").arg(&run).arg("--quiet").arg("--input").arg(&moved).assert().success();
    assert_eq!(files(&run), later);
    let mut command = support::heaplake();
    command.arg("duplicates").arg(&moved);
    assert!(support::complaint(&mut command, 1).0.contains("needs a lake"));
}
