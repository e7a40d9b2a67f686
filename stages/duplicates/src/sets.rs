//! Stage `duplicate sets`: members, sizes and additional bytes of the sets.
//!
//! * Computes: a set of each group of two nodes or more; of each set the additional bytes, that is the size of all that its
//!   members reach less that of what one of them reaches. What only one component leads to cannot be reached from another
//!   one, so for sets that are proved by their own parts it is the size of that, times one less than they have components;
//!   for others it is at least that, and found out exactly by comparing again where the allowed work suffices.
//! * Reads: `equal.{group,open,open_reason,proof,value,degree,to,class,component,order,component_size,limits}`,
//!   `node.{self,shallow,class}`.
//! * Writes: `equal.set`, `set.{row,members,member}`, `class.{duplicate_count,duplicate_bytes}`.
//! * Resident memory: a bit, set 4 and private size 8 bytes per node and 64 per set, where the budget allows, paged where
//!   not; 16 per set while they are sorted; for comparing again as `resolve equals`.
//! * Passes over disk: groups twice, components and their slots once.
//! * Worst case: linear, sorting of the sets, and the allowed work.
//! * Fails when: the budget is too small, or a sum leaves 64 bits.
//! * Determinism: by additional bytes, then first member.
//! * Reference: none needed.

use crate::lockstep::{Graph, Lockstep, Verdict};
use crate::options::Choices;
use crate::proofs;
use crate::slots::Slots;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array::column_bytes;
use heaplake_kit::spill::PairSpill;
use heaplake_kit::{
    Array, ArrayPlan, Bitset, BudgetVec, ColumnMap, ColumnReader, ColumnWriter, Context, Offsets, ReadAt, Scratch,
    StageError, StageInfo, Stats, WriteAt,
};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::ids::{NodeId, SetId};
use heaplake_schemas::scratch::{self as columns, Column, Facts, documents, limits};
use rustc_hash::FxHashSet;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "duplicate sets",
    version: 2,
    bytes_per_node: 24,
    bytes_per_edge: 4,
    least_bits_per_node: 3,
    least_fixed: 32 << 20,
    scratch_per_node: 16,
    scratch_per_edge: 0,
    passes: "groups twice, components once",
};

/// Sets by number of their group, before they are sorted: members of each, the last set first.
const GROUP_SIZES: Column<u32> = Column::new("set.group_sizes");
const GROUP_MEMBERS: Column<u32> = Column::new("set.group_members");

/// Makes the sets.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Overflow`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    run_with(&Choices::load(scratch)?, scratch, context)
}

pub(crate) fn run_with(choices: &Choices, scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let nodes = ColumnReader::open(scratch, columns::EQUAL_GROUP)?.remaining();
    context.progress.begin(STAGE.name, nodes);
    let (numbers, mut groups) = number(nodes as usize, scratch, context)?;
    measure(choices, numbers, &mut groups, scratch, context)?;
    grouped(&mut groups, scratch, context)?;
    let members = ColumnMap::open(scratch, GROUP_MEMBERS, None)?;
    exact(choices, &mut groups, &members, scratch, context)?;
    let ranks = sorted(&mut groups, context)?;
    write(&mut groups, &ranks, &members, scratch)?;
    classes(&mut groups, scratch, context)?;
    [GROUP_SIZES, GROUP_MEMBERS, NUMBER].into_iter().for_each(|column| scratch.discard(column));
    context.progress.end();
    Ok(Stats { rows: groups.count() as u64, spilled_bytes: 0 })
}

/// What is known of a set so far.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Group {
    /// Private sizes of its components together, bytes.
    sum: u64,
    /// The least of them.
    least: u64,
    /// The exact additional bytes, where they had to be found out.
    additional: u64,
    /// Size of a member, bytes.
    bytes: u64,
    /// Where its members begin.
    start: u64,
    example: u32,
    members: u32,
    /// The proof of the first member.
    proof: u32,
    /// The component met last.
    component: u32,
    reasons: u8,
    trivial: u8,
    /// 1 where all members have one proof, 2 where the additional bytes were found out.
    exact: u8,
    unused: u8,
    /// Where it comes in the order of sets.
    rank: u32,
}

