//! Groups pairs by key: the engine's external grouping against an in-memory one.

use super::bench::{Bench, Options, Timed, clock};
use anyhow::Result;
use heaplake_generator::rng::mix;
use heaplake_kit::Context;
use heaplake_kit::spill::PairSpill;
use heaplake_schemas::scratch::Column;
use std::hint::black_box;

const PAIRS: usize = 50_000_000;
/// Average pairs per key, like essential edges per node.
const PAIRS_PER_KEY: usize = 3;
/// Much less than the pairs occupy.
const MEMORY: u64 = 64 << 20;

const SIZES: Column<u32> = Column::new("bench.sizes");
const VALUES: Column<u32> = Column::new("bench.values");

pub(super) fn run(options: &Options) -> Result<Vec<Timed>> {
    let count = options.amount(PAIRS);
    let keys = (count / PAIRS_PER_KEY).max(1);
    // Randomly ordered keys are the worst case for both.
    let pairs: Vec<(u32, u32)> = (0..count as u64).map(|i| ((mix(1, i) % keys as u64) as u32, i as u32)).collect();
    let bench = Bench::new(MEMORY)?;
    let on_disk = options.seconds(|| {
        let (seconds, done) = clock(|| group(&bench, &bench.context(), &pairs, keys));
        done?;
        Ok(seconds)
    })?;
    let in_memory = options.seconds(|| {
        let mut copy = pairs.clone();
        let (seconds, ()) = clock(|| radsort::sort_by_key(&mut copy, |pair| pair.0));
        black_box(&copy);
        Ok(seconds)
    })?;
    let amount = count as f64;
    Ok(vec![
        Timed { name: "heaplake's spill: in 64 MiB, through files", amount, seconds: on_disk, own: None },
        Timed { name: "radsort, all in memory", amount, seconds: in_memory, own: Some(on_disk) },
    ])
}

fn group(bench: &Bench, context: &Context<'_>, pairs: &[(u32, u32)], keys: usize) -> Result<()> {
    let mut spill = PairSpill::create(&bench.budget, &bench.scratch, "bench.pairs", keys, pairs.len() as u64)?;
    for &(key, value) in pairs {
        spill.push(key, value)?;
    }
    spill.write_groups(&bench.scratch, context, 0, SIZES, VALUES)?;
    Ok(())
}
