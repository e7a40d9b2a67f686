//! Generated snapshots that resemble real ones, in memory.

use heaplake_generator::file;
use heaplake_generator::plan::{Shape, Target};

/// A generated snapshot of about `bytes` bytes.
pub fn generated(seed: u64, bytes: u64) -> Vec<u8> {
    let mut text = Vec::new();
    let plan = file::plan(seed, Shape::Realistic, Target::Bytes(bytes));
    file::write(&plan, &mut text).unwrap();
    text
}
