//! Property tests: compares the stages with the definition of duplicates on thousands of random graphs.

use crate::fast_folder::fast_folder;
use crate::{additional, candidates, certificates, components, holders, resolve, set_graph, sets, trivial};
use heaplake_graph::{dominators, preorder, retainers};
use heaplake_kit::access::Access;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, ColumnMap, ColumnWriter, Context, Job, Scratch, Stage, StringWriter};
use heaplake_oracle::duplicates::{EqualityGraph, Node, Set, Slot, random};
use heaplake_schemas::duplicate_additional::{AdditionalRow, SET_ADDITIONAL};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::ids::{ClassId, NodeId, SetId, StringId};
use heaplake_schemas::options::{AnalysisOptions, Duplicates, Options};
use heaplake_schemas::scratch::{self as columns, Column, Metadata, STRINGS, documents, limits};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

/// A scratch folder, in memory if the system supports it, with the columns that the stages read.
pub(crate) struct Bench {
    _folder: tempfile::TempDir,
    scratch: Scratch,
    cancel: AtomicBool,
    budget: Budget,
}

fn write<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>, values: impl IntoIterator<Item = T>) {
    let mut writer = ColumnWriter::create(scratch, column).unwrap();
    values.into_iter().for_each(|value| writer.push(value).unwrap());
    writer.finish().unwrap();
}

fn read<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>) -> Vec<T> {
    ColumnMap::uncounted(scratch, column).unwrap().to_vec()
}

/// Retained size of each node in bytes, by removal of the node, and whether the node is outermost: no other node of its
/// class retains it. In graphs too large for the definition every node retains all, which bounds nothing.
fn retained(graph: &EqualityGraph) -> Vec<(u64, bool)> {
    if graph.nodes.len() > 200 {
        return vec![(graph.nodes.iter().map(|node| node.bytes).sum(), true); graph.nodes.len()];
    }
    let all = graph.reached_without(&[]);
    let kept: Vec<BTreeSet<usize>> = (0..graph.nodes.len())
        .map(|node| match all.contains(&node) {
            true => &all - &graph.reached_without(&[node]),
            false => BTreeSet::from([node]),
        })
        .collect();
    let bytes = |node: &usize| graph.nodes[*node].bytes;
    let class = |node: usize| graph.nodes[node].value;
    (0..graph.nodes.len())
        .map(|node| {
            let retains = |other| other != node && class(other) == class(node) && kept[other].contains(&node);
            (kept[node].iter().map(bytes).sum(), !(0..graph.nodes.len()).any(retains))
        })
        .collect()
}

/// A set with its values from the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadSet {
    pub set: Set,
    pub reasons: u16,
    pub additional_exact: bool,
    /// Least and most additional bytes.
    pub bounds: (u64, u64),
    /// Additional nodes, each with its replacement.
    pub replaced: BTreeMap<usize, usize>,
}

