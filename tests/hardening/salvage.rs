//! Damaged snapshots with `--salvage`: intact parts are analysed, and missing parts are reported.

use super::good::{GOOD, edited};
use super::mutations::{chance, is_of_the_input, mutation};
use heaplake::diagnostic::{Diagnostic, Exit};
use heaplake_schemas::options::AnalysisOptions;
use heaplake_schemas::run::Run;
use heaplake_support::compress::{gzip, zstd};
use heaplake_support::in_process::{Analysis, analyze};
use heaplake_support::lake::{Lake, diagnostic, read_json};
use heaplake_support::table::Table;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

fn try_salvage(bytes: &[u8], threads: usize) -> (Lake, Result<PathBuf, Diagnostic>) {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", bytes);
    let analysis = Analysis::default();
    let options = AnalysisOptions { salvage: true, ..analysis.options };
    let outcome = analyze(&lake.path(), &input, Analysis { options, threads, ..analysis });
    (lake, outcome.map(|outcome| outcome.place))
}

/// The run of a salvageable input, its omissions, and its remarks.
fn salvaged(bytes: impl AsRef<[u8]>) -> (Lake, PathBuf, Option<String>, Vec<String>) {
    let (lake, place) = try_salvage(bytes.as_ref(), 2);
    let place = place.unwrap_or_else(|failure| panic!("{failure}"));
    let run: Run = read_json(place.join("run.json"));
    let snapshot = Table::read(&place, "snapshot.parquet");
    assert_eq!(snapshot.bools("partial"), [Some(run.summary.partial.is_some())]);
    assert_eq!(snapshot.texts("partial_reason"), std::slice::from_ref(&run.summary.partial));
    (lake, place, run.summary.partial, run.summary.remarks)
}

/// Omissions and remarks for [`GOOD`] after these edits.
fn left_out(edits: &[(&str, &str)]) -> (String, Vec<String>) {
    let (_lake, _, partial, remarks) = salvaged(edited(edits));
    (partial.unwrap_or_else(|| panic!("{edits:?}")), remarks)
}

/// Ids, own sizes and kinds of the nodes, unaffected by damage behind them.
fn own(run: &Path) -> Vec<(Option<u64>, Option<u64>, Option<String>)> {
    let nodes = Table::read(run, "nodes.parquet");
    let sizes = nodes.u64s("self_bytes");
    nodes
        .u64s("id")
        .into_iter()
        .zip(sizes)
        .zip(nodes.texts("kind"))
        .map(|((id, size), kind)| (id, size, kind))
        .collect()
}

#[test]
fn whole_snapshots_are_not_partial() {
    let (_lake, run, partial, remarks) = salvaged(GOOD);
    assert_eq!((partial, remarks), (None, Vec::new()));
    let (_other, plain) = super::good::accepted(GOOD);
    for table in ["nodes.parquet", "edges.parquet", "classes.parquet", "chains.parquet"] {
        assert_eq!(fs::read(run.join(table)).unwrap(), fs::read(plain.join(table)).unwrap(), "{table}");
    }
}

#[test]
fn cut_at_every_byte_what_stands_before_stays() {
    let whole = own(&super::good::accepted(GOOD).1);
    let rows: Vec<usize> =
        ["\n,1,1,3", "\n,1,2,5", "\n,2,3,7", "\n],\n\"edges"].map(|row| GOOD.find(row).unwrap()).to_vec();
    for length in 1..GOOD.len() {
        let bytes = &GOOD.as_bytes()[..length];
        // A row is complete when a comma or the end of its array follows.
        let nodes = rows.iter().filter(|&&end| length > end + 1).count();
        let (lake, place) = try_salvage(bytes, 1 + length % 3);
        match place {
            Err(failure) => {
                assert_eq!(nodes, 0, "{length}: {failure}");
                assert_eq!(failure.exit, Exit::Failed);
                assert!(failure.advice.contains("write or copy the snapshot again"), "{}", failure.advice);
                lake.assert_empty();
            }
            Ok(run) => {
                assert_eq!(own(&run), whole[..nodes], "{length}");
                let reason = Table::read(&run, "snapshot.parquet").texts("partial_reason")[0].clone().unwrap();
                assert!(reason.contains(&format!("what follows byte {length}")), "{length}: {reason}");
            }
        }
    }
}

