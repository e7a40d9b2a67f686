//! Stage `join walk`: addresses become nodes.
//!
//! * Computes: class, kind and size of every object, its edges, all of which hold, in-degrees, objects that nothing in the
//!   heap and no root refers to, where distances start.
//! * Reads: `node.id`, `dotnet.*`, the chunks of memory that hold objects.
//! * Writes: `node.{kind,class,shallow,self,name}`, `essential.{degree,to,orphan}`, `distance.seed`; with the table of nodes,
//!   `node.{edge_count,retainer_count}`; with that of edges, `edge.*` and `node.edge_count`; with that of chains,
//!   `essential.{label,name}` and `class.label*`; strings.
//! * Resident memory: the index, 16 bytes per 512 of heap, and one byte per node, where the budget allows, paged where
//!   not; a bit per node; 8 bytes per root and per dependent handle.
//! * Passes over disk: all of what it reads once, addresses twice.
//! * Worst case: linear.
//! * Fails when: two objects have one address; the budget is too small.
//! * Determinism: one thread, order of the walk.
//! * Reference: what holds, the runtime says itself. An object that it walked is alive, whether or not a root that it
//!   reported leads there (literals in frozen segments are not): such ones count as held by the root, without an edge.

use super::recorder::{DEGREE, DEPENDENTS, Dependent, ROOT_KINDS, ROOTS, Root, SIZE, TARGET, TYPE};
use super::types::{KIND, NODE_KINDS, node_kind};
use super::{FIRST, Walk};
use crate::degrees::InDegrees;
use crate::index::{Index, Twice, Word};
use crate::names::Names;
use crate::output::{Holding, Output, Wanted};
use crate::ways::Way;
use heaplake_kit::array::Fault;
use heaplake_kit::{
    Array, ArrayPlan, Bitset, BudgetVec, ColumnMap, ColumnReader, ColumnWriter, Context, ReadAt, Scratch, StageError,
    StageInfo, Stats, StringTable, WriteAt,
};
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, DistanceSeed, EdgeKind, STRINGS};

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "join walk",
    version: 1,
    bytes_per_node: 3,
    bytes_per_edge: 0,
    least_bits_per_node: 1,
    least_fixed: 12 << 20,
    scratch_per_node: 32,
    scratch_per_edge: 4,
    passes: "walk once, addresses twice",
};

/// Columns that no later stage reads.
pub const RELEASES: [&str; 8] =
    [TYPE.name, SIZE.name, DEGREE.name, TARGET.name, ROOTS.name, DEPENDENTS.name, KIND.name, crate::index::CHUNKS.name];

/// Kinds of edges, as in the table of edges. None has a number.
const EDGE_KINDS: [&str; 3] = ["root", "reference", "dependent"];

mod edge_kind {
    pub const ROOT: u8 = 0;
    pub const REFERENCE: u8 = 1;
    pub const DEPENDENT: u8 = 2;
}

/// Joins the objects of a walk.
///
/// # Errors
/// [`StageError::Input`] where two objects have one address; [`StageError::Io`], [`StageError::Budget`],
/// [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let mut walk = Walk::load(scratch)?;
    let nodes = walk.facts.node_count;
    context.progress.begin(STAGE.name, nodes);
    let spilled = if walk.by_address {
        addresses(&mut walk, scratch, context)?
    } else {
        let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[nodes]);
        let degrees = if walk.nodes { Some(room.array(nodes as usize, 0u8)?) } else { None };
        join(&mut walk, Numbers(nodes), degrees, scratch, context)?;
        room.spilled_bytes()
    };
    walk.save(scratch)?;
    context.progress.end();
    Ok(Stats { rows: nodes, spilled_bytes: spilled })
}

/// Joins objects that are referred to by address; the bytes that were spilled.
fn addresses(walk: &mut Walk, scratch: &Scratch, context: &Context<'_>) -> Result<u64, StageError> {
    let nodes = walk.facts.node_count;
    let (index, spilled) = Index::build(FIRST, walk.unit, nodes + nodes / 8, scratch, context)?;
    let index = match index {
        Ok(index) => index,
        Err(Twice(node)) => {
            let address = ColumnMap::open(scratch, columns::NODE_ID, None)?[node.index()];
            return Err(walk.error(walk.offset, "every object once", format!("another one at {address:#x}")));
        }
    };
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[nodes]);
    let degrees = if walk.nodes { Some(room.array(nodes as usize, 0u8)?) } else { None };
    match (index.resident(), degrees) {
        (Ok(index), None) => join(walk, index, None::<BudgetVec<u8>>, scratch, context)?,
        (Ok(index), Some(Array::Resident(degrees))) => join(walk, index, Some(degrees), scratch, context)?,
        (Ok(index), degrees) => join(walk, index, degrees, scratch, context)?,
        (Err(index), degrees) => join(walk, index, degrees, scratch, context)?,
    }
    Ok(spilled + room.spilled_bytes())
}

