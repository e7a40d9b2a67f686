//! Doubly linked lists with both ends known: no node dominates another, and the middle is farthest.

use super::structure::{HEAD_DISTANCE, Place, Size, Structure, fact};
use crate::answers::Answers;
use crate::names as n;
use crate::rng::mix;
use crate::shared::{class, common, instance_of};
use crate::sink::EdgeType::Property;
use crate::sink::{NodeType, Sink};

const HEAD: u64 = 40;
const NODE: u64 = 48;

/// `Deque {head, tail}` over nodes with `prev` and `next`.
#[derive(Debug, Clone)]
pub struct Deque {
    /// Nodes, at least two.
    pub length: u64,
}

impl Structure for Deque {
    fn kind(&self) -> &'static str {
        "deque"
    }

    fn size(&self) -> Size {
        Size { nodes: 1 + self.length, edges: 4 + 5 * self.length - 2, ..Size::default() }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        let node = |i| at.head + 1 + i;
        out.node(NodeType::Object, n::C_DEQUE, HEAD);
        out.edge(Property, n::HEAD, node(0));
        out.edge(Property, n::TAIL, node(self.length - 1));
        instance_of(class::C_DEQUE, out);
        for i in 0..self.length {
            out.node(NodeType::Object, n::C_DEQUE_NODE, NODE);
            if i > 0 {
                out.edge(Property, n::PREV, node(i - 1));
            }
            if i + 1 < self.length {
                out.edge(Property, n::NEXT, node(i + 1));
            }
            out.edge(Property, n::VALUE, common(mix(at.key, i)));
            instance_of(class::C_DEQUE_NODE, out);
        }
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let all = self.length * NODE;
        out.head(at.head_fact(HEAD, HEAD + all));
        for i in [0, self.length / 3, self.length / 2] {
            out.checkpoint(fact(at.head + 1 + i, NODE, NODE, 1 + i.min(self.length - 1 - i), at.head));
        }
        out.class(",Deque", 1, HEAD, HEAD + all, HEAD_DISTANCE);
        out.class(",DequeNode", self.length, all, all, HEAD_DISTANCE + 1);
    }
}
