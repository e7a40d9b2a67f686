//! One step of a walk: from the holders of a branch to theirs.

use super::fold::{self, Folded, Triple};
use super::growing::{Growing, Key, Keys, Passed};
use super::walk::{Amount, Branch, Holders, Kind, Limits, SOON};
use crate::StageError;
use std::ops::Range;
use std::rc::Rc;

/// Nodes at this distance or nearer have no holder but the root.
const BEGINNING: i32 = 1;
/// Edges that are looked at for one unit of work.
const EDGES: u64 = 16;

/// What is behind a branch.
pub(super) struct Step {
    /// The branches, and how to go on from those that go on.
    pub children: Vec<(Branch, Option<Growing>)>,
    /// Whether not all was looked at.
    pub is_cut: bool,
    pub cost: u64,
}

/// A holder of a node, and the key of their edge.
#[derive(Clone, Copy)]
struct Link {
    held: u32,
    holder: u32,
    key: u32,
}

impl Link {
    /// One number in the order of links.
    #[inline]
    fn number(&self) -> u128 {
        u128::from(self.held) << 64 | u128::from(self.holder) << 32 | u128::from(self.key)
    }
}

/// Goes up one level.
///
/// # Errors
/// Those of the heap.
pub(super) fn expand(heap: &mut impl Holders, from: &Growing, limits: &Limits) -> Result<Step, StageError> {
    let (mut is_cut, mut cost) = (false, 0);
    let edges = edges(heap, from, limits, (&mut is_cut, &mut cost))?;
    let mut keys = Keys::default();
    let links = links(heap, &edges, &mut keys, (limits.pairs, &mut is_cut, &mut cost))?;
    let triples = triples(from, &links, limits.pairs, &mut is_cut);
    cost += triples.len() as u64;
    drop(links);
    let Folded { triples, keys, order } = fold::fold(triples, keys, from, limits);
    let exclusive = exclusive(&triples, from);
    let mut children = Vec::new();
    for key in order {
        let start = triples.partition_point(|triple| triple.key < key);
        let end = triples.partition_point(|triple| triple.key <= key);
        children.push(child(heap, from, &keys.list[key as usize], &triples[start..end], &exclusive)?);
    }
    Ok(Step { children, is_cut, cost })
}

/// The edges that are followed to the holders of a branch, by source: source and target.
fn edges(
    heap: &mut impl Holders,
    from: &Growing,
    limits: &Limits,
    (is_cut, cost): (&mut bool, &mut u64),
) -> Result<Vec<(u32, u32)>, StageError> {
    let (mut edges, mut retainers) = (Vec::new(), Vec::new());
    for (at, &held) in from.nodes.iter().enumerate() {
        if at.is_multiple_of(SOON) {
            heap.before_retainers(&from.nodes[at..from.nodes.len().min(at + SOON)])?;
        }
        retainers.clear();
        *is_cut |= heap.retainers(held, limits.retainers, &mut retainers)?;
        *cost += retainers.len() as u64 + 1;
        if retainers.len() > 1 {
            retainers.sort_unstable();
            retainers.dedup();
        }
        for &holder in &retainers {
            let passed = from.passed.as_ref().is_some_and(|passed| passed.contains(holder));
            if !passed
                && follows(heap, held, holder, from.level, limits)?
                && !says_again(heap, held, holder, &retainers)?
            {
                edges.push((holder, held));
            }
        }
        if edges.len() > limits.pairs {
            edges.truncate(limits.pairs);
            *is_cut = true;
            break;
        }
    }
    edges.sort_unstable_by_key(|&(holder, held)| u64::from(holder) << 32 | u64::from(held));
    Ok(edges)
}

/// Whether a retainer is a part of another one.
fn says_again(heap: &mut impl Holders, held: u32, holder: u32, retainers: &[u32]) -> Result<bool, StageError> {
    let owner = heap.owner(holder)?;
    Ok(owner.is_some_and(|owner| owner != held && retainers.binary_search(&owner).is_ok()))
}

/// Whether a walk goes from a node of a level to this retainer.
fn follows(heap: &mut impl Holders, held: u32, holder: u32, level: u32, limits: &Limits) -> Result<bool, StageError> {
    if holder == heap.root() {
        return Ok(true);
    }
    let far = heap.distance(held)?;
    if level > 0 && far <= BEGINNING {
        return Ok(false);
    }
    if heap.distance(holder)? < far {
        return Ok(true);
    }
    Ok(level < limits.any_level && !heap.dominates(held, holder)?)
}

