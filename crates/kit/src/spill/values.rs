//! Reads partitions back and writes one value per key.

use super::{From32, PairSpill};
use crate::{ColumnWriter, Context, Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;

impl PairSpill {
    /// Writes one value per key in order: the last one added, or `none`. Removes the files of the spill.
    pub fn write_last<V: Pod + From32>(
        self,
        scratch: &Scratch,
        context: &Context<'_>,
        none: V,
        column: Column<V>,
    ) -> Result<(), StageError> {
        let mut writer = ColumnWriter::create(scratch, column)?;
        let mut values = context.budget.filled("spill: values", 1 << self.shift, none)?;
        let mut block = Vec::new();
        for index in 0..self.partitions.len() {
            context.check()?;
            let keys = self.keys_of(index, 0);
            values.fill(none);
            self.for_each(index, &mut block, |[key, value]| {
                values[key as usize - keys.start] = V::from_u32(value);
                Ok(())
            })?;
            if (index + 1).is_multiple_of(self.partitions_per_file) || index + 1 == self.partitions.len() {
                scratch.measure();
                self.files[index / self.partitions_per_file].release();
            }
            writer.extend(&values[..keys.len()])?;
        }
        writer.finish().map(drop)
    }
}
