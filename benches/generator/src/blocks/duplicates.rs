//! Planted sets of identical instances: alone, in lists, trees and rings, with a shared leaf and pointers back to the
//! owner; and a near miss.
//!
//! Sets of different blocks must not merge, or their number would be unknown. So everything with references reaches the
//! block's *leaf* or another text unique to the block. Only the flags have nothing but their class: they are one set
//! over the whole file. Pointers back to the owner (or parent) keep two positions of one copy from being identical.

use super::parts::{js_array, js_array_edges, js_array_elements, js_array_size, string, string_size};
use super::structure::{HEAD_DISTANCE, Place, Size, Structure, fact};
use crate::answers::{Answers, Duplicates};
use crate::names as n;
use crate::shared::{class, instance_of};
use crate::sink::EdgeType::Property;
use crate::sink::{NodeType, Sink};
use crate::strings::{Strings, UNIQUE_DIGITS};
use std::io::Write;

const LEAF: u64 = string_size(5 + UNIQUE_DIGITS);
const FLAG: u64 = 24;
const LIST: u64 = 32;
const LIST_NODE: u64 = 40;
const TREE_NODE: u64 = 56;
const RING: u64 = 32;
const RING_NODE: u64 = 40;
const NEAR_MISS: u64 = 32;

const FLAGS: u64 = 3;
const TEXTS: u64 = 5;
const LISTS: u64 = 4;
const TREES: u64 = 3;
const TREE_NODES: u64 = 7;
const RINGS: u64 = 2;

/// An array of one block's copies.
#[derive(Debug, Clone)]
pub struct Twins {
    /// Nodes of each list, at least one.
    pub list: u64,
    /// Nodes of each ring, at least three.
    pub ring: u64,
}

impl Twins {
    fn leaf(&self, at: &Place) -> u64 {
        at.head + 2
    }

    fn text(&self, at: &Place, i: u64) -> u64 {
        at.head + 3 + FLAGS + i
    }

    fn list(&self, at: &Place, i: u64) -> u64 {
        self.text(at, TEXTS) + i * (1 + self.list)
    }

    fn tree(&self, at: &Place, i: u64) -> u64 {
        self.list(at, LISTS) + i * TREE_NODES
    }

    fn ring(&self, at: &Place, i: u64) -> u64 {
        self.tree(at, TREES) + i * (1 + 2 * self.ring)
    }

    fn near_miss(&self, at: &Place) -> u64 {
        self.ring(at, RINGS)
    }

    fn length(&self) -> u64 {
        1 + FLAGS + TEXTS + LISTS + TREES + RINGS + 2
    }

    fn items(&self, at: &Place) -> impl Iterator<Item = u64> + Clone {
        let lists = self.list(at, 0);
        let trees = self.tree(at, 0);
        let rings = self.ring(at, 0);
        let near = self.near_miss(at);
        let (list, ring) = (1 + self.list, 1 + 2 * self.ring);
        (self.leaf(at)..lists)
            .chain((0..LISTS).map(move |i| lists + i * list))
            .chain((0..TREES).map(move |i| trees + i * TREE_NODES))
            .chain((0..RINGS).map(move |i| rings + i * ring))
            .chain([near, near + 1])
    }

    fn list_bytes(&self) -> u64 {
        LIST + self.list * LIST_NODE
    }

    fn ring_bytes(&self) -> u64 {
        RING + self.ring * (RING_NODE + LEAF)
    }

    fn walk_list<S: Sink>(&self, me: u64, leaf: u64, out: &mut S) {
        out.node(NodeType::Object, n::C_DUP_LIST, LIST);
        out.edge(Property, n::FIRST, me + 1);
        instance_of(class::C_DUP_LIST, out);
        for i in 1..=self.list {
            out.node(NodeType::Object, n::C_DUP_LIST_NODE, LIST_NODE);
            if i < self.list {
                out.edge(Property, n::NEXT, me + i + 1);
            }
            out.edge(Property, n::VALUE, leaf);
            out.edge(Property, n::OWNER, me);
            instance_of(class::C_DUP_LIST_NODE, out);
        }
    }

