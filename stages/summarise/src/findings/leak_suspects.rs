//! Rule `leak-suspect`: one object that alone holds a large part of the heap, at the point where it accumulates.
//!
//! Among the objects that retain much, a suspect is one below which the memory branches: no single dominated object
//! that retains much itself holds the larger part. The evidence is what the suspect holds directly, by class. The
//! owning object of the program and the chain of references to it show where to look; if its class has no such chain,
//! the chain of dominators does.

use super::class_roles::role;
use super::heap::{Heap, about_class, about_node};
use super::rule::{Detector, FLOOR, Node, Rule, list_bytes, map_bytes, severity};
use heaplake_kit::access::per_node;
use heaplake_kit::array_plan::lookup;
use heaplake_kit::text::{count, size};
use heaplake_kit::{ArrayPlan, ColumnReader, ReadAt, StageError, on_resident};
use heaplake_schemas::findings::Finding;
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, Facts};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The rule.
pub const RULE: Rule = Rule {
    names: &[NAME],
    arrays: &[per_node::<ClassId>(), per_node::<NodeId>()],
    candidates: list_bytes::<(u64, u32)>(CANDIDATES),
    working: 2 * map_bytes::<u32, u64>(CANDIDATES) + map_bytes::<(u32, u32), Crowd>(PAIRS),
    open: |_, facts| Ok(Box::new(LeakSuspects::new(facts))),
    ..Rule::NEW
};

/// Name of its findings.
pub const NAME: &str = "leak-suspect";
/// Percent of the heap from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [25, 10, 5];
/// Objects that are looked at, those that retain most.
const CANDIDATES: usize = 1 << 14;
/// Places that are looked into, and pairs of such a place and a class that are told apart.
const PLACES: usize = 64;
const PAIRS: usize = 1 << 15;
/// Entries of containers, one in the other, that are looked through.
const ENTRIES: usize = 64;
/// Objects of one class that make a crowd.
const CROWD: u64 = 20;

struct LeakSuspects {
    root: u32,
    synthetic: Vec<u8>,
    /// The least of them on top.
    largest: BinaryHeap<Reverse<(u64, Reverse<u32>)>>,
}

impl LeakSuspects {
    fn new(facts: &Facts) -> Self {
        Self { root: facts.root.0, synthetic: facts.synthetic_kinds.clone(), largest: BinaryHeap::new() }
    }

    /// Candidates below which the memory branches.
    fn places(&self, heap: &Heap) -> Vec<u32> {
        let retained: BTreeMap<u32, u64> = self.largest.iter().map(|Reverse((bytes, node))| (node.0, *bytes)).collect();
        let mut below: BTreeMap<u32, u64> = BTreeMap::new();
        for (&node, bytes) in &retained {
            let dominator = heap.nodes.dominator[node as usize].0;
            *below.entry(dominator).or_default() += bytes;
        }
        let parts = |node: u32, bytes: u64| below.get(&node).is_none_or(|&below| below < bytes / 2);
        let mut places: Vec<(Reverse<u64>, u32)> = retained
            .iter()
            .filter(|&(&node, &bytes)| severity(bytes, heap.bytes, PERCENT).is_some() && parts(node, bytes))
            .map(|(&node, &bytes)| (Reverse(bytes), node))
            .collect();
        places.sort_unstable();
        places.truncate(PLACES);
        places.into_iter().map(|(_, node)| node).collect()
    }
}

/// Objects of a class that a place dominates directly.
#[derive(Clone, Copy)]
struct Crowd {
    count: u64,
    bytes: u64,
    /// One whose name most of them have, if most have the same.
    example: u32,
    name: StringId,
    votes: u64,
}

impl Crowd {
    const NOBODY: Self = Self { count: 0, bytes: 0, example: 0, name: StringId::NONE, votes: 0 };

