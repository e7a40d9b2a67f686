//! WeakRefs, and targets that nothing else retains.

use super::parts::{js_array, js_array_edges, js_array_elements, js_array_size};
use super::structure::{HEAD_DISTANCE, Place, Size, Structure};
use crate::answers::{Answers, Fact};
use crate::names as n;
use crate::shared::{ROOT, class, instance_of};
use crate::sink::EdgeType::{Property, Weak};
use crate::sink::{NodeType, Sink};

const REF: u64 = 24;
const SUBJECT: u64 = 40;
const DETAIL: u64 = 64;
const ISLAND: u64 = 48;

/// An array of WeakRefs and of every second target; the other targets are only referred to weakly. The last WeakRef
/// points at one of two objects that refer only to each other.
#[derive(Debug, Clone)]
pub struct Observers {
    /// Pairs of targets, at least one.
    pub pairs: u64,
}

impl Observers {
    fn targets(&self) -> u64 {
        2 * self.pairs
    }

    fn refs(&self) -> u64 {
        self.targets() + 1
    }

    fn weak_ref(&self, at: &Place, i: u64) -> u64 {
        at.head + 2 + i
    }

    /// Each subject is followed by its detail.
    fn subject(&self, at: &Place, i: u64) -> u64 {
        self.weak_ref(at, self.refs()) + 2 * i
    }

    fn island(&self, at: &Place) -> u64 {
        self.subject(at, self.targets())
    }

    fn length(&self) -> u64 {
        self.refs() + self.pairs
    }
}

impl Structure for Observers {
    fn kind(&self) -> &'static str {
        "weak references"
    }

    fn size(&self) -> Size {
        let (refs, targets) = (self.refs(), self.targets());
        Size {
            nodes: 2 + refs + 2 * targets + 3,
            edges: js_array_edges(self.length()) + 3 * refs + targets * (3 + 2) + 4 + 3 + 2,
            ..Size::default()
        }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        let refs = (0..self.refs()).map(|i| self.weak_ref(at, i));
        let held = (0..self.pairs).map(|i| self.subject(at, 2 * i));
        let items = refs.chain(held);
        js_array(items.clone(), at.head + 1, out);
        js_array_elements(self.length(), items, out);
        for i in 0..self.refs() {
            out.node(NodeType::Object, n::C_WEAK_REF, REF);
            // The island follows the last subject.
            out.edge(Weak, n::TARGET, self.subject(at, i));
            instance_of(class::C_WEAK_REF, out);
        }
        for i in 0..self.targets() {
            out.node(NodeType::Object, n::C_SUBJECT, SUBJECT);
            out.edge(Property, n::DATA, self.subject(at, i) + 1);
            instance_of(class::C_SUBJECT, out);
            walk_detail(out);
        }
        let island = self.island(at);
        out.node(NodeType::Object, n::C_ISLAND, ISLAND);
        out.edge(Property, n::PEER, island + 1);
        out.edge(Property, n::DATA, island + 2);
        instance_of(class::C_ISLAND, out);
        out.node(NodeType::Object, n::C_ISLAND, ISLAND);
        out.edge(Property, n::PEER, island);
        instance_of(class::C_ISLAND, out);
        walk_detail(out);
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let shallow = js_array_size(self.length());
        let pair = SUBJECT + DETAIL;
        let (refs, held) = (self.refs() * REF, self.pairs * pair);
        out.head(at.head_fact(shallow, shallow + refs + held));
        out.loose(self.pairs * pair + 2 * ISLAND + DETAIL);
        let near = Some(HEAD_DISTANCE + 1);
        let fact =
            |ordinal, shallow, retained, distance, dominator| Fact { ordinal, shallow, retained, distance, dominator };
        let held_subject = self.subject(at, 0);
        let lost_subject = self.subject(at, 1);
        let island = self.island(at);
        out.checkpoint(fact(self.weak_ref(at, 0), REF, REF, near, at.head));
        out.checkpoint(fact(held_subject, SUBJECT, pair, near, at.head));
        out.checkpoint(fact(lost_subject, SUBJECT, pair, None, ROOT));
        out.checkpoint(fact(lost_subject + 1, DETAIL, DETAIL, None, lost_subject));
        // The root dominates every node of an unreachable cycle.
        out.checkpoint(fact(island, ISLAND, ISLAND, None, ROOT));
        out.checkpoint(fact(island + 2, DETAIL, DETAIL, None, ROOT));
        let (targets, details) = (self.targets(), self.targets() + 1);
        out.class(",Array", 1, shallow, 0, HEAD_DISTANCE);
        out.class(",WeakRef", self.refs(), refs, refs, HEAD_DISTANCE + 1);
        out.class_unset(",Subject", targets, targets * SUBJECT, targets * pair);
        out.class_unset(",Detail", details, details * DETAIL, details * DETAIL);
        out.class_unset(",Island", 2, 2 * ISLAND, 2 * ISLAND);
    }
}

fn walk_detail<S: Sink>(out: &mut S) {
    out.node(NodeType::Object, n::C_DETAIL, DETAIL);
    instance_of(class::C_DETAIL, out);
}
