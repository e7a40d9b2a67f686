//! Stage `join walk`: resolves addresses to nodes.
//!
//! * Computes: class, kind and size of every object, its edges, all of them essential, in-degrees, objects without a
//!   reference from a root or another object (orphans), distance seeds.
//! * Resident memory: the index, 16 bytes per 512 of heap, and one byte per node, paged if they do not fit; a bit per
//!   node; 8 bytes per root and per dependent handle, which are sorted.
//! * Passes over disk: all inputs once, addresses twice.
//! * Worst case: linear.
//! * Fails when: two objects have one address; the budget is too small.
//! * Determinism: one thread, order of the walk.
//! * Reference: the runtime itself. Every object of its walk is alive, even without a path from a reported root
//!   (literals in frozen segments have none): such objects count as referenced by the root, without an edge.

use super::document::{FIRST, Walk};
use super::outside::Outside;
use super::recorder::{DEGREE, DEPENDENTS, ROOTS, SIZE, TARGET, TYPE};
use super::types::{KIND, NODE_KINDS, node_kind};
use crate::degrees::InDegrees;
use crate::index::{CHUNKS, Find, Index};
use crate::labels::Label;
use crate::names::NameWriter;
use crate::output::{Essential, Output, Wanted, writes_and};
use heaplake_kit::access::{bits_per_node, column, document, per_node, texts};
use heaplake_kit::array::{Fault, Residency};
use heaplake_kit::array_plan::filled;
use heaplake_kit::{
    ArrayPlan, Bitset, ColumnMap, ColumnReader, ColumnWriter, Job, Scratch, Stage, StageError, Stats, StringTable,
    WriteAt, on_resident, open_all,
};
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, EdgeKind, Metadata, STRINGS, documents};
use std::iter::Peekable;
use std::slice::Iter;
use std::sync::Arc;

/// Declaration of the stage.
pub(crate) const STAGE: Stage = Stage {
    name: "join walk",
    reads: &[
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
    ],
    writes: &writes_and::<_, 21>([
        column(columns::NODE_NAME),
        column(columns::ESSENTIAL_ORPHAN),
        column(columns::DISTANCE_SEED),
        column(columns::CLASS_LABEL_START).when(|setting| Wanted::of(setting).labels),
        column(columns::CLASS_LABEL).when(|setting| Wanted::of(setting).labels),
    ]),
    appends: &[texts(STRINGS)],
    updates: &[document(documents::METADATA)],
    arrays: &[&[Index::SIZE, per_node::<u8>()]],
    least: &[bits_per_node(1)],
    fixed: 12 << 20,
    passes: "walk once, addresses twice",
    run,
    ..Stage::NEW
};

/// Kinds of edges in the table of edges. None has a number.
const EDGE_KINDS: [&str; 3] = ["root", "reference", "dependent"];

mod edge_kind {
    pub(super) const ROOT: u8 = 0;
    pub(super) const REFERENCE: u8 = 1;
    pub(super) const DEPENDENT: u8 = 2;
}

/// Labels of references and of dependent handles, the same in all classes.
const REFERENCE: Label = Label::Slot(0);
const DEPENDENT: Label = Label::Slot(1);

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let mut metadata = Arc::unwrap_or_clone(job.metadata()?);
    let walk = &Walk::load(job.scratch)?;
    let nodes = metadata.node_count;
    job.context.progress.begin(STAGE.name, nodes);
    // First, so that the arrays do not take its memory.
    let referred = Bitset::new(&job.context.budget, "objects that are referred to", nodes as usize)?;
    let spilled_bytes = if walk.by_address {
        let error = |_, found| Ok(walk.error(walk.offset, "every object once", found));
        let mut index = Index::build_unique(FIRST, walk.unit, job, error)?;
        index.spilled + join(&mut index, referred, walk, &mut metadata, job)?
    } else {
        join(&mut Numbers(nodes), referred, walk, &mut metadata, job)?
    };
    job.scratch.write_document(documents::METADATA, &metadata)?;
    Ok(Stats { rows: nodes, spilled_bytes })
}

/// Finds nodes in a dump, with node numbers as references; the field is the number of nodes.
#[derive(Clone, Copy)]
struct Numbers(u64);

impl Find for Numbers {
    #[inline]
    fn find(&mut self, object: u64) -> Result<Option<NodeId>, Fault> {
        Ok((object < self.0).then_some(NodeId(object as u32)))
    }
}

impl Residency for Numbers {
    type Resident<'a> = Self;
    type Anywhere<'a> = Self;

    fn resident(&mut self) -> Option<Self> {
        Some(*self)
    }

    fn anywhere(&mut self) -> Self {
        *self
    }
}

/// Joins the objects by `index`; returns the bytes spilled.
fn join<I>(
    index: &mut I,
    referred: Bitset,
    walk: &Walk,
    metadata: &mut Metadata,
    job: &Job<'_>,
) -> Result<u64, StageError>
where
    I: for<'a> Residency<Resident<'a>: Find, Anywhere<'a>: Find>,
{
    let counted = Wanted::of(&job.setting).nodes;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let degrees = plan.one(counted.then(|| filled(metadata.node_count as usize, 0u8)))?;
    match degrees {
        None => on_resident!(index => join_with(index, (None::<&mut [u8]>, referred), walk, metadata, job))?,
        Some(mut degrees) => {
            on_resident!(index, degrees => join_with(index, (Some(degrees), referred), walk, metadata, job))?;
        }
    }
    Ok(plan.spilled_bytes())
}