    fn add(&mut self, node: u32, bytes: u64, name: StringId) {
        // Votes for and against: a majority wins whatever the order.
        if self.votes == 0 {
            (self.example, self.name) = (node, name);
        }
        self.votes = if self.name == name { self.votes + 1 } else { self.votes - 1 };
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The dominator tree around the places.
struct Tree<'a, C, D> {
    heap: &'a Heap<'a>,
    /// The places, ascending.
    places: Vec<u32>,
    classes: C,
    dominators: D,
}

impl<C: ReadAt<ClassId>, D: ReadAt<NodeId>> Tree<'_, C, D> {
    /// The place above a node whose dominator is given, if only entries of containers are between them.
    fn place(&mut self, dominator: u32) -> Result<Option<u32>, StageError> {
        let mut at = dominator;
        for _ in 0..ENTRIES {
            if self.places.binary_search(&at).is_ok() {
                return Ok(Some(at));
            }
            let roles = &self.heap.classes;
            if !roles.any(role::ENTRY) || !roles.has(self.classes.get(at as usize)?.0, role::ENTRY) {
                break;
            }
            at = self.dominators.get(at as usize)?.0;
        }
        Ok(None)
    }

    /// For each place and class, what is directly below, or below entries of the container that the place is a part of.
    fn crowds(&mut self) -> Result<BTreeMap<(u32, u32), Crowd>, StageError> {
        let heap = self.heap;
        let scratch = heap.job.scratch;
        let mut crowds: BTreeMap<(u32, u32), Crowd> = BTreeMap::new();
        let mut class = ColumnReader::open(scratch, columns::NODE_CLASS)?;
        let mut dominator = ColumnReader::open(scratch, columns::NODE_DOMINATOR)?;
        let mut retained = ColumnReader::open(scratch, columns::NODE_RETAINED)?;
        let mut names = ColumnReader::open(scratch, columns::NODE_NAME)?;
        for node in 0..heap.facts.node_count as u32 {
            let (class, dominator) = (class.next()?.0, dominator.next()?.0);
            let (bytes, name) = (retained.next()?, names.next()?);
            if node.is_multiple_of(1 << 18) {
                heap.job.context.check()?;
            }
            let Some(place) = self.place(dominator)?.filter(|&place| place != node) else { continue };
            // Entries in entries are counted with the outer ones.
            let is_inner = place != dominator && heap.classes.has(class, role::ENTRY);
            if !is_inner && (crowds.len() < PAIRS || crowds.contains_key(&(place, class))) {
                crowds.entry((place, class)).or_insert(Crowd::NOBODY).add(node, bytes, name);
            }
        }
        Ok(crowds)
    }
}

fn crowds(places: &[u32], heap: &Heap) -> Result<BTreeMap<(u32, u32), Crowd>, StageError> {
    let mut places = places.to_vec();
    places.sort_unstable();
    let (mut classes, mut dominators) = ArrayPlan::of(&heap.job, "leak suspects")
        .make((lookup(columns::NODE_CLASS), lookup(columns::NODE_DOMINATOR)))?;
    on_resident!(classes, dominators => Tree { heap, places, classes, dominators }.crowds())
}

