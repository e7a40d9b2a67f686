//! Expected tables of a walk.

use super::model::{Heap, Object, Type, Walk};
use crate::graph::{Arc, distances, dominators_by_deletion, retained};
use std::collections::{BTreeMap, BTreeSet};

/// Expected results for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTruth {
    /// `object`, `array` or `string`.
    pub kind: &'static str,
    pub class: String,
    pub shallow: u64,
    pub retained: u64,
    /// Address of its immediate dominator; `None` for the root.
    pub dominator: Option<u64>,
    /// Distance from the root.
    pub distance: Option<u32>,
    /// Targets and kinds of its edges to objects of the walk.
    pub edges: Vec<(u64, &'static str)>,
}

/// Expected results for a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    pub nodes: BTreeMap<u64, NodeTruth>,
    /// Targets of the root, and the names of these edges.
    pub roots: BTreeSet<(u64, String)>,
    /// Objects and bytes, by class key.
    pub classes: BTreeMap<String, (u64, u64)>,
}

/// Targets and kinds of the edges of each object, by address.
type Edges = BTreeMap<u64, Vec<(u64, &'static str)>>;

/// Expected results for a walk of a heap.
pub fn truth(heap: &Heap, walk: usize) -> Truth {
    let walk = &heap.walks[walk];
    let place: BTreeMap<u64, u32> = walk.objects.iter().map(|object| object.address).zip(1..).collect();
    let n = walk.objects.len() + 1;
    let (mut arcs, mut edges) = edges(walk, &place);
    let roots = roots(walk, &place);
    arcs.extend(roots.iter().map(|(object, _)| (0, place[object])));
    let far = distances(n, &arcs, 0);
    // Objects without a reference to them are alive, too.
    let held: BTreeSet<u32> = arcs.iter().filter(|(from, to)| from != to).map(|&(_, to)| to).collect();
    arcs.extend((1..n as u32).filter(|node| !held.contains(node)).map(|node| (0, node)));
    let sizes: Vec<u64> = std::iter::once(0).chain(walk.objects.iter().map(|object| object.size)).collect();
    let (dominators, kept) = (dominators_by_deletion(n, &arcs, 0), retained(n, &arcs, 0, &sizes));
    let address = |node: u32| walk.objects[node as usize - 1].address;
    let one = |(object, node): (&Object, usize)| {
        let of = find(heap, object.type_id);
        let truth = NodeTruth {
            kind: kind(of),
            class: of.map_or("(unknown type)".to_owned(), |of| name(heap, of)),
            shallow: object.size,
            // An object of an unreachable cycle: the root dominates it, and it retains itself only.
            retained: if dominators[node].is_some() { kept[node] } else { object.size },
            dominator: dominators[node].filter(|&node| node > 0).map(address),
            distance: far[node],
            edges: edges.remove(&object.address).unwrap_or_default(),
        };
        (object.address, truth)
    };
    let nodes = walk.objects.iter().zip(1..).map(one).collect();
    Truth { nodes, roots, classes: classes(heap, walk) }
}

/// The edges: references, then those of dependent handles.
fn edges(walk: &Walk, place: &BTreeMap<u64, u32>) -> (Vec<Arc>, Edges) {
    let (mut arcs, mut edges) = (Vec::new(), Edges::new());
    for object in &walk.objects {
        for reference in object.references.iter().filter(|address| place.contains_key(address)) {
            arcs.push((place[&object.address], place[reference]));
            edges.entry(object.address).or_default().push((*reference, "reference"));
        }
    }
    // The dependents of one object are in the order of the walk.
    let mut dependents = walk.dependents.clone();
    dependents.sort_by_key(|(_, value)| place.get(value));
    for (key, value) in &dependents {
        if let (Some(&from), Some(&to)) = (place.get(key), place.get(value)) {
            arcs.push((from, to));
            edges.entry(*key).or_default().push((*value, "dependent"));
        }
    }
    (arcs, edges)
}

fn kind(of: Option<&Type>) -> &'static str {
    match of {
        Some(of) if of.string => "string",
        Some(of) if of.array => "array",
        _ => "object",
    }
}

