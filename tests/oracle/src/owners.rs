//! Owners, straight from the definitions: a search from the root for each owner.

use crate::graph::{Arc, successors};
use std::collections::BTreeMap;

/// An owner's claim on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub owner: String,
    /// Strength: a stronger claim on a dominator overrides a weaker one on the node itself.
    pub strength: u8,
}

/// A graph whose nodes have owners.
pub struct Owned<'a> {
    /// The essential edges. A node without an incoming one already has one from the root.
    pub edges: &'a [Arc],
    pub root: u32,
    pub sizes: &'a [u64],
    /// Direct claims on the nodes.
    pub claims: &'a [Option<Claim>],
    /// Immediate dominators; `None` for unreachable nodes.
    pub dominators: &'a [Option<u32>],
    /// Whether unreachable nodes are garbage; otherwise each counts as a child of the root.
    pub garbage: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Sizes of its own nodes.
    pub shallow: u64,
    /// Sum of the retained sizes attributed to it.
    pub retained: u64,
    /// Sizes of all nodes unreachable without its nodes.
    pub freed: u64,
}

/// The shares of all owners, of `(none)` and of `(unreachable)`; `freed` is zero for these two.
pub fn shares(graph: &Owned<'_>) -> BTreeMap<String, Share> {
    let mut shares: BTreeMap<String, Share> = BTreeMap::new();
    let own = |node: usize| graph.claims[node].as_ref().map_or("(none)", |claim| claim.owner.as_str());
    for (node, &size) in graph.sizes.iter().enumerate() {
        let lost = graph.garbage && graph.dominators[node].is_none();
        let (whose, counts_for) =
            if lost { ("(unreachable)", "(unreachable)") } else { (own(node), holder(graph, node)) };
        shares.entry(whose.to_owned()).or_default().shallow += size;
        shares.entry(counts_for.to_owned()).or_default().retained += size;
    }
    for (owner, share) in
        shares.iter_mut().filter(|(owner, _)| !owner.starts_with("(none") && *owner != "(unreachable)")
    {
        share.freed = freed(graph, owner);
    }
    shares
}

/// The owner of a node: the strongest claim among its dominators, the nearest of equally strong ones.
fn holder<'a>(graph: &Owned<'a>, node: usize) -> &'a str {
    let mut best: Option<&Claim> = None;
    let mut at = node;
    loop {
        if let Some(claim) = &graph.claims[at]
            && best.is_none_or(|best| claim.strength > best.strength)
        {
            best = Some(claim);
        }
        match graph.dominators[at] {
            Some(dominator) if dominator as usize != at => at = dominator as usize,
            _ => return best.map_or("(none)", |claim| &claim.owner),
        }
    }
}

fn freed(graph: &Owned<'_>, owner: &str) -> u64 {
    let its_own = |node: usize| graph.claims[node].as_ref().is_some_and(|claim| claim.owner == owner);
    let successors = successors(graph.sizes.len(), graph.edges);
    let mut seen = vec![false; graph.sizes.len()];
    let mut open = vec![graph.root];
    while let Some(node) = open.pop() {
        if !its_own(node as usize) && !std::mem::replace(&mut seen[node as usize], true) {
            open.extend(&successors[node as usize]);
        }
    }
    let goes = |node: usize| match graph.dominators[node] {
        Some(_) => !seen[node],
        None => !graph.garbage && its_own(node),
    };
    (0..graph.sizes.len()).filter(|&node| goes(node)).map(|node| graph.sizes[node]).sum()
}
