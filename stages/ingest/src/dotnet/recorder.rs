//! Writes the columns of one walk.

use super::document::ROOT_ID;
use crate::index::Chunks;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::{Budget, ColumnWriter, Scratch, StageError, create_all, finish_all};
use heaplake_schemas::ids::{MAX_NODES, StringId};
use heaplake_schemas::scratch::{self as columns, Column, Per};

/// Position of each object's type; the objects are those of [`columns::NODE_ID`] without the root.
pub(crate) const TYPE: Column<u32> = Column::of("dotnet.type", Per::Node);
/// Size of each object, bytes.
pub(crate) const SIZE: Column<u64> = Column::of("dotnet.size", Per::Node);
/// Number of references of each object.
pub(crate) const DEGREE: Column<u32> = Column::of("dotnet.degree", Per::Node);
/// Addresses of their targets, contiguous per object.
pub(crate) const TARGET: Column<u64> = Column::of("dotnet.target", Per::Edge);
/// The roots.
pub(crate) const ROOTS: Column<Root> = Column::new("dotnet.root");
/// The dependent handles.
pub(crate) const DEPENDENTS: Column<Dependent> = Column::new("dotnet.dependent");

/// A reference from outside the heap.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Root {
    /// Address of the object.
    pub object: u64,
    /// Position in [`ROOT_KINDS`].
    pub kind: u32,
    /// Name of the static field; [`StringId::NONE`] for other roots.
    pub field: StringId,
}

/// A handle through which one object keeps another one alive, such as an entry of a `ConditionalWeakTable`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Dependent {
    /// Address of the retaining object.
    pub key: u64,
    /// Address of the retained object.
    pub value: u64,
}

/// Kinds of roots, as names of edges.
pub(crate) const ROOT_KINDS: [&str; 11] = [
    "stack",
    "finalizer queue",
    "strong handle",
    "older generation",
    "sized reference handle",
    "mark overflow",
    "pinned handle",
    "reference-counted handle",
    "other",
    "static",
    "thread static",
];

/// Positions in [`ROOT_KINDS`] that need more than the runtime's kind.
pub(crate) mod root_kind {
    /// The runtime's kind of handles.
    pub(crate) const HANDLE: u32 = 2;
    /// A handle whose object may not move.
    pub(crate) const PINNED: u32 = 6;
    /// A handle with a reference count of native code.
    pub(crate) const COUNTED: u32 = 7;
    /// A kind that the runtime does not name.
    pub(crate) const OTHER: u32 = 8;
    /// A static field.
    pub(crate) const STATIC: u32 = 9;
    /// A static field with a value per thread.
    pub(crate) const THREAD_STATIC: u32 = 10;
}

/// Writes the columns of a walk.
pub(crate) struct Recorder {
    ids: ColumnWriter<u64>,
    types: ColumnWriter<u32>,
    sizes: ColumnWriter<u64>,
    degrees: ColumnWriter<u32>,
    pub targets: ColumnWriter<u64>,
    pub roots: ColumnWriter<Root>,
    pub dependents: ColumnWriter<Dependent>,
    chunks: Chunks,
    /// Bitwise or of all addresses.
    bits: u64,
    /// Number of references that the objects so far announce.
    promised: u64,
}

/// Result of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// Objects.
    pub objects: u64,
    /// Number of references that they announce.
    pub promised: u64,
    /// References.
    pub references: u64,
    /// log2 of the alignment of all addresses.
    pub unit: u32,
}

impl Recorder {
    /// Starts a walk, overwriting an earlier one.
    pub(crate) fn create(scratch: &Scratch, budget: &Budget) -> Result<Self, StageError> {
        let (mut ids, types, sizes, degrees, targets, roots, dependents) =
            create_all(scratch, (columns::NODE_ID, TYPE, SIZE, DEGREE, TARGET, ROOTS, DEPENDENTS))?;
        ids.push(ROOT_ID)?;
        let chunks = Chunks::new(budget)?;
        Ok(Self { ids, types, sizes, degrees, targets, roots, dependents, chunks, bits: 0, promised: 0 })
    }

    /// Adds an object: its address, size, type position, and announced number of references.
    #[inline]
    pub(crate) fn object(&mut self, address: u64, size: u64, of_type: u32, references: u32) -> Result<(), StageError> {
        if self.ids.len() >= MAX_NODES {
            return Err(StageError::Overflow("the number of objects"));
        }
        self.bits |= address;
        self.promised += u64::from(references);
        self.chunks.note(address)?;
        self.ids.push(address)?;
        self.types.push(of_type)?;
        self.sizes.push(size)?;
        self.degrees.push(references)
    }

    /// Completes the walk.
    pub(crate) fn finish(self, scratch: &Scratch, budget: &Budget) -> Result<Recorded, StageError> {
        finish_all((self.types, self.sizes, self.degrees, self.roots, self.dependents))?;
        self.chunks.write(budget, scratch)?;
        Ok(Recorded {
            objects: self.ids.finish()? - 1,
            promised: self.promised,
            references: self.targets.finish()?,
            unit: self.bits.trailing_zeros(),
        })
    }
}
