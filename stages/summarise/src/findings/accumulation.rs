//! Rule `accumulation`: an object common to the shortest paths to a large part of the heap, if no single object
//! dominates that part because it is shared.
//!
//! The heap is sampled systematically: in the order of the nodes, one object is taken every `heap / 4096` bytes. The
//! shortest paths to the samples form a tree; the samples below an object estimate the bytes reached through it. If the
//! samples were independent, a share of 10 % would have a standard deviation of 0.5 %. The rule reports objects with
//! many branches and no large one. It skips objects that only virtual threads retain.

use super::class_roles::role;
use super::heap::{Found, Heap};
use super::rule::{Detector, Rule, Tells, list_bytes, map_bytes, severity};
use heaplake_kit::text::size;
use heaplake_kit::{ColumnReader, StageError};
use heaplake_schemas::findings::Finding;
use heaplake_schemas::scratch as columns;
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    names: &[NAME],
    working: map_bytes::<u32, (u32, u64)>(VISITED) + list_bytes::<(u32, u64)>(SAMPLES),
    tells: Tells::Estimate,
    open: |_, _| Ok(Box::new(Accumulation)),
    ..Rule::NEW
};

const NAME: &str = "accumulation";
/// Minimum percent of the heap of a high (never), medium, low finding.
const PERCENT: [u64; 3] = [101, 30, 10];
/// Maximum number of samples, of distinct objects on their paths, and of steps of one path.
const SAMPLES: usize = 1 << 12;
const VISITED: usize = 1 << 17;
const STEPS: usize = 1 << 11;
/// Maximum percent of the samples below an object in its largest branch; with a larger branch the object is not a
/// container of like elements.
const LARGEST: u64 = 25;
/// Number of dominators searched for a virtual thread, the object itself included.
const NEAR: usize = 4;
/// Minimum number of branches with samples.
const BRANCHES: usize = 10;

struct Accumulation;

/// The paths of the samples: for each object its parent, and the number of samples below.
type Paths = BTreeMap<u32, (u32, u64)>;

impl Detector for Accumulation {
    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let Some(tree) = &heap.tree else { return Ok(Vec::new()) };
        let mut paths = Paths::new();
        for (sample, weight) in samples(heap)?.into_iter().filter(|&(sample, _)| !is_of_thread(sample, heap)) {
            let mut at = sample;
            for _ in 0..STEPS {
                let above = tree.parent(at);
                if above.is_none() || (paths.len() == VISITED && !paths.contains_key(&at)) {
                    break;
                }
                let samples = &mut paths.entry(at).or_insert((above.0, 0)).1;
                *samples = samples.saturating_add(weight);
                at = above.0;
            }
        }
        heap.job.context.check()?;
        let mut branches: BTreeMap<u32, (usize, u64)> = BTreeMap::new();
        for &(above, samples) in paths.values() {
            let (branches, most) = branches.entry(above).or_insert((0, 0));
            *branches += 1;
            *most = samples.max(*most);
        }
        let step = step(heap);
        let found = paths.iter().filter_map(|(&node, &(_, samples))| {
            let &(branches, most) = branches.get(&node)?;
            let branching = branches >= BRANCHES && most <= samples / 100 * LARGEST + samples % 100 * LARGEST / 100;
            branching.then(|| finding(node, samples.saturating_mul(step), heap)).flatten()
        });
        Ok(found.collect())
    }
}

/// Bytes per sample.
fn step(heap: &Heap) -> u64 {
    heap.bytes.div_ceil(SAMPLES as u64).max(1)
}

/// Returns the objects at every step of bytes, and the number of steps in each.
fn samples(heap: &Heap) -> Result<Vec<(u32, u64)>, StageError> {
    let (step, mut passed) = (step(heap), 0);
    let mut shallow = ColumnReader::open(heap.job.scratch, columns::NODE_SHALLOW)?;
    let mut preorder = ColumnReader::open(heap.job.scratch, columns::NODE_PREORDER)?;
    let mut samples = Vec::with_capacity(SAMPLES);
    for node in 0..heap.metadata.node_count as u32 {
        let (bytes, reached) = (shallow.next()?, !preorder.next()?.is_none());
        if !reached {
            continue;
        }
        passed = bytes.saturating_add(passed);
        // Sizes of a damaged heap may sum to more than its root retains.
        if passed >= step && samples.len() < SAMPLES {
            samples.push((node, passed / step));
            passed %= step;
        }
        heap.job.context.check_every(1 << 12, node)?;
    }
    Ok(samples)
}

/// Whether a virtual thread is among the nearest dominators of an object: the waiting thread explains such objects
/// better than the owner of all threads.
fn is_of_thread(node: u32, heap: &Heap) -> bool {
    let threads = &heap.metadata.roles.virtual_threads;
    let above = |&at: &u32| Some(heap.nodes.dominator.at(at as usize).0);
    let is_thread = |at: u32| threads.fit(&heap.class_name(heap.nodes.class.at(at as usize).0));
    !threads.is_empty() && std::iter::successors(Some(node), above).take(NEAR).skip(1).any(is_thread)
}

fn finding(node: u32, bytes: u64, heap: &Heap) -> Option<Finding> {
    let severity = severity(bytes, heap.bytes, PERCENT)?;
    let whole = heap.whole(node);
    let class = heap.nodes.class.at(whole as usize).0;
    let is_container = heap.classes.has(class, role::CONTAINER) || whole != node;
    if !is_container
        || heap.is_top(whole)
        || heap.is_register(whole)
        || heap.is_code(whole)
        || heap.functions.has(heap.nodes.kind.at(whole as usize))
        || heap.is_of_platform(whole)
    {
        return None;
    }
    let mut finding = Found { rule: NAME, severity, count: 1, bytes }.about_node(whole, heap);
    let alone = heap.nodes.retained.at(whole as usize);
    finding.subject = heap.subject(whole);
    finding.message = format!(
        "The shortest paths to about {} go through {}, which alone retains {}: {}",
        heap.share(bytes),
        heap.described(whole),
        size(alone),
        heap.chain(whole),
    );
    finding.next_step =
        format!("What it holds is held by others as well. If {} only ever grows, bound it.", finding.subject);
    Some(finding)
}
