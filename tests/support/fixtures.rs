//! The fixtures: snapshots, dumps and traces with other programs' answers for them.

use std::fs::File;
use std::path::{Path, PathBuf};

/// Path of a file in `tests/fixtures`.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(name)
}

/// Content of a file in `tests/fixtures`, stored as `NAME.zst`.
pub(crate) fn content(name: &str) -> Vec<u8> {
    let path = path(&format!("{name}.zst"));
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    zstd::decode_all(file).unwrap()
}
