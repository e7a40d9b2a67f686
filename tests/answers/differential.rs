//! One random heap in three formats, each through the whole pipeline: the tables of every object agree.
//!
//! A heap is written as a V8 snapshot, a Java dump and a .NET walk. Their readers share no code, and the engine behind
//! them must not depend on the format. Compared for each object: class, targets, shallow and retained size, immediate
//! dominator, distance, reachability; and the duplicates of the two formats with values (a walk has none). If a heap
//! has garbage, a dump shows it, while a snapshot and a walk list live objects only: then these two are compared with
//! each other, and all three with the definition.

use super::duplicate_sets;
use heaplake_oracle::plain::{Garbage, Heap, Object, random, truth};
use heaplake_oracle::{Layout, SplitMix64, dotnet, jvm};
use heaplake_schemas::options::{AnalysisOptions, Duplicates};
use heaplake_support::cases::cases;
use heaplake_support::in_process::{Analysis, analyze};
use heaplake_support::lake::fast_folder;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tempfile::TempDir;

/// An object in the tables.
#[derive(Debug, PartialEq)]
struct Seen {
    /// `None` for texts, which each format names differently.
    class: Option<String>,
    shallow: u64,
    retained: u64,
    dominator: Option<usize>,
    distance: Option<u32>,
    /// Targets among the objects, ascending.
    targets: Vec<usize>,
    reachable: bool,
}

/// A set of duplicates: its members and additional bytes.
type Set = (Vec<usize>, u64);

/// A run of a heap, and the rows of its objects.
struct Run {
    place: PathBuf,
    /// The object of each row, if the row is one.
    object: Vec<Option<usize>>,
    _folder: TempDir,
}

impl Run {
    fn of(bytes: &[u8], ids: &[u64], threads: usize) -> Self {
        let folder = fast_folder();
        let input = folder.path().join("input");
        std::fs::write(&input, bytes).unwrap();
        let options = AnalysisOptions { duplicates: Duplicates::All, ..Analysis::default().options };
        let analysis = Analysis { options, threads, ..Analysis::default() };
        let outcome = analyze(&folder.path().join("lake"), &input, analysis);
        let place = outcome.unwrap_or_else(|failure| panic!("{failure}")).place;
        let objects: BTreeMap<u64, usize> = ids.iter().copied().zip(0..).collect();
        let nodes = Table::read(&place, "nodes.parquet");
        let rows = nodes.u64s("id").into_iter().zip(nodes.texts("kind"));
        // The root of a walk has an id that may be an address.
        let object = |(id, kind): (Option<u64>, Option<String>)| {
            objects.get(&id?).copied().filter(|_| kind.as_deref() != Some("root"))
        };
        Self { object: rows.map(object).collect(), place, _folder: folder }
    }

    /// The rows of all objects of the heap.
    fn seen(&self, heap: &Heap) -> Vec<Seen> {
        let nodes = Table::read(&self.place, "nodes.parquet");
        let (classes, reachable) = (nodes.texts("class"), nodes.bools("reachable"));
        let (shallow, retained) = (nodes.u64s("shallow_bytes"), nodes.u64s("retained_bytes"));
        let (dominators, distances) = (nodes.u32s("dominator"), nodes.i32s("distance"));
        let mut targets = self.targets();
        let mut seen: BTreeMap<usize, Seen> = BTreeMap::new();
        for (row, object) in self.object.iter().enumerate() {
            let Some(object) = *object else { continue };
            let text = matches!(heap.objects[object], Object::Text(_));
            let reachable = reachable[row].unwrap();
            let new = Seen {
                class: classes[row].clone().filter(|_| !text),
                shallow: shallow[row].unwrap(),
                // Dominators and retained sizes of garbage in the tables of dumps are meaningless.
                retained: retained[row].filter(|_| reachable).unwrap_or(0),
                dominator: dominators[row].filter(|_| reachable).and_then(|row| self.object[row as usize]),
                distance: distances[row].map(|distance| distance as u32),
                targets: targets.remove(&object).unwrap_or_default(),
                reachable,
            };
            assert!(seen.insert(object, new).is_none(), "an object has one row");
        }
        assert!(seen.keys().copied().eq(0..heap.objects.len()), "each object has a row");
        seen.into_values().collect()
    }

    fn targets(&self) -> BTreeMap<usize, Vec<usize>> {
        let edges = Table::read(&self.place, "edges.parquet");
        let mut targets: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (from, to) in edges.u32s("from").into_iter().zip(edges.u32s("to")) {
            let [from, to] = [from, to].map(|row| self.object[row.unwrap() as usize]);
            if let (Some(from), Some(to)) = (from, to) {
                targets.entry(from).or_default().push(to);
            }
        }
        targets.values_mut().for_each(|targets| targets.sort_unstable());
        targets
    }

    /// The sets of duplicates among the objects.
    fn sets(&self) -> Vec<Set> {
        let mut sets = Vec::new();
        for set in duplicate_sets::sets(&self.place) {
            let members: Vec<_> = set.members.iter().filter_map(|&row| self.object[row as usize]).collect();
            if members.is_empty() {
                continue;
            }
            assert_eq!(members.len(), set.members.len(), "objects are like objects only");
            assert!(set.additional_exact, "small heaps are compared to the end");
            sets.push((sorted(members), set.additional_bytes));
        }
        sorted(sets)
    }
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort_unstable();
    items
}

