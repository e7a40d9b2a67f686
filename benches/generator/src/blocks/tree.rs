//! Complete binary trees; nodes know their parents and have a key of their own.

use super::parts::{string, string_size};
use super::structure::{HEAD_DISTANCE, Place, Size, Structure, fact};
use crate::answers::Answers;
use crate::names as n;
use crate::shared::{class, instance_of};
use crate::sink::EdgeType::Property;
use crate::sink::{NodeType, Sink};
use crate::strings::{Strings, UNIQUE_DIGITS};
use std::io::Write;

const HEAD: u64 = 24;
const NODE: u64 = 56;
const KEY: u64 = string_size(4 + UNIQUE_DIGITS);
const LOCATION: (u64, u64, u64) = (7, 120, 14);
const CLASS: &str = "7,120,14,TreeNode";

/// `SearchTree -> TreeNode`, nodes numbered level by level.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Levels, at least one.
    pub levels: u32,
}

impl Tree {
    fn length(&self) -> u64 {
        (1 << self.levels) - 1
    }
}

impl Structure for Tree {
    fn kind(&self) -> &'static str {
        "search tree"
    }

    fn size(&self) -> Size {
        let length = self.length();
        Size { nodes: 1 + 2 * length, edges: 3 + 6 * length - 2, strings: length, locations: length }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        let length = self.length();
        let node = |i| at.head + 1 + 2 * i;
        out.node(NodeType::Object, n::C_SEARCH_TREE, HEAD);
        out.edge(Property, n::TREE_ROOT, node(0));
        instance_of(class::C_SEARCH_TREE, out);
        for i in 0..length {
            out.node(NodeType::Object, n::C_TREE_NODE, NODE);
            if 2 * i + 2 < length {
                out.edge(Property, n::LEFT, node(2 * i + 1));
                out.edge(Property, n::RIGHT, node(2 * i + 2));
            }
            if i > 0 {
                out.edge(Property, n::PARENT, node((i - 1) / 2));
            }
            out.edge(Property, n::KEY, node(i) + 1);
            instance_of(class::C_TREE_NODE, out);
            out.location(LOCATION.0, LOCATION.1, LOCATION.2);
            string(at.string + i, KEY, out);
        }
    }

    fn strings<W: Write>(&self, _at: &Place, out: &mut Strings<W>) {
        for _ in 0..self.length() {
            out.unique("key-");
        }
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let length = self.length();
        let all = length * (NODE + KEY);
        out.head(at.head_fact(HEAD, HEAD + all));
        for level in [0, 1, self.levels / 2, self.levels - 1] {
            let first = (1 << level) - 1;
            let below = (1 << (self.levels - level)) - 1;
            let dominator = if first == 0 { at.head } else { at.head + 1 + 2 * ((first - 1) / 2) };
            out.checkpoint(fact(at.head + 1 + 2 * first, NODE, below * (NODE + KEY), 1 + u64::from(level), dominator));
        }
        out.class(",SearchTree", 1, HEAD, HEAD + all, HEAD_DISTANCE);
        out.class(CLASS, length, length * NODE, all, HEAD_DISTANCE + 1);
        out.class(",(string)", length, length * KEY, length * KEY, HEAD_DISTANCE + 2);
    }
}
