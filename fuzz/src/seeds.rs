//! Seeds of mutation: small inputs from the oracle's writers, and the small fixtures.

use heaplake_oracle::dotnet::{self, gcdump};
use heaplake_oracle::random::Draft;
use heaplake_oracle::{Layout, Shape, jvm};
use std::fs;
use std::path::{Path, PathBuf};

/// Folder of the tests' fixtures.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

/// Inputs that once broke something: `fuzz/corpus/NAME`.
pub(crate) fn corpus(name: &str) -> Vec<Vec<u8>> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name)).iter().map(|path| read(path)).collect()
}

/// The files of a folder by name; empty if there is no such folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    paths
}

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Java dumps.
pub(crate) fn hprof() -> Vec<Vec<u8>> {
    let layout = |seed: u64| jvm::Layout {
        order: seed % 3,
        segment: [usize::MAX, 0, 3][seed as usize % 3],
        clutter: seed % 4 == 3,
        heap_infos: seed % 5 == 4,
        ..jvm::Layout::default()
    };
    let random = (0..12).map(|seed| jvm::Draft::random(seed, 12 + 4 * seed as usize).build().to_bytes(&layout(seed)));
    random.chain([read(&fixtures().join("version-1/whole.hprof"))]).chain(corpus("hprof")).collect()
}

/// V8 snapshots.
pub(crate) fn heapsnapshot() -> Vec<Vec<u8>> {
    let shape = Shape { max_nodes: 16, ..Shape::default() };
    let random = (0..12).map(|seed| Draft::random(seed, &shape).build(&shape).to_json(&Layout::random(seed)));
    random.chain([SNAPSHOT.as_bytes().to_vec()]).chain(corpus("heapsnapshot")).collect()
}

/// .NET dumps.
pub(crate) fn gcdumps() -> Vec<Vec<u8>> {
    (0..10).map(|seed| gcdump::graph(seed, 20).to_gcdump(seed)).chain(corpus("gcdump")).collect()
}

/// Walks of .NET heaps.
pub(crate) fn walks() -> Vec<Vec<u8>> {
    let layout = |seed: u64| dotnet::Layout {
        seed,
        wide: seed % 4 != 3,
        entries: 1 + seed as usize % 7,
        events: 1 + seed as usize % 5,
        compressed: seed.is_multiple_of(2),
        other_thread: seed.is_multiple_of(3),
        lost: None,
    };
    let random = (0..10).map(|seed| dotnet::random::heap(seed, 12).to_nettrace(&layout(seed)));
    random.chain(corpus("nettrace")).collect()
}

/// Profiler logs.
pub(crate) fn logs() -> Vec<Vec<u8>> {
    [LOG.as_bytes().to_vec()].into_iter().chain(corpus("log")).collect()
}

/// Recordings of Java Flight Recorder: the corpus begins with one that contains everything, used once and doubled.
pub(crate) fn recordings() -> Vec<Vec<u8>> {
    let corpus = corpus("jfr");
    let twice = corpus.first().map(|first| first.repeat(2));
    corpus.into_iter().chain(twice).collect()
}

/// Profiles of V8's sampling profiler.
pub(crate) fn profiles() -> Vec<Vec<u8>> {
    [PROFILE.as_bytes().to_vec()].into_iter().chain(corpus("heapprofile")).collect()
}

/// Tokens of JSON.
pub(crate) const JSON: &[&[u8]] = &[
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"[[",
    b"]]",
    b"\"\"",
    b"\\u0000",
    b"\\ud800",
    b"\\",
    b"1e999",
    b"-1",
    b"0.5",
    b",,",
    b"\xff",
    b"4294967296",
    b"18446744073709551616",
    b"{\"",
    b"\":",
];

/// A snapshot with content in every section.
const SNAPSHOT: &str = include_str!("../../tests/hardening/good.heapsnapshot").trim_ascii_end();

/// A log with events of all kinds.
const LOG: &str = "# clrprof 1 fuzz\nT 1 X\nT 2 Y[]\nF 1 Some.Type::Method\nF 2 Main\nS 1 1 2\nS 2 2\n\
                   A 1 108 1 18 1\nA 1 508 2 28 2\nA 2 128 1 18 1\n\
                   G 1 10000 1\nB 0 100 100 100\nB 2 500 100 100\nM 108 600 18\nV 508 28\nR 600 1 0 0\nO 600 1 508\n\
                   O 508 2\nE 1\nA 1 148 1 18 0\nG 2 11111 0 1\nB 0 100 100 100\nB 1 600 40 40\nB 2 500 100 100\n\
                   V 600 18\nM 508 520 28\nE 2\n# end\n";

/// A profile with nested calls and samples.
const PROFILE: &str = r#"{"head":{"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},
"selfSize":16,"id":1,"children":[
{"callFrame":{"functionName":"main","scriptId":"9","url":"file:\/\/\/a\u0042.js","lineNumber":0,"columnNumber":0},"selfSize":100,"id":2,"children":[
 {"callFrame":{"functionName":"","scriptId":"9","url":"x.js","lineNumber":4,"columnNumber":2},"selfSize":1000,"id":3,"children":[]}]},
{"callFrame":{"functionName":"other","scriptId":"9","url":"y.js","lineNumber":7,"columnNumber":3},"selfSize":0,"id":5,"children":[]}]},
"samples":[{"size":100,"nodeId":2,"ordinal":1},{"size":30,"nodeId":3,"ordinal":3}]}"#;