/// Number of each node's group among those of several nodes, [`SetId::NONE`] for others.
const NUMBER: Column<u32> = Column::new("equal.number");

const NONE: u32 = u32::MAX;

type Groups = Array<Group>;

/// Numbers the groups of several nodes by their first members.
fn number(nodes: usize, scratch: &Scratch, context: &Context<'_>) -> Result<(Array<u32>, Groups), StageError> {
    let (mut one, mut several) = (
        Bitset::new(&context.budget, "groups", nodes)?,
        Bitset::new(&context.budget, "groups of several nodes", nodes)?,
    );
    let mut reader = ColumnReader::open(scratch, columns::EQUAL_GROUP)?;
    let mut count = 0;
    for _ in 0..nodes {
        let group = reader.next()?.index();
        if !one.insert(group) && several.insert(group) {
            count += 1;
        }
    }
    drop(one);
    let empty = Group { least: u64::MAX, component: NONE, ..Group::zeroed() };
    let mut groups = {
        // What comes later needs room as well.
        let _later = context.budget.reserve("arrays to come", context.budget.free() / 2)?;
        let bytes = (count * size_of::<Group>()) as u64;
        ArrayPlan::plan(&context.budget, scratch, "sets of duplicates", &[bytes]).array(count, empty)?
    };
    let mut met = 0;
    let mut room = ArrayPlan::plan(&context.budget, scratch, "duplicate sets", &[nodes as u64 * 4]);
    let mut numbers = room.array(nodes, NONE)?;
    let mut reader = ColumnReader::open(scratch, columns::EQUAL_GROUP)?;
    let mut proofs = ColumnReader::open(scratch, columns::EQUAL_CERTIFICATE)?;
    let mut degrees = ColumnReader::open(scratch, columns::EQUAL_DEGREE)?;
    let mut bytes = ColumnReader::open(scratch, columns::NODE_SELF)?;
    let mut writer = ColumnWriter::create(scratch, NUMBER)?;
    for node in 0..nodes as u32 {
        let (group, proof) = (reader.next()?.index(), proofs.next()?.0);
        let (degree, bytes) = (degrees.next()?, bytes.next()?);
        if !several.contains(group) {
            writer.push(NONE)?;
            continue;
        }
        let mut number = numbers.get(group)?;
        if number == NONE {
            number = met;
            met += 1;
            numbers.set(group, number)?;
            let trivial = u8::from(degree == 0);
            groups.set(number as usize, Group { example: node, proof, bytes, trivial, exact: 1, ..empty })?;
        }
        writer.push(number)?;
        groups.change(number as usize, |group| {
            group.members += 1;
            if group.proof != proof {
                group.exact = 0;
            }
        })?;
    }
    writer.finish()?;
    let mut open = ColumnReader::open(scratch, columns::EQUAL_UNDECIDED)?;
    let mut reasons = ColumnReader::open(scratch, columns::EQUAL_UNDECIDED_REASON)?;
    while open.remaining() > 0 {
        let (number, reason) = (numbers.get(open.next()?.index())?, reasons.next()?);
        if number != NONE {
            groups.change(number as usize, |group| (group.reasons, group.exact) = (group.reasons | reason, 0))?;
        }
    }
    Ok((numbers, groups))
}