/// The edges with their keys, by target.
fn links(
    heap: &mut impl Holders,
    edges: &[(u32, u32)],
    keys: &mut Keys,
    (most, is_cut, cost): (usize, &mut bool, &mut u64),
) -> Result<Vec<Link>, StageError> {
    let (mut links, mut held, mut labels) = (Vec::with_capacity(edges.len()), Vec::new(), Vec::new());
    let mut holders: Vec<u32> = edges.iter().map(|edge| edge.0).collect();
    holders.dedup();
    for (at, group) in edges.chunk_by(|a, b| a.0 == b.0).enumerate() {
        let holder = group[0].0;
        if at.is_multiple_of(SOON) {
            heap.before_labels(&holders[at..holders.len().min(at + SOON)])?;
        }
        held.clear();
        held.extend(group.iter().map(|edge| edge.1));
        labels.clear();
        *cost += heap.labels(holder, &held, &mut labels)? / EDGES;
        if labels.len() > 1 {
            labels.sort_unstable();
            labels.dedup();
        }
        let nearest = (heap.distance(holder)?, holder);
        let (class, is_root) = (heap.class(holder)?, holder == heap.root());
        let kind = if is_root { Kind::Root } else { Kind::Holder };
        for &(held, label) in &labels {
            let number = keys.number(kind, class, label);
            let key = &mut keys.list[number as usize];
            (key.nearest, key.merged) = (key.nearest.min(nearest), 1);
            links.push(Link { held, holder, key: number });
        }
        if links.len() > most {
            links.truncate(most);
            *is_cut = true;
            break;
        }
    }
    links.sort_unstable_by_key(Link::number);
    Ok(links)
}

/// What holds each item, by which key.
fn triples(from: &Growing, links: &[Link], most: usize, is_cut: &mut bool) -> Vec<Triple> {
    let mut triples = Vec::new();
    let (mut start, mut last) = (0, None);
    for &(item, node) in &from.pairs {
        // Where nodes ascend, the next is not far.
        let from = if last < Some(node) { start } else { 0 };
        start = from + first_of(&links[from..], node);
        last = Some(node);
        let of_node = links[start..].iter().take_while(|link| link.held == node);
        triples.extend(of_node.map(|link| Triple { key: link.key, item, holder: link.holder }));
        if triples.len() > most {
            triples.truncate(most);
            *is_cut = true;
            break;
        }
    }
    triples
}

/// Position of the first link of what is held, or of what comes after it. Looks near the beginning first.
fn first_of(links: &[Link], node: u32) -> usize {
    let mut reach = 1;
    while links.get(reach).is_some_and(|link| link.held < node) {
        reach *= 4;
    }
    let near = &links[..links.len().min(reach + 1)];
    near.partition_point(|link| link.held < node)
}

/// For each item whether one key alone holds it, and nothing outside the branch does.
fn exclusive(triples: &[Triple], from: &Growing) -> Vec<bool> {
    let mut keys = vec![0u32; from.items.len()];
    for same in triples.chunk_by(|a, b| (a.key, a.item) == (b.key, b.item)) {
        keys[same[0].item as usize] += 1;
    }
    keys.iter().zip(&from.items).map(|(&keys, item)| keys == 1 && item.1).collect()
}

/// A branch, and how to go on from it.
fn child(
    heap: &mut impl Holders,
    from: &Growing,
    key: &Key,
    triples: &[Triple],
    exclusive: &[bool],
) -> Result<(Branch, Option<Growing>), StageError> {
    let mut nodes: Vec<u32> = triples.iter().map(|triple| triple.holder).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let (mut held, mut alone) = (Amount::default(), Amount::default());
    for same in triples.chunk_by(|a, b| a.item == b.item) {
        let item = same[0].item as usize;
        held.add(&from.items[item].0);
        if exclusive[item] {
            alone.add(&from.items[item].0);
        }
    }
    let (distance, example) = key.nearest;
    let branch = Branch {
        parent: from.branch,
        level: from.level + 1,
        kind: key.kind,
        class: if key.kind == Kind::Rest { heap.class(example)? } else { key.class },
        label: key.label,
        merged: key.merged,
        holders: nodes.len() as u64,
        example,
        distance,
        held,
        exclusive: alone,
        is_cut: false,
    };
    let growing = (key.kind == Kind::Holder).then(|| next(from, triples, exclusive, nodes));
    Ok((branch, growing))
}

/// Items that have the same holders in the branch become one, where it is the same whether others hold them.
fn next(from: &Growing, triples: &[Triple], exclusive: &[bool], nodes: Vec<u32>) -> Growing {
    let mut lists: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for same in triples.chunk_by(|a, b| a.item == b.item) {
        lists.push(start..start + same.len());
        start += same.len();
    }
    let alone = |list: &Range<usize>| exclusive[triples[list.start].item as usize];
    let holders = |list: &Range<usize>| triples[list.clone()].iter().map(|triple| triple.holder);
    lists.sort_unstable_by(|a, b| holders(a).cmp(holders(b)).then(alone(a).cmp(&alone(b))));
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    let mut items: Vec<(Amount, bool)> = Vec::new();
    for same in lists.chunk_by(|a, b| alone(a) == alone(b) && holders(a).eq(holders(b))) {
        let mut sum = Amount::default();
        same.iter().for_each(|list| sum.add(&from.items[triples[list.start].item as usize].0));
        pairs.extend(holders(&same[0]).map(|holder| (items.len() as u32, holder)));
        items.push((sum, alone(&same[0])));
    }
    let passed = Some(Rc::new(Passed { nodes: nodes.clone(), before: from.passed.clone() }));
    Growing { branch: None, level: from.level + 1, nodes, passed, pairs, items, all: from.all }
}
