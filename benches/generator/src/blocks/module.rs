//! Modules: closures that share contexts, so that no closure dominates its variables.

use super::parts::{NUMBER_SIZE, number};
use super::structure::{HEAD_DISTANCE, Place, Size, Structure, fact};
use crate::answers::Answers;
use crate::names as n;
use crate::rng::mix;
use crate::shared::{FUNCTION_CODE, FUNCTION_INFO, NATIVE_CONTEXT, SCOPE_INFO, class, common, instance_of, map};
use crate::sink::EdgeType::{Context, Internal, Property};
use crate::sink::{NodeType, Sink};

const MODULE: u64 = 48;
const CLOSURE: u64 = 64;
const CELL: u64 = 24;
const CONTEXT: u64 = 64;
const OUTER: u64 = 96;
const LOCATION: (u64, u64, u64) = (9, 36, 0);
const CLASS: &str = "9,36,0,Module";

/// An object with functions; the functions of a scope share a context, and all contexts share the outer one.
#[derive(Debug, Clone)]
pub struct Module {
    /// Inner contexts, at least two.
    pub scopes: u64,
    /// Functions per context, at least two.
    pub functions: u64,
}

impl Module {
    fn closures(&self) -> u64 {
        self.scopes * self.functions
    }

    fn closure(&self, at: &Place, i: u64) -> u64 {
        at.head + 2 + 2 * i
    }

    fn scope(&self, at: &Place, q: u64) -> u64 {
        at.head + 2 + 2 * self.closures() + 2 * q
    }

    fn walk_function<S: Sink>(&self, at: &Place, i: u64, out: &mut S) {
        let me = self.closure(at, i);
        out.node(NodeType::Closure, n::EMPTY, CLOSURE);
        out.edge(Internal, n::FEEDBACK_CELL, me + 1);
        out.edge(Internal, n::SHARED, FUNCTION_INFO);
        out.edge(Internal, n::CONTEXT, self.scope(at, i / self.functions));
        out.edge(Internal, n::CODE, FUNCTION_CODE);
        instance_of(class::C_FUNCTION, out);
        out.location(LOCATION.0, 40 + 10 * i, 2);
        out.node(NodeType::Code, n::SYSTEM_FEEDBACK_CELL, CELL);
        out.edge(Internal, n::VALUE, FUNCTION_INFO);
        out.edge(Internal, n::MAP, map::CODE);
    }
}

impl Structure for Module {
    fn kind(&self) -> &'static str {
        "module with closures"
    }

    fn size(&self) -> Size {
        let (closures, scopes) = (self.closures(), self.scopes);
        Size {
            nodes: 2 + 2 * closures + 2 * scopes,
            edges: 2 + closures + 4 + 8 * closures + 7 * scopes,
            strings: 0,
            locations: 1 + closures,
        }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        let outer = at.head + 1;
        out.node(NodeType::Object, n::C_MODULE, MODULE);
        for i in 0..self.closures() {
            out.edge(Property, n::index(i), self.closure(at, i));
        }
        instance_of(class::C_MODULE, out);
        out.location(LOCATION.0, LOCATION.1, LOCATION.2);
        out.node(NodeType::Object, n::SYSTEM_CONTEXT, OUTER);
        out.edge(Context, n::EXPORTS, at.head);
        out.edge(Internal, n::SCOPE_INFO, SCOPE_INFO);
        out.edge(Internal, n::PREVIOUS, NATIVE_CONTEXT);
        out.edge(Internal, n::MAP, map::CONTEXT);
        for i in 0..self.closures() {
            self.walk_function(at, i, out);
        }
        for q in 0..self.scopes {
            let me = self.scope(at, q);
            let draw = mix(at.key, q);
            out.node(NodeType::Object, n::SYSTEM_CONTEXT, CONTEXT);
            out.edge(Context, n::COUNTER, me + 1);
            out.edge(Context, n::CACHE, common(draw));
            out.edge(Internal, n::SCOPE_INFO, SCOPE_INFO);
            out.edge(Internal, n::PREVIOUS, outer);
            out.edge(Internal, n::MAP, map::CONTEXT);
            number(draw >> 8, out);
        }
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let (closures, scopes) = (self.closures(), self.scopes);
        let functions = closures * (CLOSURE + CELL);
        let contexts = OUTER + scopes * (CONTEXT + NUMBER_SIZE);
        let retained = MODULE + functions + contexts;
        out.head(at.head_fact(MODULE, retained));
        let closure = self.closure(at, closures - 1);
        let scope = self.scope(at, scopes - 1);
        out.checkpoint(fact(at.head + 1, OUTER, OUTER, 3, at.head));
        out.checkpoint(fact(closure, CLOSURE, CLOSURE + CELL, 1, at.head));
        out.checkpoint(fact(closure + 1, CELL, CELL, 2, closure));
        out.checkpoint(fact(scope, CONTEXT, CONTEXT + NUMBER_SIZE, 2, at.head));
        out.checkpoint(fact(scope + 1, NUMBER_SIZE, NUMBER_SIZE, 3, scope));
        out.class(CLASS, 1, MODULE, retained, HEAD_DISTANCE);
        out.class(",Function", closures, closures * CLOSURE, functions, HEAD_DISTANCE + 1);
        out.class(",(compiled code)", closures, closures * CELL, closures * CELL, HEAD_DISTANCE + 2);
        out.class(",system / Context", scopes + 1, OUTER + scopes * CONTEXT, contexts, HEAD_DISTANCE + 2);
        out.class(",(number)", scopes, scopes * NUMBER_SIZE, scopes * NUMBER_SIZE, HEAD_DISTANCE + 3);
    }
}
