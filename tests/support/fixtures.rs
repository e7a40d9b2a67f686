//! The fixtures: snapshots, dumps and traces with other programs' answers for them.

use std::fs::File;
use std::path::{Path, PathBuf};

/// Path of a file in `tests/fixtures`.
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

/// Content of a file in `tests/fixtures`, stored as `NAME.zst`.
pub fn content(name: &str) -> Vec<u8> {
    let path = path(&format!("{name}.zst"));
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    zstd::decode_all(file).unwrap()
}

/// Content of a file in `tests/fixtures` as a text.
pub fn text(name: &str) -> String {
    String::from_utf8(content(name)).unwrap()
}

/// Path of a snapshot of V8.
pub fn v8(name: &str) -> PathBuf {
    path(&format!("v8/{name}.heapsnapshot.zst"))
}
