//! Real traces with background garbage collections: at each heap walk, the replay's live objects are those of the walk.

use super::answer::exactly;
use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::table::Table;
use std::env;
use std::path::{Path, PathBuf};

/// .NET 8 with workstation garbage collections: the program of `net8_background.nettrace.zst` keeps lists of linked
/// items in three threads. Objects that died before collection 14 were removed from the trace, and so were stacks.
const TRACE: &str = "dotnet/net8_background.nettrace.zst";

/// Walks in a run: the garbage collection, objects walked, missing, extra.
fn walks(run: &Path) -> Vec<(u32, u64, u64, u64)> {
    let table = Table::read(run, "collections.parquet");
    let column = |name: &str| table.u64s(name);
    let (walked, missing, extra) = (column("walked_objects"), column("walk_missing"), column("walk_extra"));
    let gcs = table.u32s("gc");
    let row = |row: usize| Some((gcs[row].unwrap(), walked[row]?, missing[row].unwrap(), extra[row].unwrap()));
    (0..table.rows()).filter_map(row).collect()
}

/// At most one of a thousand objects is missing (its allocation is not in the trace), and at most one is extra.
fn agrees(run: &Path) -> usize {
    let walks = walks(run);
    for &(gc, walked, missing, extra) in &walks {
        assert!(missing * 1000 <= walked && extra * 1000 <= walked, "{gc}: {missing} and {extra} of {walked}");
    }
    walks.len()
}

#[test]
fn walks_find_what_is_alive() {
    let lake = Lake::new();
    let run = exactly(&lake, fixtures::path(TRACE));
    assert_eq!(agrees(&run), 1);
    assert_eq!(walks(&run), [(27, 41_528, 11, 0)]);
    let table = Table::read(&run, "collections.parquet");
    assert!(table.u64s("doubtful_objects").iter().all(|doubtful| *doubtful == Some(0)));
    // Collection 14 is the first that was to run in the background, 15 to 25 did.
    let dead: Vec<u64> = table.u64s("dead_objects").into_iter().map(Option::unwrap).collect();
    assert_eq!(dead[13..26], [8614, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

/// Traces of any size, from `HEAPLAKE_TRACES`, separated by colons.
#[test]
fn walks_of_other_traces_find_what_is_alive() {
    let Some(traces) = env::var_os("HEAPLAKE_TRACES") else {
        eprintln!("skipped: HEAPLAKE_TRACES names no traces");
        return;
    };
    for trace in env::split_paths(&traces) {
        let lake = Lake::new();
        let walks = agrees(&exactly(&lake, PathBuf::from(&trace)));
        assert!(walks > 0, "{}: no walk of the heap", trace.display());
    }
}
