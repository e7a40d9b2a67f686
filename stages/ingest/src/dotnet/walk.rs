//! Stage `walk`: reads one walk of a .NET heap from the input.
//!
//! * Computes: the objects of the walk with their sizes, types, references and roots, by address, or for a dump by node
//!   number; names, keys and kinds of the classes. Roots, dependent handles and chunks of memory exist only for traces;
//!   a dump has nodes for them.
//! * Resident memory: 18 bytes per 32 KiB of heap; about 200 bytes plus its name per type and per module; the events
//!   between two sequence points of a trace; for a log 16 to 32 bytes per live object, and 24 per range that a garbage
//!   collection reports; for a dump the descriptions of its nodes, paged if they do not fit.
//! * Passes over disk: one read of the input. Each of several walks overwrites the one before. The descriptions of a
//!   dump are written once and read at random.
//! * Worst case: linear.
//! * Fails when: the input is damaged, has no walk, lacks the wanted one, or has only part of it.
//! * Determinism: one thread; the order of the walk.
//! * Reference: the events as the runtime defines them in its manifest, `ClrEtwAll.man`; PerfView builds heaps from the
//!   same events.

use super::document::Walk;
use super::events::Walker;
use super::gcdump;
use super::log;
use super::recorder::{DEGREE, DEPENDENTS, ROOTS, SIZE, TARGET, TYPE};
use super::types::KIND;
use crate::format::opened;
use crate::index::CHUNKS;
use heaplake_input::bytes::Bytes;
use heaplake_input::nettrace;
use heaplake_input::profiler_log;
use heaplake_input::source::Opened;
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{Job, Stage, StageError, Stats};
use heaplake_schemas::scratch::{self as columns, CLASS_KEYS, STRINGS, documents};

/// Declaration of the stage.
pub(crate) const STAGE: Stage = Stage {
    name: "walk",
    version: 2,
    writes: &[
        document(documents::METADATA),
        Walk::DOCUMENT,
        column(columns::NODE_ID),
        column(CHUNKS).if_any(),
        column(TYPE),
        column(SIZE),
        column(DEGREE),
        column(TARGET),
        column(ROOTS).if_any(),
        column(DEPENDENTS).if_any(),
        column(KIND),
        column(columns::CLASS_NAME),
        texts(CLASS_KEYS),
        column(columns::CLASS_ORIGIN),
        column(columns::ORIGIN),
        column(columns::ORIGIN_NODE),
        column(columns::ORIGIN_OF_NODE),
        texts(STRINGS),
    ],
    arrays: &[&gcdump::DESCRIPTIONS],
    fixed: 16 << 20,
    temporary: &[gcdump::PLACES, gcdump::DESCRIPTIONS[0], gcdump::DESCRIPTIONS[1]],
    passes: "input once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let Opened { source, .. } = opened(job.input)?;
    context.progress.begin(STAGE.name, 0);
    let name = source.name().to_owned();
    let mut bytes = Bytes::new(source, context);
    let (first, wanted) = (bytes.peek()?, job.analysis().walk);
    let (walk, mut metadata, spilled_bytes) = if first == gcdump::MAGIC.first().copied() {
        gcdump::read(&name, &mut bytes, job)?
    } else if first == profiler_log::MAGIC.first().copied() {
        let (walk, metadata) = log::read(&mut bytes, wanted, scratch, context)?;
        (walk, metadata, 0)
    } else {
        let mut walker = Walker::new(name, wanted, scratch, context)?;
        let outcome = nettrace::read(&mut bytes, &mut walker, &context.budget)?;
        let (walk, metadata) = walker.finish(&outcome, bytes.offset(), job.setting.options.symbols())?;
        (walk, metadata, 0)
    };
    bytes.drain()?;
    let content_bytes = bytes.offset();
    let identity = bytes.identity().cloned().unwrap_or_default();
    if identity.hash.is_empty() {
        return Err(bytes.error(content_bytes, "the end of the input", "more"));
    }
    metadata.content_bytes = content_bytes;
    (metadata.input_bytes, metadata.input_hash) = (identity.bytes, identity.hash);
    metadata.remarks.clone_from(&walk.remarks);
    (job.admit)(metadata.node_count)?;
    walk.save(scratch)?;
    scratch.write_document(documents::METADATA, &metadata)?;
    Ok(Stats { rows: metadata.node_count, spilled_bytes })
}
