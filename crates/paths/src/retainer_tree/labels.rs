//! Looks up the labels of the edges that steps follow.

use super::level::{Level, Link};
use super::order;
use super::walk::{Holders, Kind, SOON};
use heaplake_kit::StageError;

/// Edges examined per unit of work.
const EDGES: u64 = 16;

/// The edges of one step from one retainer.
#[derive(Clone, Copy)]
struct Group {
    holder: u32,
    level: u32,
    start: u32,
    end: u32,
}

/// Turns the edges of these steps into links, retainer by retainer.
pub(super) fn find(heap: &mut impl Holders, levels: &mut [Level<'_>]) -> Result<(), StageError> {
    let groups = groups(levels);
    levels.iter_mut().for_each(|level| level.links.reserve(level.edges.len()));
    let (mut held, mut labels, mut soon) = (Vec::new(), Vec::new(), Vec::new());
    for (at, &Group { holder, level, start, end }) in groups.iter().enumerate() {
        if at.is_multiple_of(SOON) {
            soon.clear();
            soon.extend(groups[at..groups.len().min(at + SOON)].iter().map(|group| group.holder));
            soon.dedup();
            heap.before_labels(&soon)?;
        }
        let level = &mut levels[level as usize];
        if level.is_full {
            continue;
        }
        held.clear();
        held.extend(level.edges[start as usize..end as usize].iter().map(|edge| edge.1));
        labels.clear();
        level.cost += heap.labels(holder, &held, &mut labels)? / EDGES;
        if labels.len() > 1 {
            labels.sort_unstable();
            labels.dedup();
        }
        let nearest = (heap.distance(holder)?, holder);
        let kind = if holder == heap.root() { Kind::Root } else { Kind::Holder };
        let class = heap.class(holder)?;
        for &(held, label) in &labels {
            let number = level.keys.number(kind, class, label);
            let key = &mut level.keys.list[number as usize];
            (key.nearest, key.merged) = (key.nearest.min(nearest), 1);
            level.links.push(Link { held, holder, key: number });
        }
        if level.links.len() > level.limits.pairs {
            level.links.truncate(level.limits.pairs);
            (level.is_cut, level.is_full) = (true, true);
        }
    }
    for level in levels {
        level.edges = Vec::new();
        order::links(&mut level.links);
    }
    Ok(())
}

/// Iterates over the edges of a step by retainer.
fn by_holder<'a>(level: &'a Level<'_>) -> impl Iterator<Item = &'a [(u32, u32)]> {
    level.edges.chunk_by(|a, b| a.0 == b.0)
}

/// Returns the edges of all steps, sorted by retainer.
fn groups(levels: &[Level<'_>]) -> Vec<Group> {
    let mut groups = Vec::with_capacity(levels.iter().map(|level| by_holder(level).count()).sum());
    for (at, level) in levels.iter().enumerate() {
        let mut start = 0;
        for same in by_holder(level) {
            let end = start + same.len();
            groups.push(Group { holder: same[0].0, level: at as u32, start: start as u32, end: end as u32 });
            start = end;
        }
    }
    groups.sort_unstable_by_key(|group| u64::from(group.holder) << 32 | u64::from(group.level));
    groups
}
