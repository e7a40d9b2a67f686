//! Rule `leak-suspect`: one object that alone retains a large part of the heap, at the point where it accumulates.
//!
//! Among the objects that retain much, a suspect is one where the memory branches: its dominated objects that are
//! suspects of medium severity themselves retain less than half. These are the accumulation points of Eclipse MAT; a
//! suspect counts with its whole retained size. The evidence is the objects that it retains directly, by class, and the
//! last object common to most of their shortest paths. The owning object of the program and the chain of references to
//! it show where to look; if its class has no such chain, the chain of dominators does.

use super::class_roles::role;
use super::crowds::{Crowd, PAIRS, crowds};
use super::heap::{Found, Heap};
use super::packages::CodeOf;
use super::rule::{Detector, Extent, FLOOR, Node, Rule, Tells, list_bytes, map_bytes, severity};
use heaplake_kit::StageError;
use heaplake_kit::access::per_node;
use heaplake_kit::text::size;
use heaplake_schemas::findings::{Finding, Scope, Severity};
use heaplake_schemas::ids::{ClassId, NodeId};
use heaplake_schemas::scratch::Metadata;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

pub(super) const RULE: Rule = Rule {
    names: &[NAME, CONSTANT],
    arrays: &[per_node::<ClassId>(), per_node::<NodeId>(), per_node::<NodeId>()],
    candidates: list_bytes::<(u64, u32)>(CANDIDATES),
    working: 2 * map_bytes::<u32, u64>(CANDIDATES) + map_bytes::<(u32, u32), Crowd>(PAIRS),
    tells: Tells::Place,
    open: |_, metadata| Ok(Box::new(LeakSuspects::new(metadata))),
    ..Rule::NEW
};

pub(super) const NAME: &str = "leak-suspect";
/// Name of findings about objects that a package, the runtime or a class keeps for its lifetime.
pub(super) const CONSTANT: &str = "large-constant";
/// Minimum percent of the heap of a high, medium, low finding.
const PERCENT: [u64; 3] = [25, 10, 5];
/// [`PERCENT`] of a single object without signs of growth; never high.
const PERCENT_SINGLE: [u64; 3] = [101, 25, 5];
/// Number of candidates, those with the largest retained sizes.
const CANDIDATES: usize = 1 << 14;
/// Maximum number of places.
const PLACES: usize = 64;
/// Minimum number of objects of one class in a crowd.
const CROWD: u64 = 20;
/// Minimum number of objects in a growing collection.
const MANY: u64 = 50;
/// Minimum length of a list of objects of one class, each reached through the one before: a tree is not so deep.
const LIST: usize = 40;
/// Number of dominators searched for the previous element.
const BETWEEN: usize = 6;

struct LeakSuspects {
    root: u32,
    synthetic: Vec<u8>,
    /// The candidates, smallest on top.
    largest: BinaryHeap<Reverse<(u64, Reverse<u32>)>>,
}

impl LeakSuspects {
    fn new(metadata: &Metadata) -> Self {
        Self { root: metadata.root.0, synthetic: metadata.synthetic_kinds.clone(), largest: BinaryHeap::new() }
    }

    /// Returns the candidates where the memory branches.
    fn places(&self, heap: &Heap) -> Vec<u32> {
        let retained: BTreeMap<u32, u64> = self.largest.iter().map(|Reverse((bytes, node))| (node.0, *bytes)).collect();
        let mut below: BTreeMap<u32, u64> = BTreeMap::new();
        let is_medium = |bytes| severity(bytes, heap.bytes, PERCENT).is_some_and(|found| found <= Severity::Medium);
        for (&node, bytes) in &retained {
            let dominator = heap.nodes.dominator.at(node as usize).0;
            // A single object that retains most is followed whatever its severity.
            if is_medium(*bytes) || retained.get(&dominator).is_some_and(|&all| *bytes >= all / 2) {
                *below.entry(dominator).or_default() += bytes;
            }
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

impl Detector for LeakSuspects {
    fn may_match(&self, extent: &Extent) -> bool {
        extent.retained >= FLOOR
    }

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
            let bytes = heap.nodes.retained.at(place as usize);
            let of_place = || crowds.range((place, 0)..=(place, u32::MAX)).map(|(key, crowd)| (key.1, crowd));
            let large = |&(_, crowd): &(u32, &Crowd)| crowd.count >= CROWD && crowd.bytes >= bytes / 4;
            let size = |&(class, crowd): &(u32, &Crowd)| (crowd.bytes, Reverse(class));
            // The objects below the entries of a container say more than the entries.
            let most =
                |&(class, crowd): &(u32, &Crowd)| !heap.classes.has(class, role::ENTRY) && crowd.bytes >= bytes / 2;
            let objects = of_place().filter(large).filter(most).max_by_key(size);
            match objects.or_else(|| of_place().max_by_key(size).filter(large)) {
                Some((class, crowd)) => held_crowd(place, class, *crowd, heap),
                None => single(place, bytes, heap),
            }
        });
        Ok(without_details(found.flatten().collect(), heap))
    }
}

