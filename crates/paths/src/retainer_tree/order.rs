//! Sorting within a step: short lists by comparison, long ones by radix.

use super::level::{Link, Triple};

/// Minimum length of a radix sort.
const MANY: usize = 512;

/// Sorts edges by source, then target; they are sorted by target already.
pub(super) fn edges(edges: &mut [(u32, u32)]) {
    if edges.len() < MANY {
        edges.sort_unstable_by_key(|&(holder, held)| u64::from(holder) << 32 | u64::from(held));
    } else {
        radsort::sort_by_key(edges, |edge| edge.0);
    }
}

/// Sorts links by target, then retainer, then key; they are sorted by retainer already.
pub(super) fn links(links: &mut [Link]) {
    if links.len() < MANY {
        links.sort_unstable_by_key(Link::number);
    } else {
        radsort::sort_by_key(links, |link| link.held);
        let groups = links.chunk_by_mut(|a, b| (a.held, a.holder) == (b.held, b.holder));
        groups.filter(|group| group.len() > 1).for_each(|group| group.sort_unstable_by_key(|link| link.key));
    }
}

/// Sorts triples by key, item, retainer; removes duplicates.
pub(super) fn triples(triples: &mut Vec<Triple>) {
    if triples.len() < MANY {
        triples.sort_unstable_by_key(Triple::number);
    } else {
        radsort::sort_by_key(triples, |triple| u64::from(triple.key) << 32 | u64::from(triple.item));
        let groups = triples.chunk_by_mut(|a, b| (a.key, a.item) == (b.key, b.item));
        groups.filter(|group| group.len() > 1).for_each(|group| group.sort_unstable_by_key(|triple| triple.holder));
    }
    triples.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_in_the_order_of_short_ones() {
        let mut state = 3u32;
        for (count, most) in [(MANY, 5), (4 * MANY, 300), (8 * MANY, 1 << 20)] {
            let mut below = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) % most
            };
            let mut targets: Vec<(u32, u32)> = (0..count).map(|_| (below(), below())).collect();
            targets.sort_unstable_by_key(|edge| edge.1);
            let mut expected = targets.clone();
            expected.sort_unstable();
            edges(&mut targets);
            assert_eq!(targets, expected);

            let mut found: Vec<Link> =
                expected.iter().map(|&(holder, held)| Link { held, holder, key: below() % 4 }).collect();
            let mut numbers: Vec<u128> = found.iter().map(Link::number).collect();
            numbers.sort_unstable();
            links(&mut found);
            assert!(found.iter().map(Link::number).eq(numbers));

            let mut all: Vec<Triple> =
                (0..count).map(|_| Triple { key: below() % 9, item: below(), holder: below() }).collect();
            let mut numbers: Vec<u128> = all.iter().map(Triple::number).collect();
            numbers.sort_unstable();
            numbers.dedup();
            triples(&mut all);
            assert!(all.iter().map(Triple::number).eq(numbers));
        }
    }
}