/// Objects and bytes, by class key.
fn classes(heap: &Heap, walk: &Walk) -> BTreeMap<String, (u64, u64)> {
    let mut classes: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for object in &walk.objects {
        let sums = classes.entry(key(heap, object.type_id)).or_default();
        *sums = (sums.0 + 1, sums.1 + object.size);
    }
    classes
}

fn roots(walk: &Walk, place: &BTreeMap<u64, u32>) -> BTreeSet<(u64, String)> {
    let (weak, pinned, counted) = (2, 1, 8);
    let named = walk.roots.iter().filter(|root| root.flags & weak == 0).map(|root| {
        let name = match root.kind {
            0 => "stack",
            1 => "finalizer queue",
            2 if root.flags & counted != 0 => "reference-counted handle",
            2 if root.flags & pinned != 0 => "pinned handle",
            2 => "strong handle",
            3 => "older generation",
            4 => "sized reference handle",
            5 => "mark overflow",
            _ => "other",
        };
        (root.object, name.to_owned())
    });
    let fields = walk.statics.iter().map(|field| {
        let kind = if field.thread { "thread static" } else { "static" };
        (field.object, format!("{kind} {}", field.field))
    });
    named.chain(fields).filter(|(object, _)| place.contains_key(object)).collect()
}

fn find(heap: &Heap, id: u64) -> Option<&Type> {
    heap.types.iter().find(|of| of.id == id)
}

fn file(heap: &Heap, address: u64) -> &str {
    let path = heap.modules.iter().find(|(module, _)| *module == address).map(|(_, path)| path.as_str());
    path.unwrap_or("?").rsplit(['/', '\\']).next().unwrap_or_default()
}

fn module(heap: &Heap, address: u64) -> String {
    let file = file(heap, address);
    file.strip_suffix(".dll").or(file.strip_suffix(".exe")).unwrap_or(file).to_owned()
}

pub fn name(heap: &Heap, of: &Type) -> String {
    if !of.name.is_empty() {
        let brackets = of.array && !of.name.ends_with(']');
        return format!("{}{}", of.name, if brackets { "[]" } else { "" });
    }
    match of.parameters.first().and_then(|&id| find(heap, id)) {
        Some(element) if of.array => format!("{}[]", name(heap, element)),
        _ => format!("[{}!{:#010x}]", file(heap, of.module), of.token),
    }
}

/// Distinguishes classes of one name: by module, then token, then id.
fn key(heap: &Heap, id: u64) -> String {
    // All ids in the heap.
    let mut ids: BTreeSet<u64> = heap.types.iter().map(|of| of.id).collect();
    let walks = || heap.walks.iter();
    ids.extend(walks().flat_map(|walk| walk.objects.iter().map(|object| object.type_id)));
    let said = |id: u64| match find(heap, id) {
        Some(of) => (name(heap, of), module(heap, of.module), of.token),
        None => ("(unknown type)".to_owned(), "?".to_owned(), 0),
    };
    let (name, module, token) = said(id);
    let alike = |like: &dyn Fn(&(String, String, u32)) -> bool| ids.iter().filter(|&&id| like(&said(id))).count();
    let same_name = alike(&|other| other.0 == name);
    let same_module = alike(&|other| other.0 == name && other.1 == module);
    let same_token = alike(&|other| *other == (name.clone(), module.clone(), token));
    let token = if same_module > 1 { format!(" {token:#x}") } else { String::new() };
    let place = if same_name > 1 { format!(" ({module}{token})") } else { String::new() };
    let id = if same_token > 1 { format!(" @ {id:#x}") } else { String::new() };
    format!("{name}{place}{id}")
}