#[test]
fn edges_and_strings_before_a_cut_stay() {
    let cut = GOOD.find("\n,2,6,21").unwrap() + 1;
    let (_lake, run, partial, _) = salvaged(&GOOD[..cut]);
    let edges = Table::read(&run, "edges.parquet");
    // No comma follows the third edge.
    assert_eq!(edges.rows(), 2);
    let partial = partial.unwrap();
    for part in [
        &format!("what follows byte {cut} in edges, after 2 rows"),
        "the section strings, which is missing",
        "2 edges that nodes announce and that are missing",
        "of 4 edges that the header promises 2 are there",
    ] {
        assert!(partial.contains(part), "{partial}");
    }
    let (_lake, run, partial, _) = salvaged(&GOOD[..GOOD.find("\"head\"").unwrap() + 3]);
    let nodes = Table::read(&run, "nodes.parquet");
    assert_eq!(nodes.texts("name"), ["", "List", "Item", "text"].map(|name| Some(name.to_owned())));
    let edges = Table::read(&run, "edges.parquet");
    let names = ["list", "(missing)", "(missing)"].map(|name| Some(name.to_owned()));
    let named: Vec<_> = edges.texts("name").into_iter().filter(Option::is_some).collect();
    assert_eq!(named, names);
    assert!(partial.unwrap().contains("names, whose strings are missing"));
}

#[test]
fn what_follows_a_broken_section_is_read() {
    for (edit, section, rows, nodes) in [
        ((",2,3,7,32,0,0,0", ",2,3,7,x,0,0,0"), "nodes, after 3 rows", 4, 3),
        ((",2,5,14\n", ",2,5 14\n"), "edges, after 2 rows", 2, 4),
        (("\"trace_tree\":[1,0", "\"trace_tree\":[1,{"), "trace_tree", 4, 4),
        (("\"samples\":[0,3", "\"samples\":[0,"), "samples", 4, 4),
        (("\"locations\":[7,1,4,2", "\"locations\":[7,1,4,2.5"), "locations", 4, 4),
    ] {
        let text = edited(&[edit]);
        let (_lake, run, partial, _) = salvaged(&text);
        let table = Table::read(&run, "nodes.parquet");
        assert_eq!(table.rows(), nodes, "{section}");
        // Strings come last.
        assert_eq!(table.texts("name")[..3], ["", "List", "Item"].map(|name| Some(name.to_owned())), "{section}");
        let partial = partial.unwrap();
        assert!(partial.contains(&format!("in {section}")), "{partial}");
        let edges = Table::read(&run, "edges.parquet").rows();
        assert!(edges <= rows, "{section}: {edges}");
    }
    // A missing section.
    let strings = GOOD.find(",\n\"strings\"").unwrap();
    let (_lake, _, partial, _) = salvaged(format!("{}}}", &GOOD[..strings]));
    assert!(partial.unwrap().contains("the section strings, which is missing"));
    let (edges, infos) = (GOOD.find("\"edges\"").unwrap(), GOOD.find("\"trace_function_infos\"").unwrap());
    let (_lake, run, partial, _) = salvaged([&GOOD[..edges], &GOOD[infos..]].concat());
    assert!(partial.unwrap().contains("the section edges, which is missing; 4 edges that nodes announce"));
    assert_eq!(Table::read(&run, "nodes.parquet").u64s("retained_bytes"), [72, 16, 24, 32].map(Some));
}