impl Bench {
    pub(crate) fn new(graph: &EqualityGraph, memory: u64) -> Self {
        let folder = fast_folder();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        // The root of the graph of essential edges comes last.
        let mut retained = retained(graph);
        retained.push((graph.nodes.iter().map(|node| node.bytes).sum(), true));
        let mut graph = graph.clone();
        // Roots that no other node refers to are orphans: the root reaches them without edges.
        let references = |i: usize| graph.nodes[i].slots.iter().map(move |slot| (i, slot.to));
        let references = (0..graph.nodes.len()).flat_map(references);
        let entered: BTreeSet<usize> = references.filter(|&(from, to)| from != to).map(|(_, to)| to).collect();
        let (held, orphans): (BTreeSet<usize>, BTreeSet<usize>) =
            graph.roots.iter().partition(|root| entered.contains(root));
        let hold = |(label, to): (usize, usize)| Slot { label: label as u32, to, identity: true };
        let slots = held.into_iter().enumerate().map(hold).collect();
        graph.nodes.push(Node { value: 4, bytes: 0, slots });
        let nodes = &graph.nodes;
        let holds = |i: usize| nodes[i].slots.iter().filter(move |slot| slot.to != i);
        write(&scratch, columns::ESSENTIAL_DEGREE, (0..nodes.len()).map(|i| holds(i).count() as u32));
        write(&scratch, columns::ESSENTIAL_TO, (0..nodes.len()).flat_map(holds).map(|slot| NodeId(slot.to as u32)));
        write(&scratch, columns::ESSENTIAL_ORPHAN, orphans.into_iter().map(|node| NodeId(node as u32)));
        let mut values = BTreeMap::new();
        let shape = |slot: &Slot| (slot.label, slot.identity.then_some(slot.to));
        let value = |(i, node): (usize, &Node)| {
            let key = (node.value, node.bytes, node.slots.iter().map(shape).collect::<Vec<_>>());
            NodeId(*values.entry(key).or_insert(i as u32))
        };
        write(&scratch, columns::EQUAL_VALUE, nodes.iter().enumerate().map(value));
        let followed = |i: usize| nodes[i].slots.iter().filter(|slot| !slot.identity);
        write(&scratch, columns::EQUAL_DEGREE, (0..nodes.len()).map(|i| followed(i).count() as u32));
        write(&scratch, columns::EQUAL_TO, (0..nodes.len()).flat_map(followed).map(|slot| NodeId(slot.to as u32)));
        write(&scratch, columns::NODE_SELF, nodes.iter().map(|node| node.bytes));
        write(&scratch, columns::NODE_SHALLOW, nodes.iter().map(|node| node.bytes));
        write(&scratch, columns::NODE_RETAINED, retained.iter().map(|node| node.0));
        write(&scratch, columns::NODE_OUTERMOST, retained.iter().map(|node| node.1.into()));
        write(&scratch, columns::NODE_CLASS, nodes.iter().map(|node| ClassId(node.value)));
        let metadata = Metadata { root: NodeId(nodes.len() as u32 - 1), ..Metadata::default() };
        scratch.write_document(documents::METADATA, &metadata).unwrap();
        let mut names = StringWriter::create(&scratch, STRINGS).unwrap();
        (0..5).for_each(|class| names.push(format!("class {class}").as_bytes()).unwrap());
        names.finish().unwrap();
        write(&scratch, columns::CLASS_NAME, (0..5).map(StringId));
        Self { _folder: folder, scratch, cancel: AtomicBool::new(false), budget: Budget::new(memory) }
    }

    pub(crate) fn peak(&self) -> u64 {
        self.budget.peak()
    }

    fn context(&self) -> Context<'_> {
        Context { budget: self.budget.clone(), threads: 1, progress: &Silent, cancel: &self.cancel }
    }

    pub(crate) fn run(&self, options: &AnalysisOptions) -> Vec<ReadSet> {
        let options = Options::Analysis(options.clone());
        let (scratch, context) = (&self.scratch, &self.context());
        let job = Job::on(scratch, context, &options);
        STAGES.iter().filter(|stage| (stage.when)(&job.setting)).for_each(|stage| run_declared(stage, &job));
        assert_eq!(self.budget.used(), 0, "all memory is given back");
        let rows: Vec<SetRow> = read(scratch, columns::SET_ROW);
        let members: Vec<NodeId> = read(scratch, columns::SET_MEMBER);
        let set_of: Vec<SetId> = read(scratch, columns::EQUAL_SET);
        let mut start = 0;
        let mut found = Vec::new();
        let mut replaced: BTreeMap<usize, BTreeMap<usize, usize>> = BTreeMap::new();
        if job.setting.looks_into_references() {
            let additional: Vec<AdditionalRow> = read(scratch, SET_ADDITIONAL);
            assert!(additional.is_sorted_by_key(|row| (row.set, row.node)));
            for row in additional {
                let before = replaced.entry(row.set.index()).or_default().insert(row.node.index(), row.by.index());
                assert_eq!(before, None, "each node once in a set");
            }
        }
        for (id, row) in rows.iter().enumerate() {
            let list = &members[start..start + row.members as usize];
            start += list.len();
            let members: Vec<usize> = list.iter().map(|node| node.index()).collect();
            assert!(members.is_sorted() && members[0] == row.example.index() && members.len() > 1);
            assert!(members.iter().all(|&node| set_of[node].index() == id));
            let held_by = row.held_by.get().map(|set| rows[set as usize].example.index());
            found.push(ReadSet {
                set: Set { members, trivial: row.trivial == 1, additional: row.additional_bytes, held_by },
                reasons: row.reasons,
                additional_exact: row.exact == 1,
                bounds: (row.least_bytes, row.most_bytes),
                replaced: replaced.remove(&id).unwrap_or_default(),
            });
        }
        assert_eq!(start, members.len());
        assert_eq!(set_of.iter().filter(|set| !set.is_none()).count(), start);
        assert!(rows.is_sorted_by_key(|row| (u64::MAX - row.additional_bytes, row.example)));
        found
    }
}

