//! The expected tables of a plain heap in any format.

use super::model::{Heap, Object, Root};
use crate::duplicates::{EqualityGraph, Node, Set, Slot};
use crate::graph::{Arc, distances, dominators_by_deletion, reachable, retained};
use std::collections::BTreeMap;

/// Treatment of unreachable objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Garbage {
    /// They are garbage (Java dumps, in which classes are objects, too).
    Dead,
    /// The root retains those without a reference from another object; the others are in cycles and retain themselves
    /// only.
    Listed,
}

/// Expected results for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTruth {
    pub shallow: u64,
    /// Retained size; 0 for garbage.
    pub retained: u64,
    /// Its immediate dominator; `None` for the root.
    pub dominator: Option<usize>,
    /// Distance from the root; `None` if unreachable.
    pub distance: Option<u32>,
    /// Targets of its references, ascending.
    pub targets: Vec<usize>,
}

/// Expected results for every object, given the sizes.
pub fn truth(heap: &Heap, sizes: &[u64], garbage: Garbage) -> Vec<NodeTruth> {
    let n = heap.objects.len() + 1;
    let mut arcs = arcs(heap);
    let far = match garbage {
        Garbage::Dead => distances_over_classes(heap),
        Garbage::Listed => distances(n, &arcs, 0),
    };
    if garbage == Garbage::Listed {
        let held = |node: u32| arcs.iter().any(|&(from, to)| to == node && from != node);
        let orphans: Vec<Arc> = (1..n as u32).filter(|&node| !held(node)).map(|node| (0, node)).collect();
        arcs.extend(orphans);
    }
    let sizes: Vec<u64> = [0].into_iter().chain(sizes.iter().copied()).collect();
    let (dominators, kept) = (dominators_by_deletion(n, &arcs, 0), retained(n, &arcs, 0, &sizes));
    let one = |(object, of): (usize, &Object)| {
        let node = object + 1;
        let alone = if garbage == Garbage::Listed { sizes[node] } else { 0 };
        let mut targets = of.targets();
        targets.sort_unstable();
        NodeTruth {
            shallow: sizes[node],
            retained: if dominators[node].is_some() { kept[node] } else { alone },
            dominator: dominators[node].and_then(|node| (node as usize).checked_sub(1)),
            distance: far[node],
            targets,
        }
    };
    heap.objects.iter().enumerate().map(one).collect()
}

/// The references as arcs between objects numbered from 1; 0 is the root.
fn arcs(heap: &Heap) -> Vec<Arc> {
    let of_roots = heap.roots.iter().map(|root| (0, root.object() as u32 + 1));
    let objects = heap.objects.iter().zip(1..);
    let others = objects.flat_map(|(object, from)| object.targets().into_iter().map(move |to| (from, to as u32 + 1)));
    of_roots.chain(others).collect()
}

/// Distances in a dump: there a class is an object that the root refers to and that refers to its static fields.
fn distances_over_classes(heap: &Heap) -> Vec<Option<u32>> {
    let class_object = |class: usize| (heap.objects.len() + 1 + class) as u32;
    let mut arcs = arcs(heap);
    for (arc, root) in arcs.iter_mut().zip(&heap.roots) {
        if let Root::Static(class, _) = *root {
            arc.0 = class_object(class);
        }
    }
    arcs.extend((0..heap.classes.len()).map(|class| (0, class_object(class))));
    distances(heap.objects.len() + 1 + heap.classes.len(), &arcs, 0)
}

/// The objects that the roots reach.
pub fn alive(heap: &Heap) -> Vec<bool> {
    reachable(heap.objects.len() + 1, &arcs(heap), 0, None).split_off(1)
}

pub fn duplicates(heap: &Heap, sizes: &[u64]) -> Vec<Set> {
    let mut values: BTreeMap<String, u32> = BTreeMap::new();
    let node = |(object, &bytes): (&Object, &u64)| {
        let (value, targets): (String, Vec<Option<usize>>) = match object {
            Object::Instance(class, numbers, references) => (format!("{class} {numbers:?}"), references.clone()),
            Object::Array(elements) => {
                (format!("array {}", elements.len()), elements.iter().copied().map(Some).collect())
            }
            Object::Text(text) => (format!("text {text}"), Vec::new()),
        };
        let next = values.len() as u32;
        let value = *values.entry(value).or_insert(next);
        let slot = |(label, to): (u32, Option<usize>)| to.map(|to| Slot { label, to, identity: false });
        Node { value, bytes, slots: (0..).zip(targets).filter_map(slot).collect() }
    };
    EqualityGraph { nodes: heap.objects.iter().zip(sizes).map(node).collect(), roots: Vec::new() }.sets()
}
