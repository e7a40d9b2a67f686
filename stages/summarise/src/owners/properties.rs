//! Property tests: the stage on thousands of random graphs, against a search for each owner.

use super::chosen::{AT_ONCE, FEW};
use super::freed::Effort;
use super::{PASSES, run_with};
use crate::fast_folder::fast_folder;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, ColumnMap, ColumnWriter, Context, Job, Scratch, StringTable, StringWriter};
use heaplake_oracle::SplitMix64;
use heaplake_oracle::graph::{self, Arc};
use heaplake_oracle::owners::{Claim, Owned, Share, shares};
use heaplake_schemas::ids::{ClassId, NodeId, Preorder, StringId};
use heaplake_schemas::options::{AnalysisOptions, Options};
use heaplake_schemas::owners::Origin;
use heaplake_schemas::owners::{OwnerRule, OwnerRules};
use heaplake_schemas::replay::ABSENT;
use heaplake_schemas::scratch::{self as columns, Column, Metadata, OWNER_NAMES, STRINGS, documents};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

fn write<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>, values: impl IntoIterator<Item = T>) {
    let mut writer = ColumnWriter::create(scratch, column).unwrap();
    values.into_iter().for_each(|value| writer.push(value).unwrap());
    writer.finish().unwrap();
}

/// A graph with classes and origins.
struct Case {
    n: usize,
    /// The essential edges, and the nodes that only the root retains.
    edges: Vec<Arc>,
    orphans: Vec<u32>,
    sizes: Vec<u64>,
    class: Vec<u32>,
    /// Package and whether it belongs to the platform.
    origins: Vec<(String, bool)>,
    of_class: Vec<Option<u32>>,
    of_node: Vec<Option<u32>>,
    rules: Option<OwnerRules>,
    garbage: bool,
    /// `None` for nodes that the root does not reach.
    dominators: Vec<Option<u32>>,
}

impl Case {
    fn new(seed: u64, most: usize, owners: usize) -> Self {
        let (n, mut edges) = graph::random_graph(seed, most);
        edges.retain(|(from, to)| from != to);
        edges.sort_by_key(|&(from, _)| from);
        let mut held = vec![false; n];
        edges.iter().for_each(|&(_, to)| held[to as usize] = true);
        let rng = &mut SplitMix64::new(seed ^ 0x0123_4567);
        let garbage = rng.one_in(2);
        // Inputs with garbage have no orphans.
        let orphans: Vec<u32> = (1..n as u32).filter(|&node| !garbage && !held[node as usize]).collect();
        let classes = 1 + rng.below(owners.max(4));
        let origins: Vec<_> = (0..1 + rng.below(owners)).map(|at| (format!("p{at}"), rng.one_in(3))).collect();
        let origin = |of: usize, rng: &mut SplitMix64| rng.one_in(of).then(|| rng.below(origins.len()) as u32);
        let of_class = (0..classes).map(|_| origin(2, rng)).collect();
        let of_node = (0..n).map(|_| origin(3, rng)).collect();
        let rules = rng.one_in(2).then(|| OwnerRules {
            packages: !rng.one_in(3),
            rules: (0..rng.below(4)).map(|_| rule(rng, classes, owners)).collect(),
        });
        let class = (0..n).map(|_| rng.below(classes) as u32).collect();
        let sizes = (0..n).map(|node| 1 << (node % 40)).collect();
        let held: Vec<Arc> = edges.iter().copied().chain(orphans.iter().map(|&node| (0, node))).collect();
        let dominators = graph::dominators_by_deletion(n, &held, 0);
        Self { n, edges, orphans, sizes, class, origins, of_class, of_node, rules, garbage, dominators }
    }

    /// The definition, independent of the stage's algorithm. The root is synthetic.
    fn claim(&self, node: usize) -> Option<Claim> {
        if node == 0 {
            return None;
        }
        let class = format!("c{}", self.class[node]);
        let origin = self.of_node[node].or(self.of_class[self.class[node] as usize]);
        let origin = origin.map(|origin| &self.origins[origin as usize]);
        let fits = |patterns: &[String], text: Option<&String>| {
            patterns.is_empty() || text.is_some_and(|text| patterns.contains(text))
        };
        let mut rules = self.rules.iter().flat_map(|rules| &rules.rules);
        let rule = rules.find(|rule| {
            fits(&rule.class, Some(&class))
                && fits(&rule.package, origin.map(|(package, _)| package))
                && rule.script.is_empty()
        });
        match (rule, origin) {
            (Some(rule), _) => Some(Claim { owner: rule.name.clone(), strength: 2 }),
            (None, Some((package, platform))) if self.rules.as_ref().is_none_or(|rules| rules.packages) => {
                Some(Claim { owner: package.clone(), strength: u8::from(!platform) })
            }
            _ => None,
        }
    }

