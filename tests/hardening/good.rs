//! A small snapshot with content in every section, for tests that change it.

use crate::in_process::{Analysis, analyze};
use crate::lake::Lake;
use crate::table::Table;
use std::path::PathBuf;

pub(crate) const GOOD: &str = r#"{"snapshot":{"meta":{
"node_fields":["type","name","id","self_size","edge_count","trace_node_id","detachedness"],
"node_types":[["hidden","object","string","native","synthetic"],"string","number","number","number","number","number"],
"edge_fields":["type","name_or_index","to_node"],
"edge_types":[["context","element","property","weak"],"string_or_number","node"],
"trace_function_info_fields":["function_id","name","script_name","script_id","line","column"],
"trace_node_fields":["id","function_info_index","count","size","children"],
"sample_fields":["timestamp_us","last_assigned_id"],
"location_fields":["object_index","script_id","line","column"]},
"node_count":4,"edge_count":4,"trace_function_count":2},
"nodes":[4,0,1,0,2,0,0
,1,1,3,16,1,2,0
,1,2,5,24,1,0,0
,2,3,7,32,0,0,0
],
"edges":[2,4,7
,1,0,14
,2,5,14
,2,6,21
],
"trace_function_infos":[0,0,0,0,0,0
,1,8,7,1,4,2
],
"trace_tree":[1,0,0,0,[2,1,1,16,[]]],
"samples":[0,3
,1000,7
],
"locations":[7,1,4,2
],
"strings":["",
"List",
"Item",
"text",
"list",
"head",
"value",
"app.js",
"make"]}"#;

/// [`GOOD`] with each `from`, which must occur once, replaced by its `to`.
pub(crate) fn edited(edits: &[(&str, &str)]) -> String {
    edits.iter().fold(GOOD.to_owned(), |text, (from, to)| {
        assert_eq!(text.matches(from).count(), 1, "{from:?} in {text}");
        text.replace(from, to)
    })
}

/// Analyses bytes that must be accepted; returns the lake and the run.
pub(crate) fn accepted(bytes: impl AsRef<[u8]>) -> (Lake, PathBuf) {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", bytes.as_ref());
    let run = analyze(&lake.path(), &input, Analysis::default()).unwrap_or_else(|failure| panic!("{failure}")).place;
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
    (lake, run)
}

pub(crate) fn nodes(bytes: impl AsRef<[u8]>) -> Table {
    let (_lake, run) = accepted(bytes);
    Table::read(&run, "nodes.parquet")
}

pub(crate) fn assert_as_good(text: impl AsRef<[u8]>) {
    let nodes = nodes(text);
    assert_eq!(nodes.u64s("retained_bytes"), [72, 16, 56, 32].map(Some));
    assert_eq!(nodes.u32s("dominator"), [0, 0, 0, 2].map(Some));
    assert_eq!(nodes.texts("name"), ["", "List", "Item", "text"].map(|name| Some(name.to_owned())));
    assert_eq!(nodes.u32s("line"), [None, Some(4), None, None]);
}