    fn walk_ring<S: Sink>(&self, me: u64, first_text: u64, out: &mut S) {
        out.node(NodeType::Object, n::C_DUP_RING, RING);
        out.edge(Property, n::CURRENT, me + 1);
        instance_of(class::C_DUP_RING, out);
        for i in 0..self.ring {
            let node = |i| me + 1 + 2 * (i % self.ring);
            out.node(NodeType::Object, n::C_DUP_RING_NODE, RING_NODE);
            out.edge(Property, n::NEXT, node(i + 1));
            out.edge(Property, n::VALUE, node(i) + 1);
            out.edge(Property, n::OWNER, me);
            instance_of(class::C_DUP_RING_NODE, out);
            string(first_text + i, LEAF, out);
        }
    }

    fn sets(&self, out: &mut Answers) {
        let set = |class_key: &str, about: &str, sets, members, each, outermost| Duplicates {
            class_key: class_key.to_owned(),
            about: about.to_owned(),
            sets,
            members_per_set: members,
            additional_bytes: sets * members.saturating_sub(1) * each,
            outermost,
        };
        let flags = set(",DupFlag", "no references but the class: one set over the whole file", 1, 1, 0, true);
        out.one_set("flags", FLAGS, FLAG, flags);
        out.duplicates("texts", set(",(string)", "equal strings", 1, TEXTS, LEAF, true));
        out.duplicates("near miss texts", set(",(string)", "equal strings under the near misses", 1, 3, LEAF, true));
        let (list, ring, tree) = (self.list_bytes(), self.ring_bytes(), TREE_NODES * TREE_NODE);
        out.duplicates("lists", set(",DupList", "lists with a shared leaf", 1, LISTS, list, true));
        // Members inside a copy know their owner and so reach the whole copy: each set counts the whole copy.
        let about = "same place in each list; every set's bytes are the whole lists'";
        out.duplicates("list nodes", set(",DupListNode", about, self.list, LISTS, list, false));
        let about = "same place in each tree with parent pointers; every set's bytes are the whole trees'";
        out.duplicates("tree nodes", set(",DupTreeNode", about, TREE_NODES, TREES, tree, true));
        out.duplicates("rings", set(",DupRing", "rings whose nodes know the ring", 1, RINGS, ring, true));
        let about = "same place in each ring; every set's bytes are the whole rings'";
        out.duplicates("ring nodes", set(",DupRingNode", about, self.ring, RINGS, ring, false));
        let about = "values of the ring nodes, a text of its own per place";
        out.duplicates("ring texts", set(",(string)", about, self.ring, RINGS, LEAF, false));
        // Two equal parts in one object, the same part twice in the other: not duplicates.
        out.duplicates("near misses", set(",NearMiss", "two equal parts against one part twice", 0, 0, 0, true));
    }

    fn checkpoints(&self, at: &Place, out: &mut Answers) {
        let (list, tree, ring) = (self.list(at, 1), self.tree(at, 1), self.ring(at, 1));
        out.checkpoint(fact(self.leaf(at), LEAF, LEAF, 1, at.head));
        out.checkpoint(fact(list, LIST, self.list_bytes(), 1, at.head));
        out.checkpoint(fact(list + 1, LIST_NODE, self.list * LIST_NODE, 2, list));
        out.checkpoint(fact(tree + 1, TREE_NODE, 3 * TREE_NODE, 2, tree));
        out.checkpoint(fact(ring, RING, self.ring_bytes(), 1, at.head));
        out.checkpoint(fact(self.near_miss(at) + 1, NEAR_MISS, NEAR_MISS + LEAF, 1, at.head));
    }
}

