//! Allocation trees of V8 snapshots.

use crate::support::{EXACT, Replayed, fixture, replay, replay_with, try_replay};
use heaplake_kit::StageError;
use heaplake_schemas::options::Recording;
use heaplake_schemas::replay as columns;
use heaplake_schemas::replay::Coverage;

/// Name, line, and inclusive and exclusive objects and bytes.
type Row = (String, u32, [u64; 4]);

fn functions(replayed: &Replayed) -> Vec<Row> {
    let strings = replayed.strings(columns::STRINGS);
    let rows = replayed.rows(columns::FUNCTIONS);
    let row = |row: &heaplake_schemas::allocation_functions::FunctionRow| {
        let numbers = [row.inclusive_count, row.inclusive_bytes, row.exclusive_count, row.exclusive_bytes];
        (strings.text(row.name as usize).into_owned(), row.line, numbers)
    };
    rows.iter().map(row).collect()
}

const SNAPSHOT: &str = r#"{"snapshot":{"meta":{"node_fields":["type","]"],"trace_function_info_fields":["function_id","name","script_name","script_id","line","column"],
"trace_node_fields":["id","function_info_index","count","size","children"]},"node_count":1},
"nodes":[1,[2],"a]\"}"],"edges":[],
"trace_function_infos":[0,1,2,0,0,0, 7,3,4,1,5,6, 8,2,4,1,9,1],
"trace_tree":[1,0,2,30,[2,1,5,100,[3,2,0,0,[4,1,1,7,[]]],5,2,10,50,[]]],
"samples":[],"strings":["<dummy>","(root)","","f\u0041","x.js"]}"#;

#[test]
fn every_site_counts() {
    for size in [1, 7, 1 << 16] {
        let replayed = replay_with(SNAPSHOT.as_bytes(), EXACT, 64 << 20, size).unwrap();
        let metadata = &replayed.metadata;
        assert_eq!((metadata.coverage, metadata.interval, metadata.tracked), (Coverage::Every, 1, false));
        assert_eq!((metadata.allocated_count, metadata.allocated_bytes), (18, 187));
        assert_eq!((metadata.sampled_count, metadata.stackless_count), (18, 2));
        assert_eq!(
            functions(&replayed),
            [("fA".to_owned(), 5, [6, 107, 6, 107]), ("(anonymous)".to_owned(), 9, [11, 57, 10, 50])]
        );
        let types = replayed.rows(columns::TYPES);
        assert_eq!(types.len(), 1);
        assert_eq!((types[0].allocated_count, types[0].exact_bytes, types[0].estimated_bytes), (18, 187, 187));
    }
}

/// All allocations count, whatever the interval.
#[test]
fn nothing_is_sampled() {
    let sampled = Recording { sample_interval: 10, ..EXACT };
    let replayed = replay(SNAPSHOT.as_bytes(), sampled);
    assert_eq!((replayed.metadata.interval, replayed.metadata.sampled_count), (1, 18));
    assert_eq!(replayed.rows(columns::TYPES)[0].low_bytes, 187);
}

/// A real snapshot; the sums are those of another program on the same file.
#[test]
fn a_real_tree() {
    let replayed = replay(&fixture("v8/alloc20.heapsnapshot.zst"), EXACT);
    assert_eq!((replayed.metadata.allocated_count, replayed.metadata.allocated_bytes), (193_206, 13_954_232));
    let expected = [
        ("(anonymous)", u32::MAX, [193_182, 13_946_672, 6, 328]),
        ("makeOrders", 2, [193_176, 13_946_344, 120_965, 8_394_056]),
        ("Map", u32::MAX, [40_034, 4_015_912, 40_023, 4_005_384]),
        ("Order", 1, [38_557, 2_084_808, 32_165, 1_433_096]),
        ("push", u32::MAX, [12, 103_280, 12, 103_280]),
        ("set", u32::MAX, [11, 10_528, 11, 10_528]),
        ("(V8 API)", u32::MAX, [8, 6_600, 8, 6_600]),
        ("processTimers", u32::MAX, [1, 48, 1, 48]),
    ];
    assert_eq!(functions(&replayed), expected.map(|(name, line, numbers)| (name.to_owned(), line, numbers)));
}

#[test]
fn cut_anywhere_is_refused() {
    for cut in 12..SNAPSHOT.len() {
        let result = try_replay(&SNAPSHOT.as_bytes()[..cut], EXACT);
        assert!(matches!(result, Err(StageError::Input(_))), "{cut}");
    }
}

#[test]
fn what_is_no_tree_is_refused() {
    for (from, to, expected) in [
        ("\"trace_tree\":[1,", "\"trace_tree\":[-1,", "an unsigned integer"),
        ("\"trace_tree\":[1,0,", "\"trace_tree\":[1,3,", "one of 3 functions"),
        ("\"trace_tree\":[1,0,2,30,[", "\"trace_tree\":[1,0,2,30,7,[", "the children ([)"),
        ("\"trace_tree\":[1", "\"trace_tree\":[\"\"", "an unsigned integer"),
        ("\"trace_tree\":[1", "\"no_tree\":[1", "an allocation tree"),
        ("\"trace_node_fields\"", "\"other_fields\"", "an allocation tree"),
        ("\"size\",\"children\"]", "\"size\"]", "an allocation tree"),
        ("\"strings\":[\"<dummy>\"", "\"strings\":[7", "a string"),
    ] {
        assert!(SNAPSHOT.contains(from));
        let snapshot = SNAPSHOT.replacen(from, to, 1);
        let Err(error) = try_replay(snapshot.as_bytes(), EXACT) else { panic!("{to} was taken") };
        assert!(error.to_string().contains(expected), "{to}: {error}");
    }
}

/// There is no recursion.
#[test]
fn deep_trees() {
    let depth = 2000;
    let tree = format!("{}{}", "1,1,1,1,[".repeat(depth), "]".repeat(depth));
    let snapshot = SNAPSHOT.replacen("1,0,2,30,[2,1,5,100,[3,2,0,0,[4,1,1,7,[]]],5,2,10,50,[]]", &tree, 1);
    let replayed = replay(snapshot.as_bytes(), EXACT);
    // The outermost node is the root.
    assert_eq!(functions(&replayed)[0].2, [depth as u64 - 1, depth as u64 - 1, depth as u64 - 1, depth as u64 - 1]);
}