    fn expected(&self) -> BTreeMap<String, Share> {
        let edges: Vec<Arc> = self.edges.iter().copied().chain(self.orphans.iter().map(|&node| (0, node))).collect();
        let claims: Vec<_> = (0..self.n).map(|node| self.claim(node)).collect();
        let (sizes, dominators, garbage) = (&self.sizes[..], &self.dominators[..], self.garbage);
        shares(&Owned { edges: &edges, root: 0, sizes, claims: &claims, dominators, garbage })
    }

    /// Writes the stage's inputs.
    fn lay_down(&self, scratch: &Scratch) {
        let mut texts = Vec::new();
        let mut text = |text: String| {
            texts.push(text);
            texts.len() as u32 - 1
        };
        let names: Vec<u32> = (0..self.of_class.len()).map(|class| text(format!("c{class}"))).collect();
        let origins = self.origins.iter().map(|(package, platform)| Origin {
            script: u32::MAX,
            package: text(package.clone()),
            loader: u32::MAX,
            platform: (*platform).into(),
        });
        write(scratch, columns::ORIGIN, origins);
        write(scratch, columns::CLASS_NAME, names.into_iter().map(StringId));
        let mut strings = StringWriter::create(scratch, STRINGS).unwrap();
        texts.iter().for_each(|text| strings.push(text.as_bytes()).unwrap());
        strings.finish().unwrap();
        write(scratch, columns::CLASS_ORIGIN, self.of_class.iter().map(|origin| origin.unwrap_or(u32::MAX)));
        let of_node = || self.of_node.iter().enumerate().filter_map(|(node, origin)| Some((node as u32, (*origin)?)));
        write(scratch, columns::ORIGIN_NODE, of_node().map(|(node, _)| NodeId(node)));
        write(scratch, columns::ORIGIN_OF_NODE, of_node().map(|(_, origin)| origin));
        write(scratch, columns::NODE_CLASS, self.class.iter().copied().map(ClassId));
        write(scratch, columns::NODE_KIND, (0..self.n).map(|node| u8::from(node > 0)));
        write(scratch, columns::NODE_SHALLOW, self.sizes.iter().copied());
        let all = graph::successors(self.n, &self.edges);
        write(scratch, columns::ESSENTIAL_DEGREE, all.iter().map(|targets| targets.len() as u32));
        write(scratch, columns::ESSENTIAL_TO, all.iter().flatten().copied().map(NodeId));
        let (order, numbers) = self.preorder(&all);
        let mut retainers = vec![Vec::new(); order.len()];
        for (from, to) in self.edges.iter().copied().chain(self.orphans.iter().map(|&node| (0, node))) {
            let [from, to] = [from, to].map(|node| numbers[node as usize]);
            if from != u32::MAX && to > 0 {
                retainers[to as usize].push(Preorder(from));
            }
        }
        retainers.reverse();
        retainers.pop();
        write(scratch, columns::RETAINERS_DEGREE, retainers.iter().map(|of| of.len() as u32));
        write(scratch, columns::RETAINERS_FROM, retainers.into_iter().flatten());
        write(scratch, columns::PREORDER_NODE, order.iter().copied().map(NodeId));
        write(scratch, columns::NODE_PREORDER, numbers.iter().copied().map(Preorder));
        let position = |node: &u32| Preorder(numbers[self.dominators[*node as usize].unwrap() as usize]);
        write(scratch, columns::PREORDER_DOMINATOR, order.iter().map(position));
        let metadata = Metadata {
            node_count: self.n as u64,
            synthetic_kinds: vec![0],
            keeps_garbage: self.garbage,
            ..Metadata::default()
        };
        scratch.write_document(documents::METADATA, &metadata).unwrap();
    }

    /// Returns nodes in some depth-first preorder, and the position of each.
    fn preorder(&self, successors: &[Vec<u32>]) -> (Vec<u32>, Vec<u32>) {
        let (mut order, mut numbers) = (Vec::new(), vec![u32::MAX; self.n]);
        let mut open: Vec<u32> = self.orphans.iter().rev().copied().chain([0]).collect();
        while let Some(node) = open.pop() {
            if numbers[node as usize] == u32::MAX {
                numbers[node as usize] = order.len() as u32;
                order.push(node);
                open.extend(successors[node as usize].iter().rev());
            }
        }
        (order, numbers)
    }
}

fn rule(rng: &mut SplitMix64, classes: usize, packages: usize) -> OwnerRule {
    let mut some = |letter: char, most: usize| -> Vec<String> {
        let count = if rng.one_in(2) { 0 } else { 1 + rng.below(3) };
        (0..count).map(|_| format!("{letter}{}", rng.below(most))).collect()
    };
    let (class, package) = (some('c', classes), some('p', packages));
    let script = if class.is_empty() && package.is_empty() { vec!["*".to_owned()] } else { Vec::new() };
    // Sometimes the owner has the name of a package.
    let name = format!("{}{}", if rng.one_in(3) { 'p' } else { 't' }, rng.below(3));
    OwnerRule { name, class, script, package, loader: Vec::new() }
}