/// Adds up what belongs to each component alone, and what the input does not tell of all that a node reaches.
fn measure(
    choices: &Choices,
    numbers: Array<u32>,
    groups: &mut Groups,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    drop(numbers);
    if !choices.looks_into_any() {
        return measure_trivial(groups, scratch);
    }
    let nodes = ColumnReader::open(scratch, columns::EQUAL_GROUP)?.remaining() as usize;
    let shared = proofs::shared(nodes, &context.budget, scratch)?;
    let node_bytes = nodes as u64 * 4;
    let has_limits = scratch.has(columns::EQUAL_LIMITS);
    let limit_bytes = column_bytes(scratch, columns::EQUAL_LIMITS);
    let to_bytes = column_bytes(scratch, columns::EQUAL_TO);
    let sizes = [2 * node_bytes, Offsets::bytes(nodes as u64), to_bytes, node_bytes, node_bytes, limit_bytes];
    let mut room = ArrayPlan::plan(&context.budget, scratch, "duplicate sets", &sizes);
    let mut private = room.load(columns::NODE_SELF)?;
    let offsets = Offsets::load(&mut room, &context.budget, scratch, columns::EQUAL_DEGREE)?;
    let mut slots = Slots::new(offsets, room.lookup(columns::EQUAL_TO)?);
    let mut components = room.lookup(columns::EQUAL_COMPONENT)?;
    let mut numbers = room.lookup(NUMBER)?;
    let mut missing = if has_limits { room.load(columns::EQUAL_LIMITS)? } else { room.array(0, 0u8)? };
    let mut order = ColumnReader::open(scratch, columns::EQUAL_ORDER)?;
    let mut component_sizes = ColumnReader::open(scratch, columns::EQUAL_COMPONENT_SIZE)?;
    let mut members: BudgetVec<u32> = context.budget.growing("members of a component");
    let mut component = 0u32;
    let mut done = 0;
    while component_sizes.remaining() > 0 {
        let size = component_sizes.next()?;
        members.clear();
        let (mut sum, mut flags) = (0u64, 0u8);
        for _ in 0..size {
            let node = order.next()?.0;
            members.push(node)?;
            // A member still has its own size; what the others reach of it is inside.
            sum = sum.checked_add(private.get(node as usize)?).ok_or(TOO_LARGE)?;
            if has_limits {
                flags |= missing.get(node as usize)?;
            }
        }
        for &node in members.iter() {
            for slot in slots.of(node)? {
                let target = slots.to(slot)?;
                if components.get(target as usize)? == component {
                    continue;
                }
                if !shared.contains(target as usize) {
                    sum = sum.checked_add(private.get(target as usize)?).ok_or(TOO_LARGE)?;
                }
                if has_limits {
                    flags |= missing.get(target as usize)?;
                }
            }
        }
        for &node in members.iter() {
            private.set(node as usize, sum)?;
            if has_limits {
                missing.set(node as usize, flags)?;
            }
            let number = numbers.get(node as usize)?;
            if number == NONE {
                continue;
            }
            groups.change(number as usize, |group| group.adds(component, sum, flags))??;
        }
        component += 1;
        done += u64::from(size);
        if done >= 1 << 16 {
            context.step(std::mem::take(&mut done))?;
        }
    }
    Ok(())
}

impl Group {
    /// Takes in a member's component, the size of what belongs to it alone, and what the input does not tell of it.
    fn adds(&mut self, component: u32, bytes: u64, flags: u8) -> Result<(), StageError> {
        self.reasons |= flags;
        if self.component != component {
            self.component = component;
            self.sum = self.sum.checked_add(bytes).ok_or(TOO_LARGE)?;
            self.least = self.least.min(bytes);
        }
        Ok(())
    }
}

const TOO_LARGE: StageError = StageError::Overflow("the size of duplicates");

/// The same where no references were looked into.
fn measure_trivial(groups: &mut Groups, scratch: &Scratch) -> Result<(), StageError> {
    for number in 0..groups.count() {
        groups.change(number, |group| {
            group.least = group.bytes;
            let sum = group.bytes.checked_mul(group.members.into());
            sum.map(|sum| group.sum = sum).ok_or(TOO_LARGE)
        })??;
    }
    if scratch.has(columns::EQUAL_LIMITS) {
        let mut numbers = ColumnReader::open(scratch, NUMBER)?;
        let mut missing = ColumnReader::open(scratch, columns::EQUAL_LIMITS)?;
        while numbers.remaining() > 0 {
            let (number, flags) = (numbers.next()?, missing.next()?);
            if number != NONE {
                groups.change(number as usize, |group| group.reasons |= flags)?;
            }
        }
    }
    Ok(())
}

