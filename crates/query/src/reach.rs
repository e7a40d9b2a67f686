//! Reachability in many variants of a graph at once: each lacks some edges.
//!
//! A node has a bit per variant (multi-source search by bits, as in Then et al., "The More the Merrier", VLDB 2014, for
//! one source and many graphs). A node whose bits grow is visited again with the new bits only. Time: one pass over the
//! edges, and more for the parts that variants reach on longer ways.

use std::collections::VecDeque;

/// A set of variants, by bit.
pub(crate) type Variants = u64;

/// Edges by source, in memory: 8 bytes per node, 4 per edge, 16 per cut edge.
#[derive(Debug, Default)]
pub(crate) struct Forward {
    /// Number of the first edge of each node, and their total.
    start: Vec<u64>,
    targets: Vec<u32>,
    /// Numbers of edges that variants lack, ascending, and these variants.
    cut: Vec<(u64, Variants)>,
}

impl Forward {
    /// Makes room for a graph.
    pub(crate) fn new() -> Self {
        Self { start: vec![0], ..Self::default() }
    }

    /// Adds an edge that some variants lack. Sources must ascend.
    pub(crate) fn add(&mut self, from: u32, to: u32, lacking: Variants) {
        self.close(from);
        if lacking != 0 {
            self.cut.push((self.targets.len() as u64, lacking));
        }
        self.targets.push(to);
    }

    /// Ends the edges of all nodes before this one.
    pub(crate) fn close(&mut self, node: u32) {
        self.start.resize((node as usize + 1).max(self.start.len()), self.targets.len() as u64);
    }

    /// The source of the last edge, at least.
    pub(crate) fn last(&self) -> u32 {
        (self.start.len() - 1) as u32
    }

    /// Returns for each of `count` nodes the variants of `all` in which one of `roots` reaches it.
    pub(crate) fn reached(&mut self, count: usize, roots: &[u32], all: Variants) -> Vec<Variants> {
        self.close(count as u32);
        let mut reached: Vec<Variants> = vec![0; count];
        // Bits that a queued node has not passed on.
        let mut new: Vec<Variants> = vec![0; count];
        let mut queue = VecDeque::new();
        for &root in roots {
            if reached[root as usize] == 0 {
                (reached[root as usize], new[root as usize]) = (all, all);
                queue.push_back(root);
            }
        }
        while let Some(node) = queue.pop_front() {
            let bits = std::mem::take(&mut new[node as usize]);
            let edges = self.start[node as usize]..self.start[node as usize + 1];
            let mut cuts = self.cut[self.cut.partition_point(|(at, _)| *at < edges.start)..].iter().peekable();
            for edge in edges {
                let lacking = cuts.next_if(|(at, _)| *at == edge).map_or(0, |(_, lacking)| *lacking);
                let to = self.targets[edge as usize] as usize;
                let gained = bits & !lacking & !reached[to];
                if gained != 0 {
                    reached[to] |= gained;
                    if new[to] == 0 {
                        queue.push_back(to as u32);
                    }
                    new[to] |= gained;
                }
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_oracle::SplitMix64;
    use heaplake_oracle::graph::{random_graph, reachable};

    #[test]
    fn each_variant_is_as_if_its_edges_were_deleted() {
        let mut differing = 0;
        for seed in 0..5000 {
            let (n, mut arcs) = random_graph(seed, 12);
            arcs.sort_unstable();
            let rng = &mut SplitMix64::new(seed ^ 0xc07);
            let variants = 1 + rng.below(64) as u32;
            let all = u64::MAX >> (64 - variants);
            let lacking = |rng: &mut SplitMix64| match rng.below(3) {
                0 => 0,
                1 => all & (1 << rng.below(64)),
                _ => all & rng.next_u64(),
            };
            let cuts: Vec<u64> = arcs.iter().map(|_| lacking(rng)).collect();
            let mut forward = Forward::new();
            arcs.iter().zip(&cuts).for_each(|(&(from, to), &lacking)| forward.add(from, to, lacking));
            let reached = forward.reached(n, &[0], all);
            for variant in 0..variants {
                let kept = arcs.iter().zip(&cuts).filter(|(_, cut)| **cut >> variant & 1 == 0).map(|(arc, _)| *arc);
                let expected = reachable(n, &kept.collect::<Vec<_>>(), 0, None);
                let found: Vec<bool> = reached.iter().map(|bits| bits >> variant & 1 == 1).collect();
                assert_eq!(found, expected, "seed {seed}, variant {variant}");
                differing += usize::from(expected != reachable(n, &arcs, 0, None));
            }
        }
        assert!(differing > 10_000, "{differing}");
    }
}