impl Structure for Twins {
    fn kind(&self) -> &'static str {
        "identical instances"
    }

    fn size(&self) -> Size {
        let lists = LISTS * (3 + 5 * self.list - 1);
        let trees = TREES * (6 + 6 + 3 * TREE_NODES);
        let rings = RINGS * (3 + 6 * self.ring);
        Size {
            nodes: 2
                + 1
                + FLAGS
                + TEXTS
                + LISTS * (1 + self.list)
                + TREES * TREE_NODES
                + RINGS * (1 + 2 * self.ring)
                + 5,
            edges: js_array_edges(self.length()) + 1 + 2 * FLAGS + TEXTS + lists + trees + rings + 2 * 4 + 3,
            strings: 3 + self.ring,
            locations: 0,
        }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        js_array(self.items(at), at.head + 1, out);
        js_array_elements(self.length(), self.items(at), out);
        string(at.string, LEAF, out);
        for _ in 0..FLAGS {
            out.node(NodeType::Object, n::C_DUP_FLAG, FLAG);
            instance_of(class::C_DUP_FLAG, out);
        }
        for _ in 0..TEXTS {
            string(at.string + 1, LEAF, out);
        }
        for i in 0..LISTS {
            self.walk_list(self.list(at, i), self.leaf(at), out);
        }
        for i in 0..TREES {
            walk_tree(self.tree(at, i), self.leaf(at), out);
        }
        for i in 0..RINGS {
            self.walk_ring(self.ring(at, i), at.string + 3, out);
        }
        let near = self.near_miss(at);
        for (left, right) in [(near + 2, near + 3), (near + 4, near + 4)] {
            out.node(NodeType::Object, n::C_NEAR_MISS, NEAR_MISS);
            out.edge(Property, n::LEFT, left);
            out.edge(Property, n::RIGHT, right);
            instance_of(class::C_NEAR_MISS, out);
        }
        for _ in 0..3 {
            string(at.string + 2, LEAF, out);
        }
    }

    fn strings<W: Write>(&self, _at: &Place, out: &mut Strings<W>) {
        out.unique("leaf ");
        out.unique("twin ");
        out.unique("near ");
        for _ in 0..self.ring {
            out.unique("ring ");
        }
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let shallow = js_array_size(self.length());
        let (lists, rings) = (LISTS * self.list_bytes(), RINGS * self.ring_bytes());
        let trees = TREES * TREE_NODES * TREE_NODE;
        let near = 2 * NEAR_MISS + 3 * LEAF;
        let all = LEAF + FLAGS * FLAG + TEXTS * LEAF + lists + trees + rings + near;
        out.head(at.head_fact(shallow, shallow + all));
        self.checkpoints(at, out);
        self.sets(out);

        let (d, list_nodes, ring_nodes) = (HEAD_DISTANCE, LISTS * self.list, RINGS * self.ring);
        out.class(",Array", 1, shallow, 0, d);
        out.class(",DupFlag", FLAGS, FLAGS * FLAG, FLAGS * FLAG, d + 1);
        out.class(",DupList", LISTS, LISTS * LIST, lists, d + 1);
        out.class(",DupListNode", list_nodes, list_nodes * LIST_NODE, list_nodes * LIST_NODE, d + 2);
        out.class(",DupTreeNode", TREES * TREE_NODES, trees, trees, d + 1);
        out.class(",DupRing", RINGS, RINGS * RING, rings, d + 1);
        out.class(",DupRingNode", ring_nodes, ring_nodes * RING_NODE, ring_nodes * (RING_NODE + LEAF), d + 2);
        out.class(",NearMiss", 2, 2 * NEAR_MISS, near, d + 1);
        let strings = 1 + TEXTS + ring_nodes + 3;
        out.class(",(string)", strings, strings * LEAF, strings * LEAF, d + 1);
    }
}

fn walk_tree<S: Sink>(me: u64, leaf: u64, out: &mut S) {
    for i in 0..TREE_NODES {
        out.node(NodeType::Object, n::C_DUP_TREE_NODE, TREE_NODE);
        if 2 * i + 2 < TREE_NODES {
            out.edge(Property, n::LEFT, me + 2 * i + 1);
            out.edge(Property, n::RIGHT, me + 2 * i + 2);
        }
        if i > 0 {
            out.edge(Property, n::PARENT, me + (i - 1) / 2);
        }
        out.edge(Property, n::LABEL, leaf);
        instance_of(class::C_DUP_TREE_NODE, out);
    }
}
