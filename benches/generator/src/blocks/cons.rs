//! Concatenated strings: the result of building a text piece by piece.

use super::parts::{string, string_size};
use super::structure::{HEAD_DISTANCE, Place, Size, Structure, fact};
use crate::answers::Answers;
use crate::names as n;
use crate::shared::{class, instance_of, map};
use crate::sink::EdgeType::{Internal, Property};
use crate::sink::{NodeType, Sink};
use crate::strings::{Strings, UNIQUE_DIGITS};
use std::io::Write;

const HEAD: u64 = 24;
const CONS: u64 = 32;
const PIECE: u64 = string_size(5 + UNIQUE_DIGITS);

/// A chain of concatenated strings: each is the previous one plus one more piece.
#[derive(Debug, Clone)]
pub struct LogBuffer {
    /// Concatenations, at least one; there is one piece more.
    pub length: u64,
}

impl Structure for LogBuffer {
    fn kind(&self) -> &'static str {
        "concatenated string"
    }

    fn size(&self) -> Size {
        let length = self.length;
        Size { nodes: 2 + 2 * length, edges: 3 + 4 * length + 1, strings: length + 1, ..Size::default() }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        let cons = |i| at.head + 1 + 2 * i;
        out.node(NodeType::Object, n::C_LOG_BUFFER, HEAD);
        out.edge(Property, n::TEXT, cons(0));
        instance_of(class::C_LOG_BUFFER, out);
        for i in 0..self.length {
            out.node(NodeType::ConsString, n::CONCATENATED, CONS);
            // The very first piece follows the last concatenation.
            out.edge(Internal, n::FIRST, cons(i + 1));
            out.edge(Internal, n::SECOND, cons(i) + 1);
            out.edge(Internal, n::MAP, map::CONS_STRING);
            string(at.string + i, PIECE, out);
        }
        string(at.string + self.length, PIECE, out);
    }

    fn strings<W: Write>(&self, _at: &Place, out: &mut Strings<W>) {
        for _ in 0..=self.length {
            out.unique("line ");
        }
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let all = |left: u64| left * (CONS + PIECE) + PIECE;
        let length = self.length;
        out.head(at.head_fact(HEAD, HEAD + all(length)));
        for i in [0, length / 2, length - 1] {
            let dominator = if i == 0 { at.head } else { at.head + 2 * i - 1 };
            out.checkpoint(fact(at.head + 1 + 2 * i, CONS, all(length - i), 1 + i, dominator));
        }
        let pieces = (length + 1) * PIECE;
        out.class(",LogBuffer", 1, HEAD, HEAD + all(length), HEAD_DISTANCE);
        out.class(",(concatenated string)", length, length * CONS, all(length), HEAD_DISTANCE + 1);
        out.class(",(string)", length + 1, pieces, pieces, HEAD_DISTANCE + 2);
    }
}