#[test]
fn bad_references_are_passed_over_and_told() {
    let place = |text: &str, from: &str| edited(&[(from, text)]).find(text).unwrap();
    let bad = |edit: (&str, &str), at: usize, expected: &str, found: &str| {
        let (partial, remarks) = left_out(&[edit]);
        assert!(partial.starts_with("1 bad references"), "{partial}");
        let offset = place(edit.1, edit.0) + at;
        assert_eq!(remarks, [format!("bad reference at byte {offset}: expected {expected}, found {found}")]);
    };
    bad((",2,6,21", ",2,6,28"), 5, "a node offset below 28", "28 (row 3)");
    bad((",2,6,21", ",2,6,20"), 5, "a node offset that is a multiple of 7", "20 (row 3)");
    bad((",2,6,21", ",9,6,21"), 1, "an edge type below 4", "9 (row 3)");
    bad((",2,3,7,32", ",16,3,7,32"), 1, "a node type below 16", "16 (row 3)");
    bad((",2,3,7,32,0,0,0", ",2,3,7,32,0,0,5"), 14, "a detachedness below 4", "5 (row 3)");
    bad(("[7,1,4,2\n", "[8,1,4,2\n"), 1, "a node offset that is a multiple of 7", "8 (row 0)");
    for edit in [("\n,2,6,21", "\n,2,9,21"), ("\n,2,3,7,32", "\n,2,9,7,32")] {
        let (partial, remarks) = left_out(&[edit]);
        assert!(partial.starts_with("1 bad references"), "{partial}");
        assert!(remarks[0].starts_with("bad reference in row 3 of ") && remarks[0].ends_with("below 9, found 9"));
    }
    // The rest is unchanged.
    let (_lake, run, ..) = salvaged(edited(&[(",2,6,21", ",2,6,28")]));
    let nodes = Table::read(&run, "nodes.parquet");
    assert_eq!(nodes.u64s("retained_bytes"), [72, 16, 24, 32].map(Some));
    let (_lake, run, ..) = salvaged(edited(&[(",2,3,7,32", ",16,3,7,32")]));
    assert_eq!(Table::read(&run, "nodes.parquet").texts("kind")[3].as_deref(), Some("(unknown)"));
}

#[test]
fn ten_bad_references_are_told() {
    let mut snapshot = heaplake_oracle::Snapshot::new();
    let root = snapshot.add_node("synthetic", "", 0);
    for i in 0..40_000_u64 {
        let node = snapshot.add_node("object", "Item", 16);
        snapshot.add_numbered_edge(root, "element", i, node);
    }
    let text = String::from_utf8(snapshot.to_json(&heaplake_oracle::Layout::default())).unwrap();
    let edges = text.find("\"edges\"").unwrap();
    let damaged = [&text[..edges], &text[edges..].replace("7,", "999999999,")].concat();
    let (_lake, _, partial, remarks) = salvaged(&damaged);
    assert_eq!(remarks.len(), 10);
    assert!(remarks.is_sorted_by_key(String::len), "{remarks:?}");
    let count: u64 = partial.unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(count > 1000, "{count}");
    // The same bytes with any number of threads.
    let tables = |threads| {
        let (lake, run) = try_salvage(damaged.as_bytes(), threads);
        let run = run.unwrap();
        let table = |name| fs::read(run.join(name)).unwrap();
        let of = (table("nodes.parquet"), table("edges.parquet"), table("classes.parquet"));
        drop(lake);
        of
    };
    let one = tables(1);
    assert!([2, 5].into_iter().all(|threads| tables(threads) == one));
}

#[test]
fn headers_that_lie_are_not_believed() {
    for (edit, said) in [
        (("\"node_count\":4", "\"node_count\":9"), "the header promises 9 nodes, and there are 4"),
        (("\"node_count\":4", "\"node_count\":4294967290"), "the header promises 4294967290 nodes, and there are 4"),
        (("\"edge_count\":4", "\"edge_count\":1"), "the header promises 1 edges, and there are 4"),
        (("\"node_count\":4", "\"root_index\":70,\"node_count\":4"), "the header names root 10 of 4 nodes"),
        ((",1,1,3,16,1,2,0", ",1,1,3,16,3,2,0"), "2 edges that nodes announce and that are missing"),
        ((",1,1,3,16,1,2,0", ",1,1,3,16,0,2,0"), "1 edges that no node announces"),
        ((",1,1,3,16,1,2,0", ",1,1,3,16,4294967296,2,0"), "1 bad references"),
    ] {
        let (partial, _) = left_out(&[edit]);
        assert!(partial.contains(said), "{partial}");
    }
}

