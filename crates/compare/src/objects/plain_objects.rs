//! Plain objects of a V8 snapshot with their properties, from its tables.

use super::interfaces::{Census, Interfaces};
use super::side::Side;
use heaplake_kit::{Budget, Context, StageError};
use heaplake_lake::reader::{Batch, Batches};
use heaplake_schemas::{classes, edges, nodes};
use rustc_hash::FxHashSet;

/// Bytes of table reader buffers.
const READERS: u64 = 8 << 20;

/// Classes of plain objects: `Object`, and interfaces.
pub(super) struct PlainClasses(FxHashSet<u32>);

impl PlainClasses {
    /// Reads the classes of a run.
    pub(super) fn of(side: &Side) -> Result<Self, StageError> {
        let mut plain = FxHashSet::default();
        let mut batches = side.reader(classes::TABLE.file)?.columns(&["class_id", "class"])?;
        while let Some(batch) = batches.batch()? {
            let (ids, names) = (batch.u32s("class_id")?, batch.texts("class")?);
            let is_plain = |name: &str| name == "Object" || name.starts_with('{');
            plain.extend((0..batch.len()).filter(|&row| is_plain(names.value(row))).map(|row| ids.value(row)));
        }
        Ok(Self(plain))
    }

    /// Whether a node of this kind and class is a plain object.
    #[inline]
    pub(super) fn has(&self, kind: &str, class_id: u32) -> bool {
        kind == "object" && self.0.contains(&class_id)
    }
}

/// Property edges of a run, read front to back.
pub(super) struct Properties {
    batches: Batches,
    batch: Option<Batch>,
    row: usize,
}

impl Properties {
    /// Opens the table of edges; `None` if the run has none.
    pub(super) fn of(side: &Side) -> Result<Option<Self>, StageError> {
        let Some(reader) = side.reader_if_any(edges::TABLE.file)? else { return Ok(None) };
        let mut batches = reader.columns(&["from", "kind", "name"])?;
        let batch = batches.batch()?;
        Ok(Some(Self { batches, batch, row: 0 }))
    }

    /// Passes the property names of a node to `each`; nodes must ascend between calls.
    pub(super) fn read(&mut self, node: u32, mut each: impl FnMut(&str)) -> Result<(), StageError> {
        while let Some(batch) = &self.batch {
            let (from, kinds, names) = (batch.u32s("from")?.values(), batch.texts("kind")?, batch.texts("name")?);
            self.row += from[self.row..].partition_point(|&from| from < node);
            let end = self.row + from[self.row..].partition_point(|&from| from == node);
            for row in self.row..end {
                if kinds.value(row) == "property" {
                    each(names.value(row));
                }
            }
            self.row = end;
            if end < batch.len() {
                break;
            }
            (self.batch, self.row) = (self.batches.batch()?, 0);
        }
        Ok(())
    }
}

/// Computes the interfaces of a run; `None` without a table of edges.
pub(super) fn interfaces(side: &Side, context: &Context<'_>) -> Result<Option<Interfaces>, StageError> {
    let _readers = context.budget.reserve("readers of tables", READERS)?;
    let plain = PlainClasses::of(side)?;
    let mut census = Census::new(&context.budget)?;
    loop {
        let Some(mut properties) = Properties::of(side)? else { return Ok(None) };
        count(side, &plain, &mut properties, &mut census, context)?;
        if !census.needs_second_pass() {
            return census.finish(&Budget::clone(&context.budget)).map(Some);
        }
    }
}

fn count(
    side: &Side,
    plain: &PlainClasses,
    properties: &mut Properties,
    census: &mut Census,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let mut batches = side.reader(nodes::TABLE.file)?.columns(&["node", "kind", "class_id", "dominator"])?;
    // Chrome DevTools starts at the root, which may not come first.
    let mut after_root = false;
    while let Some(batch) = batches.batch()? {
        let (ordinals, kinds) = (batch.u32s("node")?, batch.texts("kind")?);
        let (ids, dominators) = (batch.u32s("class_id")?, batch.u32s("dominator")?);
        for row in 0..batch.len() {
            let node = ordinals.value(row);
            after_root |= dominators.value(row) == node;
            if after_root && plain.has(kinds.value(row), ids.value(row)) {
                census.begin();
                properties.read(node, |name| census.property(name))?;
                census.end()?;
            }
        }
        context.step(batch.len() as u64)?;
    }
    Ok(())
}
