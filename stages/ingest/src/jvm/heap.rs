//! Constant inputs of the pass that links objects.

use super::containers::Containers;
use super::dump::Dump;
use super::layouts::Types;
use super::special::Special;
use heaplake_kit::Job;

/// The types of a dump, and all other tables that every object is looked up in.
pub(super) struct Heap<'a> {
    pub dump: &'a Dump,
    pub nodes: u64,
    pub types: Types,
    pub special: Special,
    /// Set if rules of findings read containers.
    pub containers: Option<Containers>,
    pub job: &'a Job<'a>,
}
