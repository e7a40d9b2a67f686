//! Singly linked lists: thousands of nodes deep in the dominator tree, which breaks recursion.

use super::parts::{NUMBER_SIZE, number};
use super::structure::{HEAD_DISTANCE, Place, Size, Structure, fact};
use crate::answers::Answers;
use crate::names as n;
use crate::rng::mix;
use crate::shared::{class, common, instance_of};
use crate::sink::EdgeType::Property;
use crate::sink::{NodeType, Sink};

const HEAD: u64 = 32;
const NODE: u64 = 40;

/// `LinkedList -> ListNode -> ListNode -> ...`, each node with a value.
#[derive(Debug, Clone)]
pub struct List {
    pub length: u64,
    /// True if each value is a heap number of its own, false if a shared string.
    pub boxed: bool,
}

impl List {
    fn stride(&self) -> u64 {
        1 + u64::from(self.boxed)
    }

    fn node(&self, at: &Place, i: u64) -> u64 {
        at.head + 1 + i * self.stride()
    }

    fn bytes_per_node(&self) -> u64 {
        NODE + if self.boxed { NUMBER_SIZE } else { 0 }
    }
}

impl Structure for List {
    fn kind(&self) -> &'static str {
        "linked list"
    }

    fn size(&self) -> Size {
        let numbers = if self.boxed { 2 * self.length } else { 0 };
        Size { nodes: 1 + self.length * self.stride(), edges: 3 + 4 * self.length - 1 + numbers, ..Size::default() }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        out.node(NodeType::Object, n::C_LINKED_LIST, HEAD);
        out.edge(Property, n::HEAD, self.node(at, 0));
        instance_of(class::C_LINKED_LIST, out);
        for i in 0..self.length {
            let node = self.node(at, i);
            let draw = mix(at.key, i);
            out.node(NodeType::Object, n::C_LIST_NODE, NODE);
            out.edge(Property, n::VALUE, if self.boxed { node + 1 } else { common(draw) });
            if i + 1 < self.length {
                out.edge(Property, n::NEXT, self.node(at, i + 1));
            }
            instance_of(class::C_LIST_NODE, out);
            if self.boxed {
                number(draw, out);
            }
        }
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let all = self.length * self.bytes_per_node();
        out.head(at.head_fact(HEAD, HEAD + all));
        for i in [0, self.length / 2, self.length - 1] {
            let dominator = if i == 0 { at.head } else { self.node(at, i - 1) };
            out.checkpoint(fact(self.node(at, i), NODE, (self.length - i) * self.bytes_per_node(), 1 + i, dominator));
        }
        out.class(",LinkedList", 1, HEAD, HEAD + all, HEAD_DISTANCE);
        // The first node dominates all others.
        out.class(",ListNode", self.length, self.length * NODE, all, HEAD_DISTANCE + 1);
        if self.boxed {
            let bytes = self.length * NUMBER_SIZE;
            out.class(",(number)", self.length, bytes, bytes, HEAD_DISTANCE + 2);
        }
    }
}