/// The rows implied by the definition.
fn expected(heap: &Heap, sizes: &[u64], garbage: Garbage) -> Vec<Seen> {
    let alive = truth::alive(heap);
    let truth = truth::truth(heap, sizes, garbage).into_iter().zip(&heap.objects);
    truth
        .zip(alive)
        .map(|((truth, object), alive)| Seen {
            class: match object {
                Object::Instance(class, ..) => Some(format!("C{class}")),
                Object::Array(_) => Some("java.lang.Object[]".to_owned()),
                Object::Text(_) => None,
            },
            shallow: truth.shallow,
            retained: truth.retained,
            dominator: truth.dominator,
            distance: truth.distance,
            targets: truth.targets,
            reachable: alive || garbage == Garbage::Listed,
        })
        .collect()
}

fn java_layout(seed: u64) -> jvm::Layout {
    let rng = &mut SplitMix64::new(seed);
    jvm::Layout {
        order: [0, 1, seed][rng.below(3)],
        segment: [usize::MAX, 0, 1 + rng.below(9)][rng.below(3)],
        clutter: rng.one_in(2),
        heap_infos: rng.one_in(3),
        ..jvm::Layout::default()
    }
}

fn dotnet_layout(seed: u64) -> dotnet::Layout {
    let rng = &mut SplitMix64::new(seed);
    dotnet::Layout {
        seed,
        entries: 1 + rng.below(12),
        events: 1 + rng.below(6),
        compressed: !rng.one_in(3),
        other_thread: rng.one_in(2),
        ..dotnet::Layout::default()
    }
}

/// The three runs of a heap (snapshot, dump, walk), and the sizes of its objects.
fn runs(heap: &Heap, seed: u64) -> ([Run; 3], Vec<u64>) {
    let threads = [1, 3][seed as usize % 2];
    let dump = heap.to_java(seed);
    let sizes = heap.sizes(&dump);
    // Each format has its own order.
    let (snapshot, walk) = (heap.to_v8(&sizes, seed ^ 1), heap.to_dotnet(&sizes, seed ^ 2));
    let runs = [
        Run::of(&snapshot.heap.to_json(&Layout::random(seed)), &snapshot.ids, threads),
        Run::of(&dump.heap.to_bytes(&java_layout(seed)), &dump.ids, threads),
        Run::of(&walk.heap.to_nettrace(&dotnet_layout(seed)), &walk.ids, threads),
    ];
    (runs, sizes)
}

fn check(seed: u64) {
    let heap = random::heap(seed, 24);
    let ([snapshot, dump, walk], sizes) = runs(&heap, seed);
    let [of_snapshot, of_dump, of_walk] = [&snapshot, &dump, &walk].map(|run| run.seen(&heap));
    let whole = truth::alive(&heap).iter().all(|&alive| alive);
    assert_eq!(of_snapshot, of_walk, "snapshot and walk, seed {seed}");
    assert_eq!(of_walk, expected(&heap, &sizes, Garbage::Listed), "walk and definition, seed {seed}");
    assert_eq!(of_dump, expected(&heap, &sizes, Garbage::Dead), "dump and definition, seed {seed}");
    assert!(!walk.place.join("duplicate_sets.parquet").exists(), "a walk has no values");
    if whole {
        // In a dump a static field is a step further from the root, behind its class.
        let placeless =
            |seen: Vec<Seen>| -> Vec<_> { seen.into_iter().map(|seen| Seen { distance: None, ..seen }).collect() };
        assert_eq!(placeless(of_dump), placeless(of_walk), "dump and walk, seed {seed}");
        check_duplicates(&heap, &sizes, [&snapshot, &dump], seed);
    }
}

fn check_duplicates(heap: &Heap, sizes: &[u64], [snapshot, dump]: [&Run; 2], seed: u64) {
    let truth = truth::duplicates(heap, sizes).into_iter().map(|set| (set.members, set.additional)).collect();
    let (of_snapshot, of_dump) = (snapshot.sets(), dump.sets());
    assert_eq!(of_snapshot, of_dump, "duplicates of snapshot and dump, seed {seed}");
    assert_eq!(of_dump, sorted(truth), "duplicates of dump and definition, seed {seed}");
}

#[test]
fn formats_tell_the_same() {
    (0..u64::from(cases(300))).for_each(check);
}

/// The random heaps are worth comparing: they have garbage, duplicates with references, deep dominator trees.
#[test]
fn random_heaps_have_what_is_compared() {
    let heaps: Vec<Heap> = (0..300).map(|seed| random::heap(seed, 24)).collect();
    let [mut garbage, mut duplicates, mut deep, mut loops] = [0; 4];
    for heap in &heaps {
        let sizes = heap.sizes(&heap.to_java(1));
        garbage += usize::from(truth::alive(heap).contains(&false));
        duplicates += usize::from(truth::duplicates(heap, &sizes).iter().any(|set| !set.trivial));
        let truth = truth::truth(heap, &sizes, Garbage::Dead);
        let above = |object: Option<usize>| object.and_then(|object| truth[object].dominator);
        deep += usize::from((0..truth.len()).any(|object| above(above(above(Some(object)))).is_some()));
        loops += usize::from(truth.iter().enumerate().any(|(object, truth)| truth.targets.contains(&object)));
    }
    assert!(garbage > 40 && duplicates > 90 && deep > 60 && loops > 60, "{garbage} {duplicates} {deep} {loops}");
}
