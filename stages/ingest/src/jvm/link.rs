//! Stage `link`: the second pass over a dump of a Java heap.
//!
//! * Computes: class, kind and shallow size of every object, its edges, which of them hold, in-degrees, where distances
//!   start.
//! * Reads: the content of the dump, once more; what [`super::scan`] wrote.
//! * Writes: `node.{kind,class,shallow,self}`, `essential.{degree,to,orphan}`, `distance.seed`, `origin.{node,of_node}`,
//!   `origin`, `class.origin`; with the tables of chains or findings, `essential.{label,name}` and
//!   `class.label{.start,}`; with the table of nodes or findings, `node.{edge_count,retainer_count}` and `container.row`;
//!   with that of edges, `edge.*` and `node.edge_count`; class names and keys; strings and their contents; threads.
//! * Resident memory: the index, 16 bytes per 512 of heap, and one byte per node, where the budget allows, paged where
//!   not; the classes.
//! * Passes over disk: the content once, addresses once or twice.
//! * Worst case: linear.
//! * Fails when: an object's class is missing or does not fit it, two objects have one address, superclasses form a ring
//!   (with `--salvage`, such objects are kept without fields); the budget is too small for the classes.
//! * Determinism: one thread, order of the dump.
//! * Reference: Eclipse MAT. Its pseudo edges are those to the class, of a class to its superclass and loader, and of a
//!   thread to what its stack refers to. An edge to a class that the root holds is left out of `essential.*`: a way through
//!   it is never needed, since the class can be had from the root at once, so neither dominators nor distances change.

use super::classes::{CLASSES, Classes, Misfit};
use super::containers::{self, Containers};
use super::kinds::{EDGE_KINDS, EdgeNames, NODE_KINDS};
use super::objects::{Linked, Linker};
use super::records::ROOT_KINDS;
use super::roots::Roots;
use super::sizes::{EXTENTS, Extent};
use super::special::Special;
use super::{Dump, FIRST, ROOT, keys, objects, threads, ways};
use crate::degrees::InDegrees;
use crate::index::{Index, Twice, Word};
use crate::names::Names;
use crate::output::Output;
use heaplake_kit::{
    Array, ArrayPlan, BudgetVec, ColumnMap, ColumnReader, ColumnWriter, Context, ReadAt, Scratch, StageError,
    StageInfo, Stats, WriteAt,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, DistanceSeed};

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "link",
    version: 2,
    bytes_per_node: 3,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 12 << 20,
    scratch_per_node: 28,
    scratch_per_edge: 5,
    passes: "input once, addresses twice",
};

/// Links the objects of a dump.
///
/// # Errors
/// [`StageError::Input`] with offset; [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let mut dump = Dump::load(scratch)?;
    context.progress.begin(STAGE.name, dump.content_bytes);
    let mut classes = lay_out(&dump, scratch, context)?;
    let nodes = dump.facts.node_count;
    let (index, spilled) = Index::build(FIRST, dump.unit, nodes + nodes / 8, scratch, context)?;
    let mut index = match index {
        Ok(index) => index,
        Err(Twice(node)) => {
            let offset = objects::offset_of(&dump, node, context)?;
            let address = ColumnMap::open(scratch, columns::NODE_ID, None)?[node.index()];
            return Err(dump.error(offset, "every object once", format!("another one at {address:#x}")));
        }
    };
    if dump.sizes.may_be_compressed() && overlapping(&mut index, scratch, context)? {
        dump.sizes = dump.sizes.compressed();
        drop(classes);
        classes = lay_out(&dump, scratch, context)?;
    }
    let special = Special::find(&mut classes, &dump, scratch, context)?;
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[nodes]);
    let degrees = if dump.choices.nodes { Some(room.array(nodes as usize, 0u8)?) } else { None };
    let containers = match dump.choices.nodes {
        true => Some(Containers::find(&classes, dump.id_bytes.into(), scratch, context)?),
        false => None,
    };
    let heap = Heap { classes, special, containers, scratch, context };
    let holding = match (index.resident(), degrees) {
        (Ok(index), None) => heap.link(&mut dump, index, None::<BudgetVec<u8>>)?,
        (Ok(index), Some(Array::Resident(degrees))) => heap.link(&mut dump, index, Some(degrees))?,
        (Ok(index), degrees) => heap.link(&mut dump, index, degrees)?,
        (Err(index), degrees) => heap.link(&mut dump, index, degrees)?,
    };
    dump.facts.essential_edge_count = holding;
    dump.save(scratch)?;
    context.progress.end();
    Ok(Stats { rows: nodes, spilled_bytes: spilled + room.spilled_bytes() })
}

