//! Random heap dumps: they survive the file in every layout, the expected results are consistent, and the dumps cover
//! all intended cases.

#[path = "../examples/check_mat/read.rs"]
mod read;

use heaplake_oracle::jvm::model::{Dump, ObjectData, PrimitiveValues, RootKind};
use heaplake_oracle::jvm::truth::NodeTruth;
use heaplake_oracle::jvm::{Draft, Referents, Truth, truth};
use heaplake_oracle::strategies;
use proptest::prelude::*;

fn dump(seed: u64) -> Dump {
    Draft::random(seed, 30).build()
}

/// A dump in canonical order: the file may have another.
fn sorted(mut dump: Dump) -> Dump {
    dump.strings.sort();
    dump.loaded.sort_by_key(|class| class.serial);
    dump.frames.sort_by_key(|frame| frame.id);
    dump.traces.sort_by_key(|trace| trace.serial);
    dump.classes.sort_by_key(|class| class.address);
    dump.objects.sort_by_key(|object| object.address);
    dump.roots.sort_by_key(|root| format!("{root:?}"));
    dump
}

fn check(truth: &Truth) {
    let reached = |node: &&NodeTruth| node.distance.is_some();
    let total: u64 = truth.nodes.iter().filter(reached).map(|node| node.shallow).sum();
    assert_eq!(truth.nodes[0].retained, total, "the root retains everything that it reaches");
    assert_eq!((truth.nodes[0].distance, truth.nodes[0].dominator), (Some(0), Some(0)));
    for (v, node) in truth.nodes.iter().enumerate() {
        let below = truth.nodes.iter().enumerate().filter(|&(w, other)| other.dominator == Some(v) && w != v);
        let sum = below.map(|(_, other)| other.retained).sum::<u64>();
        let own = if node.distance.is_some() { node.shallow } else { 0 };
        assert_eq!(node.retained, own + sum, "{node:?}");
        assert_eq!(node.dominator.is_some(), node.distance.is_some());
        let Some(distance) = node.distance else { continue };
        // A longer path of strong references is preferred: to the one referent that an instance may have, and to
        // targets of nodes that are not strongly reachable themselves.
        let farther = |&(to, holds): &(usize, bool)| {
            let avoided = !truth.nodes[to].weakly && (node.weakly || node.kind == "instance");
            let far = holds && truth.nodes[to].distance.is_none_or(|far| far > distance + 1);
            far.then_some(avoided)
        };
        let far: Vec<bool> = node.edges.iter().filter_map(farther).collect();
        assert!(far.iter().all(|&avoided| avoided) && (node.weakly || far.len() < 2), "{node:?}");
    }
    assert_eq!(truth.classes.values().map(|row| row.shallow).sum::<u64>(), total);
    assert!(truth.classes.values().all(|row| row.shallow <= row.retained && row.max_retained <= row.retained));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn truths_are_consistent(dump in strategies::dumps(30)) {
        let (held, skipped) = (truth(&dump, Referents::Hold), truth(&dump, Referents::Skip));
        check(&held);
        check(&skipped);
        let edges = |truth: &Truth| truth.nodes.iter().map(|node| node.edges.len()).sum::<usize>();
        prop_assert_eq!(edges(&skipped), edges(&held));
        prop_assert!(held.nodes.iter().all(|node| node.edges.iter().all(|&(_, holds)| holds)));
    }

    #[test]
    fn files_mean_the_dump_in_every_layout(dump in strategies::dumps(30), layout in strategies::dump_layouts()) {
        let read = read::dump(&dump.to_bytes(&layout));
        prop_assert_eq!(&sorted(read.clone()), &sorted(dump.clone()));
        prop_assert_eq!(truth(&read, Referents::Hold), truth(&dump, Referents::Hold));
    }
}

#[test]
fn seeds_make_dumps_of_all_kinds() {
    let dumps: Vec<Dump> = (0..1000).map(dump).collect();
    let truths: Vec<[Truth; 2]> =
        dumps.iter().map(|dump| [Referents::Hold, Referents::Skip].map(|referents| truth(dump, referents))).collect();
    let with = |is: &dyn Fn(&Dump, &[Truth; 2]) -> bool| {
        dumps.iter().zip(&truths).filter(|(dump, truths)| is(dump, truths)).count()
    };
    let with_node = |is: &dyn Fn(&NodeTruth) -> bool| with(&|_, truths| truths[0].nodes.iter().any(is));
    assert!(with(&|_, [held, skipped]| held != skipped) > 50, "referents make a difference");
    assert!(with_node(&|node| node.distance.is_none()) > 500);
    assert!(with_node(&|node| node.distance.is_some_and(|distance| distance > 4)) > 50);
    assert!(with_node(&|node| node.dominator.is_some_and(|dominator| dominator > 0)) > 900);
    assert!(with_node(&|node| node.name.as_ref().is_some_and(|name| !name.is_ascii())) > 100);
    assert!(with(&|_, truths| !truths[0].threads.is_empty()) > 200);
    assert!(with(&|_, truths| truths[0].threads.iter().any(|thread| thread.locals > 1)) > 30);
    assert!(with(&|_, truths| truths[0].threads.iter().any(|thread| thread.name.is_some())) > 10);
    assert!(with(&|dump, _| dump.roots.iter().any(|root| matches!(root.kind, RootKind::JniMonitor(..)))) > 100);
    let nothing_known = |data: &ObjectData| matches!(data, ObjectData::PrimitiveArray(_, PrimitiveValues::Unknown(length)) if *length > 0);
    assert!(with(&|dump, _| dump.objects.iter().any(|object| nothing_known(&object.data))) > 500);
    // Equal names, different classes.
    let repeated = |truth: &Truth| {
        let mut names: Vec<&str> = truth.classes.values().map(|row| row.name.as_str()).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    };
    assert!(with(&|_, truths| repeated(&truths[0])) > 5);
    // An instance of Object: two words of header, unless references are narrow.
    for size in [8, 16, 64] {
        let plain = |node: &NodeTruth| node.class_name == "java.lang.Object" && node.shallow == size;
        assert!(with_node(&plain) > 5, "{size}");
    }
}
