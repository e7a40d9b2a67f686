//! Stage `scan`: the first pass over a dump of a Java heap.
//!
//! * Computes: the objects and their offsets; the classes with their fields; names, roots, stacks; from the addresses,
//!   alignment and the sizes of references and headers.
//! * Resident memory: 16 bytes per text of the dump (symbols of the virtual machine), 80 per class, 24 per loaded
//!   class, 16 per field, 24 per static reference, 40 per frame, about 80 plus its bytes per distinct name; 18 bytes
//!   per 32 KiB of heap.
//! * Passes over disk: one read of the input; compressed inputs and standard input are first decompressed to scratch, and
//!   so is any input whose texts are [masked](super::spool::masked), in two passes more.
//! * Worst case: linear.
//! * Fails when: the input is no such dump, is damaged or cut (without `--salvage`), also between two segments, or has
//!   more objects than ordinals.
//! * Determinism: one thread parses, a second one reads ahead; everything is in the order of the dump.
//! * Reference: the format as HotSpot writes it, `heapDumper.cpp`, and Android's `hprof.cc`; Eclipse MAT reads it.

use super::big_endian::id;
use super::dump::{Dump, FIRST, HINT, ROOT, ROOT_ID};
use super::fill::Fill;
use super::header::{Header, header};
use super::heaps::{EVERYTHING, Heaps};
use super::located::Located;
use super::names::TextWriter;
use super::passed::Passed;
use super::record::{PrimitiveArray, Record};
use super::records::{Records, Visitor};
use super::roots::{ROOTS, RootRecord};
use super::sizes::{EXTENTS, Extent, HEADS, MOST_HEADS, Observed};
use super::stacks::{FRAMES, RawFrame, StackWriter, TRACE_FRAMES, TRACES};
use super::types::{DESCRIPTORS, FIELDS, STATICS, TypeDescriptor, TypeWriter};
use super::value;
use crate::format::opened;
use crate::index::{CHUNKS, Chunks};
use crate::masking::Masking;
use crate::names::NameWriter;
use bytemuck::Zeroable;
use heaplake_input::bytes::Bytes;
use heaplake_input::source::{self, Identity, Input, Source};
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{ColumnWriter, InputError, Job, Stage, StageError, Stats, finish_all};
use heaplake_schemas::ids::{MAX_NODES, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, Metadata, STRINGS, documents};
use std::ops::Range;

/// Declaration of the stage.
pub(crate) const STAGE: Stage = Stage {
    name: "scan",
    version: 6,
    writes: &[
        document(documents::METADATA),
        Dump::DOCUMENT,
        Dump::CONTENT,
        column(columns::NODE_ID),
        column(CHUNKS),
        column(DESCRIPTORS),
        column(FIELDS),
        column(STATICS),
        column(ROOTS),
        column(FRAMES),
        column(TRACES),
        column(TRACE_FRAMES),
        column(EXTENTS),
        column(HEADS),
        texts(STRINGS),
    ],
    fixed: 8 << 20,
    passes: "input once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let opened = opened(job.input)?;
    let name = opened.input.name();
    let masking = Masking::of(job)?;
    let content = Located::of(opened, masking.as_ref(), job)?;
    context.progress.begin(STAGE.name, content.bytes);
    let source = Source::named(content.source, &name);
    let (head, mut scanned) = scan(source, content.bytes, EVERYTHING, content.damage, job)?;
    let mut heap = EVERYTHING;
    if let Some(chosen) = scanned.heaps.choose(job.analysis().walk, (&name, content.bytes))? {
        let again = Source::raw(&content.path, &name, false)?;
        let (heaps, identity) = (scanned.heaps, scanned.identity.take());
        (heap, scanned) = (chosen.clone(), scan(again, content.bytes, chosen, None, job)?.1);
        (scanned.heaps, scanned.identity) = (heaps, identity);
    }
    let identity = match (scanned.identity.take(), content.identity) {
        (_, Some(identity)) => identity,
        (Some(identity), None) => identity,
        (None, None) => source::identify(&Input::File(content.path.clone()), context.cancel)?,
    };
    (job.admit)(scanned.nodes)?;
    let dump = Dump {
        name,
        content: content.path,
        content_bytes: content.bytes,
        hash: (content.spooled == 0).then(|| identity.hash.clone()),
        id_bytes: head.id_bytes,
        heap: heap.clone(),
        sizes: scanned.observed.sizes(head.id_bytes, job.analysis().sizes),
        unit: scanned.observed.unit(),
    };
    dump.save(scratch)?;
    let mut metadata = metadata(&head, &identity, content.bytes, (&scanned, &heap));
    metadata.remarks.splice(0..0, masking.as_ref().map(Masking::remark).into_iter().chain(content.remarks));
    metadata.is_sanitized |= content.is_sanitized;
    scratch.write_document(documents::METADATA, &metadata)?;
    Ok(Stats { rows: scanned.nodes, spilled_bytes: content.spooled })
}

