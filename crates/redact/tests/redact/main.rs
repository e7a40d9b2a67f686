//! Redaction of whole files: real ones, small ones made here, and damaged ones.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod dump;
mod hostile;
mod java;
mod planted;
mod snapshot;
mod v8;

use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, StageError};
use heaplake_redact::secrets::{self, Secrets};
use heaplake_redact::{Choice, Content, Key, Options, Sink, Summary, Texts};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Bytes of a block of an ordinary input.
const BLOCK: usize = 256 << 10;

/// Budget of all tests: memory does not grow with inputs.
const MEMORY: u64 = 32 << 20;

fn options(texts: Texts) -> Options {
    Options { texts, numbers: Choice::Mask, thread_names: Choice::Mask, key: Key::random() }
}

fn in_context<T>(run: impl FnOnce(&Context<'_>) -> T) -> T {
    let cancel = AtomicBool::new(false);
    run(&Context { budget: Budget::new(MEMORY), threads: 1, progress: &Silent, cancel: &cancel })
}

/// Redacts bytes, read in blocks of `block`.
fn try_redact(bytes: &[u8], block: usize, options: &Options) -> Result<(Vec<u8>, Summary), StageError> {
    in_context(|context| {
        let mut out = Vec::new();
        let mut sink = Sink::new(&mut out, Path::new("output"));
        let mut content = Content::of_bytes(bytes.to_vec(), block);
        let summary = heaplake_redact::redact(&mut content, options, &mut sink, context)?;
        drop(sink);
        Ok((out, summary))
    })
}

#[track_caller]
fn redact(bytes: &[u8], options: &Options) -> (Vec<u8>, Summary) {
    try_redact(bytes, BLOCK, options).unwrap()
}

fn check(bytes: &[u8]) -> Secrets {
    in_context(|context| {
        let mut content = Content::of_bytes(bytes.to_vec(), BLOCK);
        content.bytes(context).unwrap();
        secrets::check(content.source(context).unwrap(), context).unwrap()
    })
}

/// Content of a fixture, decompressed.
fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
    let bytes = std::fs::read(&path).unwrap();
    if name.ends_with(".zst") { zstd::decode_all(bytes.as_slice()).unwrap() } else { bytes }
}