const STAGES: [&Stage; 9] = [
    &trivial::STAGE,
    &components::STAGE,
    &candidates::STAGE,
    &certificates::STAGE,
    &resolve::STAGE,
    &sets::STAGE,
    &set_graph::STAGE,
    &holders::STAGE,
    &additional::STAGE,
];

/// Runs a stage on a scratch view without undeclared files, and checks that it writes all declared files. Before the
/// stage `holders`, runs the stages of the graph of essential edges on the set graph.
fn run_declared(stage: &Stage, job: &Job<'_>) {
    if stage.name == holders::STAGE.name {
        let graph = job.scratch.within(set_graph::FOLDER).unwrap();
        for stage in [&preorder::STAGE, &retainers::STAGE, &dominators::STAGE] {
            (stage.run)(&Job { scratch: &graph, ..*job }).unwrap();
        }
    }
    let setting = &job.setting;
    let declared: BTreeSet<String> =
        stage.accesses().flat_map(|access| access.files(setting)).map(|file| file.path_name(None)).collect();
    let all = STAGES.iter().flat_map(|stage| stage.accesses()).flat_map(Access::all_files);
    let refused: BTreeSet<&str> = all.map(|file| file.name).filter(|&name| !declared.contains(name)).collect();
    (stage.run)(&Job { scratch: &job.scratch.view(stage.name, refused), ..*job }).unwrap();
    for file in stage.writes.iter().flat_map(|access| access.files(setting)) {
        assert!(job.scratch.folder().join(file.path_name(None)).exists(), "{} writes {}", stage.name, file.name);
    }
}

pub(crate) fn all(work: u64) -> AnalysisOptions {
    AnalysisOptions { duplicates: Duplicates::All, duplicate_work: Some(work), ..AnalysisOptions::default() }
}