/// Reads the whole dump; of its heap records only those that begin in the range `heap`.
fn scan(
    source: Source,
    content_bytes: u64,
    heap: Range<u64>,
    damage: Option<StageError>,
    job: &Job<'_>,
) -> Result<(Header, Scanned), StageError> {
    let name = source.name().to_owned();
    let mut cursor = Bytes::new(source, job.context).with_hint(HINT);
    let head = header(&mut cursor)?;
    let scan = Scan::create(name, damage, job)?;
    let scanned = match head.id_bytes {
        4 => scan.all(Records::<4>::new(cursor, content_bytes).within(heap))?,
        _ => scan.all(Records::<8>::new(cursor, content_bytes).within(heap))?,
    };
    Ok((head, scanned))
}

fn metadata(
    head: &Header,
    identity: &Identity,
    content_bytes: u64,
    (scanned, heap): (&Scanned, &Range<u64>),
) -> Metadata {
    let fill = scanned.fill.as_ref().and_then(Fill::remark);
    let is_sanitized = fill.is_some();
    let remarks = [scanned.heaps.remark(heap), scanned.passed.remark(), fill];
    Metadata {
        format: "hprof".to_owned(),
        format_version: Some(head.version.clone()),
        input_bytes: identity.bytes,
        content_bytes,
        input_hash: identity.hash.clone(),
        node_count: scanned.nodes,
        string_count: scanned.texts,
        root: NodeId(ROOT),
        keeps_garbage: true,
        counts_empty: true,
        follows_essential: true,
        captured_at_us: i64::try_from(head.captured_at_ms).ok().and_then(|ms| ms.checked_mul(1000)),
        partial: scanned.partial.clone(),
        is_sanitized,
        remarks: remarks.into_iter().flatten().collect(),
        ..Metadata::default()
    }
}

/// State of the scan.
struct Scan<'a> {
    /// Name of the input in messages.
    name: String,
    /// Error that ended the content early.
    damage: Option<StageError>,
    job: &'a Job<'a>,
    texts: TextWriter,
    types: TypeWriter,
    stacks: StackWriter,
    roots: ColumnWriter<RootRecord>,
    ids: ColumnWriter<u64>,
    chunks: Chunks,
    observed: Observed,
    extents: ColumnWriter<Extent>,
    heads: ColumnWriter<Extent>,
    heaps: Heaps,
    /// `None` for masked texts, which may be all alike.
    fill: Option<Fill>,
    nodes: u64,
}

/// Result of the scan.
struct Scanned {
    nodes: u64,
    texts: u64,
    observed: Observed,
    heaps: Heaps,
    fill: Option<Fill>,
    passed: Passed,
    identity: Option<Identity>,
    partial: Option<String>,
}

impl<'a> Scan<'a> {
    fn create(name: String, damage: Option<StageError>, job: &'a Job<'a>) -> Result<Self, StageError> {
        let Job { scratch, context, .. } = *job;
        let mut ids = ColumnWriter::create(scratch, columns::NODE_ID)?;
        ids.extend(&[ROOT_ID, 0])?;
        Ok(Self {
            name,
            damage,
            job,
            texts: TextWriter::create(scratch, context)?,
            types: TypeWriter::new(context),
            stacks: StackWriter::create(scratch, context)?,
            roots: ColumnWriter::create(scratch, ROOTS)?,
            ids,
            chunks: Chunks::new(&context.budget)?,
            observed: Observed::default(),
            extents: ColumnWriter::create(scratch, EXTENTS)?,
            heads: ColumnWriter::create(scratch, HEADS)?,
            heaps: Heaps::default(),
            fill: job.analysis().texts.is_full().then(Fill::default),
            nodes: FIRST.into(),
        })
    }

    /// Reads all records, then resolves names.
    fn all<const W: usize>(mut self, mut records: Records<'_, W>) -> Result<Scanned, StageError> {
        let partial = match self.records(&mut records) {
            Ok(()) => None,
            // An earlier heap of the file is complete.
            Err(StageError::Input(_)) if self.heaps.cut() => None,
            // Failed decompression causes all other errors.
            Err(StageError::Input(error)) => match self.damage.take() {
                Some(StageError::Input(cause)) => Some(self.give_up(*cause)?),
                _ => Some(self.give_up(*error)?),
            },
            Err(other) => return Err(other),
        };
        // The rest of a damaged input counts for its identity.
        let identity = match records.cursor.drain() {
            Ok(()) => records.cursor.identity().cloned().filter(|identity| !identity.hash.is_empty()),
            Err(StageError::Input(_)) => None,
            Err(other) => return Err(other),
        };
        let Self {
            job, texts, types, stacks, roots, ids, chunks, observed, extents, heads, heaps, fill, nodes, ..
        } = self;
        let passed = records.passed;
        let Job { scratch, context, .. } = *job;
        finish_all((roots, extents, heads, ids))?;
        chunks.write(&context.budget, scratch)?;
        let texts = texts.finish(scratch)?;
        let mut names = NameWriter::create(&context.budget, scratch)?;
        let loaded = types.finish(&texts, &mut names, scratch)?;
        stacks.finish(&texts, &loaded, &mut names, (scratch, context))?;
        names.finish()?;
        let texts_count = texts.count();
        let scanned = Scanned { nodes, texts: texts_count, observed, heaps, fill, passed, identity, partial };
        texts.discard(scratch);
        Ok(scanned)
    }

