//! Estimates the size of a heap from the beginning of its dump.

use super::dump::{FIRST, HINT};
use super::header::header;
use super::record::{ClassPart, PrimitiveArray, Record};
use super::records::{Records, Visitor};
use super::value;
use crate::format::Estimate;
use heaplake_input::bytes::Bytes;
use heaplake_input::source::{Input, Opened};
use heaplake_kit::{Context, StageError, storage};
use rustc_hash::FxHashMap;

/// Bytes of content in the sample.
const SAMPLE: u64 = 64 << 20;

/// Limit of a chain of superclasses.
const MOST_LEVELS: usize = 64;

/// Reads the first megabytes of a dump and extrapolates.
pub(crate) fn estimate(opened: Opened, context: &Context<'_>) -> Result<Estimate, StageError> {
    let Opened { input, source } = opened;
    let progress = source.progress();
    let mut cursor = Bytes::new(source, context).with_hint(HINT);
    let mut sample = Sample::default();
    let (read, exact) = match header(&mut cursor)?.id_bytes {
        4 => sample.take::<4>(cursor)?,
        _ => sample.take::<8>(cursor)?,
    };
    // Assumes the compression ratio of the part read so far.
    let stored = match input {
        Input::File(path) => storage::input(&path).map_or(0, |file| file.bytes),
        Input::Stdin => 0,
    };
    let so_far = progress.load(std::sync::atomic::Ordering::Relaxed).max(1);
    let heap = read.saturating_sub(sample.before).max(1);
    let scale = |count: u64| match exact {
        true => count,
        false => {
            let content = u128::from(read) * u128::from(stored.max(so_far)) / u128::from(so_far);
            let all = content.saturating_sub(sample.before.into());
            u64::try_from(u128::from(count) * all / u128::from(heap)).unwrap_or(u64::MAX)
        }
    };
    Ok(Estimate { nodes: scale(sample.nodes) + u64::from(FIRST), edges: scale(sample.edges), exact })
}

/// Counts of the sample.
#[derive(Default)]
struct Sample {
    nodes: u64,
    edges: u64,
    /// Bytes of content before the first object.
    before: u64,
    /// Superclass and number of reference fields of each class.
    classes: FxHashMap<u64, (u64, u64)>,
    done: bool,
}

impl Sample {
    /// Reads the sample; returns the bytes of content read, and whether that was all.
    fn take<const W: usize>(&mut self, cursor: Bytes<'_>) -> Result<(u64, bool), StageError> {
        // The length of the content does not matter here.
        let mut records = Records::<W>::new(cursor, u64::MAX);
        let exact = match records.visit(self) {
            Ok(()) => !self.done,
            // The analysis reports later damage.
            Err(StageError::Input(_)) if self.nodes > 0 => true,
            Err(other) => return Err(other),
        };
        Ok((records.cursor.offset(), exact))
    }

    fn object<const W: usize>(&mut self, edges: u64, records: &Records<'_, W>) {
        if self.nodes == 0 {
            self.before = records.start;
        }
        self.nodes += 1;
        self.edges += 1 + edges;
        self.done = records.cursor.offset() >= SAMPLE;
    }

    /// Returns the number of references in an instance of a class.
    fn references(&self, class: u64) -> u64 {
        let (mut class, mut references) = (class, 0);
        for _ in 0..MOST_LEVELS {
            let Some(&(superclass, own)) = self.classes.get(&class) else { break };
            references += own;
            class = superclass;
        }
        references
    }
}

impl<const W: usize> Visitor<W> for Sample {
    fn instance(&mut self, _: u64, class: u64, length: u32, records: &mut Records<'_, W>) -> Result<(), StageError> {
        records.cursor.skip(length.into())?;
        self.object(self.references(class), records);
        Ok(())
    }

    fn object_array(&mut self, _: u64, _: u64, length: u32, records: &mut Records<'_, W>) -> Result<(), StageError> {
        records.cursor.skip(u64::from(length) * W as u64)?;
        self.object(length.into(), records);
        Ok(())
    }

    fn primitive_array(&mut self, array: PrimitiveArray, records: &mut Records<'_, W>) -> Result<(), StageError> {
        records.cursor.skip(array.bytes)?;
        self.object(0, records);
        Ok(())
    }

    fn other(&mut self, record: Record, records: &mut Records<'_, W>) -> Result<(), StageError> {
        let Record::Class { id, superclass, .. } = record else {
            self.done = records.cursor.offset() >= SAMPLE;
            return records.skip(&record);
        };
        let (mut fields, mut statics) = (0, 0);
        records.class_body(|part| match part {
            ClassPart::Field { kind: value::OBJECT, .. } => fields += 1,
            ClassPart::Static { kind: value::OBJECT, .. } => statics += 1,
            _ => {}
        })?;
        self.classes.insert(id, (superclass, fields));
        // Two more: to the superclass and to the loader.
        self.object(statics + 2, records);
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }
}
