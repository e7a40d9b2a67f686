//! Stage `owner rows`: to whom the memory belongs.
//!
//! * Computes: for every object its owner, by the user's rules or by the package of its code ([`rules`]), and per owner what
//!   [`heaplake_schemas::owners`] says: its own objects; all that counts for it along the dominator tree; what would go if
//!   its objects went ([`freed`]); what its functions allocated. Synthetic nodes have no owner, garbage is a row of its own.
//! * Reads: the options; `node.{kind,class,shallow,preorder}`, `origin.*`, `origin`, `class.{name,origin}`, strings;
//!   `preorder.{node,dominator}`; `essential.{degree,to,orphan}`; where there is one, `trace.{parent,function,size}` and
//!   `function.origin`.
//! * Writes: `owner.row` and the names of owners.
//! * Resident memory: 16 bytes per node (owner of each, size, owner by position) for the tree, 17 bytes per node and 4 per
//!   essential edge for what would go, where the budget allows, paged where not; 2 MiB of stacks; 4 bytes per node of the
//!   trace tree; some 200 bytes per owner, and 4 per class or 40 per pair of class and origin.
//! * Passes over disk: one over the node columns, one over the tree, two over the sizes for each
//!   [`freed::AT_ONCE`] owners, and [`PASSES`] times at most the essential edges in order of discovery.
//! * Worst case: linear, but that a node is looked at again for each owner that turns out not to be alone in holding it.
//! * Fails when: the budget is too small, or a sum leaves 64 bits.
//! * Determinism: one thread; sets of owners that can be done without only grow, so their order does not matter.
//! * Reference: none needed; tests compare with a search for each owner.

mod freed;
#[cfg(test)]
mod properties;
mod rules;

use crate::classes::counts;
use heaplake_kit::{
    Array, ArrayPlan, BudgetVec, ColumnReader, ColumnWriter, Context, Lookup, ReadAt, Scratch, StageError, StageInfo,
    Stats, StringWriter, WriteAt,
};
use heaplake_schemas::ids::{NodeId, Preorder};
use heaplake_schemas::owners::{self, OwnerRow};
use heaplake_schemas::replay::ABSENT;
use heaplake_schemas::run::Options;
use heaplake_schemas::scratch::{self as columns, Column, Facts, OWNER_NAMES, documents};
use rules::{Code, Rules};
use std::cmp::Reverse;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "owner rows",
    version: 1,
    bytes_per_node: 17,
    bytes_per_edge: 4,
    least_bits_per_node: 0,
    least_fixed: 10 << 20,
    scratch_per_node: 4,
    scratch_per_edge: 0,
    passes: "node columns, dominator tree, essential edges some times",
};

/// Columns that it reads and others release.
pub const READS: [&str; 3] =
    [columns::ESSENTIAL_DEGREE.name, columns::ESSENTIAL_TO.name, columns::ESSENTIAL_ORPHAN.name];

/// How often [`freed::AT_ONCE`] owners are looked at for what would go with them, the largest first.
const PASSES: usize = 4;

/// Owner of each node, between the parts of this stage.
const NODE_OWNER: Column<Code> = Column::new("owner.of_node");

/// What an owner sums to.
#[derive(Clone, Copy)]
struct Tally {
    row: OwnerRow,
    owner: u32,
}

/// The owners of this run, and two rows beside theirs.
struct Tallies {
    /// By owner; then for nobody, then for garbage.
    all: BudgetVec<Tally>,
}

impl Tallies {
    fn grow(&mut self, owners: usize) -> Result<(), StageError> {
        while self.all.len() < owners + 2 {
            let row = OwnerRow {
                count: 0,
                shallow_bytes: 0,
                retained_bytes: 0,
                freed_bytes: ABSENT,
                allocated_bytes: ABSENT,
            };
            let owner = self.all.len() as u32;
            self.all.push(Tally { row, owner })?;
        }
        Ok(())
    }

    /// The row of an owner, or of nobody.
    fn of(&mut self, code: Code) -> &mut OwnerRow {
        let at = code.owner().map_or(NOBODY, |owner| owner as usize + 2);
        &mut self.all[at].row
    }
}

/// Places of the two rows that are not those of owners.
const NOBODY: usize = 0;
const GARBAGE: usize = 1;

