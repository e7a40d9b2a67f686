//! Arrays of objects: the array object owns the hidden elements array and its bytes.

use super::parts::{NUMBER_SIZE, js_array, js_array_edges, js_array_elements, js_array_size, number};
use super::structure::{HEAD_DISTANCE, Place, Size, Structure};
use crate::answers::{Answers, Fact};
use crate::names as n;
use crate::rng::mix;
use crate::shared::{class, common, instance_of};
use crate::sink::EdgeType::Property;
use crate::sink::{NodeType, Sink};

const LINE: u64 = 48;

/// An array of `OrderLine` objects, each with its own price and the shard's session.
#[derive(Debug, Clone)]
pub struct OrderLines {
    pub length: u64,
}

impl Structure for OrderLines {
    fn kind(&self) -> &'static str {
        "array of objects"
    }

    fn size(&self) -> Size {
        let length = self.length;
        Size { nodes: 2 + 2 * length, edges: js_array_edges(length) + 7 * length, ..Size::default() }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        let lines = (0..self.length).map(|i| at.head + 2 + 2 * i);
        js_array(lines.clone(), at.head + 1, out);
        js_array_elements(self.length, lines.clone(), out);
        for (i, line) in lines.enumerate() {
            let draw = mix(at.key, i as u64);
            out.node(NodeType::Object, n::C_ORDER_LINE, LINE);
            out.edge(Property, n::PRICE, line + 1);
            out.edge(Property, n::NAME, common(draw));
            out.edge(Property, n::SESSION, at.session);
            instance_of(class::C_ORDER_LINE, out);
            number(draw >> 8, out);
        }
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let length = self.length;
        let shallow = js_array_size(length);
        let lines = length * (LINE + NUMBER_SIZE);
        out.head(at.head_fact(shallow, shallow + lines));
        let line = at.head + 2 * length;
        let distance = |steps| Some(HEAD_DISTANCE + steps);
        let elements =
            Fact { ordinal: at.head + 1, shallow: 0, retained: 0, distance: distance(1), dominator: at.head };
        let retained = LINE + NUMBER_SIZE;
        out.checkpoint(elements);
        out.checkpoint(Fact { ordinal: line, shallow: LINE, retained, distance: distance(1), dominator: at.head });
        // These arrays are nested in the registry, itself an array, so they add no retained bytes to the class.
        out.class(",Array", 1, shallow, 0, HEAD_DISTANCE);
        out.class(",OrderLine", length, length * LINE, lines, HEAD_DISTANCE + 1);
        let numbers = length * NUMBER_SIZE;
        out.class(",(number)", length, numbers, numbers, HEAD_DISTANCE + 2);
    }
}