fn join_with<D: WriteAt<u8>>(
    mut index: impl Find,
    (degrees, referred): (Option<D>, Bitset),
    walk: &Walk,
    metadata: &mut Metadata,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let wanted = Wanted::of(&job.setting);
    let mut names = NameWriter::append(&context.budget, scratch)?;
    let outside = Outside::load(&mut index, &mut names, job)?;
    let degrees = degrees.map(|degrees| InDegrees::new(degrees, &context.budget)).transpose()?;
    if wanted.labels {
        write_labels(&mut names, walk.class_count, scratch)?;
    }
    names.finish()?;
    let output = Output::create(wanted, degrees, Vec::new(), scratch)?;
    let (root_count, lost) = (outside.roots.len() as u64, outside.lost);
    let dependents = outside.dependents.iter().peekable();
    let mut joiner = Joiner { index, output, referred, dependents, root: metadata.root, root_count, lost };
    joiner.roots(&outside)?;
    if walk.by_address {
        // The root's class follows those of the types.
        joiner.output.end(node_kind::ROOT, ClassId(walk.class_count as u32 - 1), 0)?;
    }
    joiner.objects(job)?;
    let Joiner { output, referred, root_count, lost, .. } = joiner;
    let edges = output.finish(scratch)?;
    ColumnWriter::write_each(scratch, columns::NODE_NAME, (0..metadata.node_count).map(|_| StringId::NONE))?;
    let orphans = write_orphans(metadata, &referred, scratch)?;
    metadata.string_count = StringTable::open(scratch, STRINGS)?.len() as u64;
    metadata.root_count = root_count;
    metadata.remarks = remarks(walk, lost, orphans);
    let edge_kinds = EDGE_KINDS.map(|name| EdgeKind { name: name.to_owned(), indexed: false });
    metadata.roles = super::roles::roles();
    edges.complete(metadata, &NODE_KINDS, edge_kinds.to_vec(), scratch)
}

/// Returns the remarks on a walk, a sentence each.
fn remarks(walk: &Walk, lost: u64, orphans: u64) -> Vec<String> {
    let mut remarks = walk.remarks.clone();
    if lost > 0 {
        remarks.push(format!("{lost} references lead to no object of the walk, and are left out"));
    }
    if orphans > 0 {
        remarks.push(format!("{orphans} objects are alive though no root and no object refers to them"));
    }
    remarks
}

/// The pass over the objects.
struct Joiner<'a, I, D> {
    index: I,
    output: Output<D>,
    /// Nodes that a root or another node refers to.
    referred: Bitset,
    dependents: Peekable<Iter<'a, (NodeId, NodeId)>>,
    root: NodeId,
    /// Edges from the root.
    root_count: u64,
    /// Number of references without an object in the walk.
    lost: u64,
}

impl<I: Find, D: WriteAt<u8>> Joiner<'_, I, D> {
    /// Adds the edges from roots to objects, all of which leave the first node.
    fn roots(&mut self, outside: &Outside) -> Result<(), StageError> {
        for &(to, name) in outside.roots.iter() {
            self.referred.insert(to.index());
            let label = Label::Named(name.0);
            self.output.edge::<true>(to, edge_kind::ROOT, || name.0, (Essential::Yes, label))?;
        }
        Ok(())
    }

    /// Adds the objects, in the order of the walk.
    fn objects(&mut self, job: &Job<'_>) -> Result<(), StageError> {
        let Job { scratch, context, .. } = *job;
        // Few: one per type.
        let kinds = ColumnMap::uncounted(scratch, KIND)?;
        let (mut types, mut sizes, mut references, mut targets) = open_all(scratch, (TYPE, SIZE, DEGREE, TARGET))?;
        while types.remaining() > 0 {
            let node = self.output.node;
            self.edges(references.next()?, &mut targets)?;
            let of_type = types.next()?;
            self.output.end(kinds[of_type as usize], ClassId(of_type), sizes.next()?)?;
            context.step_every(1 << 16, node.0)?;
        }
        Ok(())
    }

    /// Adds the `references` references of the current object, and those of dependent handles.
    fn edges(&mut self, references: u32, targets: &mut ColumnReader<u64>) -> Result<(), StageError> {
        let node = self.output.node;
        if node == self.root {
            self.root_count = references.into();
        }
        for _ in 0..references {
            match self.index.find(targets.next()?)? {
                Some(to) => self.edge(to, edge_kind::REFERENCE, REFERENCE)?,
                None => self.lost += 1,
            }
        }
        while let Some(&(_, to)) = self.dependents.next_if(|&&(key, _)| key == node) {
            self.edge(to, edge_kind::DEPENDENT, DEPENDENT)?;
        }
        Ok(())
    }

    #[inline]
    fn edge(&mut self, to: NodeId, kind: u8, label: Label) -> Result<(), StageError> {
        if to != self.output.node {
            self.referred.insert(to.index());
        }
        self.output.edge::<true>(to, kind, || StringId::NONE.0, (Essential::Yes, label))
    }
}

/// Writes the nodes, except the root, without an incoming reference; returns their number.
fn write_orphans(metadata: &Metadata, referred: &Bitset, scratch: &Scratch) -> Result<u64, StageError> {
    let nodes = (0..metadata.node_count as u32).map(NodeId);
    let orphans = nodes.filter(|&node| node != metadata.root && !referred.contains(node.index()));
    ColumnWriter::write_each(scratch, columns::ESSENTIAL_ORPHAN, orphans)
}

/// Writes the labels of references and dependent handles; labels of roots come with the edges.
fn write_labels(names: &mut NameWriter, classes: u64, scratch: &Scratch) -> Result<(), StageError> {
    ColumnWriter::write_each(scratch, columns::CLASS_LABEL_START, (0..=classes).map(|_| 0))?;
    // The label before the slots is for the class of an object, which has no edge here.
    let labels = [StringId::NONE, StringId::NONE, names.intern(b"<dependent>")?];
    ColumnWriter::write_each(scratch, columns::CLASS_LABEL, labels).map(drop)
}
