//! The structures in a file, one source file per family.
//!
//! A block is a handful of parameters. Its nodes are numbered from its head on, its strings from its first string on,
//! so all of its nodes, edges, strings and answers are formulas of the parameters and of its location.

mod array;
mod cons;
mod deque;
mod document;
mod duplicates;
mod hash_map;
mod list;
mod module;
mod parts;
mod records;
mod ring;
mod structure;
mod text;
mod tree;
mod weak_map;
mod weak_refs;
mod widgets;

use std::io::Write;

pub(crate) use array::OrderLines;
pub(crate) use cons::LogBuffer;
pub(crate) use deque::Deque;
pub(crate) use document::{Attached, Detached, Grid};
pub(crate) use duplicates::Twins;
pub(crate) use hash_map::Cache;
pub(crate) use list::List;
pub(crate) use module::Module;
pub(crate) use parts::{js_array, js_array_edges, js_array_elements, js_array_size};
pub(crate) use records::{Records, SHAPE_COUNT};
pub(crate) use ring::Ring;
pub(crate) use structure::{Place, Size, Structure};
pub(crate) use text::Texts;
pub(crate) use tree::Tree;
pub(crate) use weak_map::ViewRegistry;
pub(crate) use weak_refs::Observers;
pub(crate) use widgets::Widgets;

use crate::answers::Answers;
use crate::sink::Sink;
use crate::strings::Strings;

macro_rules! blocks {
    ($($name:ident,)*) => {
        #[derive(Debug, Clone)]
        pub enum Block { $(#[doc = concat!("One of [`", stringify!($name), "`].")] $name($name),)* }

        impl Structure for Block {
            fn kind(&self) -> &'static str {
                match self { $(Self::$name(block) => block.kind(),)* }
            }
            fn size(&self) -> Size {
                match self { $(Self::$name(block) => block.size(),)* }
            }
            fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
                match self { $(Self::$name(block) => block.walk(at, out),)* }
            }
            fn strings<W: Write>(&self, at: &Place, out: &mut Strings<W>) {
                match self { $(Self::$name(block) => block.strings(at, out),)* }
            }
            fn metadata(&self, at: &Place, out: &mut Answers) {
                let size = self.size();
                out.begin(self.kind(), size.nodes, size.edges);
                match self { $(Self::$name(block) => block.metadata(at, out),)* }
            }
            fn in_shard(&self) -> bool {
                match self { $(Self::$name(block) => block.in_shard(),)* }
            }
            fn giant_bytes(&self) -> u64 {
                match self { $(Self::$name(block) => block.giant_bytes(),)* }
            }
        }
    };
}

blocks! {
    Attached, Detached, List, Deque, Tree, Ring, Cache, Module, OrderLines, Records, Texts, LogBuffer, ViewRegistry,
    Observers, Widgets, Twins,
}
