//! Plain objects, as from JSON: readers must infer their classes from their property lists.

use super::parts::{js_array, js_array_edges, js_array_elements, js_array_size, string, string_size};
use super::structure::{HEAD_DISTANCE, Place, Size, Structure, fact};
use crate::answers::{Answers, ClassRow};
use crate::names as n;
use crate::rng::mix;
use crate::shared::{class, common, instance_of, oddball};
use crate::sink::EdgeType::Property;
use crate::sink::{NodeType, Sink};
use crate::strings::{Strings, UNIQUE_DIGITS};
use std::io::Write;

/// The property lists. Some are part of another, one is too long for an interface's name.
const SHAPES: [&[u64]; SHAPE_COUNT as usize] = [
    &[n::ID, n::NAME],
    &[n::ID, n::NAME, n::EMAIL, n::STATUS],
    &[n::ID, n::STREET, n::CITY, n::POSTAL_CODE, n::COUNTRY],
    &[n::TYPE, n::PAYLOAD, n::CREATED],
    &[n::ID, n::X, n::Y],
    &[n::ID, n::X, n::Y, n::WIDTH, n::HEIGHT],
    &[n::LONG_1, n::LONG_2, n::LONG_3, n::LONG_4, n::LONG_5, n::LONG_6],
    &[n::ID, n::NAME, n::EMAIL, n::STATUS, n::TYPE, n::CREATED, n::UPDATED, n::CITY],
];

/// Number of property lists.
pub(crate) const SHAPE_COUNT: u64 = 8;

/// Size of every object's first property, its own string.
const OWN: u64 = string_size(5 + UNIQUE_DIGITS);
/// One object in this many has one more property, with a unique name.
const EXTRA_EVERY: u64 = 16;

/// An array of plain objects with the same properties.
#[derive(Debug, Clone)]
pub struct Records {
    /// Objects, at least two.
    pub length: u64,
    /// Index of the property list.
    pub shape: u64,
}

impl Records {
    fn properties(&self) -> &'static [u64] {
        SHAPES[self.shape as usize]
    }

    fn object_size(&self) -> u64 {
        24 + 8 * self.properties().len() as u64
    }

    fn extras(&self) -> u64 {
        self.length / EXTRA_EVERY
    }

    /// The interface's name as DevTools writes it: properties in order while the name stays within 120 characters.
    fn interface(&self) -> String {
        let mut name = String::from("{");
        for property in self.properties().iter().map(|property| n::text(*property)) {
            if name.len() > 1 {
                if name.len() + property.len() > 120 {
                    break;
                }
                name.push_str(", ");
            }
            name.push_str(property);
        }
        name + "}"
    }
}

impl Structure for Records {
    fn kind(&self) -> &'static str {
        "array of plain objects"
    }

    fn size(&self) -> Size {
        let (length, extras) = (self.length, self.extras());
        let per_object = self.properties().len() as u64 + 2 + 1;
        Size {
            nodes: 2 + 2 * length,
            edges: js_array_edges(length) + length * per_object + extras,
            strings: length + extras,
            locations: 0,
        }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        let objects = (0..self.length).map(|i| at.head + 2 + 2 * i);
        js_array(objects.clone(), at.head + 1, out);
        js_array_elements(self.length, objects.clone(), out);
        for (i, object) in (0..self.length).zip(objects) {
            let mut draw = mix(at.key, i);
            out.node(NodeType::Object, n::C_OBJECT, self.object_size());
            for (place, property) in self.properties().iter().enumerate() {
                let shared = if draw & 3 == 0 { oddball(draw >> 2) } else { common(draw >> 2) };
                out.edge(Property, *property, if place == 0 { object + 1 } else { shared });
                draw >>= 8;
            }
            if i % EXTRA_EVERY == EXTRA_EVERY - 1 {
                out.edge(Property, at.string + self.length + i / EXTRA_EVERY, common(draw));
            }
            instance_of(class::C_OBJECT, out);
            string(at.string + i, OWN, out);
        }
    }

    fn strings<W: Write>(&self, _at: &Place, out: &mut Strings<W>) {
        for _ in 0..self.length {
            out.unique("item-");
        }
        for _ in 0..self.extras() {
            out.unique("field");
        }
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let length = self.length;
        let shallow = js_array_size(length);
        let bytes = self.object_size();
        let objects = length * (bytes + OWN);
        out.head(at.head_fact(shallow, shallow + objects));
        let last = at.head + 2 * length;
        out.checkpoint(fact(last, bytes, bytes + OWN, 1, at.head));
        out.checkpoint(fact(last + 1, OWN, OWN, 2, last));
        out.class(",Array", 1, shallow, 0, HEAD_DISTANCE);
        out.class(",(string)", length, length * OWN, length * OWN, HEAD_DISTANCE + 2);
        let row = ClassRow {
            count: length,
            shallow_bytes: length * bytes,
            retained_bytes: objects,
            distance: Some(HEAD_DISTANCE + 1),
        };
        out.plain(&self.interface(), row, self.extras());
    }
}
