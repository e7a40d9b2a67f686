//! Property tests: the stage on thousands of random graphs, against a separate walk from each instance.

mod alone;

use super::heap::NESTED;
use super::{INSTANCES, STAGE, run_with};
use crate::fast_folder::fast_folder;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, ColumnMap, ColumnWriter, Context, Job, Scratch, StringWriter};
use heaplake_oracle::SplitMix64;
use heaplake_oracle::graph;
use heaplake_oracle::retainer_trees::{Bounds, Branch, Heap, Labelled, tree};
use heaplake_paths::retainer_tree::{Batch, Limits};
use heaplake_schemas::chains::label;
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::ids::{ClassId, NodeId, Preorder, StringId};
use heaplake_schemas::options::{AnalysisOptions, Options};
use heaplake_schemas::retainer_trees::{ROWS as RETAINER_TREES, TreeRow};
use heaplake_schemas::roles::{NamePatterns, Roles};
use heaplake_schemas::scratch::{
    self as columns, Column, EdgeKind, Metadata, NO_DISTANCE, STRINGS, documents, edge_flags, edge_label,
};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

fn write<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>, values: impl IntoIterator<Item = T>) {
    let mut writer = ColumnWriter::create(scratch, column).unwrap();
    values.into_iter().for_each(|value| writer.push(value).unwrap());
    writer.finish().unwrap();
}

/// Number of edge names, and of labels of a class; index of a numeric name.
const NAMES: u32 = 4;
const OF_A_CLASS: u32 = 2;
const NUMBER: u32 = 100;

/// Source of edge labels in the input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    All,
    Labels,
    Nothing,
}

struct Case {
    n: usize,
    /// The essential edges by source, without self edges; labels as the walk should see them.
    edges: Vec<Labelled>,
    orphans: Vec<u32>,
    classes: u32,
    class: Vec<u32>,
    distance: Vec<i32>,
    sizes: Vec<u64>,
    outermost: Vec<bool>,
    told: Told,
    reached: Vec<bool>,
    dominators: Vec<Option<u32>>,
    /// Whether nodes are of a kind of parts, and whether the input repeats their references at their owner.
    parts: Vec<bool>,
    restates: bool,
    limits: Limits,
}

impl Case {
    fn new(seed: u64) -> Self {
        let (n, mut arcs) = graph::random_graph(seed, 24);
        arcs.retain(|(from, to)| from != to);
        arcs.sort_by_key(|&(from, _)| from);
        let mut held = vec![false; n];
        arcs.iter().for_each(|&(_, to)| held[to as usize] = true);
        let rng = &mut SplitMix64::new(seed ^ 0x0bad_cafe);
        let orphans: Vec<u32> = (1..n as u32).filter(|&node| !held[node as usize]).collect();
        let classes = 1 + rng.below(5) as u32;
        let class: Vec<u32> = (0..n).map(|_| rng.below(classes as usize) as u32).collect();
        let told = [Told::All, Told::Labels, Told::Nothing][rng.below(3)];
        let mut of = |from: u32| match rng.below(5) {
            _ if told == Told::Nothing => label::NONE,
            0 => label::INDEX,
            1 if told == Told::All => label::ENTRY,
            1 | 2 => NAMES + class[from as usize] * OF_A_CLASS + rng.below(OF_A_CLASS as usize) as u32,
            _ => rng.below(NAMES as usize) as u32,
        };
        let edges = arcs.iter().map(|&(from, to)| (from, to, of(from))).collect();
        let all: Vec<_> = arcs.iter().copied().chain(orphans.iter().map(|&node| (0, node))).collect();
        let measured = graph::distances(n, &all, 0).into_iter().map(|far| far.map_or(i32::MAX, |far| far as i32));
        // Any numbers will do: the walk always ends.
        let distance = match rng.one_in(3) {
            true => (0..n).map(|_| if rng.one_in(9) { i32::MAX } else { rng.below(6) as i32 }).collect(),
            false => measured.collect(),
        };
        let limits = Limits {
            any_level: rng.below(4) as u32,
            depth: 1 + rng.below(6) as u32,
            kept: 1 + rng.below(4),
            names: rng.below(3),
            light: [1, 2, 3, 10, 100][rng.below(5)],
            may_return: rng.one_in(2),
            branches: usize::MAX,
            ..Limits::OF_A_CLASS
        };
        Self {
            n,
            edges,
            classes,
            distance,
            sizes: (0..n).map(|_| rng.below(5) as u64).collect(),
            outermost: (0..n).map(|_| rng.one_in(2)).collect(),
            told,
            reached: graph::reachable(n, &all, 0, None),
            dominators: graph::dominators_by_deletion(n, &all, 0),
            parts: (0..n).map(|_| rng.one_in(3)).collect(),
            restates: !rng.one_in(3),
            orphans,
            class,
            limits,
        }
    }

