//! Targets of the references of each object, passed from `link` to [`super::equality`], which saves a second look-up of
//! addresses.
//!
//! The essential edges of an object lead to its class (unless the root has an edge to that) and then to the targets of
//! its references, in order. [`UNLISTED`] has the few references without an essential edge.

use super::layouts::Position;
use super::types::load;
use crate::output::Essential;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::{BudgetVec, ColumnReader, ColumnWriter, Context, Job, Scratch, StageError};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column};
use std::path::PathBuf;

/// A reference without an essential edge: of an object to itself, of a reference object to a referent that it does not
/// keep alive, or to an address without an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Unlisted {
    node: u32,
    /// Its slot, or the index of its element.
    slot: u32,
    /// Its target, if the dump has it.
    to: NodeId,
}

/// References without an essential edge, in order.
pub(super) const UNLISTED: Column<Unlisted> = Column::new("jvm.reference.unlisted");

/// Per class, whether the root has an edge to it; edges of instances to such a class are not essential.
pub(super) const ROOTED: Column<u8> = Column::new("jvm.class.rooted");

/// Sentinel after the last one.
const NO_MORE: Unlisted = Unlisted { node: u32::MAX, slot: 0, to: NodeId::NONE };

/// Writes the columns that [`References`] needs besides the essential edges, if duplicates are searched for.
pub(super) struct UnlistedWriter(Option<ColumnWriter<Unlisted>>);

impl UnlistedWriter {
    /// Creates the columns; `rooted` says which classes have an edge from the root.
    pub(super) fn create(rooted: &[bool], job: &Job<'_>) -> Result<Self, StageError> {
        if !job.setting.duplicates() {
            return Ok(Self(None));
        }
        ColumnWriter::write_each(job.scratch, ROOTED, rooted.iter().map(|&rooted| rooted.into()))?;
        ColumnWriter::create(job.scratch, UNLISTED).map(|column| Self(Some(column)))
    }

    /// Records the reference in a slot of an object if it has no essential edge; `to` is [`NodeId::NONE`] if the dump
    /// lacks the target. Calls ascend by object and slot.
    #[inline]
    pub(super) fn note(&mut self, node: NodeId, slot: u32, to: NodeId, edge: Essential) -> Result<(), StageError> {
        if edge != Essential::No && !to.is_none() && to != node {
            return Ok(());
        }
        let Some(column) = &mut self.0 else { return Ok(()) };
        column.push(Unlisted { node: node.0, slot, to })
    }

    /// Completes the column.
    pub(super) fn finish(self) -> Result<(), StageError> {
        self.0.map_or(Ok(()), |column| column.finish().map(drop))
    }
}

/// Iterates over the references of objects.
pub(super) struct References {
    rooted: BudgetVec<u8>,
    degrees: ColumnReader<u32>,
    to: ColumnReader<NodeId>,
    unlisted: ColumnReader<Unlisted>,
    next_unlisted: Unlisted,
    /// The current object; `next_node` is the next node of `degrees`.
    node: u32,
    next_node: u32,
    /// Its next slot.
    slot: u32,
    /// Its remaining essential edges.
    left: u32,
    path: PathBuf,
}

impl References {
    /// Opens the columns at the first object.
    pub(super) fn open(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let mut references = Self {
            rooted: load(scratch, context, "rooted classes", ROOTED)?,
            degrees: ColumnReader::open(scratch, columns::ESSENTIAL_DEGREE)?,
            to: ColumnReader::open(scratch, columns::ESSENTIAL_TO)?,
            unlisted: ColumnReader::open(scratch, UNLISTED)?,
            next_unlisted: NO_MORE,
            node: 0,
            next_node: 0,
            slot: 0,
            left: 0,
            path: scratch.path(columns::ESSENTIAL_TO),
        };
        references.advance()?;
        Ok(references)
    }

    /// Advances to an object of this class. Objects ascend.
    #[inline]
    pub(super) fn object(&mut self, node: u32, class: Position) -> Result<(), StageError> {
        let mut passed = u64::from(self.left);
        while self.next_node < node {
            passed += u64::from(self.degrees.next()?);
            self.next_node += 1;
        }
        self.left = self.degrees.next()?;
        (self.node, self.next_node, self.slot) = (node, node + 1, 0);
        if self.rooted[class] == 0 {
            passed += 1;
            self.left = self.left.checked_sub(1).ok_or_else(|| self.unlike())?;
        }
        while self.next_unlisted.node < node {
            self.advance()?;
        }
        self.to.skip(passed)
    }