/// Missing names make nothing equal, and objects with possibly missing edges are not surely equal.
#[test]
fn nothing_is_an_exact_duplicate_by_what_is_missing() {
    let mut snapshot = heaplake_oracle::Snapshot::new();
    let root = snapshot.add_node("synthetic", "", 0);
    for i in 0..50_u64 {
        let node = snapshot.add_node("object", "Item", 16);
        let text = snapshot.add_node("string", &*format!("text {}", i % 5), 24);
        snapshot.add_numbered_edge(root, "element", i, node);
        snapshot.add_edge(node, "property", "text", text);
    }
    let text = snapshot.to_json(&heaplake_oracle::Layout::default());
    let cut = String::from_utf8_lossy(&text).find("\"strings\"").unwrap();
    for length in [cut, cut - 100, text.len() - 2] {
        let (_lake, run, ..) = salvaged(&text[..length]);
        let sets = Table::read(&run, "duplicate_sets.parquet");
        let named = sets.texts("class").into_iter().zip(sets.texts("status"));
        for (class, status) in named {
            assert!(class.as_deref() == Some("(string)") || status.as_deref() != Some("exact"), "{class:?}");
        }
        assert!(length != cut || sets.texts("class").iter().all(|class| class.as_deref() != Some("(string)")));
    }
}

#[test]
fn compressed_snapshots_give_what_can_be_inflated() {
    let mut snapshot = heaplake_oracle::Snapshot::new();
    let root = snapshot.add_node("synthetic", "", 0);
    for i in 0..20_000_u64 {
        let node = snapshot.add_node("object", &*format!("name {i}"), i);
        snapshot.add_numbered_edge(root, "element", i, node);
    }
    let whole = snapshot.to_json(&heaplake_oracle::Layout::default());
    for packed in [gzip(&whole), zstd(&whole)] {
        let cut = &packed[..packed.len() / 2];
        let (_lake, run, partial, _) = salvaged(cut);
        assert!(Table::read(&run, "nodes.parquet").rows() > 1000);
        assert!(partial.unwrap().contains("intact compressed data"));
    }
}

#[test]
fn as_the_user_sees_it() {
    let lake = Lake::new();
    let input = lake.input("cut.heapsnapshot", &GOOD.as_bytes()[..GOOD.find("\"trace_tree\"").unwrap()]);
    let (_, advice) = diagnostic(&mut lake.analyze(&input), 1);
    assert!(advice.ends_with("or give --salvage to analyse what can be read"), "{advice}");
    lake.assert_empty();
    let mut command = heaplake_support::lake::heaplake();
    let output = command.arg("analyze").arg(&input).arg("--out").arg(lake.path()).arg("--salvage").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && said.contains("PARTIAL: the input is damaged; this leaves out what"), "{said}");
    // Nothing to salvage: no nodes.
    let (cause, advice) = {
        let lake = Lake::new();
        let input = lake.input("cut.heapsnapshot", &GOOD.as_bytes()[..300]);
        diagnostic(lake.analyze(&input).arg("--salvage"), 1)
    };
    assert!(cause.contains("byte 300: expected") && !advice.contains("--salvage"), "{cause} {advice}");
}

/// Each case is two analyses.
fn half_a_chance() -> ProptestConfig {
    ProptestConfig { cases: chance().cases / 3, ..chance() }
}

proptest! {
    #![proptest_config(half_a_chance())]
    #[test]
    fn mutated_snapshots_are_salvaged_or_refused(
        mutations in prop::collection::vec((any::<prop::sample::Index>(), mutation()), 1..4),
    ) {
        let mut bytes = GOOD.as_bytes().to_vec();
        mutations.iter().for_each(|(at, mutation)| mutation.apply(at, &mut bytes));
        let lake = Lake::new();
        let input = lake.input("Heap.heapsnapshot", &bytes);
        let plain = analyze(&lake.path(), &input, Analysis::default()).map(|outcome| outcome.place);
        let (_other, damaged) = try_salvage(&bytes, 2);
        match (plain, damaged) {
            // Complete inputs give the same result with `--salvage`.
            (Ok(plain), Ok(damaged)) => {
                for table in ["nodes.parquet", "edges.parquet", "chains.parquet"] {
                    prop_assert_eq!(fs::read(plain.join(table)).unwrap(), fs::read(damaged.join(table)).unwrap());
                }
            }
            (Ok(_), Err(failure)) => prop_assert!(false, "{}", failure),
            (Err(_), Ok(run)) => {
                prop_assert!(Table::read(&run, "nodes.parquet").rows() > 0);
                prop_assert_eq!(Table::read(&run, "snapshot.parquet").bools("partial"), [Some(true)]);
            }
            (Err(_), Err(failure)) => {
                prop_assert!(failure.error.is_none() || is_of_the_input(&failure), "{}", failure);
                prop_assert_eq!(failure.to_string().lines().count(), 1);
            }
        }
    }
}