    /// Handles the end of a damaged dump: an error with the number of readable objects, or with `--salvage` the message
    /// about the omitted data.
    fn give_up(&mut self, error: InputError) -> Result<String, StageError> {
        let InputError { file, offset, expected, found, hint } = error;
        let objects = self.nodes - u64::from(FIRST);
        if !self.job.analysis().salvage || objects == 0 {
            let found = format!("{found} (after {objects} objects)");
            return Err(StageError::input(file, offset, expected, found, hint));
        }
        Ok(format!("what follows byte {offset}, after {objects} objects: expected {expected}, found {found}"))
    }

    fn records<const W: usize>(&mut self, records: &mut Records<'_, W>) -> Result<(), StageError> {
        records.visit(self)?;
        if let Some(damage) = self.damage.take() {
            return Err(damage);
        }
        if records.segments == 0 {
            let offset = records.cursor.offset();
            return Err(records.cursor.error(offset, "a heap dump", "the end of the content"));
        }
        if records.unended {
            let offset = records.cursor.offset();
            let expected = "another segment, or the record (0x2c) that ends the heap dump";
            return Err(records.cursor.error(offset, expected, "the end of the content"));
        }
        Ok(())
    }

    /// Adds an object at this address with its record at this offset.
    #[inline]
    fn object(&mut self, id: u64, offset: u64) -> Result<(), StageError> {
        if id == 0 {
            return Err(StageError::input(&self.name, offset, "an object at some address", "one at 0", HINT));
        }
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(StageError::Overflow("the number of objects"));
        }
        self.ids.push(id)?;
        self.chunks.note(id)
    }
}

impl<const W: usize> Visitor<W> for Scan<'_> {
    #[inline]
    fn instance(&mut self, id: u64, _class: u64, length: u32, records: &mut Records<'_, W>) -> Result<(), StageError> {
        records.cursor.skip(length.into())?;
        self.observed.object(id);
        self.object(id, records.start)
    }

    #[inline]
    fn object_array(
        &mut self,
        id: u64,
        _class: u64,
        length: u32,
        records: &mut Records<'_, W>,
    ) -> Result<(), StageError> {
        records.cursor.skip(u64::from(length) * W as u64)?;
        if let Some(extent) = self.observed.references(id, length)
            && W == 8
        {
            self.extents.push(extent)?;
        }
        self.object(id, records.start)
    }

    #[inline]
    fn primitive_array(&mut self, array: PrimitiveArray, records: &mut Records<'_, W>) -> Result<(), StageError> {
        if let Some(fill) = &mut self.fill {
            fill.see(array.element, records.cursor.ahead(), array.bytes);
        }
        records.cursor.skip(array.bytes)?;
        let bytes = u64::from(array.length) * value::width(array.element, W).unwrap_or(0) as u64;
        if let Some(head) = self.observed.values(array.id, bytes)
            && W == 8
            && self.heads.len() < MOST_HEADS
        {
            self.heads.push(head)?;
        }
        self.object(array.id, records.start)
    }

    fn other(&mut self, record: Record, records: &mut Records<'_, W>) -> Result<(), StageError> {
        match record {
            Record::Root { kind, object, thread, frame } => {
                self.roots.push(RootRecord { object, kind: kind.into(), thread, frame, padding: 0 })
            }
            Record::Text { id, mut length } => {
                while length > 0 {
                    let piece = records.cursor.some(1, length)?;
                    self.texts.texts.extend(piece)?;
                    length -= piece.len() as u64;
                }
                self.texts.end(id)
            }
            Record::LoadClass { serial, class, name } => self.types.load(serial, class, name),
            Record::Frame { id, method, source, class, line } => {
                self.stacks.frames.push(RawFrame { id, method, source, class, line })
            }
            Record::Trace { serial, frames } => {
                self.stacks.trace(serial, frames)?;
                for _ in 0..frames {
                    self.stacks.trace_frames.push(id::<W>(records.cursor.take(W)?, 0))?;
                }
                Ok(())
            }
            Record::Class { id, superclass, loader, .. } => {
                let offset = records.start;
                self.heaps.class(id, &records.dumps);
                let mark = self.types.mark();
                let (mut static_bytes, mut has_wide_static, mut result) = (0, 0, Ok(()));
                records.class_body(|part| match self.types.part(part) {
                    Ok(bytes) => {
                        static_bytes += bytes;
                        has_wide_static |= u32::from(bytes == 8);
                    }
                    Err(error) => result = Err(error),
                })?;
                result?;
                let node = NodeId(self.nodes as u32);
                let name = StringId::NONE;
                let class = TypeDescriptor {
                    id,
                    superclass,
                    loader,
                    offset,
                    node,
                    name,
                    static_bytes,
                    has_wide_static,
                    ..TypeDescriptor::zeroed()
                };
                self.observed.object(id);
                // In a damaged dump, a class without an object must not remain among the descriptors.
                self.object(id, offset)?;
                self.types.class(class, mark)
            }
        }
    }
}
