//! Rings: one-way cycles (a chain of dominators) and two-way cycles (one node dominates all others).

use super::structure::{HEAD_DISTANCE, Place, Size, Structure, fact};
use crate::answers::{Answers, Fact};
use crate::names as n;
use crate::rng::mix;
use crate::shared::{class, common, instance_of};
use crate::sink::EdgeType::Property;
use crate::sink::{NodeType, Sink};

const HEAD: u64 = 32;
const NODE: u64 = 40;

/// A ring entered at one node; every node knows its owner.
#[derive(Debug, Clone)]
pub struct Ring {
    /// Nodes, at least three.
    pub length: u64,
    /// Whether nodes also know their predecessor (then the classes are `Carousel` and `Slide`).
    pub both_ways: bool,
}

impl Ring {
    fn classes(&self) -> [(u64, u64, &'static str); 2] {
        if self.both_ways {
            [(n::C_CAROUSEL, class::C_CAROUSEL, ",Carousel"), (n::C_SLIDE, class::C_SLIDE, ",Slide")]
        } else {
            [(n::C_RING, class::C_RING, ",Ring"), (n::C_RING_NODE, class::C_RING_NODE, ",RingNode")]
        }
    }

    fn fact(&self, at: &Place, i: u64) -> Fact {
        let (steps, retained, before) = match (self.both_ways, i) {
            (_, 0) => (0, self.length * NODE, at.head),
            (true, _) => (i.min(self.length - i), NODE, at.head + 1),
            (false, _) => (i, (self.length - i) * NODE, at.head + i),
        };
        fact(at.head + 1 + i, NODE, retained, 1 + steps, before)
    }
}

impl Structure for Ring {
    fn kind(&self) -> &'static str {
        if self.both_ways { "ring in both directions" } else { "ring" }
    }

    fn size(&self) -> Size {
        let per_node = 5 + u64::from(self.both_ways);
        Size { nodes: 1 + self.length, edges: 3 + per_node * self.length, ..Size::default() }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        let [head, member] = self.classes();
        let node = |i| at.head + 1 + i % self.length;
        out.node(NodeType::Object, head.0, HEAD);
        out.edge(Property, n::CURRENT, node(0));
        instance_of(head.1, out);
        for i in 0..self.length {
            out.node(NodeType::Object, member.0, NODE);
            out.edge(Property, n::NEXT, node(i + 1));
            if self.both_ways {
                out.edge(Property, n::PREV, node(i + self.length - 1));
            }
            out.edge(Property, n::OWNER, at.head);
            out.edge(Property, n::VALUE, common(mix(at.key, i)));
            instance_of(member.1, out);
        }
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let [head, member] = self.classes();
        let all = self.length * NODE;
        out.head(at.head_fact(HEAD, HEAD + all));
        for i in [0, 1, self.length / 2, self.length - 1] {
            out.checkpoint(self.fact(at, i));
        }
        out.class(head.2, 1, HEAD, HEAD + all, HEAD_DISTANCE);
        out.class(member.2, self.length, all, all, HEAD_DISTANCE + 1);
    }
}
