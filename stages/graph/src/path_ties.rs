//! Ties among edges on shortest paths: several edges to a node have the same key. The edge of the least path wins,
//! compared from its end upwards by labels, classes, and names without numbers. So two runs of a program choose alike,
//! and a change near the root changes no choice below it. Used by [`super::shortest_paths`].
//!
//! Ties are sorted by distance: when one is resolved, the paths to its sources are final.
//!
//! Resident memory: 20 bytes for each tie, sorted on disk where the budget does not allow it. Cost: at most [`STEPS`]
//! steps for each tie; different paths mostly differ within a few.

use crate::path_keys::{order, text};
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array::Fault;
use heaplake_kit::sorter::Sorter;
use heaplake_kit::{ColumnMap, Job, ReadAt, Scratch, StageError, StringTable, WriteAt};
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, Column, STRINGS};
use std::cmp::Ordering;

const SORTED: [Column<Tie>; 2] = [Column::new("path.ties"), Column::new("path.ties_merged")];

/// Maximum number of steps in which two paths are compared; if equal, the first edge wins.
const STEPS: usize = 64;

/// The edge by which a node is reached.
#[derive(Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Link {
    pub from: NodeId,
    pub label: u32,
}

/// An edge with the same key as an earlier edge to its target, the least so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Tie {
    pub distance: i32,
    pub to: u32,
    pub from: u32,
    pub label: u32,
    pub key: u32,
}

pub(crate) struct Ties<'a>(Sorter<'a, Tie>);

impl<'a> Ties<'a> {
    pub(crate) fn new(edges: u64, job: &Job<'a>) -> Result<Self, StageError> {
        let most = usize::try_from(edges).unwrap_or(usize::MAX);
        Sorter::new("shortest paths: ties", most, SORTED, &job.context.budget, job.scratch).map(Self)
    }

    #[inline]
    pub(crate) fn push(&mut self, tie: Tie) -> Result<(), StageError> {
        self.0.push(tie)
    }

    /// Chooses among equal edges. Returns the bytes that went to disk.
    pub(crate) fn resolve(
        self,
        mut keys: impl ReadAt<u32>,
        mut links: impl WriteAt<Link>,
        texts: &mut Texts<impl ReadAt<ClassId>, impl ReadAt<StringId>>,
    ) -> Result<u64, StageError> {
        let mut sorted = self.0.finish()?;
        while let Some(Tie { to, from, label, key, .. }) = sorted.pop()? {
            if keys.get(to as usize)? != key {
                continue;
            }
            let (link, known) = (Link { from: NodeId(from), label }, links.get(to as usize)?);
            if link != known && texts.compare(link, known, &mut links)? == Ordering::Less {
                links.set(to as usize, link)?;
            }
        }
        Ok(sorted.bytes())
    }
}

/// Texts of nodes and edges.
pub(crate) struct Texts<C, N> {
    classes: C,
    names: N,
    class_names: Option<ColumnMap<StringId>>,
    strings: StringTable,
}

impl<C: ReadAt<ClassId>, N: ReadAt<StringId>> Texts<C, N> {
    pub(crate) fn open(classes: C, names: N, scratch: &Scratch) -> Result<Self, StageError> {
        let class_names = ColumnMap::if_any(scratch, columns::CLASS_NAME)?;
        let strings = StringTable::open(scratch, STRINGS)?;
        Ok(Self { classes, names, class_names, strings })
    }

    /// Compares two paths from the end upwards.
    fn compare(&mut self, one: Link, other: Link, links: &mut impl ReadAt<Link>) -> Result<Ordering, Fault> {
        let (mut one, mut other) = (one, other);
        for _ in 0..STEPS {
            if one.label != other.label {
                let key = |label: u32| order(text(label, &self.strings));
                let order = key(one.label).cmp(&key(other.label));
                if order.is_ne() {
                    return Ok(order);
                }
            }
            // Beyond a common node, or at a root, the paths are equal.
            if one.from == other.from || one.from.is_none() || other.from.is_none() {
                break;
            }
            let (at, beside) = (one.from.index(), other.from.index());
            let order = self.classes(at, beside)?;
            let order = if order.is_eq() { self.names(at, beside)? } else { order };
            if order.is_ne() {
                return Ok(order);
            }
            (one, other) = (links.get(at)?, links.get(beside)?);
        }
        Ok(Ordering::Equal)
    }

    fn classes(&mut self, one: usize, other: usize) -> Result<Ordering, Fault> {
        let Some(names) = &self.class_names else { return Ok(Ordering::Equal) };
        let (one, other) = (self.classes.get(one)?, self.classes.get(other)?);
        let name = |class: ClassId| names.get(class.index()).map_or(label::NONE, |name| name.0);
        Ok(if one == other { Ordering::Equal } else { self.order(name(one), name(other)) })
    }

    /// Compares the nodes' own names. Names with numbers may be ids and are ignored.
    fn names(&mut self, one: usize, other: usize) -> Result<Ordering, Fault> {
        if self.names.count() == 0 {
            return Ok(Ordering::Equal);
        }
        let (one, other) = (self.names.get(one)?.0, self.names.get(other)?.0);
        let name = |name: u32| if is_numbered(text(name, &self.strings)) { label::NONE } else { name };
        Ok(if one == other { Ordering::Equal } else { self.order(name(one), name(other)) })
    }

    fn order(&self, one: u32, other: u32) -> Ordering {
        text(one, &self.strings).cmp(text(other, &self.strings))
    }
}

fn is_numbered(name: &[u8]) -> bool {
    name.iter().any(u8::is_ascii_digit)
}
