//! Writes random snapshots, for DevTools and then for `check_golden`.
//!
//! `cargo run --release --example write_random -- DIRECTORY FIRST_SEED COUNT [MAX_NODES]`

use std::path::Path;

use heaplake_oracle::{Layout, Shape, Snapshot};

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [directory, numbers @ ..] = &args[..] else { panic!("write where?") };
    let numbers: Vec<usize> = numbers.iter().map(|n| n.parse().expect("seeds and counts are numbers")).collect();
    let [first, count, ref rest @ ..] = numbers[..] else { panic!("which seeds, and how many?") };
    let max_nodes = rest.first().copied().unwrap_or(Shape::default().max_nodes);
    // DevTools' class rows are wrong where names collide.
    let shape = Shape { collisions: false, max_nodes, ..Shape::default() };
    for seed in first..first + count {
        let snapshot = Snapshot::random(seed as u64, &shape);
        let path = Path::new(directory).join(format!("{seed}.heapsnapshot"));
        std::fs::write(path, snapshot.to_json(&Layout::default()))?;
    }
    Ok(())
}