fn cases() -> u64 {
    std::env::var("HEAPLAKE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000)
}

/// Checks that exact sets equal those of the definition, and that possible sets contain all others.
fn check_sound(graph: &EqualityGraph, found: &[ReadSet], truth: &[Set], about: &str) {
    for found in found.iter().filter(|found| found.reasons == 0) {
        let set = truth.iter().find(|set| set.members == found.set.members);
        let set = set.unwrap_or_else(|| panic!("{about}: no set {found:?} in {truth:?}"));
        assert_eq!(set.trivial, found.set.trivial, "{about}: {set:?}");
        let none_or_all = found.replaced.is_empty() || found.replaced == graph.replaced(&set.members);
        assert!(none_or_all, "{about}: {found:?}");
        if found.additional_exact {
            assert_eq!(set.additional, found.set.additional, "{about}: {set:?}");
        } else {
            assert!(set.additional >= found.set.additional, "{about}: {set:?}, found {}", found.set.additional);
        }
        if let Some(holder) = found.set.held_by {
            let holder = truth.iter().find(|set| set.members[0] == holder);
            let holder = holder.unwrap_or_else(|| panic!("{about}: {found:?} is held by no set"));
            assert!(graph.holds(&holder.members, &set.members), "{about}: {set:?} is not held by {holder:?}");
        }
    }
    check_bounds(found, truth, &retained(graph), about);
    for set in truth {
        let inside = |found: &&ReadSet| set.members.iter().all(|member| found.set.members.contains(member));
        assert!(found.iter().any(|found| inside(&found)), "{about}: {set:?} was lost");
    }
}

/// Checks that the additional bytes of all true sets inside a found set lie between its bounds. The members of a
/// possible set may form several sets or no set, and merging frees at most the retained sizes of the members.
fn check_bounds(found: &[ReadSet], truth: &[Set], retained: &[(u64, bool)], about: &str) {
    for found in found {
        let kept = found.set.members.iter().map(|&member| retained[member].0);
        let kept = if found.reasons == 0 || found.additional_exact {
            u64::MAX
        } else {
            kept.clone().sum::<u64>() - kept.min().unwrap_or(0)
        };
        let (least, most) = found.bounds;
        let inside: Vec<&Set> = truth.iter().filter(|set| found.set.members.contains(&set.members[0])).collect();
        assert!(least <= found.set.additional && found.set.additional <= most, "{about}: {found:?}");
        assert!(least <= inside.iter().map(|set| set.additional).sum(), "{about}: {found:?}, {inside:?}");
        let whole = inside.iter().find(|set| set.members == found.set.members);
        assert!(most == u64::MAX || most <= kept, "{about}: {found:?}, kept {kept}");
        let outermost =
            found.set.members.iter().filter(|&&member| retained[member].1).map(|&member| retained[member].0);
        let surely = if kept == u64::MAX { u64::MAX } else { outermost.sum::<u64>() };
        assert!(whole.is_none_or(|set| set.additional.min(kept).min(surely) <= most), "{about}: {found:?}, {whole:?}");
        assert_eq!(most == u64::MAX, found.reasons & limits::MODE != 0, "{about}: {found:?}");
        assert!(!found.additional_exact || found.reasons != 0 || least == most, "{about}: {found:?}");
    }
}

#[test]
fn sets_are_those_of_the_definition() {
    let mut sizes = BTreeSet::new();
    for seed in 0..cases() {
        let graph = random::random(seed);
        let truth = graph.sets();
        sizes.insert(truth.len());
        let mut found = Bench::new(&graph, 64 << 20).run(&all(u64::MAX));
        found.sort_by(|a, b| a.set.members.cmp(&b.set.members));
        assert!(found.iter().all(|found| found.reasons == 0 && found.additional_exact), "seed {seed}: {found:?}");
        for found in &found {
            assert_eq!(found.replaced, graph.replaced(&found.set.members), "seed {seed}: {found:?}");
            let bytes: u64 = found.replaced.keys().map(|&node| graph.nodes[node].bytes).sum();
            assert_eq!(bytes, found.set.additional, "seed {seed}: {found:?}");
        }
        let found: Vec<Set> = found.into_iter().map(|found| found.set).collect();
        assert_eq!(found, truth, "seed {seed}: {graph:?}");
    }
    assert!(sizes.len() > 8, "graphs are of many kinds: {sizes:?}");
}

#[test]
fn any_amount_of_work_is_sound() {
    for seed in 0..cases() / 4 {
        let graph = random::random(seed);
        let truth = graph.sets();
        for work in [0, 1, 5, 20, 60, 300] {
            let found = Bench::new(&graph, 64 << 20).run(&all(work));
            check_sound(&graph, &found, &truth, &format!("seed {seed}, work {work}"));
        }
        let found = Bench::new(&graph, 64 << 20).run(&AnalysisOptions::default());
        check_sound(&graph, &found, &truth, &format!("seed {seed}, trivial"));
        for set in truth.iter().filter(|set| set.trivial) {
            let same = |found: &ReadSet| found.reasons == 0 && found.set.members == set.members;
            assert!(found.iter().any(same), "seed {seed}: {set:?} is trivial");
        }
        assert!(found.iter().all(|found| found.set.trivial || found.reasons == limits::MODE));
    }
}

#[test]
fn classes_that_are_named_are_looked_into() {
    for seed in 0..cases() / 4 {
        let graph = random::random(seed);
        let truth = graph.sets();
        let named = seed % 5;
        let options = AnalysisOptions { duplicates_of: vec![format!("*{named}")], ..AnalysisOptions::default() };
        let found = Bench::new(&graph, 64 << 20).run(&options);
        check_sound(&graph, &found, &truth, &format!("seed {seed}, class {named}"));
        for set in truth.iter().filter(|set| u64::from(graph.nodes[set.members[0]].value) == named) {
            let same = |found: &ReadSet| found.reasons == 0 && found.set.members == set.members;
            assert!(found.iter().any(same), "seed {seed}: {set:?} is of a class that is named");
        }
    }
}