/// The classes of a dump.
pub(super) fn lay_out(dump: &Dump, scratch: &Scratch, context: &Context<'_>) -> Result<Classes, StageError> {
    let lenient = dump.choices.salvage;
    match Classes::load(scratch, context, dump.id_bytes.into(), &dump.sizes, lenient)? {
        Ok(classes) => Ok(classes),
        Err(Misfit(class, expected, found)) => {
            let classes = ColumnMap::open(scratch, CLASSES, None)?;
            Err(dump.error(classes[class].offset, expected, found))
        }
    }
}

/// Whether an array would overlap some object if references were not compressed, whatever the order of the dump.
fn overlapping(index: &mut Index, scratch: &Scratch, context: &Context<'_>) -> Result<bool, StageError> {
    let mut extents = ColumnReader::open(scratch, EXTENTS)?;
    while extents.remaining() > 0 {
        let Extent { start, end } = extents.next()?;
        if index.any_within(start.saturating_add(1), end)? {
            return Ok(true);
        }
        if extents.remaining().is_multiple_of(1 << 12) {
            context.check()?;
        }
    }
    Ok(false)
}

/// What does not change while objects are linked.
pub(super) struct Heap<'a> {
    pub classes: Classes,
    pub special: Special,
    /// Where rules of findings look at collections.
    pub containers: Option<Containers>,
    pub scratch: &'a Scratch,
    pub context: &'a Context<'a>,
}

impl Heap<'_> {
    /// The whole pass; the number of essential edges.
    fn link<W: ReadAt<Word>, L: ReadAt<u32>, D: WriteAt<u8>>(
        &self,
        dump: &mut Dump,
        mut index: Index<W, L>,
        degrees: Option<D>,
    ) -> Result<u64, StageError> {
        let (scratch, context) = (self.scratch, self.context);
        let roots = Roots::load(&mut index, &self.classes, scratch, context)?;
        let mut names = Names::append(&context.budget, scratch)?;
        let degrees = degrees.map(|degrees| InDegrees::new(degrees, &context.budget)).transpose()?;
        let pseudo = EdgeNames::intern(&mut names)?;
        let statics = match dump.choices.ways {
            true => ways::static_names(&self.classes, &mut names, scratch, context)?,
            false => context.budget.growing("names of static fields"),
        };
        let output = Output::create(dump.choices.wanted(), degrees, pseudo.by_kind(), scratch)?;
        let mut rooted = context.budget.filled("rooted classes", self.classes.classes.len(), false)?;
        for (class, rooted) in self.classes.classes.iter().zip(rooted.iter_mut()) {
            *rooted = roots.edges.binary_search_by_key(&class.node, |edge| edge.to).is_ok();
        }
        let roots_called = ROOT_KINDS.iter().map(|kind| names.intern(kind.name.as_bytes()));
        let called = objects::Names { roots: roots_called.collect::<Result<_, _>>()?, pseudo, statics };
        let linker = Linker::create(self, dump, index, output, &roots, called, rooted)?;
        let Linked { edges, holding, mut index, thread_names } = match (dump.id_bytes, dump.choices.edges) {
            (4, false) => linker.all::<4, false>()?,
            (4, true) => linker.all::<4, true>()?,
            (_, false) => linker.all::<8, false>()?,
            (_, true) => linker.all::<8, true>()?,
        };
        if dump.choices.ways {
            ways::write_names(&self.classes, keys::MORE, pseudo.class, scratch)?;
        }
        let classes = keys::write(&self.classes, &mut index, &mut names, scratch, context)?;
        threads::write(&roots, &thread_names, scratch)?;
        names.finish()?;
        if self.containers.is_some() {
            containers::settle(&dump.sizes, scratch, context)?;
        }
        scratch.keep(columns::NODE_SHALLOW, columns::NODE_SELF)?;
        ColumnWriter::create(scratch, columns::ESSENTIAL_ORPHAN)?.finish()?;
        let mut seed = ColumnWriter::create(scratch, columns::DISTANCE_SEED)?;
        seed.push(NodeId(ROOT))?;
        seed.finish()?;
        let facts = &mut dump.facts;
        facts.edge_count = edges;
        facts.class_count = classes;
        facts.root_count = roots.edges.len() as u64;
        facts.node_kinds = NODE_KINDS.map(str::to_owned).to_vec();
        facts.edge_kinds =
            EDGE_KINDS.map(|(name, indexed)| columns::EdgeKind { name: name.to_owned(), indexed }).to_vec();
        facts.synthetic_kinds = vec![0];
        facts.internal_kinds = vec![0];
        facts.distance_seeds = vec![DistanceSeed { distance: 0, count: 1 }];
        facts.referents = Some(if dump.choices.referents_hold { "hold" } else { "skip" }.to_owned());
        Ok(holding)
    }
}