/// Leads from what a walk calls an object to its node.
trait Find {
    fn find(&mut self, object: u64) -> Result<Option<NodeId>, Fault>;
}

impl<W: ReadAt<Word>, L: ReadAt<u32>> Find for Index<W, L> {
    #[inline]
    fn find(&mut self, object: u64) -> Result<Option<NodeId>, Fault> {
        Self::find(self, object)
    }
}

/// Objects that are called by the numbers of their nodes, of which there are so many.
struct Numbers(u64);

impl Find for Numbers {
    #[inline]
    fn find(&mut self, object: u64) -> Result<Option<NodeId>, Fault> {
        Ok((object < self.0).then_some(NodeId(object as u32)))
    }
}

/// What no edge leads from.
struct Outside {
    /// Nodes that roots hold, with the names of the edges, by node, each pair once.
    roots: BudgetVec<(NodeId, StringId)>,
    /// Nodes that hold others by dependent handles, and these.
    dependents: BudgetVec<(NodeId, NodeId)>,
    /// References to what is no object of the walk.
    lost: u64,
}

impl Outside {
    fn load(
        index: &mut impl Find,
        names: &mut Names,
        scratch: &Scratch,
        context: &Context<'_>,
    ) -> Result<Self, StageError> {
        let budget = &context.budget;
        let mut outside =
            Self { roots: budget.growing("roots"), dependents: budget.growing("dependent handles"), lost: 0 };
        if !scratch.has(ROOTS) {
            return Ok(outside);
        }
        let strings = StringTable::open(scratch, STRINGS)?;
        let mut roots = ColumnReader::open(scratch, ROOTS)?;
        while roots.remaining() > 0 {
            let Root { object, kind, field } = roots.next()?;
            let Some(node) = index.find(object)? else {
                outside.lost += 1;
                continue;
            };
            let kind = ROOT_KINDS[kind as usize];
            let name = if field.is_none() {
                names.intern(kind.as_bytes())?
            } else {
                names.intern(format!("{kind} {}", strings.text(field.index())).as_bytes())?
            };
            outside.roots.push((node, name))?;
        }
        let mut dependents = ColumnReader::open(scratch, DEPENDENTS)?;
        while dependents.remaining() > 0 {
            let Dependent { key, value } = dependents.next()?;
            match (index.find(key)?, index.find(value)?) {
                (Some(key), Some(value)) => outside.dependents.push((key, value))?,
                // A handle whose key has died, or that keeps nothing.
                _ if key == 0 || value == 0 => {}
                _ => outside.lost += 1,
            }
        }
        outside.roots.sort_unstable();
        outside.dependents.sort_unstable();
        let mut last = None;
        outside.roots.retain_mut(|_, root| last.replace(*root) != Some(*root));
        Ok(outside)
    }
}

