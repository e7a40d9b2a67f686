//! Readers of snapshots, through whole analyses.

use crate::analysis::{analyze, everything};
use crate::seeds;
use crate::subject::Target;
use heaplake_schemas::options::{AnalysisOptions, Referents, SizeRule};

/// Java dumps.
pub(super) const HPROF: Target = Target { name: "hprof", run: hprof, seeds: seeds::hprof, words: RECORDS };

/// Java dumps, in salvage mode.
pub(super) const HPROF_SALVAGE: Target =
    Target { name: "hprof_salvage", run: salvage, seeds: seeds::hprof, words: RECORDS };

/// V8 snapshots.
pub(super) const HEAPSNAPSHOT: Target =
    Target { name: "heapsnapshot", run: heapsnapshot, seeds: seeds::heapsnapshot, words: SECTIONS };

/// .NET dumps.
pub(super) const GCDUMP: Target = Target { name: "gcdump", run: gcdump, seeds: seeds::gcdumps, words: &[] };

/// Walks of .NET heaps.
pub(super) const WALK: Target = Target { name: "walk", run: walk, seeds: seeds::walks, words: BLOCKS };

/// Tags of Java dumps, and names with a meaning for the reader.
const RECORDS: &[&[u8]] = &[
    b"\x01\0\0\0\0",
    b"\x02\0\0\0\0",
    b"\x0c\0\0\0\0",
    b"\x1c\0\0\0\0",
    b"\x2c\0\0\0\0\0\0\0\0",
    b"\x20",
    b"\x21",
    b"\x22",
    b"\x23",
    b"\xc3",
    b"\xfe",
    b"java/lang/String",
    b"java/lang/Class",
    b"java/lang/Thread",
    b"java/lang/ref/Reference",
    b"java/util/HashMap",
    b"java/util/ArrayList",
    b"jdk/internal/vm/StackChunk",
    b"[B",
    b"value",
    b"size",
    b"table",
    b"referent",
];

const SECTIONS: &[&[u8]] = &[
    b"\"nodes\":[",
    b"\"edges\":[",
    b"\"strings\":[",
    b"\"trace_tree\":[",
    b"\"samples\":[",
    b"\"locations\":[",
    b"\"extra_native_bytes\":",
    b"\"node_count\":",
    b"system / Map",
    b"WeakMap",
    b"(GC roots)",
    b"concatenated string",
    b"null",
    b"[]",
    b"-1",
    b"1e9",
    b"4294967295",
];

/// Objects of the .NET trace container.
pub(super) const BLOCKS: &[&[u8]] =
    &[b"EventBlock", b"MetadataBlock", b"StackBlock", b"SPBlock", b"Trace", b"\x05\x05\x01", b"\x06", b"\x01"];

fn hprof(data: &[u8]) -> String {
    analyze("heap.hprof", data, everything())
}

fn salvage(data: &[u8]) -> String {
    // Options not in the file derive from its length, so that every path is taken.
    let (referents, sizes) = (
        [Referents::Hold, Referents::Skip][data.len() % 2],
        [SizeRule::Auto, SizeRule::Jvm, SizeRule::Mat][data.len() % 3],
    );
    analyze("heap.hprof", data, AnalysisOptions { salvage: true, referents, sizes, ..everything() })
}

fn heapsnapshot(data: &[u8]) -> String {
    analyze("heap.heapsnapshot", data, everything())
}

fn gcdump(data: &[u8]) -> String {
    analyze("heap.gcdump", data, everything())
}

fn walk(data: &[u8]) -> String {
    analyze("heap.nettrace", data, AnalysisOptions { walk: [None, Some(1)][data.len() % 2], ..everything() })
}
