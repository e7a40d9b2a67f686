//! Stage `link`: the second pass over a dump of a Java heap.
//!
//! * Computes: class, kind and shallow size of every object, its edges, the essential edges, in-degrees, distance
//!   seeds; threads; containers; strings and the offsets of their texts; names, keys and origins of classes.
//! * Resident memory: the index, 16 bytes per 512 of heap, and one byte per node for in-degrees if they are counted;
//!   afterwards 12 bytes per node if rules of findings read containers; all paged if they do not fit; the classes.
//! * Passes over disk: the content once, addresses once or twice.
//! * Worst case: linear in the dump, times the logarithm of its roots, frames and stacks, whatever the depth of a
//!   stack. A stack that several threads share is written in full once, and to 64 frames for the others.
//! * Fails when: an object's class is missing or does not fit it, or superclasses form a cycle (with `--salvage`, such
//!   objects are kept without fields, a cycle is cut, and the run is partial); two objects have one address; the budget
//!   is too small for the classes.
//! * Determinism: one thread, order of the dump.
//! * Reference: Eclipse MAT. Its pseudo edges lead to the class, from a class to its superclass and loader, and from a
//!   thread to the locals of its stack. An edge to a class with an edge from the root is omitted from `essential.*`: no
//!   path from the root needs it, so neither dominators nor distances change.

use super::containers::{self, Containers};
use super::dump::{Dump, FIRST};
use super::heap::Heap;
use super::kinds::{EDGE_KINDS, EdgeNames, NODE_KINDS};
use super::layouts::Types;
use super::objects::{self, Linked, Linker};
use super::references::{ROOTED, UNLISTED};
use super::root_kinds::ROOT_KINDS;
use super::roots::{self, Roots};
use super::sizes::{EXTENTS, Extent, HEADS, Heads, Sizes};
use super::special::Special;
use super::strings::{ARRAY_NODE, ARRAY_OFFSET, STRING_CODER, STRING_NODE, STRING_VALUE};
use super::types::{DESCRIPTORS, FIELDS, STATICS};
use super::{keys, labels, place, threads, variables};
use crate::degrees::InDegrees;
use crate::index::{CHUNKS, Find, Index};
use crate::names::NameWriter;
use crate::output::{Output, Wanted, writes_and};
use heaplake_kit::access::{column, document, per_node, texts};
use heaplake_kit::array_plan::filled;
use heaplake_kit::{ArrayPlan, ColumnReader, ColumnWriter, Job, Stage, StageError, Stats, WriteAt, on_resident};
use heaplake_schemas::direct_buffers::DIRECT_BUFFER;
use heaplake_schemas::options::{AnalysisOptions, SizeRule};
use heaplake_schemas::scratch::{self as columns, CLASS_KEYS, Metadata, STRINGS, documents};
use std::sync::Arc;

