//! Merges branches too light for a row of their own.
//!
//! A dictionary has as many labels as entries. Labels with few instances of a class are merged into "any label", as in
//! the chains; branches that are still light are merged into the rest.

use super::growing::{Growing, Key, Keys};
use super::level::Triple;
use super::order;
use super::walk::{Amount, Kind, Limits};
use heaplake_schemas::chains::label;
use std::cmp::Reverse;

/// The merged branches.
pub(super) struct Folded {
    /// Sorted by key.
    pub triples: Vec<Triple>,
    pub keys: Keys,
    /// Keys of the branches in their order, the rest last.
    pub order: Vec<u32>,
}

/// Merges light branches.
pub(super) fn fold(mut triples: Vec<Triple>, mut keys: Keys, from: &Growing, limits: &Limits) -> Folded {
    let mut weights = weights(&mut triples, keys.list.len(), from);
    let mut to = any_labels(&mut keys, &weights, from, limits);
    if (0..).zip(&to).any(|(key, &new)| key != new) {
        rename(&mut triples, &mut keys, &to);
        weights = self::weights(&mut triples, keys.list.len(), from);
    }
    let ranked = ranked(&keys, &weights);
    let heavy = |key: &&u32| is_heavy(&weights[**key as usize], from, limits);
    let mut branches: Vec<u32> = ranked.iter().filter(heavy).take(limits.kept).copied().collect();
    if branches.len() < ranked.len() {
        let rest = keys.rest();
        to = (0..=rest).collect();
        ranked.iter().filter(|key| !branches.contains(key)).for_each(|&key| to[key as usize] = rest);
        rename(&mut triples, &mut keys, &to);
        order::triples(&mut triples);
        branches.push(rest);
    }
    Folded { triples, keys, order: branches }
}

/// True if a branch is worth a row.
fn is_heavy(weight: &Amount, from: &Growing, limits: &Limits) -> bool {
    let reaches = |part: u64, all: u64| part > 0 && part >= all.div_ceil(limits.light);
    reaches(weight.count, from.all.count) || reaches(weight.retained_bytes, from.all.retained_bytes)
}

/// Sorts the triples and sums the distinct items of each key.
fn weights(triples: &mut Vec<Triple>, keys: usize, from: &Growing) -> Vec<Amount> {
    order::triples(triples);
    let mut weights = vec![Amount::default(); keys];
    for same in triples.chunk_by(|a, b| (a.key, a.item) == (b.key, b.item)) {
        weights[same[0].key as usize].add(&from.items[same[0].item as usize].0);
    }
    weights
}

/// Returns the nonempty keys, heaviest first, ties by distance from the root.
fn ranked(keys: &Keys, weights: &[Amount]) -> Vec<u32> {
    let mut ranked: Vec<u32> = (0..keys.list.len() as u32).filter(|&key| weights[key as usize].count > 0).collect();
    ranked.sort_by_key(|&key| {
        let (weight, Key { nearest, class, label, .. }) = (&weights[key as usize], keys.list[key as usize]);
        (Reverse(weight.count), Reverse(weight.retained_bytes), nearest, class, label)
    });
    ranked
}

/// Maps each key to its replacement: the light keys of a class, if several, merge into one with any label.
fn any_labels(keys: &mut Keys, weights: &[Amount], from: &Growing, limits: &Limits) -> Vec<u32> {
    let mut to: Vec<u32> = (0..keys.list.len() as u32).collect();
    let mut ranked = ranked(keys, weights);
    ranked.retain(|&key| keys.list[key as usize].kind == Kind::Holder);
    // A stable sort keeps the rank within each class.
    ranked.sort_by_key(|&key| keys.list[key as usize].class);
    let class = |keys: &Keys, key: u32| keys.list[key as usize].class;
    for group in ranked.chunk_by(|&a, &b| class(keys, a) == class(keys, b)).map(<[u32]>::to_vec).collect::<Vec<_>>() {
        let stays = |key: &&u32| is_heavy(&weights[**key as usize], from, limits);
        let staying: Vec<u32> = group.iter().filter(stays).take(limits.names).copied().collect();
        let light: Vec<u32> = group.iter().filter(|key| !staying.contains(key)).copied().collect();
        if light.len() > 1 {
            let any = keys.number(Kind::Holder, class(keys, light[0]), label::ANY);
            light.iter().for_each(|&key| to[key as usize] = any);
        }
    }
    to.extend(to.len() as u32..keys.list.len() as u32);
    to
}

/// Renames the keys of triples and merges their counts.
fn rename(triples: &mut [Triple], keys: &mut Keys, to: &[u32]) {
    triples.iter_mut().for_each(|triple| triple.key = to[triple.key as usize]);
    for (key, &new) in to.iter().enumerate().filter(|&(key, &new)| key as u32 != new) {
        let Key { nearest, merged, .. } = keys.list[key];
        let taker = &mut keys.list[new as usize];
        (taker.nearest, taker.merged) = (taker.nearest.min(nearest), taker.merged + merged);
        keys.list[key].merged = 0;
    }
}
