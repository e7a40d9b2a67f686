//! Decompression of compressed inputs, without a reader.

use crate::subject::Target;
use heaplake_input::source::{Input, Source};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, StageError};
use std::fs;
use std::io::Write;
use std::sync::atomic::AtomicBool;

/// gzip and zstd.
pub(super) const COMPRESSED: Target =
    Target { name: "compressed", run, seeds, words: &[MAGIC_GZIP, MAGIC_ZSTD, b"BC\x02\0"] };

const MAGIC_GZIP: &[u8] = b"\x1f\x8b\x08";
const MAGIC_ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// Limit of decompressed bytes: a small input may expand to many.
const MOST: u64 = 256 << 20;

fn seeds() -> Vec<Vec<u8>> {
    let content: Vec<u8> = (0..3000u32).flat_map(|number| (number * number % 97).to_string().into_bytes()).collect();
    let gzip = |level| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
        encoder.write_all(&content).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = |level| zstd::encode_all(&content[..], level).unwrap();
    let twice = [gzip(6), gzip(1)].concat();
    let nested = zstd::encode_all(&gzip(6)[..], 3).unwrap();
    vec![gzip(0), gzip(9), zstd(1), zstd(19), twice, [zstd(1), zstd(3)].concat(), nested]
}

fn run(data: &[u8]) -> String {
    let folder = crate::analysis::folder();
    let path = folder.path().join("content.gz");
    fs::write(&path, data).unwrap();
    let cancel = AtomicBool::new(false);
    let context = Context { budget: Budget::new(64 << 20), threads: 2, progress: &Silent, cancel: &cancel };
    let mut source = Source::open_with(&Input::File(path), 1 + data.len() % 3, &context.budget).unwrap();
    let (mut block, mut bytes) = (Vec::new(), 0);
    loop {
        match source.next_block(&mut block, &context) {
            Ok(true) => bytes += block.len() as u64,
            Ok(false) => {
                assert_eq!(source.identity().map(|identity| identity.bytes), Some(data.len() as u64));
                return format!("{} bits of content", bytes.checked_ilog2().unwrap_or(0));
            }
            Err(StageError::Input(error)) => return error.found,
            Err(other) => panic!("{other}"),
        }
        if bytes > MOST {
            return "much content".to_owned();
        }
    }
}