/// Writes the rows of owners, by retained size, largest first, equals by name.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Overflow`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let facts: &Facts = &scratch.read_document(documents::FACTS)?;
    let options: Options = scratch.read_document(documents::OPTIONS)?;
    context.progress.begin(STAGE.name, 3 * facts.node_count);
    let mut rules = Rules::new(options.owners.as_ref(), facts, scratch, context)?;
    let mut tallies = Tallies { all: context.budget.growing("owners: rows") };
    tallies.grow(0)?;
    own(facts, &mut rules, &mut tallies, scratch, context)?;
    let mut spilled = attribute(facts, &mut tallies, scratch, context)?;
    spilled += allocated(&mut rules, &mut tallies, scratch, context)?;
    let names = rules.into_names();
    tallies.grow(names.len())?;
    let mut order = context.budget.growing("owners: order");
    for tally in tallies.all.iter().skip(2) {
        order.push(tally.owner - 2)?;
    }
    order.sort_unstable_by_key(|&owner| {
        (Reverse(tallies.all[owner as usize + 2].row.retained_bytes), &names[owner as usize])
    });
    for chosen in order.chunks(freed::AT_ONCE).take(PASSES) {
        let (bytes, more) = freed::run(chosen, NODE_OWNER, facts, scratch, context)?;
        spilled += more;
        for (&owner, bytes) in chosen.iter().zip(bytes) {
            tallies.all[owner as usize + 2].row.freed_bytes = bytes;
        }
    }
    scratch.discard(NODE_OWNER);
    let rows = write(tallies, &names, scratch)?;
    context.progress.end();
    Ok(Stats { rows, spilled_bytes: spilled })
}

/// Gives each node its own owner, and adds up what is each owner's own.
fn own(
    facts: &Facts,
    rules: &mut Rules,
    tallies: &mut Tallies,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let mut kind = ColumnReader::open(scratch, columns::NODE_KIND)?;
    let mut class = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut shallow = ColumnReader::open(scratch, columns::NODE_SHALLOW)?;
    let mut number = ColumnReader::open(scratch, columns::NODE_PREORDER)?;
    let mut origins = Origins::open(scratch)?;
    let mut column = ColumnWriter::create(scratch, NODE_OWNER)?;
    for node in 0..facts.node_count as u32 {
        let (kind, class, size) = (kind.next()?, class.next()?, shallow.next()?);
        let (origin, reached) = (origins.at(node)?, !number.next()?.is_none());
        let garbage = facts.keeps_garbage && !reached;
        let code =
            if garbage || facts.synthetic_kinds.contains(&kind) { Code::NOBODY } else { rules.owner(class, origin)? };
        tallies.grow(rules.count())?;
        column.push(code)?;
        let row = if garbage { &mut tallies.all[GARBAGE].row } else { tallies.of(code) };
        row.count += u64::from(counts(facts, node, size));
        add(&mut row.shallow_bytes, size)?;
        if !reached {
            // Garbage is a whole of its own. Other nodes out of reach hang under the root, each for itself.
            add(&mut row.retained_bytes, size)?;
        }
        if node.is_multiple_of(1 << 16) {
            context.step(1 << 16)?;
        }
    }
    column.finish().map(drop)
}

/// Sums up along the dominator tree what counts for each owner. Gives the bytes that were spilled.
fn attribute(
    facts: &Facts,
    tallies: &mut Tallies,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<u64, StageError> {
    let nodes = facts.node_count;
    let reached = ColumnReader::open(scratch, columns::PREORDER_NODE)?.remaining();
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[reached * 4, nodes * 4, nodes * 8]);
    let by_position = room.array(reached as usize, Code::NOBODY)?;
    let own = room.lookup(NODE_OWNER)?;
    let shallow = room.lookup(columns::NODE_SHALLOW)?;
    match (by_position, own, shallow) {
        (Array::Resident(by_position), Lookup::Mapped(own), Lookup::Mapped(shallow)) => {
            descend(by_position, own, shallow, tallies, scratch, context)?;
        }
        (by_position, own, shallow) => descend(by_position, own, shallow, tallies, scratch, context)?,
    }
    Ok(room.spilled_bytes())
}

fn descend(
    mut by_position: impl WriteAt<Code>,
    mut own: impl ReadAt<Code>,
    mut shallow: impl ReadAt<u64>,
    tallies: &mut Tallies,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let mut order = ColumnReader::<NodeId>::open(scratch, columns::PREORDER_NODE)?;
    let mut dominators = ColumnReader::<Preorder>::open(scratch, columns::PREORDER_DOMINATOR)?;
    // A dominator comes before what it dominates.
    for position in 0..by_position.count() {
        let (node, dominator) = (order.next()?.index(), dominators.next()?);
        let code = own.get(node)?.under(by_position.get(dominator.index())?);
        by_position.set(position, code)?;
        add(&mut tallies.of(code).retained_bytes, shallow.get(node)?)?;
        if position.is_multiple_of(1 << 16) {
            context.step(1 << 16)?;
        }
    }
    Ok(())
}

