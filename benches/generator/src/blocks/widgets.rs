//! Objects with hidden parts: property arrays owned by their objects, accessor pairs shared by two objects, and one
//! each of the rarer node types.

use super::parts::{NUMBER_SIZE, js_array, js_array_edges, js_array_elements, js_array_size, number};
use super::structure::{HEAD_DISTANCE, Place, Size, Structure, fact};
use crate::answers::Answers;
use crate::names as n;
use crate::rng::mix;
use crate::shared::{FUNCTION_CODE, array_size, class, common, instance_of, map, oddball};
use crate::sink::EdgeType::{Hidden, Internal, Property};
use crate::sink::{NodeType, Sink};

const WIDGET: u64 = 24;
const PARTS: u64 = array_size(3);
const OWN_PAIR: u64 = 24;
const SYMBOL: u64 = 24;
const REGEXP: u64 = 56;
const BIGINT: u64 = 24;
const SLICED: u64 = 32;
const SHARED_PAIR: u64 = 24;
/// Nodes of one widget: itself, its parts, its own accessor pair, number, symbol, regexp, bigint, sliced string.
const STRIDE: u64 = 8;
const SHALLOW: u64 = WIDGET + PARTS + OWN_PAIR;
const RETAINED: u64 = SHALLOW + NUMBER_SIZE + SYMBOL + REGEXP + BIGINT + SLICED;

/// An array of widgets; two each share an accessor pair.
#[derive(Debug, Clone)]
pub struct Widgets {
    /// Pairs of widgets, at least one.
    pub pairs: u64,
}

impl Widgets {
    fn length(&self) -> u64 {
        2 * self.pairs
    }

    fn widget(&self, at: &Place, i: u64) -> u64 {
        at.head + 2 + STRIDE * i
    }

    fn shared_pair(&self, at: &Place, i: u64) -> u64 {
        self.widget(at, self.length()) + i / 2
    }
}

impl Structure for Widgets {
    fn kind(&self) -> &'static str {
        "objects with hidden parts"
    }

    fn size(&self) -> Size {
        let length = self.length();
        let per_widget = 7 + 4 + 2 + 2 + 2 + 4 + 1 + 2;
        Size {
            nodes: 2 + STRIDE * length + self.pairs,
            edges: js_array_edges(length) + per_widget * length + 2 * self.pairs,
            ..Size::default()
        }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        let widgets = (0..self.length()).map(|i| self.widget(at, i));
        js_array(widgets.clone(), at.head + 1, out);
        js_array_elements(self.length(), widgets, out);
        for i in 0..self.length() {
            walk_widget(self.widget(at, i), self.shared_pair(at, i), mix(at.key, i), out);
        }
        for i in 0..self.pairs {
            walk_pair(i, out);
        }
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let length = self.length();
        let shallow = js_array_size(length);
        let pairs = self.pairs * SHARED_PAIR;
        out.head(at.head_fact(shallow, shallow + length * RETAINED + pairs));
        let widget = self.widget(at, length - 1);
        out.checkpoint(fact(widget, SHALLOW, RETAINED, 1, at.head));
        out.checkpoint(fact(widget + 1, 0, NUMBER_SIZE, 2, widget));
        out.checkpoint(fact(widget + 2, 0, 0, 3, widget + 1));
        out.checkpoint(fact(widget + 3, NUMBER_SIZE, NUMBER_SIZE, 3, widget + 1));
        out.checkpoint(fact(widget + 5, REGEXP, REGEXP, 2, widget));
        // Two owners: the pair keeps its own bytes.
        out.checkpoint(fact(self.shared_pair(at, length - 1), SHARED_PAIR, SHARED_PAIR, 3, at.head));
        out.class(",Array", 1, shallow, 0, HEAD_DISTANCE);
        out.class(",Widget", length, length * SHALLOW, length * RETAINED, HEAD_DISTANCE + 1);
        out.class(",(system)", self.pairs, pairs, pairs, HEAD_DISTANCE + 3);
        let leaves = [
            (",(number)", NUMBER_SIZE, 3),
            (",(symbol)", SYMBOL, 2),
            (",RegExp", REGEXP, 2),
            (",(bigint)", BIGINT, 2),
            (",(sliced string)", SLICED, 2),
        ];
        for (key, bytes, distance) in leaves {
            out.class(key, length, length * bytes, length * bytes, HEAD_DISTANCE + distance);
        }
    }
}

fn walk_widget<S: Sink>(me: u64, shared_pair: u64, draw: u64, out: &mut S) {
    out.node(NodeType::Object, n::C_WIDGET, WIDGET);
    out.edge(Property, n::PIN, me + 4);
    out.edge(Property, n::MATCHER, me + 5);
    out.edge(Property, n::TOTAL, me + 6);
    out.edge(Property, n::EXCERPT, me + 7);
    instance_of(class::C_WIDGET, out);
    out.edge(Internal, n::PROPERTIES, me + 1);
    out.node(NodeType::Hidden, n::SYSTEM_PROPERTY_ARRAY, PARTS);
    out.edge(Internal, n::MAP, map::PROPERTY_ARRAY);
    out.edge(Hidden, 0, me + 2);
    out.edge(Hidden, 1, shared_pair);
    out.edge(Hidden, 2, me + 3);
    walk_pair(draw, out);
    number(draw >> 8, out);
    out.node(NodeType::Symbol, n::SYMBOL, SYMBOL);
    out.edge(Internal, n::NAME, common(draw >> 16));
    out.edge(Internal, n::MAP, map::SYMBOL);
    out.node(NodeType::RegExp, n::PATTERN, REGEXP);
    out.edge(Internal, n::SOURCE, common(draw >> 24));
    out.edge(Hidden, 2, FUNCTION_CODE);
    instance_of(class::C_REGEXP, out);
    out.node(NodeType::BigInt, n::BIGINT, BIGINT);
    out.edge(Internal, n::MAP, map::BIGINT);
    out.node(NodeType::SlicedString, n::SLICED, SLICED);
    out.edge(Internal, n::PARENT, common(draw >> 32));
    out.edge(Internal, n::MAP, map::SLICED_STRING);
}

fn walk_pair<S: Sink>(draw: u64, out: &mut S) {
    out.node(NodeType::Hidden, n::SYSTEM_ACCESSOR_PAIR, OWN_PAIR);
    out.edge(Internal, n::VALUE, oddball(draw));
    out.edge(Internal, n::MAP, map::ACCESSOR_PAIR);
}