/// Brings the members of each set together.
fn grouped(groups: &mut Groups, scratch: &Scratch, context: &Context<'_>) -> Result<(), StageError> {
    let mut pairs = 0;
    // The last key comes first.
    for number in (0..groups.count()).rev() {
        groups.change(number, |group| {
            group.start = pairs;
            pairs += u64::from(group.members);
        })?;
    }
    let mut spill = PairSpill::create(&context.budget, scratch, "set.pairs", groups.count(), pairs)?;
    let mut numbers = ColumnReader::open(scratch, NUMBER)?;
    for node in 0..numbers.remaining() as u32 {
        let number = numbers.next()?;
        if number != NONE {
            spill.push(number, node)?;
        }
    }
    spill.write_groups(scratch, context, 0, GROUP_SIZES, GROUP_MEMBERS)
}

impl Group {
    /// The members, from those of all sets.
    fn of<'a>(&self, members: &'a [u32]) -> &'a [u32] {
        &members[self.start as usize..][..self.members as usize]
    }
}

/// Finds out the additional bytes of sets whose proofs do not tell them, the largest first.
fn exact(
    choices: &Choices,
    groups: &mut Groups,
    members: &[u32],
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let undecided = limits::MODE | limits::WORK;
    let mut wanted = context.budget.growing("sets to be measured");
    for number in 0..groups.count() {
        let group = groups.get(number)?;
        if group.exact == 0 && group.reasons & undecided == 0 {
            wanted.push((u64::MAX - (group.sum - group.least), number as u32))?;
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    wanted.sort_unstable();
    let nodes = ColumnReader::open(scratch, columns::EQUAL_GROUP)?.remaining();
    let tables = context.budget.free() / 8;
    let _tables = context.budget.reserve("pairs of a comparison", tables)?;
    let node_bytes = nodes * 4;
    let to_bytes = column_bytes(scratch, columns::EQUAL_TO);
    let sizes = [Offsets::bytes(nodes), to_bytes, node_bytes, node_bytes, node_bytes, nodes * 8];
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &sizes);
    let offsets = Offsets::load(&mut room, &context.budget, scratch, columns::EQUAL_DEGREE)?;
    let mut slots = Slots::new(offsets, room.lookup(columns::EQUAL_TO)?);
    let mut values = room.lookup(columns::EQUAL_VALUE)?;
    let mut classes = room.lookup(columns::EQUAL_CANDIDATE)?;
    let mut components = room.lookup(columns::EQUAL_COMPONENT)?;
    let mut bytes = room.lookup(columns::NODE_SELF)?;
    let mut lockstep = Lockstep::new(tables / 2);
    let most = (tables / 2 / 16) as usize;
    let mut work = choices.work;
    for &(_, number) in wanted.iter() {
        context.check()?;
        let group = groups.get(number as usize)?;
        let (first, others) = match group.of(members) {
            [first, others @ ..] => (*first, others),
            [] => continue,
        };
        let mut more = FxHashSet::default();
        let (mut sum, mut whole) = (0u64, true);
        for &other in others {
            if components.get(first as usize)? == components.get(other as usize)? {
                // They reach the same.
                continue;
            }
            let graph = &mut Graph {
                slots: &mut slots,
                values: &mut values,
                classes: &mut classes,
                components: &mut components,
            };
            work = work.saturating_sub(1);
            if lockstep.compare(first, other, graph, &mut work)? != Verdict::Same || more.len() > most {
                whole = false;
                break;
            }
            for (_, image) in lockstep.moved() {
                if !lockstep.moves(image) && more.insert(image) {
                    sum = sum.checked_add(bytes.get(image as usize)?).ok_or(TOO_LARGE)?;
                }
            }
        }
        if whole {
            groups.set(number as usize, Group { additional: sum, exact: 2, ..group })?;
        }
    }
    Ok(())
}

/// The additional bytes of a set, and whether they are exact.
fn additional(group: &Group) -> (u64, bool) {
    match group.exact {
        0 if group.reasons & (limits::MODE | limits::WORK) != 0 => {
            (group.bytes.saturating_mul(u64::from(group.members) - 1), false)
        }
        2 => (group.additional, true),
        exact => (group.sum - group.least, exact == 1),
    }
}

/// Numbers of the sets in the order of the table.
fn sorted(groups: &mut Groups, context: &Context<'_>) -> Result<BudgetVec<(u64, u32)>, StageError> {
    let mut ranks = context.budget.growing("order of sets");
    for number in 0..groups.count() {
        ranks.push((u64::MAX - additional(&groups.get(number)?).0, number as u32))?;
    }
    // Numbers are in the order of first members.
    ranks.sort_unstable();
    for (rank, &(_, number)) in ranks.iter().enumerate() {
        groups.change(number as usize, |group| group.rank = rank as u32)?;
    }
    Ok(ranks)
}

fn write(
    groups: &mut Groups,
    ranks: &BudgetVec<(u64, u32)>,
    members: &[u32],
    scratch: &Scratch,
) -> Result<(), StageError> {
    let mut rows = ColumnWriter::create(scratch, columns::SET_ROW)?;
    let mut nodes = ColumnWriter::create(scratch, columns::SET_MEMBER)?;
    for &(_, number) in ranks.iter() {
        let group = groups.get(number as usize)?;
        let (additional_bytes, exact) = additional(&group);
        rows.push(SetRow {
            additional_bytes,
            instance_bytes: group.bytes,
            example: NodeId(group.example),
            members: group.members,
            held_by: SetId::NONE,
            reasons: group.reasons,
            trivial: group.trivial,
            exact: u8::from(exact),
            unused: 0,
        })?;
        for &node in group.of(members) {
            nodes.push(NodeId(node))?;
        }
    }
    rows.finish()?;
    nodes.finish()?;
    let mut numbers = ColumnReader::open(scratch, NUMBER)?;
    let mut sets = ColumnWriter::create(scratch, columns::EQUAL_SET)?;
    while numbers.remaining() > 0 {
        let number = numbers.next()?;
        sets.push(if number == NONE { SetId::NONE } else { SetId(groups.get(number as usize)?.rank) })?;
    }
    sets.finish().map(drop)
}

/// Counts the members of sets by class. Sets that nobody looked into count for nothing.
fn classes(groups: &mut Groups, scratch: &Scratch, context: &Context<'_>) -> Result<(), StageError> {
    let facts: Facts = scratch.read_document(documents::FACTS)?;
    let mut counts = context.budget.zeroed::<u64>("duplicates of classes", facts.class_count as usize)?;
    let mut bytes = context.budget.zeroed::<u64>("duplicates of classes", facts.class_count as usize)?;
    let mut numbers = ColumnReader::open(scratch, NUMBER)?;
    let mut classes = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut sizes = ColumnReader::open(scratch, columns::NODE_SHALLOW)?;
    while numbers.remaining() > 0 {
        let (number, class, size) = (numbers.next()?, classes.next()?.index(), sizes.next()?);
        if number != NONE && groups.get(number as usize)?.reasons & (limits::MODE | limits::WORK) == 0 {
            counts[class] += 1;
            bytes[class] = bytes[class].checked_add(size).ok_or(TOO_LARGE)?;
        }
    }
    for (column, values) in [(columns::CLASS_DUPLICATE_COUNT, counts), (columns::CLASS_DUPLICATE_BYTES, bytes)] {
        let mut writer = ColumnWriter::create(scratch, column)?;
        writer.extend(&values)?;
        writer.finish()?;
    }
    Ok(())
}
