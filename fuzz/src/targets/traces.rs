//! Readers of traces, through whole replays.

use super::snapshots::BLOCKS;
use crate::analysis::replay;
use crate::seeds;
use crate::subject::Target;

/// Profiler logs.
pub(super) const LOG: Target = Target { name: "log", run: log, seeds: seeds::logs, words: LINES };

/// Traces of .NET.
pub(super) const NETTRACE: Target = Target { name: "nettrace", run: nettrace, seeds: seeds::walks, words: BLOCKS };

/// Recordings of Java Flight Recorder.
pub(super) const JFR: Target = Target { name: "jfr", run: jfr, seeds: seeds::recordings, words: CHUNKS };

/// Profiles of V8's sampling profiler.
pub(super) const HEAPPROFILE: Target =
    Target { name: "heapprofile", run: heapprofile, seeds: seeds::profiles, words: seeds::JSON };

/// Trees of allocations in V8 snapshots.
pub(super) const TRACE_TREE: Target =
    Target { name: "trace_tree", run: trace_tree, seeds: seeds::heapsnapshot, words: seeds::JSON };

const LINES: &[&[u8]] = &[
    b"\nA 1 108 1 18 1\n",
    b"\nG 1 11111 1\n",
    b"\nG 2 1 0 1\n",
    b"\nB 0 100 100 100\n",
    b"\nM 108 500 40\n",
    b"\nV 508 28\n",
    b"\nO 600 1 508\n",
    b"\nR 600 1 0 0\n",
    b"\nE 1\n",
    b"\nS 3 1 2 1\n",
    b"\nQ 1\n",
    b"ffffffffffffffff",
    b"18446744073709551615",
    b"4294967295",
    b" 0 ",
];

fn log(data: &[u8]) -> String {
    replay("trace.log", data)
}

fn nettrace(data: &[u8]) -> String {
    replay("trace.nettrace", data)
}

/// A magic number, extreme numbers, text encodings.
const CHUNKS: &[&[u8]] = &[
    b"FLR\0\0\x02\0\x01",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x80\x80\x80\x00",
    b"\0",
    b"\x01",
    b"\x02\x01",
    b"\x03\x01x",
    b"\x04\x01x",
    b"\x05\x01x",
];

fn jfr(data: &[u8]) -> String {
    replay("trace.jfr", data)
}

fn heapprofile(data: &[u8]) -> String {
    replay("trace.heapprofile", data)
}

fn trace_tree(data: &[u8]) -> String {
    replay("trace.heapsnapshot", data)
}
