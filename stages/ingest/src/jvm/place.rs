//! Offset of a node's record, for errors.

use super::dump::{Dump, FIRST};
use super::record::{PrimitiveArray, Record};
use super::records::{Records, Visitor};
use heaplake_kit::{Context, StageError};
use heaplake_schemas::ids::NodeId;

/// Returns the offset of a node's record, after a scan of the dump up to it.
pub(super) fn offset_of(dump: &Dump, node: NodeId, context: &Context<'_>) -> Result<u64, StageError> {
    fn of<const ID: usize>(dump: &Dump, node: NodeId, context: &Context<'_>) -> Result<u64, StageError> {
        let mut records = Records::<ID>::open(dump, context)?;
        records.visit(&mut Until { left: node.0 + 1 - FIRST })?;
        Ok(records.start)
    }
    if dump.id_bytes == 4 { of::<4>(dump, node, context) } else { of::<8>(dump, node, context) }
}

/// Skips `left` objects.
struct Until {
    left: u32,
}

impl<const ID: usize> Visitor<ID> for Until {
    fn instance(&mut self, _: u64, _: u64, length: u32, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        self.left -= 1;
        records.cursor.skip(length.into())
    }

    fn object_array(&mut self, _: u64, _: u64, length: u32, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        self.left -= 1;
        records.cursor.skip(u64::from(length) * ID as u64)
    }

    fn primitive_array(&mut self, array: PrimitiveArray, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        self.left -= 1;
        records.cursor.skip(array.bytes)
    }

    fn other(&mut self, record: Record, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        self.left -= u32::from(matches!(record, Record::Class { .. }));
        records.skip(&record)
    }

    fn is_done(&self) -> bool {
        self.left == 0
    }
}