impl Detector for LeakSuspects {
    fn see(&mut self, node: &Node) {
        if node.retained < FLOOR || node.node == self.root || self.synthetic.contains(&node.kind) {
            return;
        }
        let entry = Reverse((node.retained, Reverse(node.node)));
        if self.largest.len() < CANDIDATES {
            self.largest.push(entry);
        } else if self.largest.peek().is_some_and(|least| entry < *least) {
            self.largest.pop();
            self.largest.push(entry);
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let places = self.places(heap);
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let crowds = crowds(&places, heap)?;
        let found = places.iter().map(|&place| {
            let bytes = heap.nodes.retained[place as usize];
            let of_place = || crowds.range((place, 0)..=(place, u32::MAX)).map(|(key, crowd)| (key.1, crowd));
            let large = |&(_, crowd): &(u32, &Crowd)| crowd.count >= CROWD && crowd.bytes >= bytes / 4;
            let size = |&(class, crowd): &(u32, &Crowd)| (crowd.bytes, Reverse(class));
            // What the entries of a container lead to says more than the entries.
            let most =
                |&(class, crowd): &(u32, &Crowd)| !heap.classes.has(class, role::ENTRY) && crowd.bytes >= bytes / 2;
            let objects = of_place().filter(large).filter(most).max_by_key(size);
            match objects.or_else(|| of_place().max_by_key(size).filter(large)) {
                Some((class, crowd)) => held_crowd(place, class, *crowd, heap),
                None => single(place, bytes, heap),
            }
        });
        Ok(found.flatten().collect())
    }
}

/// Many objects of one class under one holder.
fn held_crowd(place: u32, class: u32, crowd: Crowd, heap: &Heap) -> Option<Finding> {
    let severity = severity(crowd.bytes, heap.bytes, PERCENT)?;
    let holder = heap.owner(place).unwrap_or(place);
    let (name, holder_name) = (heap.shown_class(class), heap.nodes.label(NodeId(holder)));
    let alike = heap.nodes.own_name(NodeId(crowd.example), 60);
    let alike = if alike.trim().is_empty() { String::new() } else { format!(" (such as {alike:?})") };
    let id = heap.nodes.id[holder as usize];
    let mut finding = about_class(NAME, severity, class, heap);
    finding.node = Some(holder);
    finding.count = crowd.count;
    finding.bytes = crowd.bytes;
    let dominators = || format!("{} › {} × {name}", heap.chain(holder), count(crowd.count));
    let chain = match heap.reference_chain(class, |example| heap.is_within(example, place)) {
        // Chains of classes do not tell one class with static fields from another.
        Some(chain) if heap.has_class_objects() => format!("{}; by references {chain}", dominators()),
        Some(chain) => chain,
        None => dominators(),
    };
    finding.message = format!(
        "{} × {name}{alike} retain {}, held by one {holder_name} @{id}: {chain}",
        count(crowd.count),
        heap.share(crowd.bytes),
    );
    finding.next_step = format!(
        "If this {holder_name} only ever grows, bound it: remove entries when they are done with, or hold them weakly."
    );
    Some(finding)
}

/// The first of a list: the highest dominator in a row of objects of one class.
fn head(node: u32, heap: &Heap) -> u32 {
    let class = heap.nodes.class[node as usize];
    let mut at = node;
    for _ in 0..CANDIDATES {
        let above = heap.nodes.dominator[at as usize].0;
        if above == heap.facts.root.0 || heap.nodes.class[above as usize] != class {
            break;
        }
        at = above;
    }
    at
}

/// One object that is, or holds, something large.
fn single(place: u32, bytes: u64, heap: &Heap) -> Option<Finding> {
    let severity = severity(bytes, heap.bytes, PERCENT)?;
    let end = heap.owner(place).unwrap_or(place);
    let owner = head(end, heap);
    let bytes = if owner == end { bytes } else { heap.nodes.retained[owner as usize] };
    let mut finding = about_node(NAME, severity, owner, heap);
    finding.bytes = bytes;
    let class = heap.nodes.class[owner as usize].0;
    let is_class = heap.is_class_object(heap.nodes.kind[owner as usize]);
    let name = if is_class { heap.nodes.label(NodeId(owner)) } else { heap.shown_class(class) };
    let chain = heap.reference_chain(class, |example| example == owner).filter(|_| !is_class);
    let alone = heap.nodes.shallow[place as usize] >= bytes / 2;
    let what = if owner != end {
        "as the first of a list of them".to_owned()
    } else if alone {
        format!("which is {} of data in one piece", size(bytes))
    } else {
        "with what it holds".to_owned()
    };
    finding.message = format!(
        "One {name} @{} retains {}, {what}: {}",
        heap.nodes.id[owner as usize],
        heap.share(bytes),
        chain.unwrap_or_else(|| heap.chain(owner)),
    );
    finding.next_step = format!(
        "Follow the chain from its end: the first holder that should have let go of this {name} is the place to fix."
    );
    Some(finding)
}
