//! Kinds of nodes: their rows are sums over the table of nodes.

use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::table::Table;
use std::cmp::Reverse;
use std::collections::BTreeMap;

#[test]
fn kinds_are_sums_over_nodes() {
    for name in ["v8/small.heapsnapshot.zst", "jvm/weakfix.hprof.zst"] {
        let lake = Lake::new();
        lake.analyze(fixtures::path("v8/..").join(name)).assert().success();
        let (nodes, kinds) = (Table::read(&lake.run(), "nodes.parquet"), Table::read(&lake.run(), "kinds.parquet"));
        let mut expected: BTreeMap<String, [u64; 3]> = BTreeMap::new();
        let sizes = nodes.u64s("self_bytes").into_iter().zip(nodes.u64s("shallow_bytes"));
        for (kind, (own, shallow)) in nodes.texts("kind").into_iter().zip(sizes) {
            let sums = expected.entry(kind.unwrap()).or_default();
            *sums = [sums[0] + 1, sums[1] + own.unwrap(), sums[2] + shallow.unwrap()];
        }
        let mut expected: Vec<(String, [u64; 3])> = expected.into_iter().collect();
        expected.sort_by_key(|(kind, sums)| (Reverse(sums[2]), kind.clone()));
        let numbers = |name| kinds.u64s(name).into_iter().map(Option::unwrap).collect::<Vec<u64>>();
        let (counts, own, shallow) = (numbers("count"), numbers("self_bytes"), numbers("shallow_bytes"));
        let names = kinds.texts("kind").into_iter().map(Option::unwrap);
        let found: Vec<(String, [u64; 3])> =
            names.enumerate().map(|(row, kind)| (kind, [counts[row], own[row], shallow[row]])).collect();
        assert_eq!(found, expected, "{name}");
        assert!(found.len() > 3);
    }
}
