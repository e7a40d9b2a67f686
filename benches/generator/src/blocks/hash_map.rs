//! Hash maps: `Map -> table -> keys and entries`; each entry also knows its key.

use super::parts::{string, string_size};
use super::structure::{HEAD_DISTANCE, Place, Size, Structure, fact};
use crate::answers::Answers;
use crate::names as n;
use crate::rng::mix;
use crate::shared::{array_size, class, common, instance_of, map, slot};
use crate::sink::EdgeType::{Internal, Property};
use crate::sink::{NodeType, Sink};
use crate::strings::{Strings, UNIQUE_DIGITS};
use std::io::Write;

const MAP: u64 = 32;
const ENTRY: u64 = 40;
const KEY: u64 = string_size(8 + UNIQUE_DIGITS);

/// A `Map` from its own strings to `CacheEntry` objects.
#[derive(Debug, Clone)]
pub struct Cache {
    /// Entries, at least one.
    pub entries: u64,
}

impl Cache {
    /// First entry slot of the table, after three numbers and a bucket for every two entries; an entry has key, value,
    /// chain.
    fn first_slot(&self) -> u64 {
        3 + self.entries.div_ceil(2)
    }

    fn table_size(&self) -> u64 {
        array_size(self.first_slot() + 3 * self.entries)
    }
}

impl Structure for Cache {
    fn kind(&self) -> &'static str {
        "hash map"
    }

    fn size(&self) -> Size {
        let entries = self.entries;
        Size { nodes: 2 + 2 * entries, edges: 3 + 1 + 8 * entries, strings: entries, ..Size::default() }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        let table = at.head + 1;
        let key = |i| table + 1 + 2 * i;
        out.node(NodeType::Object, n::C_MAP, MAP);
        out.edge(Internal, n::TABLE, table);
        instance_of(class::C_MAP, out);
        out.node(NodeType::Array, n::EMPTY, self.table_size());
        for i in 0..self.entries {
            slot(self.first_slot() + 3 * i, key(i), out);
            slot(self.first_slot() + 3 * i + 1, key(i) + 1, out);
        }
        out.edge(Internal, n::MAP, map::HASH_TABLE);
        for i in 0..self.entries {
            string(at.string + i, KEY, out);
            out.node(NodeType::Object, n::C_CACHE_ENTRY, ENTRY);
            out.edge(Property, n::KEY, key(i));
            out.edge(Property, n::SESSION, at.session);
            out.edge(Property, n::VALUE, common(mix(at.key, i)));
            instance_of(class::C_CACHE_ENTRY, out);
        }
    }

    fn strings<W: Write>(&self, _at: &Place, out: &mut Strings<W>) {
        for _ in 0..self.entries {
            out.unique("session:");
        }
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        // The map alone owns the table, so it gets the table's bytes; the table still dominates its targets.
        let shallow = MAP + self.table_size();
        let (keys, entries) = (self.entries * KEY, self.entries * ENTRY);
        let table = at.head + 1;
        out.head(at.head_fact(shallow, shallow + keys + entries));
        let last = table + 2 * self.entries;
        out.checkpoint(fact(table, 0, keys + entries, 1, at.head));
        out.checkpoint(fact(last - 1, KEY, KEY, 2, table));
        out.checkpoint(fact(last, ENTRY, ENTRY, 2, table));
        out.class(",Map", 1, shallow, shallow + keys + entries, HEAD_DISTANCE);
        out.class(",(string)", self.entries, keys, keys, HEAD_DISTANCE + 2);
        out.class(",CacheEntry", self.entries, entries, entries, HEAD_DISTANCE + 2);
    }
}