    /// The retaining edges: those of reached nodes, and those of the root to orphans and unreached nodes.
    fn holding(&self) -> Vec<Labelled> {
        let unreached = (0..self.n as u32).filter(|&node| !self.reached[node as usize]);
        let mut edges: Vec<Labelled> =
            self.edges.iter().copied().filter(|edge| self.reached[edge.0 as usize]).collect();
        edges.extend(self.orphans.iter().copied().chain(unreached).map(|node| (0, node, label::NO_PATH)));
        edges
    }

    /// The definition: the tree of each class.
    fn expected(&self) -> Vec<(u32, Vec<Branch>)> {
        let edges = self.holding();
        let Limits { any_level, depth, kept, names, light, may_return, .. } = self.limits;
        let bounds = Bounds { any_level, depth, kept, names, light, may_return, any: label::ANY, none: label::NONE };
        let owners: Vec<Option<u32>> = (0..self.n as u32).map(|node| self.owner(node)).collect();
        let of_class = |class: u32| {
            let nodes = (0..self.n).filter(move |&node| self.class[node] == class && self.sizes[node] > 0);
            let kept = |node: usize| if self.outermost[node] { retained(node) } else { 0 };
            let instances: Vec<_> = nodes.map(|node| (node as u32, self.sizes[node], kept(node))).collect();
            let heap = Heap {
                edges: &edges,
                root: 0,
                class: &self.class,
                distance: &self.distance,
                owner: &owners,
                instances: &instances,
            };
            (class, tree(&heap, &bounds))
        };
        (0..self.classes).map(of_class).collect()
    }

    fn dominator(&self, node: u32) -> u32 {
        self.dominators[node as usize].unwrap_or(0)
    }

    /// The nearest dominator that is no part, for parts with repeated references.
    fn owner(&self, node: u32) -> Option<u32> {
        if !self.restates {
            return None;
        }
        let mut up = std::iter::successors(Some(node), |&at| Some(self.dominator(at))).take(NESTED);
        up.find(|&at| at == 0 || !self.parts[at as usize]).filter(|&at| at != node)
    }

    fn lay_down(&self, scratch: &Scratch) {
        let mut strings = StringWriter::create(scratch, STRINGS).unwrap();
        (0..NUMBER).for_each(|at| strings.push(format!("s{at}").as_bytes()).unwrap());
        strings.push(b"17").unwrap();
        strings.finish().unwrap();
        let count = |class: u32| (0..self.n).filter(|&node| self.class[node] == class && self.sizes[node] > 0).count();
        let row = |class_id: u32| ClassRow { class_id, count: count(class_id) as u64, ..bytemuck::Zeroable::zeroed() };
        write(scratch, columns::CLASS_ROW, (0..self.classes).map(row));
        write(scratch, columns::CLASS_BIG, (0..self.classes).map(|_| 1));
        write(scratch, columns::NODE_CLASS, self.class.iter().copied().map(ClassId));
        write(scratch, columns::NODE_SHALLOW, self.sizes.iter().copied());
        write(scratch, columns::NODE_KIND, self.parts.iter().map(|&part| u8::from(part)));
        write(scratch, columns::NODE_DOMINATOR, (0..self.n as u32).map(|node| NodeId(self.dominator(node))));
        write(scratch, columns::NODE_RETAINED, (0..self.n).map(retained));
        write(scratch, columns::NODE_OUTERMOST, self.outermost.iter().map(|&one| u8::from(one)));
        let distances = self.distance.iter().map(|&far| if far == i32::MAX { NO_DISTANCE } else { far });
        write(scratch, columns::NODE_DISTANCE, distances);
        let (order, numbers) = self.preorder();
        write(scratch, columns::PREORDER_NODE, order.iter().copied().map(NodeId));
        write(scratch, columns::NODE_PREORDER, numbers.iter().copied().map(Preorder));
        let position = |node: &u32| Preorder(numbers[self.dominators[*node as usize].unwrap() as usize]);
        write(scratch, columns::PREORDER_DOMINATOR, order.iter().map(position));
        let retainers = |node: u32| {
            let edges = self.edges.iter().filter(move |edge| edge.1 == node && self.reached[edge.0 as usize]);
            let orphan = self.orphans.contains(&node).then_some(0);
            edges.map(|edge| edge.0).chain(orphan).map(|from| Preorder(numbers[from as usize])).collect::<Vec<_>>()
        };
        let groups: Vec<Vec<Preorder>> = order.iter().skip(1).rev().map(|&node| retainers(node)).collect();
        write(scratch, columns::RETAINERS_DEGREE, groups.iter().map(|group| group.len() as u32));
        write(scratch, columns::RETAINERS_FROM, groups.into_iter().flatten());
        self.lay_down_edges(scratch);
        let kind = |indexed| EdgeKind { name: String::new(), indexed };
        let metadata = Metadata {
            node_count: self.n as u64,
            node_kinds: vec!["object".into(), "part".into()],
            roles: Roles {
                part_kinds: NamePatterns::of(&["part"]),
                restated_kinds: NamePatterns::of(if self.restates { &["part"] } else { &[] }),
                ..Roles::default()
            },
            edge_kinds: vec![kind(false), kind(true)],
            follows_essential: self.told != Told::All,
            ..Metadata::default()
        };
        scratch.write_document(documents::METADATA, &metadata).unwrap();
    }

