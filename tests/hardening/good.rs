//! A small snapshot with content in every section, for tests that change it.

use heaplake_support::in_process::{Analysis, analyze};
use heaplake_support::lake::Lake;
use heaplake_support::table::Table;
use std::path::PathBuf;

pub(crate) const GOOD: &str = include_str!("good.heapsnapshot").trim_ascii_end();

/// Its allocation tree.
pub(crate) const TREE: &str = "[1,0,0,0,[2,1,1,16,[3,1,2,32,[]]]]";

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
