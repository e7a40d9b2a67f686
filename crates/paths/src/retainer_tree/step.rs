//! Expands a branch from the links to its retainers.

use super::fold::{self, Folded};
use super::growing::{Growing, Key, Passed};
use super::level::{Level, Link, Triple};
use super::walk::{Amount, Branch, Holders, Kind};
use heaplake_kit::StageError;
use std::ops::Range;
use std::rc::Rc;

/// The result of expanding a branch.
pub(super) struct Step {
    /// Position of the branch; `None` for the instances.
    pub branch: Option<usize>,
    /// The new branches, and the state of those to be expanded further.
    pub children: Vec<(Branch, Option<Growing>)>,
    /// True if some retainers were not examined.
    pub is_cut: bool,
    pub cost: u64,
}

/// Merges the links of a step into branches.
pub(super) fn expand(heap: &mut impl Holders, level: Level<'_>) -> Result<Step, StageError> {
    let Level { from, limits, links, keys, mut is_cut, mut cost, .. } = level;
    let triples = triples(&from, &links, limits.pairs, &mut is_cut);
    cost += triples.len() as u64;
    drop(links);
    let Folded { triples, keys, order } = fold::fold(triples, keys, &from, limits);
    let exclusive = exclusive(&triples, &from);
    let mut children = Vec::new();
    for key in order {
        let start = triples.partition_point(|triple| triple.key < key);
        let end = triples.partition_point(|triple| triple.key <= key);
        children.push(child(heap, &from, &keys.list[key as usize], &triples[start..end], &exclusive)?);
    }
    Ok(Step { branch: from.branch, children, is_cut, cost })
}

/// Joins items with links: the retainers of each item, by key.
fn triples(from: &Growing, links: &[Link], most: usize, is_cut: &mut bool) -> Vec<Triple> {
    let mut triples = Vec::with_capacity(links.len().max(from.pairs.len()).min(most));
    let (mut start, mut last) = (0, None);
    for &(item, node) in &from.pairs {
        // While nodes ascend, the next one is near.
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

/// Returns the position of the first link of `node` or a later node. Gallops from the beginning.
fn first_of(links: &[Link], node: u32) -> usize {
    let mut reach = 1;
    while links.get(reach).is_some_and(|link| link.held < node) {
        reach *= 4;
    }
    let near = &links[..links.len().min(reach + 1)];
    near.partition_point(|link| link.held < node)
}

/// For each item, true if a single key retains it and the branch has all its retainers.
fn exclusive(triples: &[Triple], from: &Growing) -> Vec<bool> {
    let mut keys = vec![0u32; from.items.len()];
    for same in triples.chunk_by(|a, b| (a.key, a.item) == (b.key, b.item)) {
        keys[same[0].item as usize] += 1;
    }
    keys.iter().zip(&from.items).map(|(&keys, item)| keys == 1 && item.1).collect()
}

/// Creates a branch and the state to expand it.
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

/// Merges items with equal retainers and equal exclusivity.
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