/// Declaration of the stage.
pub(crate) const STAGE: Stage = Stage {
    name: "link",
    version: 7,
    reads: &[
        Dump::CONTENT,
        column(columns::NODE_ID),
        column(CHUNKS),
        column(DESCRIPTORS),
        column(FIELDS),
        column(STATICS),
        column(roots::ROOTS),
        column(super::stacks::FRAMES),
        column(super::stacks::TRACES),
        column(super::stacks::TRACE_FRAMES),
        column(EXTENTS),
        column(HEADS),
    ],
    writes: &writes_and::<_, 43>([
        column(columns::ESSENTIAL_ORPHAN),
        column(columns::DISTANCE_SEED),
        column(columns::CLASS_NAME),
        texts(CLASS_KEYS),
        column(columns::CLASS_LOADER),
        column(columns::CLASS_NODE),
        column(columns::CLASS_ORIGIN),
        column(columns::ORIGIN),
        column(columns::ORIGIN_NODE),
        column(columns::ORIGIN_OF_NODE),
        column(columns::CLASS_LABEL_START).when(|setting| Wanted::of(setting).labels),
        column(columns::CLASS_LABEL).when(|setting| Wanted::of(setting).labels),
        column(columns::CONTAINER_ROW).when(|setting| Wanted::of(setting).nodes),
        column(DIRECT_BUFFER).when(|setting| Wanted::of(setting).nodes),
        column(columns::THREAD_NODE),
        column(columns::THREAD_LOCALS),
        column(columns::THREAD_FRAME_COUNT),
        column(columns::THREAD_FRAME),
        column(threads::THREAD_STRING),
        column(variables::VARIABLE_STRINGS),
        column(UNLISTED).when(|setting| setting.analysis(AnalysisOptions::finds_duplicates)),
        column(ROOTED).when(|setting| setting.analysis(AnalysisOptions::finds_duplicates)),
        column(STRING_NODE),
        column(STRING_VALUE),
        column(STRING_CODER),
        column(ARRAY_NODE),
        column(ARRAY_OFFSET),
    ]),
    appends: &[texts(STRINGS)],
    updates: &[document(documents::METADATA), Dump::DOCUMENT],
    arrays: &[&[Index::SIZE, per_node::<u8>()], containers::ARRAYS],
    fixed: 12 << 20,
    shares: true,
    passes: "input once, addresses twice",
    run,
    ..Stage::NEW
};

/// Remark on a heap with other sizes than MAT's.
const COMPACT: &str = "its object headers are compact: sizes are those of the virtual machine (--sizes mat: Eclipse MAT's, \
                       which are larger)";

/// Remark on a heap with `StackChunk` objects if all other sizes follow MAT.
const STACKS: &str = "the stacks of its virtual threads count with the sizes that they have in the virtual machine (--sizes mat: \
                      as in Eclipse MAT, without their words)";

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut metadata = Arc::unwrap_or_clone(job.metadata()?);
    let mut dump = Dump::load(scratch)?;
    context.progress.begin(STAGE.name, dump.content_bytes);
    let nodes = metadata.node_count;
    let mut types = Types::load(&dump, job)?;
    let mut index = Index::build_unique(FIRST, dump.unit, job, |node, found| {
        Ok(dump.error(place::offset_of(&dump, node, context)?, "every object once", found))
    })?;
    let sizes = settled(dump.sizes, &mut index, job)?;
    if sizes != dump.sizes {
        dump.sizes = sizes;
        drop(types);
        types = Types::load(&dump, job)?;
    }
    let special = Special::find(&mut types, &dump.sizes, job)?;
    let counted = Wanted::of(&job.setting).nodes;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let degrees = plan.one(counted.then(|| filled(nodes as usize, 0u8)))?;
    let containers = counted.then(|| Containers::find(&types, job)).transpose()?;
    let heap = Heap { dump: &dump, nodes, types, special, containers, job };
    match degrees {
        None => on_resident!(index => link(&heap, &mut metadata, index, None::<&mut [u8]>))?,
        Some(mut degrees) => on_resident!(index, degrees => link(&heap, &mut metadata, index, Some(degrees)))?,
    }
    let mut spilled_bytes = index.spilled + plan.spilled_bytes();
    drop((heap, index));
    if counted {
        spilled_bytes += containers::settle(&dump.sizes, job)?;
    }
    dump.save(scratch)?;
    scratch.write_document(documents::METADATA, &metadata)?;
    Ok(Stats { rows: nodes, spilled_bytes })
}

/// Returns the layout of the heap, which here does not depend on the order of the dump.
fn settled(mut sizes: Sizes, index: &mut Index, job: &Job<'_>) -> Result<Sizes, StageError> {
    if sizes.may_be_compressed() && overlapping(index, job)? {
        sizes = sizes.compressed();
    }
    let rule = job.analysis().sizes;
    if sizes.may_be_compact(rule) && compact(index, job)? {
        sizes = sizes.compact(rule);
    }
    Ok(sizes)
}

