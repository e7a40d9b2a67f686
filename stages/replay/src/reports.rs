//! Ranges of generations and roots, as collections report them.

use crate::collection::Bound;
use crate::events::{Range, Root};
use crate::track::Objects;
use heaplake_kit::{ColumnWriter, Scratch, StageError};
use heaplake_schemas::collection_roots::RootRow;
use heaplake_schemas::generation_bounds::BoundRow;
use heaplake_schemas::replay::{ABSENT, BOUNDS, ROOTS};

/// Null sentinel.
const NONE: u32 = u32::MAX;

/// Writes reported ranges and roots.
pub struct Reports {
    bounds: ColumnWriter<BoundRow>,
    roots: ColumnWriter<RootRow>,
}

impl Reports {
    /// Creates the columns.
    pub fn new(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self { bounds: ColumnWriter::create(scratch, BOUNDS)?, roots: ColumnWriter::create(scratch, ROOTS)? })
    }

    /// Writes the ranges of a collection, before and after, by address.
    pub fn bounds(&mut self, gc: u32, begin: &[Bound], end: &[Range]) -> Result<(), StageError> {
        let row = |moment, Range { generation, start, used, reserved }: Range, moved, surviving| {
            let generation = generation.into();
            BoundRow { start, used, reserved, moved, surviving, gc, moment, generation, padding: 0 }
        };
        for bound in begin {
            self.bounds.push(row(0, bound.range, bound.moved, bound.surviving))?;
        }
        end.iter().try_for_each(|&range| self.bounds.push(row(1, range, ABSENT, ABSENT)))
    }

    /// Writes the sorted roots of a collection, at its end.
    pub fn roots(&mut self, gc: u32, roots: &[Root], objects: &Objects) -> Result<(), StageError> {
        for equal in roots.chunk_by(|a, b| a == b) {
            let root = equal[0];
            let object = objects.at(root.object);
            self.roots.push(RootRow {
                address: root.object,
                id: root.id,
                count: equal.len() as u64,
                gc,
                kind: root.kind as u32,
                flags: root.flags,
                object: object.map_or(NONE, |object| object.serial as u32),
                type_id: object.map_or(NONE, |object| object.type_id),
                padding: 0,
            })?;
        }
        Ok(())
    }

    /// Finishes the columns.
    pub fn finish(self) -> Result<(), StageError> {
        self.bounds.finish()?;
        self.roots.finish().map(drop)
    }
}