fn join<D: WriteAt<u8>>(
    walk: &mut Walk,
    mut index: impl Find,
    degrees: Option<D>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let mut names = Names::append(&context.budget, scratch)?;
    let mut outside = Outside::load(&mut index, &mut names, scratch, context)?;
    let wanted = Wanted { nodes: walk.nodes, edges: walk.edges, ways: walk.ways };
    let degrees = degrees.map(|degrees| InDegrees::new(degrees, &context.budget)).transpose()?;
    if walk.ways {
        write_ways(&mut names, walk.facts.class_count, scratch)?;
    }
    names.finish()?;
    let mut output = Output::create(wanted, degrees, Vec::new(), scratch)?;
    let nodes = walk.facts.node_count;
    let mut held = Bitset::new(&context.budget, "objects that are held", nodes as usize)?;
    for &(to, name) in outside.roots.iter() {
        held.insert(to.index());
        output.edge::<true>(to, edge_kind::ROOT, || name.0, (Holding::Yes, Way::Named(name.0)))?;
    }
    if walk.by_address {
        // Its class comes behind those of the types.
        output.end(node_kind::ROOT, ClassId(walk.facts.class_count as u32 - 1), 0)?;
    }
    let kinds = ColumnMap::open(scratch, KIND, None)?;
    let mut types = ColumnReader::open(scratch, TYPE)?;
    let mut sizes = ColumnReader::open(scratch, SIZE)?;
    let mut references = ColumnReader::open(scratch, DEGREE)?;
    let mut targets = ColumnReader::open(scratch, TARGET)?;
    let mut dependents = outside.dependents.iter().peekable();
    let mut root_count = outside.roots.len() as u64;
    while types.remaining() > 0 {
        let node = output.node();
        let count = references.next()?;
        if node == walk.facts.root {
            root_count = count.into();
        }
        for _ in 0..count {
            let Some(to) = index.find(targets.next()?)? else {
                outside.lost += 1;
                continue;
            };
            if to != node {
                held.insert(to.index());
            }
            output.edge::<true>(to, edge_kind::REFERENCE, || StringId::NONE.0, (Holding::Yes, REFERENCE))?;
        }
        while let Some(&(_, to)) = dependents.next_if(|&&(key, _)| key == node) {
            if to != node {
                held.insert(to.index());
            }
            output.edge::<true>(to, edge_kind::DEPENDENT, || StringId::NONE.0, (Holding::Yes, DEPENDENT))?;
        }
        let of_type = types.next()?;
        output.end(kinds[of_type as usize], ClassId(of_type), sizes.next()?)?;
        if node.0.is_multiple_of(1 << 16) {
            context.step(1 << 16)?;
        }
    }
    let (edges, holding) = output.finish(scratch)?;
    scratch.keep(columns::NODE_SHALLOW, columns::NODE_SELF)?;
    nameless(nodes, scratch)?;
    let mut orphans = ColumnWriter::create(scratch, columns::ESSENTIAL_ORPHAN)?;
    let (mut orphan_count, root) = (0u64, walk.facts.root.index());
    for node in (0..nodes as usize).filter(|&node| node != root && !held.contains(node)) {
        orphans.push(NodeId(node as u32))?;
        orphan_count += 1;
    }
    orphans.finish()?;
    let mut seed = ColumnWriter::create(scratch, columns::DISTANCE_SEED)?;
    seed.push(walk.facts.root)?;
    seed.finish()?;
    let facts = &mut walk.facts;
    facts.string_count = StringTable::open(scratch, STRINGS)?.len() as u64;
    facts.edge_count = edges;
    facts.essential_edge_count = holding;
    facts.root_count = root_count;
    facts.node_kinds = NODE_KINDS.map(str::to_owned).to_vec();
    facts.edge_kinds = EDGE_KINDS.map(|name| EdgeKind { name: name.to_owned(), indexed: false }).to_vec();
    facts.synthetic_kinds = vec![node_kind::ROOT];
    facts.internal_kinds = vec![node_kind::ROOT];
    facts.distance_seeds = vec![DistanceSeed { distance: 0, count: 1 }];
    if outside.lost > 0 {
        facts.remarks.push(format!("{} references lead to no object of the walk, and are left out", outside.lost));
    }
    if orphan_count > 0 {
        facts.remarks.push(format!("{orphan_count} objects are alive though no root and no object refers to them"));
    }
    Ok(())
}

/// How references are called, and dependent handles: the same in all classes.
const REFERENCE: Way = Way::Slot(0);
const DEPENDENT: Way = Way::Slot(1);

/// Writes the names of these; those of roots come with the edges.
fn write_ways(names: &mut Names, classes: u64, scratch: &Scratch) -> Result<(), StageError> {
    let mut start = ColumnWriter::create(scratch, columns::CLASS_LABEL_START)?;
    (0..=classes).try_for_each(|_| start.push(0))?;
    start.finish()?;
    let mut ways = ColumnWriter::create(scratch, columns::CLASS_LABEL)?;
    // Before the slots comes the class of an object, which no edge leads to here.
    ways.extend(&[StringId::NONE, StringId::NONE, names.intern(b"<dependent>")?])?;
    ways.finish().map(drop)
}

/// No object has a name.
fn nameless(nodes: u64, scratch: &Scratch) -> Result<(), StageError> {
    let mut names = ColumnWriter::create(scratch, columns::NODE_NAME)?;
    (0..nodes).try_for_each(|_| names.push(StringId::NONE))?;
    names.finish().map(drop)
}
