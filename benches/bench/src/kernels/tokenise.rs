//! Parses numbers: the engine's tokeniser against a JSON parser, copying, and counting lines.

use super::bench::{Options, Timed, clock};
use anyhow::{Context, Result, anyhow, ensure};
use heaplake_generator::file;
use heaplake_generator::plan::{Shape, Target};
use heaplake_input::numbers;
use std::hint::black_box;

/// Bytes of text.
const TEXT: usize = 64_000_000;
/// Block size of the engine's reader.
const BLOCK: usize = 256 << 10;

pub(super) fn run(options: &Options) -> Result<Vec<Timed>> {
    let text = text(options.amount(TEXT))?;
    let amount = text.len() as f64;
    let blocks = blocks(&text);
    let own = tokeniser(options, &blocks)?;
    let parser = parser(options, &blocks)?;
    let mut copy = vec![0; text.len()];
    let copying = options.seconds(|| {
        let (seconds, ()) = clock(|| copy.copy_from_slice(&text));
        black_box(&copy);
        Ok(seconds)
    })?;
    let lines = options.seconds(|| Ok(clock(|| black_box(memchr::memchr_iter(b'\n', &text).count())).0))?;
    Ok(vec![
        Timed { name: "heaplake's tokeniser", amount, seconds: own, own: None },
        Timed { name: "serde_json, `Vec<u64>`", amount, seconds: parser, own: Some(own) },
        Timed { name: "floor: copying", amount, seconds: copying, own: Some(own) },
        Timed { name: "floor: counting lines", amount, seconds: lines, own: Some(own) },
    ])
}

fn tokeniser(options: &Options, blocks: &[&[u8]]) -> Result<f64> {
    let mut numbers = Vec::new();
    options.seconds(|| {
        let (seconds, done) = clock(|| {
            blocks.iter().try_for_each(|block| {
                numbers.clear();
                let done = numbers::tokenize(block, numbers::Sign::Unsigned, &mut numbers);
                black_box(&numbers);
                done
            })
        });
        done.map_err(|bad| anyhow!("byte {}: expected {}", bad.at, bad.expected))?;
        Ok(seconds)
    })
}

/// A document parser takes blocks too, but each must be an array.
fn parser(options: &Options, blocks: &[&[u8]]) -> Result<f64> {
    let arrays: Vec<Vec<u8>> = blocks.iter().map(|block| [b"[", *block, b"]"].concat()).collect();
    options.seconds(|| {
        let (seconds, done) = clock(|| {
            arrays
                .iter()
                .try_for_each(|array| serde_json::from_slice::<Vec<u64>>(array).map(|all| drop(black_box(all))))
        });
        done?;
        Ok(seconds)
    })
}

/// Node and edge rows of a generated snapshot, half of each, as written in the file.
fn text(bytes: usize) -> Result<Vec<u8>> {
    // Both arrays together make up most of a file.
    let plan = file::plan(1, Shape::Realistic, Target::Bytes(bytes as u64 * 2));
    let mut snapshot = Vec::new();
    file::write(&plan, &mut snapshot)?;
    let mut text = array(&snapshot, b"\"nodes\":[", bytes / 2)?.to_vec();
    text.push(b',');
    text.extend(array(&snapshot, b"\"edges\":[", bytes / 2)?);
    Ok(text)
}

/// At most `most` bytes of an array, whole numbers only.
fn array<'a>(document: &'a [u8], name: &[u8], most: usize) -> Result<&'a [u8]> {
    let start = memchr::memmem::find(document, name).context("the snapshot lacks an array")? + name.len();
    let end = start + memchr::memchr(b']', &document[start..]).context("the array has no end")?;
    let array = &document[start..end.min(start + most)];
    let comma = memchr::memrchr(b',', array).context("the array is empty")?;
    ensure!(comma > most / 4, "the snapshot is too small for {most} bytes of numbers");
    Ok(&array[..comma])
}

/// Splits the text at commas into blocks of the reader's size.
fn blocks(mut text: &[u8]) -> Vec<&[u8]> {
    let mut blocks = Vec::new();
    while let Some(comma) = text.get(..BLOCK).and_then(|block| memchr::memrchr(b',', block)) {
        blocks.push(&text[..comma]);
        text = &text[comma + 1..];
    }
    blocks.push(text);
    blocks
}