    /// Skips a null slot.
    #[inline]
    pub(super) fn null(&mut self) {
        self.slot += 1;
    }

    /// Returns the target of the next slot's reference, if the dump has it.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<NodeId>, StageError> {
        let Unlisted { node, slot, to } = self.next_unlisted;
        let is_unlisted = (node, slot) == (self.node, self.slot);
        self.slot += 1;
        if is_unlisted {
            self.advance()?;
            return Ok(Some(to).filter(|to| !to.is_none()));
        }
        self.left = self.left.checked_sub(1).ok_or_else(|| self.unlike())?;
        self.to.next().map(Some)
    }

    fn advance(&mut self) -> Result<(), StageError> {
        self.next_unlisted = if self.unlisted.remaining() > 0 { self.unlisted.next()? } else { NO_MORE };
        Ok(())
    }

    #[cold]
    fn unlike(&self) -> StageError {
        let problem = format!("node {} has fewer edges than references: the dump has changed", self.node);
        StageError::Scratch { path: self.path.clone(), problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::Budget;
    use heaplake_kit::stage::Silent;
    use heaplake_schemas::options::{AnalysisOptions, Options};
    use proptest::prelude::*;
    use std::sync::atomic::AtomicBool;

    /// An object: class, whether it is visited, and slots: null, or a target and whether its edge is essential.
    type Object = (usize, bool, Vec<Option<(Option<u32>, bool)>>);

    const CLASSES: usize = 3;

    fn objects() -> impl Strategy<Value = Vec<Object>> {
        let target = prop::option::weighted(0.8, 0u32..20);
        let slot = prop::option::weighted(0.8, (target, prop::bool::weighted(0.8)));
        prop::collection::vec((0..CLASSES, any::<bool>(), prop::collection::vec(slot, 0..5)), 0..20)
    }

    proptest! {
        #[test]
        fn each_slot_has_its_target(objects in objects(), rooted: [bool; CLASSES]) {
            let folder = tempfile::tempdir().unwrap();
            let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
            let cancel = AtomicBool::new(false);
            let context = Context { budget: Budget::new(1 << 20), threads: 1, progress: &Silent, cancel: &cancel };
            let options = Options::Analysis(AnalysisOptions::default());
            let mut writer = UnlistedWriter::create(&rooted, &Job::on(&scratch, &context, &options)).unwrap();
            let mut degrees = ColumnWriter::create(&scratch, columns::ESSENTIAL_DEGREE).unwrap();
            let mut to = ColumnWriter::create(&scratch, columns::ESSENTIAL_TO).unwrap();
            for (node, (class, _, slots)) in (0u32..).zip(&objects) {
                let before = to.len();
                if !rooted[*class] {
                    to.push(NodeId(1000)).unwrap();
                }
                for (slot, reference) in (0..).zip(slots) {
                    let &Some((target, kept)) = reference else { continue };
                    let edge = if kept { Essential::Yes } else { Essential::No };
                    let target = target.map_or(NodeId::NONE, NodeId);
                    writer.note(NodeId(node), slot, target, edge).unwrap();
                    if kept && !target.is_none() && target.0 != node {
                        to.push(target).unwrap();
                    }
                }
                degrees.push((to.len() - before) as u32).unwrap();
            }
            writer.finish().unwrap();
            degrees.finish().unwrap();
            to.finish().unwrap();

            let mut references = References::open(&scratch, &context).unwrap();
            for (node, (class, looked_at, slots)) in (0u32..).zip(&objects) {
                if !looked_at {
                    continue;
                }
                references.object(node, *class).unwrap();
                for reference in slots {
                    match reference {
                        None => references.null(),
                        Some((target, _)) => prop_assert_eq!(references.next().unwrap(), target.map(NodeId)),
                    }
                }
                // One more than the dump had.
                prop_assert!(references.next().is_err());
            }
        }
    }
}
