//! Functions that wait for pending promises. Used by [`super::resources`].

use super::graph::{Graph, Places};
use super::labels::Labels;
use heaplake_kit::{Bitset, ColumnReader, ColumnWriter, Scratch, StageError};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::resources::{NONE, ResourceRow, kind};
use heaplake_schemas::scratch::Column;

/// Promises with reactions, between the two passes of the stage.
pub(super) const PENDING: Column<NodeId> = Column::new("resources.pending");

/// Finds the functions that wait for promises.
pub(super) struct Waiting<'a> {
    pub graph: &'a mut Graph,
    pub labels: &'a Labels,
    pub places: &'a mut Places,
    /// Remaining links to follow in lists: damaged files may have cycles.
    pub steps: u64,
}

impl Waiting<'_> {
    /// Writes a row for each reaction of the promises in [`PENDING`], except those that a function will settle.
    pub(super) fn write(
        &mut self,
        derived: &Bitset,
        rows: &mut ColumnWriter<ResourceRow>,
        scratch: &Scratch,
    ) -> Result<(), StageError> {
        let mut pending = ColumnReader::open(scratch, PENDING)?;
        while let Some(promise) = pending.pop()? {
            if !derived.contains(promise.index()) {
                self.reactions(promise.0, rows)?;
            }
        }
        drop(pending);
        scratch.discard(PENDING);
        Ok(())
    }

    /// Writes a row for each reaction of a promise.
    fn reactions(&mut self, promise: u32, rows: &mut ColumnWriter<ResourceRow>) -> Result<(), StageError> {
        let mut next = self.graph.inner(promise, self.labels.reactions)?;
        while let Some(reaction) = next.filter(|_| self.steps > 0) {
            self.steps -= 1;
            next = None;
            let name = self.graph.name(reaction)?;
            let mut waits = None;
            for at in self.graph.range(reaction)? {
                let edge = self.graph.edge(at)?;
                if self.graph.kind(edge.to)? == self.graph.kinds.closure {
                    let better = self.waits(edge.to)?;
                    waits = waits.filter(|&(_, function)| function != NONE || better.1 == NONE).or(Some(better));
                } else if self.graph.name(edge.to)? == name {
                    next = Some(edge.to);
                }
            }
            if let Some((node, function)) = waits {
                let place = if function == NONE { NONE } else { self.places.of(function, self.graph)? };
                rows.push(ResourceRow { holder: promise, function, place, ..ResourceRow::new(kind::WAITING, node) })?;
            }
        }
        Ok(())
    }

    /// Returns the continuation of a handler and its function: a waiting async function, or the handler itself.
    fn waits(&mut self, handler: u32) -> Result<(u32, u32), StageError> {
        if let Some(context) = self.graph.inner(handler, self.labels.context)?
            && let Some(state) = self.graph.inner(context, self.labels.extension)?
            && let Some(function) = self.graph.inner(state, self.labels.function)?
            && self.graph.kind(function)? == self.graph.kinds.closure
        {
            return Ok((state, function));
        }
        Ok((handler, if self.places.line(handler).is_some() { handler } else { NONE }))
    }
}