/// Sums up what the functions of each owner allocated. Gives the bytes that were spilled.
fn allocated(
    rules: &mut Rules,
    tallies: &mut Tallies,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<u64, StageError> {
    if !scratch.has(columns::FUNCTION_ORIGIN) || !scratch.has(columns::TRACE_PARENT) {
        return Ok(0);
    }
    let rows = ColumnReader::open(scratch, columns::TRACE_PARENT)?.remaining();
    if rows == 0 {
        return Ok(0);
    }
    let mut functions = ColumnReader::open(scratch, columns::FUNCTION_ORIGIN)?;
    let mut of_function = context.budget.growing("owners: functions");
    while functions.remaining() > 0 {
        of_function.push(rules.owner_of_code(functions.next()?)?)?;
    }
    tallies.grow(rules.count())?;
    tallies.all.iter_mut().for_each(|tally| tally.row.allocated_bytes = 0);
    tallies.all[GARBAGE].row.allocated_bytes = ABSENT;
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[rows * 4]);
    let mut owner = room.array(rows as usize, Code::NOBODY)?;
    let mut parents = ColumnReader::open(scratch, columns::TRACE_PARENT)?;
    let mut called = ColumnReader::open(scratch, columns::TRACE_FUNCTION)?;
    let mut sizes = ColumnReader::open(scratch, columns::TRACE_SIZE)?;
    // A caller comes before what it calls.
    for row in 0..rows as usize {
        let (parent, function, size) = (parents.next()?, called.next()?, sizes.next()?);
        let above = if parent == u32::MAX { Code::NOBODY } else { owner.get(parent as usize)? };
        let code = of_function[..].get(function as usize).copied().unwrap_or(Code::NOBODY).under(above);
        owner.set(row, code)?;
        add(&mut tallies.of(code).allocated_bytes, size)?;
        if row.is_multiple_of(1 << 16) {
            context.check()?;
        }
    }
    Ok(room.spilled_bytes())
}

/// Writes the rows of owners that have anything; how many there are.
fn write(mut tallies: Tallies, names: &[String], scratch: &Scratch) -> Result<u64, StageError> {
    let name = |tally: &Tally| match tally.owner as usize {
        NOBODY => owners::NONE,
        GARBAGE => owners::UNREACHABLE,
        owner => &names[owner - 2],
    };
    let allocated = |row: &OwnerRow| !matches!(row.allocated_bytes, 0 | ABSENT);
    tallies.all.retain_mut(|_, tally| {
        let row = &tally.row;
        // Nodes without a size are objects too, where they count.
        row.count > 0 || row.retained_bytes > 0 || allocated(row)
    });
    tallies.all.sort_unstable_by(|a, b| {
        (Reverse(a.row.retained_bytes), name(a)).cmp(&(Reverse(b.row.retained_bytes), name(b)))
    });
    let mut rows = ColumnWriter::create(scratch, columns::OWNER_ROW)?;
    let mut texts = StringWriter::create(scratch, OWNER_NAMES)?;
    for tally in tallies.all.iter() {
        rows.push(tally.row)?;
        texts.push(name(tally).as_bytes())?;
    }
    texts.finish()?;
    rows.finish()
}

/// Where nodes come from, front to back.
struct Origins {
    node: ColumnReader<NodeId>,
    origin: ColumnReader<u32>,
    next: Option<(u32, u32)>,
}

impl Origins {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        let mut origins = Self {
            node: ColumnReader::open(scratch, columns::ORIGIN_NODE)?,
            origin: ColumnReader::open(scratch, columns::ORIGIN_OF_NODE)?,
            next: None,
        };
        origins.advance()?;
        Ok(origins)
    }

    fn advance(&mut self) -> Result<(), StageError> {
        let more = self.node.remaining() > 0;
        self.next = if more { Some((self.node.next()?.0, self.origin.next()?)) } else { None };
        Ok(())
    }

    /// Where a node comes from in particular; asked for in ascending order.
    #[inline]
    fn at(&mut self, node: u32) -> Result<Option<u32>, StageError> {
        match self.next {
            Some((next, origin)) if next == node => {
                self.advance()?;
                Ok(Some(origin))
            }
            _ => Ok(None),
        }
    }
}

#[inline]
fn add(sum: &mut u64, bytes: u64) -> Result<(), StageError> {
    *sum = sum.checked_add(bytes).ok_or(StageError::Overflow("the size of an owner"))?;
    Ok(())
}