    /// The edges with their labels; among all edges some weak ones, and numeric names for indices.
    fn lay_down_edges(&self, scratch: &Scratch) {
        let of = |node: u32| self.edges.iter().filter(move |edge| edge.0 == node);
        let degree = |node: u32| of(node).count() as u32;
        let nodes = 0..self.n as u32;
        if self.told == Told::All {
            let weak = |node: u32| (0, node, 0, 0);
            let edge = |&(_, to, name): &Labelled| match name {
                label::INDEX if to.is_multiple_of(2) => (1, to, 9, edge_flags::ESSENTIAL),
                label::INDEX => (0, to, NUMBER, edge_flags::ESSENTIAL),
                label::ENTRY => (0, to, 3, edge_flags::ESSENTIAL | edge_flags::PAIRED),
                name => (0, to, name, edge_flags::ESSENTIAL),
            };
            let last = self.n as u32 - 1;
            let all: Vec<(u8, u32, u32, u8)> =
                nodes.clone().flat_map(|node| of(node).map(edge).chain([weak(last), weak(node)])).collect();
            write(scratch, columns::NODE_EDGE_COUNT, nodes.map(|node| degree(node) + 2));
            write(scratch, columns::EDGE_KIND, all.iter().map(|edge| edge.0));
            write(scratch, columns::EDGE_TO, all.iter().map(|edge| NodeId(edge.1)));
            write(scratch, columns::EDGE_NAME, all.iter().map(|edge| edge.2));
            write(scratch, columns::EDGE_FLAGS, all.iter().map(|edge| edge.3));
            return;
        }
        write(scratch, columns::ESSENTIAL_DEGREE, nodes.map(degree));
        write(scratch, columns::ESSENTIAL_TO, self.edges.iter().map(|edge| NodeId(edge.1)));
        if self.told == Told::Labels {
            let byte = |&(_, _, name): &Labelled| match name {
                label::INDEX => edge_label::INDEX,
                name if name < NAMES => edge_label::NAMED,
                name => ((name - NAMES) % OF_A_CLASS) as u8,
            };
            write(scratch, columns::ESSENTIAL_LABEL, self.edges.iter().map(byte));
            let named = self.edges.iter().map(|edge| edge.2).filter(|&name| name < NAMES);
            write(scratch, columns::ESSENTIAL_NAME, named);
            write(scratch, columns::CLASS_LABEL_START, (0..=self.classes).map(|class| u64::from(class * OF_A_CLASS)));
            write(scratch, columns::CLASS_LABEL, (0..self.classes * OF_A_CLASS).map(|at| StringId(NAMES + at)));
        }
    }

    /// Returns nodes in some depth-first preorder, and the position of each.
    fn preorder(&self) -> (Vec<u32>, Vec<u32>) {
        let (mut order, mut numbers) = (Vec::new(), vec![u32::MAX; self.n]);
        let mut open: Vec<u32> = self.orphans.iter().rev().copied().chain([0]).collect();
        while let Some(node) = open.pop() {
            if numbers[node as usize] == u32::MAX {
                numbers[node as usize] = order.len() as u32;
                order.push(node);
                open.extend(self.edges.iter().filter(|edge| edge.0 == node).map(|edge| edge.1).rev());
            }
        }
        (order, numbers)
    }
}

/// Budgets that hold all arrays, and that do not.
const ROOM: u64 = 96 << 20;
const TIGHT: u64 = STAGE.fixed - (1 << 20);

/// Sizes such that a sum shows its nodes.
fn retained(node: usize) -> u64 {
    1 << node
}

