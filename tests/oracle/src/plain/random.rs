//! Random plain heaps: random graphs, copies of their parts, and altered copies.

use super::model::{Class, Heap, Object, Root};
use super::truth::alive;
use crate::graph::random_graph;
use crate::rng::SplitMix64;
use std::collections::BTreeMap;

/// A heap of at most about `most` objects, and twice that with copies.
pub fn heap(seed: u64, most: usize) -> Heap {
    let rng = &mut SplitMix64::new(seed);
    let (n, arcs) = random_graph(rng.next_u64(), most.max(2));
    let mut targets = vec![Vec::new(); n.max(2)];
    for (from, to) in arcs.into_iter().filter(|&(_, to)| to > 0) {
        targets[from as usize].push(to as usize - 1);
    }
    let mut heap = Heap::default();
    let roots = targets.remove(0);
    for targets in targets {
        let object = object(rng, &mut heap.classes, targets);
        heap.objects.push(object);
    }
    for object in roots {
        let root = root(rng, &heap.classes, object);
        heap.roots.push(root);
    }
    for _ in 0..rng.below(4) {
        copy_part(rng, &mut heap, most);
    }
    match rng.below(4) {
        0 => {}
        1 => cut_garbage(&mut heap),
        _ => hold_garbage(rng, &mut heap),
    }
    heap
}

fn object(rng: &mut SplitMix64, classes: &mut Vec<Class>, targets: Vec<usize>) -> Object {
    if targets.is_empty() && rng.one_in(3) {
        return Object::Text(["", "a", "b", "a longer text", "Größe"][rng.below(5)].to_owned());
    }
    if rng.one_in(4) {
        return Object::Array(targets);
    }
    let mut references: Vec<Option<usize>> = targets.into_iter().map(Some).collect();
    references.extend(vec![None; rng.below(3)]);
    rng.shuffle(&mut references);
    let numbers: Vec<u8> = (0..rng.below(3)).map(|_| rng.below(2) as u8).collect();
    let class = Class { numbers: numbers.len(), references: references.len() };
    // Several classes may have one shape.
    let known = (0..classes.len()).filter(|&known| classes[known] == class).nth(rng.below(2));
    let class = known.unwrap_or_else(|| {
        classes.push(class);
        classes.len() - 1
    });
    Object::Instance(class, numbers, references)
}

fn root(rng: &mut SplitMix64, classes: &[Class], object: usize) -> Root {
    if classes.is_empty() || rng.one_in(2) {
        Root::Handle(object)
    } else {
        Root::Static(rng.below(classes.len()), object)
    }
}

/// Copies an object and some of the objects reachable from it, at least once; the others are shared.
fn copy_part(rng: &mut SplitMix64, heap: &mut Heap, most: usize) {
    let start = rng.below(heap.objects.len());
    let (mut part, mut at) = (vec![start], 0);
    while at < part.len() {
        for target in heap.objects[part[at]].targets() {
            if part.len() < most / 4 && !part.contains(&target) && !rng.one_in(8) {
                part.push(target);
            }
        }
        at += 1;
    }
    for _ in 0..1 + rng.below(2) {
        let first = heap.objects.len();
        let names: BTreeMap<usize, usize> = part.iter().copied().zip(first..).collect();
        for old in &part {
            let mut copy = heap.objects[*old].clone();
            rename(&mut copy, &names);
            heap.objects.push(copy);
        }
        if rng.one_in(4) {
            let spoilt = first + rng.below(part.len());
            spoil(rng, heap, spoilt);
        }
        let root = root(rng, &heap.classes, first);
        heap.roots.push(root);
    }
}

fn rename(object: &mut Object, names: &BTreeMap<usize, usize>) {
    let new = |target: &mut usize| *target = names.get(target).copied().unwrap_or(*target);
    match object {
        Object::Instance(_, _, references) => references.iter_mut().flatten().for_each(new),
        Object::Array(elements) => elements.iter_mut().for_each(new),
        Object::Text(_) => {}
    }
}

/// Changes a part of an object.
fn spoil(rng: &mut SplitMix64, heap: &mut Heap, object: usize) {
    let other = rng.below(heap.objects.len());
    match &mut heap.objects[object] {
        Object::Instance(_, numbers, _) if !numbers.is_empty() && rng.one_in(2) => numbers[0] += 1,
        Object::Instance(_, _, references) if !references.is_empty() => {
            let at = rng.below(references.len());
            references[at] = (!rng.one_in(3)).then_some(other);
        }
        Object::Instance(..) => {}
        Object::Array(elements) => elements.push(other),
        Object::Text(text) => text.push('!'),
    }
}

/// Removes references from garbage to live objects, so that garbage dominates nothing.
fn cut_garbage(heap: &mut Heap) {
    let alive = alive(heap);
    for (object, _) in heap.objects.iter_mut().zip(&alive).filter(|(_, alive)| !**alive) {
        match object {
            Object::Instance(_, _, references) => {
                references.iter_mut().for_each(|to| *to = to.filter(|&to| !alive[to]));
            }
            Object::Array(elements) => elements.retain(|&to| !alive[to]),
            Object::Text(_) => {}
        }
    }
}

/// Adds roots until there is no garbage.
fn hold_garbage(rng: &mut SplitMix64, heap: &mut Heap) {
    while let Some(garbage) = alive(heap).iter().position(|alive| !alive) {
        let root = root(rng, &heap.classes, garbage);
        heap.roots.push(root);
    }
}