/// Removes suspects of low severity inside others.
fn without_details(found: Vec<Finding>, heap: &Heap) -> Vec<Finding> {
    let is_inside = |inner: &Finding, outer: &Finding| {
        let nodes = inner.node.zip(outer.node).filter(|(inner, outer)| inner != outer);
        nodes.is_some_and(|(inner, outer)| heap.is_within(inner, outer))
    };
    let is_detail = |finding: &Finding| {
        finding.severity == Severity::Low
            && found.iter().any(|outer| outer.severity < Severity::Low && is_inside(finding, outer))
    };
    let details: Vec<bool> = found.iter().map(is_detail).collect();
    found.into_iter().zip(details).filter(|(_, is_detail)| !is_detail).map(|(finding, _)| finding).collect()
}

/// Finding about many objects of one class under one holder. They grow if one collection refers to most of them, none of
/// them dominant, or if they form a linked list. Otherwise they are a structure: a compiler's working memory, or a
/// service that was never closed.
fn held_crowd(place: u32, class: u32, crowd: Crowd, heap: &Heap) -> Option<Finding> {
    let collection = crowd.collection().map(|node| heap.whole(node));
    if collection.is_none() && (heap.is_top(heap.whole(place)) || heap.is_code(crowd.alike.example)) {
        // A global object retains the whole program.
        return None;
    }
    let is_function = |node: u32| heap.functions.has(heap.nodes.kind.at(node as usize));
    if collection.is_some_and(is_function) && is_function(crowd.alike.example) {
        // The functions of a module are its code.
        return None;
    }
    if collection.is_none() && heap.is_of_package(place, CodeOf::Package) {
        return constant(heap.owner(place).unwrap_or(place), heap.nodes.retained.at(place as usize), heap);
    }
    // A node of a tree has a few children.
    let is_open = collection.is_some() || crowd.is_list(place, class, LIST, heap);
    let grows = is_open && crowd.largest < crowd.bytes / 4 && crowd.count >= MANY;
    let subject = collection.unwrap_or_else(|| heap.owner(place).unwrap_or(place));
    if heap.is_register(subject) {
        return None;
    }
    let bytes = match collection {
        // The collection of a closure or of a global object need not be the place.
        Some(_) => crowd.bytes,
        None => heap.nodes.retained.at(place as usize),
    };
    let severity = match heap.is_register(crowd.alike.example) && !heap.is_register(heap.holder(subject)) {
        // The table of all modules does not cause their sizes; a module that has loaded many may.
        true => severity(bytes, heap.bytes, PERCENT).map(|_| Severity::Low)?,
        false => at_most(grows, severity(bytes, heap.bytes, PERCENT)?),
    };
    let found = Found { rule: NAME, severity, count: crowd.count, bytes };
    let mut finding = found.about_class(class, Some(subject), heap);
    finding.scope = Scope::Node;
    finding.subject = heap.subject(subject);
    // Only a common name is informative.
    let example = (crowd.alike.votes >= crowd.count / 2).then_some(crowd.alike.example);
    let (what, share) = (heap.objects(crowd.count, class, example), heap.share(bytes));
    let (name, path) = (heap.described(subject), heap.chain(subject));
    finding.message = match collection {
        Some(_) => format!("{name} holds {what}, which retain {share}: {path}"),
        None => {
            let through = heap.whole(crowd.in_common(place, heap));
            let through = match heap.is_within(through, place) && through != subject {
                true => format!(", most of them through {}", heap.described(through)),
                false => String::new(),
            };
            let part = size(crowd.bytes);
            format!("{name} retains {share}, among it {what} with {part}{through}: {path}")
        }
    };
    finding.next_step = match collection {
        // A global object cannot be bounded.
        Some(_) if heap.is_top(subject) => String::new(),
        Some(_) => bound(&finding.subject),
        None => FOLLOW.to_owned(),
    };
    Some(finding)
}

