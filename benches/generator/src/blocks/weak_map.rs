//! WeakMaps: the key retains the entry's value, though the table points at it too.
//!
//! V8 writes each entry twice, as an edge of the table and as an edge of the key, with the same text after a leading
//! number. Dominators ignore the table's edge; distances ignore the edge visited first.

use super::parts::{js_array_elements, string, string_size};
use super::structure::{HEAD_DISTANCE, Place, Size, Structure, fact};
use crate::answers::Answers;
use crate::names as n;
use crate::rng::mix;
use crate::section::id;
use crate::shared::{array_size, class, common, instance_of, map};
use crate::sink::EdgeType::{Element, Internal, Property, Weak};
use crate::sink::{NodeType, Sink};
use crate::strings::{Strings, UNIQUE_DIGITS};
use std::io::Write;

const HEAD: u64 = 32;
const WEAK_MAP: u64 = 32;
const KEY: u64 = 32;
const STATE: u64 = 40;
const DATA: u64 = string_size(5 + UNIQUE_DIGITS);

/// An object with the keys in its elements and the entries in a WeakMap.
#[derive(Debug, Clone)]
pub struct ViewRegistry {
    /// Entries, at least one.
    pub entries: u64,
}

impl ViewRegistry {
    fn table(&self, at: &Place) -> u64 {
        at.head + 3
    }

    /// Each key is followed by its value and the value's data.
    fn key(&self, at: &Place, i: u64) -> u64 {
        at.head + 4 + 3 * i
    }

    fn own_size(&self) -> u64 {
        HEAD + array_size(self.entries)
    }

    fn table_size(&self) -> u64 {
        array_size(3 + 2 * self.entries)
    }

    fn walk_table<S: Sink>(&self, at: &Place, out: &mut S) {
        out.node(NodeType::Array, n::EMPTY, self.table_size());
        for i in 0..self.entries {
            let key = self.key(at, i);
            out.edge(Weak, n::index(3 + 2 * i), key);
            out.edge(Weak, n::index(4 + 2 * i), key + 1);
            out.edge(Internal, at.string + 3 * i, key + 1);
        }
        out.edge(Internal, n::MAP, map::EPHEMERON_TABLE);
    }
}

impl Structure for ViewRegistry {
    fn kind(&self) -> &'static str {
        "WeakMap"
    }

    fn size(&self) -> Size {
        let entries = self.entries;
        Size {
            nodes: 4 + 3 * entries,
            // Head with keys and elements, WeakMap, table; then key, value and data.
            edges: (entries + 4) + (entries + 1) + 3 + (3 * entries + 1) + entries * (4 + 4 + 1),
            strings: 3 * entries,
            locations: 0,
        }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        let keys = (0..self.entries).map(|i| self.key(at, i));
        out.node(NodeType::Object, n::C_VIEW_REGISTRY, HEAD);
        for (i, key) in keys.clone().enumerate() {
            out.edge(Element, i as u64, key);
        }
        out.edge(Property, n::ENTRIES, at.head + 2);
        instance_of(class::C_VIEW_REGISTRY, out);
        out.edge(Internal, n::ELEMENTS, at.head + 1);
        js_array_elements(self.entries, keys.clone(), out);
        out.node(NodeType::Object, n::C_WEAK_MAP, WEAK_MAP);
        out.edge(Internal, n::TABLE, self.table(at));
        instance_of(class::C_WEAK_MAP, out);
        self.walk_table(at, out);
        for (i, key) in (0..self.entries).zip(keys) {
            let draw = mix(at.key, i);
            out.node(NodeType::Object, n::C_VIEW_KEY, KEY);
            out.edge(Property, n::LABEL, common(draw));
            instance_of(class::C_VIEW_KEY, out);
            out.edge(Internal, at.string + 3 * i + 1, key + 1);
            out.node(NodeType::Object, n::C_VIEW_STATE, STATE);
            out.edge(Property, n::DATA, key + 2);
            out.edge(Property, n::SESSION, at.session);
            instance_of(class::C_VIEW_STATE, out);
            string(at.string + 3 * i + 2, DATA, out);
        }
    }

    fn strings<W: Write>(&self, at: &Place, out: &mut Strings<W>) {
        let table = id(self.table(at), false);
        for i in 0..self.entries {
            let key = self.key(at, i);
            let names = (("ViewKey", id(key, false)), ("ViewState", id(key + 1, false)));
            out.ephemeron(3 + 3 * i, names.0, names.1, table);
            out.ephemeron(4, names.0, names.1, table);
            out.unique("view-");
        }
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let entries = self.entries;
        let shallow = self.own_size();
        let weak_map = WEAK_MAP + self.table_size();
        let keys = entries * (KEY + STATE + DATA);
        out.head(at.head_fact(shallow, shallow + weak_map + keys));
        let key = self.key(at, entries - 1);
        out.checkpoint(fact(at.head + 2, weak_map, weak_map, 1, at.head));
        out.checkpoint(fact(self.table(at), 0, 0, 2, at.head + 2));
        out.checkpoint(fact(key, KEY, KEY + STATE + DATA, 1, at.head));
        // Keys are nearer than the table, so their edges are visited first and then ignored; the table's are followed.
        out.checkpoint(fact(key + 1, STATE, STATE + DATA, 3, key));
        out.checkpoint(fact(key + 2, DATA, DATA, 4, key + 1));
        out.class(",ViewRegistry", 1, shallow, shallow + weak_map + keys, HEAD_DISTANCE);
        out.class(",WeakMap", 1, weak_map, weak_map, HEAD_DISTANCE + 1);
        out.class(",ViewKey", entries, entries * KEY, keys, HEAD_DISTANCE + 1);
        out.class(",ViewState", entries, entries * STATE, entries * (STATE + DATA), HEAD_DISTANCE + 3);
        out.class(",(string)", entries, entries * DATA, entries * DATA, HEAD_DISTANCE + 4);
    }
}
