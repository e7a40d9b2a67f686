//! The stages from essential edges to dominators, on a random graph with worse locality than a heap.

use super::bench::{Bench, Options, Timed, clock};
use crate::contest::median;
use anyhow::Result;
use heaplake_generator::rng::mix;
use heaplake_graph::{dominators, preorder, retainers};
use heaplake_kit::{ColumnWriter, Job};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::options::{AnalysisOptions, Options as AnyOptions};
use heaplake_schemas::scratch::{self as columns, Metadata, documents};

const NODES: usize = 5_000_000;
/// Everything fits in memory; paging is not measured here.
const MEMORY: u64 = 1 << 30;

pub(super) fn run(options: &Options) -> Result<Vec<Timed>> {
    let nodes = options.amount(NODES) as u32;
    let bench = Bench::new(MEMORY)?;
    write(&bench, nodes)?;
    bench.scratch.write_document(documents::METADATA, &Metadata { root: NodeId(0), ..Metadata::default() })?;
    let names = ["all three", "stage preorder", "stage retainers", "stage dominators"];
    let mut times: [Vec<f64>; 4] = Default::default();
    let analysis = AnyOptions::Analysis(AnalysisOptions::default());
    options.seconds(|| {
        let context = bench.context();
        let job = Job::on(&bench.scratch, &context, &analysis);
        let mut seconds = [0.0; 4];
        for (stage, seconds) in [preorder::STAGE, retainers::STAGE, dominators::STAGE].iter().zip(&mut seconds[1..]) {
            let (taken, done) = clock(|| (stage.run)(&job));
            done?;
            *seconds = taken;
        }
        seconds[0] = seconds[1..].iter().sum();
        times.iter_mut().zip(seconds).for_each(|(times, seconds)| times.push(seconds));
        Ok(seconds[0])
    })?;
    let line = |(name, times): (_, Vec<f64>)| {
        // The first run warms up.
        Timed { name, amount: f64::from(nodes), seconds: median(times[1..].to_vec()), own: None }
    };
    Ok(names.into_iter().zip(times).map(line).collect())
}

/// Writes the essential edges: a binary tree, which makes every node reachable, and on average two more edges per node:
/// mostly to neighbours, one in eight to anywhere.
fn write(bench: &Bench, nodes: u32) -> Result<()> {
    let mut degrees = ColumnWriter::create(&bench.scratch, columns::ESSENTIAL_DEGREE)?;
    let mut targets = ColumnWriter::create(&bench.scratch, columns::ESSENTIAL_TO)?;
    ColumnWriter::create(&bench.scratch, columns::ESSENTIAL_ORPHAN)?.finish()?;
    for node in 0..nodes {
        let draw = |what: u64| mix(what, node.into());
        let children = (1..=2).map(|i| u64::from(node) * 2 + i);
        let others = (0..draw(0) % 5).map(|i| {
            let to = draw(i + 1);
            if to.is_multiple_of(8) { to >> 32 } else { u64::from(node) + (to >> 32) % 64 }
        });
        let mut degree = 0;
        let wrapped = others.map(|to| to % u64::from(nodes)).filter(|&to| to != u64::from(node));
        for to in children.filter(|&to| to < u64::from(nodes)).chain(wrapped) {
            targets.push(NodeId(to as u32))?;
            degree += 1;
        }
        degrees.push(degree)?;
    }
    degrees.finish()?;
    targets.finish()?;
    Ok(())
}