/// Whether some array would overlap an object without compact headers, and none does with them.
fn compact(index: &mut Index, job: &Job<'_>) -> Result<bool, StageError> {
    let mut heads = ColumnReader::open(job.scratch, HEADS)?;
    let mut found = false;
    while let Some(Extent { start, end }) = heads.pop()? {
        let mut within = |head: Heads| index.any_within(start.saturating_add(1), end.saturating_add(head.array));
        if within(Heads::NARROW)? {
            found = true;
            if within(Heads::COMPACT)? {
                return Ok(false);
            }
        }
        job.context.check_every(1 << 12, heads.remaining())?;
    }
    Ok(found)
}

/// Whether some array would overlap an object without compressed references.
fn overlapping(index: &mut Index, job: &Job<'_>) -> Result<bool, StageError> {
    let mut extents = ColumnReader::open(job.scratch, EXTENTS)?;
    while let Some(Extent { start, end }) = extents.pop()? {
        if index.any_within(start.saturating_add(1), end)? {
            return Ok(true);
        }
        job.context.check_every(1 << 12, extents.remaining())?;
    }
    Ok(false)
}

/// Runs the whole pass.
fn link<I: Find, D: WriteAt<u8>>(
    heap: &Heap<'_>,
    metadata: &mut Metadata,
    mut index: I,
    degrees: Option<D>,
) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *heap.job;
    let wanted = Wanted::of(&heap.job.setting);
    let roots = Roots::load(&mut index, &heap.types, scratch, context)?;
    let mut names = NameWriter::append(&context.budget, scratch)?;
    let called = edge_names(heap, wanted, &mut names)?;
    let pseudo = called.pseudo;
    let degrees = degrees.map(|degrees| InDegrees::new(degrees, &context.budget)).transpose()?;
    let output = Output::create(wanted, degrees, pseudo.by_kind(), scratch)?;
    let linked = match wanted.edges {
        false => Linker::<_, _, false>::create(heap, index, output, &roots, called)?.all()?,
        true => Linker::<_, _, true>::create(heap, index, output, &roots, called)?.all()?,
    };
    let Linked { edges, mut index, thread_names, variables, has_stacks, damage } = linked;
    if wanted.labels {
        labels::write(&heap.types, keys::MORE, pseudo.class, scratch)?;
    }
    keys::write(&heap.types, &mut index, &mut names, scratch, context)?;
    threads::write(&roots, &thread_names, &mut names, scratch, context)?;
    variables.write(scratch)?;
    names.finish()?;
    ColumnWriter::create(scratch, columns::ESSENTIAL_ORPHAN)?.finish()?;
    // Damage of the first pass takes precedence.
    metadata.partial = metadata.partial.take().or_else(|| damage.map(|damage| damage.leaves_out()));
    metadata.root_count = roots.edges.len() as u64;
    metadata.roles = super::roles::roles();
    if heap.job.analysis().sizes == SizeRule::Auto {
        let remark = heap.dump.sizes.heads.map(|_| COMPACT).or_else(|| has_stacks.then_some(STACKS));
        // A stage that was killed may run twice.
        metadata.remarks.retain(|known| Some(&**known) != remark);
        metadata.remarks.extend(remark.map(str::to_owned));
    }
    metadata.referents = Some(heap.job.analysis().referents.name().to_owned());
    let edge_kinds = EDGE_KINDS.map(|(name, indexed)| columns::EdgeKind { name: name.to_owned(), indexed });
    edges.complete(metadata, &NODE_KINDS, edge_kinds.to_vec(), scratch)
}

/// Interns the names of edges.
fn edge_names(heap: &Heap<'_>, wanted: Wanted, names: &mut NameWriter) -> Result<objects::SpecialNames, StageError> {
    let Job { scratch, context, .. } = *heap.job;
    let pseudo = EdgeNames::intern(names)?;
    let statics = match wanted.labels {
        true => labels::of_statics(&heap.types, names, scratch, context)?,
        false => context.budget.growing("names of static fields"),
    };
    let roots = ROOT_KINDS.iter().map(|kind| names.intern(kind.name.as_bytes()));
    Ok(objects::SpecialNames { roots: roots.collect::<Result<_, _>>()?, pseudo, statics })
}
