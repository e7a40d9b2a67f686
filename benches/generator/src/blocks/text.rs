//! Strings: many short ones, some of kilobytes, in big files a few of megabytes, and one external string.

use super::parts::{js_array, js_array_edges, js_array_elements, js_array_size, string, string_size};
use super::structure::{HEAD_DISTANCE, Place, Size, Structure, fact};
use crate::answers::Answers;
use crate::names as n;
use crate::rng::mix;
use crate::shared::{common, map};
use crate::sink::EdgeType::Internal;
use crate::sink::{NodeType, Sink};
use crate::strings::{LONG_LEAST, Strings};
use std::io::Write;

const EXTERNAL: u64 = 32;

/// An array of strings: its own, some shared ones, and an external one with its data.
#[derive(Debug, Clone)]
pub struct Texts {
    /// Number of its own strings.
    pub own: u64,
    /// Number of shared strings.
    pub shared: u64,
    /// Length of the last own string if it is a giant.
    pub giant: Option<u64>,
}

impl Texts {
    fn length(&self) -> u64 {
        self.own + self.shared + 1
    }

    /// Most strings are short; one in sixteen has hundreds of characters, one in 256 thousands.
    fn text_length(&self, at: &Place, i: u64) -> u64 {
        if let (Some(giant), true) = (self.giant, i + 1 == self.own) {
            return giant;
        }
        let draw = mix(at.key, i);
        let spread = match draw & 0xff {
            0 => 8000,
            1..16 => 600,
            _ => 60,
        };
        LONG_LEAST + (draw >> 8) % spread
    }

    fn external_length(&self, at: &Place) -> u64 {
        64 + mix(at.key, self.own) % 1000
    }
}

impl Structure for Texts {
    fn kind(&self) -> &'static str {
        "array of strings"
    }

    fn size(&self) -> Size {
        Size {
            nodes: 2 + self.own + 2,
            edges: js_array_edges(self.length()) + self.own + 2,
            strings: self.own + 1,
            ..Size::default()
        }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        let first = at.head + 2;
        let external = first + self.own;
        let shared = (0..self.shared).map(|i| common(mix(at.key, i)));
        let items = (first..external).chain(shared).chain([external]);
        js_array(items.clone(), at.head + 1, out);
        js_array_elements(self.length(), items, out);
        for i in 0..self.own {
            string(at.string + i, string_size(self.text_length(at, i)), out);
        }
        out.node(NodeType::String, at.string + self.own, EXTERNAL);
        out.edge(Internal, n::RESOURCE, external + 1);
        out.edge(Internal, n::MAP, map::STRING);
        out.node(NodeType::Native, n::EXTERNAL_STRING_DATA, self.external_length(at));
    }

    fn strings<W: Write>(&self, at: &Place, out: &mut Strings<W>) {
        for i in 0..self.own {
            out.long(self.text_length(at, i), mix(at.key, i));
        }
        out.long(self.external_length(at), at.key);
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let shallow = js_array_size(self.length());
        let own: u64 = (0..self.own).map(|i| string_size(self.text_length(at, i))).sum();
        let external = EXTERNAL + self.external_length(at);
        out.head(at.head_fact(shallow, shallow + own + external));
        let leaf = |ordinal, bytes| fact(ordinal, bytes, bytes, 1, at.head);
        let last = at.head + 2 + self.own;
        out.checkpoint(leaf(last, external));
        if self.own > 0 {
            out.checkpoint(leaf(last - 1, string_size(self.text_length(at, self.own - 1))));
        }
        // The string alone owns the data and gets its bytes.
        out.checkpoint(fact(last + 1, 0, 0, 2, last));
        out.class(",Array", 1, shallow, 0, HEAD_DISTANCE);
        out.class(",(string)", self.own + 1, own + external, own + external, HEAD_DISTANCE + 1);
    }

    fn giant_bytes(&self) -> u64 {
        self.giant.unwrap_or(0)
    }
}