fn bound(subject: &str) -> String {
    format!("If {subject} only ever grows, bound it: remove entries when they are done with, or hold them weakly.")
}

/// Advice about a structure.
const FOLLOW: &str = "If it should be gone, or be smaller, follow the path from its end: the first holder that should have \
                      let go is the place to fix.";

/// Limits the severity of a finding without growth to medium.
fn at_most(grows: bool, severity: Severity) -> Severity {
    if grows { severity } else { severity.max(Severity::Medium) }
}

/// Returns the first element of a list: the highest dominator in a row of objects of one class, with little between
/// them. Without a row, or with one short enough for a branch of a tree, returns the node itself.
fn head(node: u32, heap: &Heap) -> u32 {
    let class = heap.nodes.class.at(node as usize);
    let dominator =
        |&at: &u32| Some(heap.nodes.dominator.at(at as usize).0).filter(|&above| above != heap.metadata.root.0);
    // Lists of closures have a function and its variables between two elements.
    let above = |at: &u32| {
        let mut near = std::iter::successors(dominator(at), dominator).take(BETWEEN);
        near.find(|&above| heap.nodes.class.at(above as usize) == class)
    };
    let row = std::iter::successors(Some(node), above).take(CANDIDATES).enumerate().last();
    row.filter(|&(steps, _)| steps >= LIST).map_or(node, |(_, head)| head)
}

/// Finding about a single object that only the code of a package, or a constant of a class, reaches.
fn constant(node: u32, bytes: u64, heap: &Heap) -> Option<Finding> {
    severity(bytes, heap.bytes, PERCENT)?;
    let found = Found { rule: CONSTANT, severity: Severity::Low, count: 1, bytes };
    let mut finding = found.about_node(node, heap);
    finding.subject = heap.subject(node);
    let (name, share) = (heap.described(node), heap.share(bytes));
    finding.message =
        format!("{name} retains {share}, for as long as the code that made it is loaded: {}", heap.chain(node));
    "That is no matter unless it grows: compare snapshots.".clone_into(&mut finding.next_step);
    Some(finding)
}

/// Finding about one object that is large or retains a large object. That alone is no mistake; but lists grow, and a
/// large piece of data in a variable of a closure was probably forgotten.
fn single(place: u32, bytes: u64, heap: &Heap) -> Option<Finding> {
    let is_data = heap.data_arrays.has(heap.nodes.kind.at(place as usize));
    let end = heap.owner(place).filter(|_| !is_data).unwrap_or(place);
    let owner = head(end, heap);
    if heap.is_source(place) || heap.is_top(owner) || heap.is_register(owner) {
        return None;
    }
    let is_list = owner != end;
    // Entries belong to the list of their container.
    let owner = if is_list { heap.whole(owner) } else { owner };
    let bytes = if is_list { heap.nodes.retained.at(owner as usize) } else { bytes };
    let alone = heap.nodes.shallow.at(place as usize) >= bytes / 2;
    let is_foreign = heap.is_of_package(place, CodeOf::Package)
        || (alone && (heap.is_of_package(place, CodeOf::Platform) || heap.is_static(place)));
    if !is_list && is_foreign {
        return constant(owner, bytes, heap);
    }
    let forgotten = alone && heap.is_variable(owner);
    let percent = if is_list || forgotten { PERCENT } else { PERCENT_SINGLE };
    let severity = severity(bytes, heap.bytes, percent)?;
    let mut finding = Found { rule: NAME, severity, count: 1, bytes }.about_node(owner, heap);
    finding.subject = heap.subject(owner);
    let what = match () {
        () if is_list && heap.nodes.class.at(owner as usize) == heap.nodes.class.at(end as usize) => {
            "as the first of a list of them"
        }
        () if is_list => "as a linked list",
        () if forgotten => "data in one piece that a closure keeps in its variables",
        () if alone => "data in one piece",
        () => "with what it holds",
    };
    finding.message = format!("{} retains {}, {what}: {}", heap.described(owner), heap.share(bytes), heap.chain(owner));
    finding.next_step = match () {
        () if is_list => "If the list only ever grows, bound it: cut off what is done with.",
        () if forgotten => "Copy what the closure needs of it into a variable of its own, or set this one to null.",
        () => "If it should be gone, follow the path from its end: the first holder that should have let go is the place to fix.",
    }
    .to_owned();
    Some(finding)
}