/// Returns the results of the stage; `None` for freed bytes that were not computed.
fn found(case: &Case, memory: u64, effort: Effort) -> BTreeMap<String, (u64, u64, Option<u64>)> {
    let folder = fast_folder();
    let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
    case.lay_down(&scratch);
    let (budget, cancel) = (Budget::new(memory), AtomicBool::new(false));
    let context = Context { budget: budget.clone(), threads: 1, progress: &Silent, cancel: &cancel };
    let options = Options::Analysis(AnalysisOptions { owners: case.rules.clone(), ..AnalysisOptions::default() });
    run_with(effort, &Job::on(&scratch, &context, &options)).unwrap();
    drop(context);
    assert_eq!(budget.used(), 0, "all memory is given back");
    let rows = ColumnMap::uncounted(&scratch, columns::OWNER_ROW).unwrap();
    let names = StringTable::open(&scratch, OWNER_NAMES).unwrap();
    let name = |at: usize| names.text(at).into_owned();
    let order: Vec<_> = rows.iter().enumerate().map(|(at, row)| (u64::MAX - row.retained_bytes, name(at))).collect();
    assert!(order.is_sorted(), "{order:?}");
    assert!(rows.iter().all(|row| row.allocated_bytes == ABSENT));
    let freed = |bytes: u64| Some(bytes).filter(|&bytes| bytes != ABSENT);
    let shares = rows.iter().enumerate();
    shares.map(|(at, row)| (name(at), (row.shallow_bytes, row.retained_bytes, freed(row.freed_bytes)))).collect()
}

/// A search at once; sweeps alone; and both.
const EFFORTS: [Effort; 3] = [
    Effort { sweeps: 1, nodes_per_step: 1 },
    Effort { sweeps: u32::MAX, nodes_per_step: usize::MAX },
    Effort { sweeps: 2, nodes_per_step: 8 },
];

/// Compares all values, and which owners have freed bytes; returns the number of owners.
fn check(case: &Case, memory: u64, hint: u64) -> usize {
    let effort = EFFORTS[hint as usize % EFFORTS.len()];
    let (ours, theirs) = (found(case, memory, effort), case.expected());
    let mut order: Vec<_> = ours.iter().filter(|(name, _)| !name.starts_with('(')).collect();
    order.sort_by_key(|(name, (_, retained, _))| (u64::MAX - retained, *name));
    let known = |name: &str| order.iter().position(|(other, _)| *other == name).is_some_and(|at| at < PASSES * AT_ONCE);
    let expected = theirs
        .iter()
        .map(|(name, share)| (name.clone(), (share.shallow, share.retained, known(name).then_some(share.freed))));
    assert_eq!(ours, expected.collect(), "seed {hint}");
    let sum = |part: fn(&(u64, u64, Option<u64>)) -> u64| ours.values().map(part).sum::<u64>();
    let heap: u64 = case.sizes.iter().sum();
    assert_eq!((sum(|share| share.0), sum(|share| share.1)), (heap, heap), "seed {hint}");
    ours.len()
}

#[test]
fn shares_equal_a_search_for_each_owner() {
    for seed in 0..4000 {
        check(&Case::new(seed, 30, 6), 64 << 20, seed);
    }
}

#[test]
fn more_owners_than_are_looked_at() {
    let owners = (0..6).map(|seed| check(&Case::new(seed, 700, 700), 64 << 20, seed));
    assert!(owners.max() > Some(PASSES * AT_ONCE + 2));
}

#[test]
fn paging_changes_nothing() {
    for (owners, memory) in [(6, 8 << 20), (60, 9 << 20)] {
        let case = large(owners);
        let resident = found(&case, 64 << 20, Effort::NORMAL);
        // Owners with words of a byte, or of eight.
        assert_eq!(resident.len() > 2 * FEW, owners > FEW, "{resident:?}");
        assert!(resident.values().any(|share| share.2 > Some(share.0)), "{resident:?}");
        for effort in EFFORTS {
            assert_eq!(found(&case, memory, effort), resident);
        }
    }
}

/// Returns a heap of many nodes. Their dominator is the root, as far as the stage knows.
fn large(owners: usize) -> Case {
    const NODES: usize = 400_000;
    let rng = &mut SplitMix64::new(5);
    let mut case = Case::new(3, 30, owners);
    case.n = NODES;
    case.garbage = false;
    case.edges = (1..NODES as u32).map(|node| (rng.below(node as usize) as u32, node)).collect();
    case.edges.extend((0..NODES).map(|_| (rng.below(NODES) as u32, 1 + rng.below(NODES - 1) as u32)));
    case.edges.sort_unstable();
    case.orphans.clear();
    case.dominators = vec![Some(0); NODES];
    case.sizes = (0..NODES as u64).map(|node| 1 + node % 100).collect();
    case.class = (0..NODES).map(|_| rng.below(case.of_class.len()) as u32).collect();
    case.of_node = (0..NODES).map(|_| (!rng.one_in(3)).then(|| rng.below(case.origins.len()) as u32)).collect();
    case
}