fn found(case: &Case, allowed: u64, memory: u64) -> Vec<TreeRow> {
    found_with(case, allowed, (memory, 1), |tight| tight)
}

/// The rows of the stage with this memory and number of threads; `tight` as in [`run_with`].
fn found_with(
    case: &Case,
    allowed: u64,
    (memory, threads): (u64, usize),
    tight: impl Fn((bool, Batch)) -> (bool, Batch),
) -> Vec<TreeRow> {
    let folder = fast_folder();
    let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
    case.lay_down(&scratch);
    let (budget, cancel) = (Budget::new(memory), AtomicBool::new(false));
    let context = Context { budget: budget.clone(), threads, progress: &Silent, cancel: &cancel };
    let options = Options::Analysis(AnalysisOptions::default());
    run_with(|_| (allowed, case.limits), tight, &Job::on(&scratch, &context, &options)).unwrap();
    drop(context);
    assert_eq!(budget.used(), 0, "all memory is given back");
    ColumnMap::uncounted(&scratch, RETAINER_TREES).unwrap().to_vec()
}

#[test]
fn trees_equal_a_walk_from_each_instance() {
    let (mut deepest, mut rests, mut shared) = (0, 0, 0);
    for seed in 0..5000 {
        let case = Case::new(seed);
        let rows = found(&case, INSTANCES, ROOM);
        // Trees side by side, few retainers at a time, and all in their order on disk.
        let batch = Batch { trees: 1 + seed as usize % 4, retainers: 1 + seed as usize % 9 };
        assert_eq!(found_with(&case, INSTANCES, (ROOM, 1), |_| (true, batch)), rows, "seed {seed}");
        if seed.is_multiple_of(5) {
            let threads = 2 + seed as usize % 3;
            assert_eq!(found_with(&case, INSTANCES, (ROOM, threads), |tight| tight), rows, "seed {seed}");
        }
        if seed.is_multiple_of(9) {
            assert_eq!(found(&case, INSTANCES, TIGHT), rows, "seed {seed}");
        }
        let mut at = 0;
        for (class, branches) in case.expected() {
            let first = at;
            for branch in &branches {
                let row = &rows[at];
                let held = (row.count, row.shallow_bytes, row.retained_bytes);
                let exclusive = (row.exclusive_count, row.exclusive_shallow_bytes, row.exclusive_retained_bytes);
                let theirs = Branch {
                    parent: (row.parent != u32::MAX).then(|| row.parent as usize - first),
                    level: row.level,
                    kind: row.kind,
                    key: (row.holder_class, row.label),
                    merged: row.merged,
                    holders: branch.holders.clone(),
                    nearest: (row.distance, row.example_node),
                    held,
                    exclusive,
                };
                assert_eq!((row.class_id, &theirs), (class, branch), "seed {seed}, row {at}");
                assert_eq!(row.holders, branch.holders.len() as u64, "seed {seed}, row {at}");
                let goes_on = branch.kind == 0 && branch.level == case.limits.depth;
                assert_eq!(row.is_cut != 0, goes_on, "seed {seed}, row {at}");
                deepest = deepest.max(row.level);
                rests += u32::from(row.kind == 2);
                shared += u32::from(row.exclusive_count < row.count);
                at += 1;
            }
        }
        assert_eq!(at, rows.len(), "seed {seed}");
    }
    assert!(deepest > 4 && rests > 500 && shared > 500, "{deepest} {rests} {shared}");
}

#[test]
fn limits_are_marked_and_bind() {
    for seed in 0..300 {
        let mut case = Case::new(seed);
        let all = found(&case, INSTANCES, ROOM);
        // Of many instances some are taken; all rows are marked.
        let some = found(&case, 2, ROOM);
        let looked_at =
            |rows: &[TreeRow]| rows.iter().map(|row| (row.class_id, row.looked_at)).collect::<BTreeSet<_>>();
        for &(class, count) in &looked_at(&all) {
            // Nothing retains the root, so there is no row if only the root was taken.
            let part = looked_at(&some).into_iter().find(|&(other, _)| other == class).map_or(0, |(_, part)| part);
            assert!(part == 0 || part == count.div_ceil(count.div_ceil(2)), "seed {seed}");
            let is_cut = some.iter().filter(|row| row.class_id == class).all(|row| row.is_cut != 0);
            assert!(is_cut || part == count, "seed {seed}");
        }
        case.limits.work = 1;
        let one_level = found(&case, INSTANCES, ROOM);
        assert!(one_level.iter().all(|row| row.level == 1 && (row.kind != 0 || row.is_cut != 0)), "seed {seed}");
    }
}
