//! The stage on random dominator trees, against a naive search.

use super::{COUNT, LEAST, STAGE};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, ColumnWriter, Context, Job, Scratch, StringWriter};
use heaplake_oracle::SplitMix64;
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::options::{AnalysisOptions, Options};
use heaplake_schemas::roles::{NamePatterns, Roles};
use heaplake_schemas::run::LargeObject;
use heaplake_schemas::scratch::{self as columns, Column, Metadata, STRINGS, documents};
use std::cmp::Reverse;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Classes; the last one is a part of its referrer.
const CLASSES: [&str; 4] = ["root", "Holder", "Element", "table"];

/// A dominator tree: dominator, class and size of each node; dominators come first.
struct Heap {
    dominator: Vec<usize>,
    class: Vec<usize>,
    retained: Vec<u64>,
}

impl Heap {
    fn random(seed: u64) -> Self {
        let rng = &mut SplitMix64::new(seed);
        let n = 2 + rng.below(60);
        let mut dominator = vec![0];
        let mut class = vec![0];
        let mut retained = vec![0];
        for node in 1..n {
            // Mostly chains, so that some nodes are skipped.
            dominator.push(if rng.one_in(3) { rng.below(node) } else { node - 1 });
            class.push(1 + rng.below(3));
            retained.push(if rng.one_in(4) { 4 * LEAST * rng.below(100) as u64 } else { rng.below(100) as u64 });
        }
        for node in (1..n).rev() {
            retained[dominator[node]] += retained[node];
        }
        Self { dominator, class, retained }
    }

    /// Whether a node is nearly all of its dominator, and if so, whether it says no more than the dominator.
    fn nearly_all(&self, node: usize) -> Option<bool> {
        let above = self.dominator[node];
        let is_nearly = node != 0
            && above != 0
            && self.retained[node] >= LEAST
            && self.retained[node] >= self.retained[above] / 10 * 9;
        is_nearly.then(|| self.class[node] == self.class[above] || self.class[node] == 3)
    }

    /// Whether a node is a part, and at least half of its whole.
    fn is_half(&self, node: usize) -> bool {
        let above = self.dominator[node];
        let is_part = self.class[node] == 3 && above != 0 && self.retained[node] >= LEAST;
        is_part && self.retained[node] >= self.retained[above] / 2
    }

    /// Whether a node, or one below that says no more, consists of a node that says more.
    fn is_passed_over(&self, node: usize) -> bool {
        (1..self.class.len()).filter(|&below| self.dominator[below] == node).any(|below| match self.nearly_all(below) {
            Some(true) => self.is_passed_over(below),
            Some(false) => true,
            None => false,
        })
    }

    fn winners(&self) -> Vec<u32> {
        let is_shown =
            |&node: &usize| !self.is_half(node) && self.nearly_all(node) != Some(true) && !self.is_passed_over(node);
        let mut shown: Vec<usize> = (1..self.class.len()).filter(is_shown).collect();
        shown.sort_by_key(|&node| (Reverse(self.retained[node]), node));
        shown.iter().take(COUNT).map(|&node| node as u32).collect()
    }

    fn lay_down(&self, scratch: &Scratch) {
        let n = self.class.len();
        let mut texts = StringWriter::create(scratch, STRINGS).unwrap();
        CLASSES.iter().for_each(|name| texts.push(name.as_bytes()).unwrap());
        texts.finish().unwrap();
        write(scratch, columns::CLASS_NAME, (0..4).map(StringId));
        write(scratch, columns::NODE_ID, 0..n as u64);
        write(scratch, columns::NODE_KIND, (0..n).map(|node| u8::from(node > 0)));
        write(scratch, columns::NODE_CLASS, self.class.iter().map(|&class| ClassId(class as u32)));
        write(scratch, columns::NODE_NAME, (0..n).map(|_| StringId::NONE));
        write(scratch, columns::NODE_SHALLOW, (0..n).map(|_| 0));
        write(scratch, columns::NODE_RETAINED, self.retained.iter().copied());
        write(scratch, columns::NODE_DOMINATOR, self.dominator.iter().map(|&above| NodeId(above as u32)));
        let roles = Roles { part_classes: NamePatterns::of(&["table"]), ..Roles::default() };
        let node_kinds = ["synthetic", "object"].map(str::to_owned).to_vec();
        let metadata =
            Metadata { node_count: n as u64, node_kinds, synthetic_kinds: vec![0], roles, ..Metadata::default() };
        scratch.write_document(documents::METADATA, &metadata).unwrap();
    }
}

fn write<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>, values: impl IntoIterator<Item = T>) {
    let mut writer = ColumnWriter::create(scratch, column).unwrap();
    values.into_iter().for_each(|value| writer.push(value).unwrap());
    writer.finish().unwrap();
}

fn found(heap: &Heap, folder: &Path) -> Vec<LargeObject> {
    found_within(STAGE.resident_bytes(heap.class.len() as u64, 0), heap, folder)
}

fn found_within(memory: u64, heap: &Heap, folder: &Path) -> Vec<LargeObject> {
    let scratch = Scratch::create(folder).unwrap();
    heap.lay_down(&scratch);
    let (cancel, options) = (AtomicBool::new(false), Options::Analysis(AnalysisOptions::default()));
    let context = Context { budget: Budget::new(memory), threads: 1, progress: &Silent, cancel: &cancel };
    (STAGE.run)(&Job::on(&scratch, &context, &options)).unwrap();
    scratch.read_document(documents::LARGEST).unwrap()
}

#[test]
fn objects_are_those_of_a_naive_search() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..400 {
        let heap = Heap::random(seed);
        let objects = found(&heap, &folder.path().join(seed.to_string()));
        let nodes: Vec<u32> = objects.iter().map(|found| found.object.node).collect();
        assert_eq!(nodes, heap.winners(), "seed {seed}");
    }
}

#[test]
fn what_the_stage_must_hold_is_all_that_it_needs() {
    // Enough nodes that their marks exceed the reserve of the array plan.
    const NODES: usize = 2_000_000;
    let heap = Heap {
        dominator: vec![0; NODES],
        class: (0..NODES).map(|node| 1 + node % 3).collect(),
        retained: (0..NODES as u64).map(|node| node * 7 % (1 << 20)).collect(),
    };
    let folder = tempfile::tempdir().unwrap();
    let (all, least) = (STAGE.resident_bytes(NODES as u64, 0), STAGE.least_bytes(NODES as u64, 0));
    let [expected, found] =
        [(all, "all"), (least, "least")].map(|(memory, name)| found_within(memory, &heap, &folder.path().join(name)));
    assert_eq!(found, expected);
}

#[test]
fn of_a_chain_the_lowest_is_shown_with_its_head() {
    // Holder, Holder's table, list of three, a sibling, and a small one beside the table.
    let heap = Heap {
        dominator: vec![0, 0, 1, 2, 3, 4, 0, 1],
        class: vec![0, 1, 3, 2, 2, 2, 1, 1],
        retained: vec![104 << 10, 101 << 10, 100 << 10, 99 << 10, 98 << 10, 97 << 10, 3 << 10, 1 << 10],
    };
    let folder = tempfile::tempdir().unwrap();
    let objects = found(&heap, &folder.path().join("scratch"));
    let shown: Vec<_> =
        objects.iter().map(|found| (found.object.node, found.head.as_ref().map(|head| head.node))).collect();
    assert_eq!(shown, [(3, Some(1)), (6, None), (7, None)]);
}
