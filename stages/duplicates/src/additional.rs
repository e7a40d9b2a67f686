//! Stage `additional instances`: nodes that merging a set of duplicates would remove, and the replacement of each.
//!
//! * Computes: for a set with the first member `f` and each other member `m`, the pairs of the isomorphism from the
//!   nodes that `f` reaches to those that `m` reaches. The walk stops where both sides are the same node. A node on the
//!   side of `m` is additional unless it is on the side of `f` as well: then `f` reaches it, and it stays. Its
//!   counterpart on the side of `f` replaces it, the least one of several.
//! * Order of work: sets that no other set dominates, then the others; each in the order of the table, largest first.
//!   Sets nest, so all their rows together could reach the square of the nodes: rows have a limit, and work has that of
//!   comparisons. A set has all of its rows or none.
//! * Resident memory: slots 1.2 bytes per node and 4 per slot, components 4 per node, paged where the budget does not
//!   allow it; 13 MiB for the pairs of a set. The rows are sorted on disk.
//! * Passes over disk: sets and members twice.
//! * Worst case: linear in the allowed work and the rows, and sorting of the rows.
//! * Fails when: the budget is too small.
//! * Determinism: limits are constants or follow from the input; rows by set, then node.
//! * Reference: "the merged instance graph" of the definition of additional bytes; see [`sets`](crate::sets).

use crate::options::Choices;
use crate::slots::{SlotArrays, Slots};
use heaplake_kit::access::{Size, bits_per_node, column, document, per_edge, per_node, texts};
use heaplake_kit::array_plan::{lookup, offsets};
use heaplake_kit::sorter::Sorter;
use heaplake_kit::{ArrayPlan, ColumnReader, ColumnWriter, Job, Lookup, Offsets, ReadAt, Stage, StageError, Stats};
use heaplake_schemas::duplicate_additional::{AdditionalRow, SET_ADDITIONAL};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::ids::{NodeId, SetId};
use heaplake_schemas::scratch::{self as columns, Column, STRINGS, documents, limits};
use rustc_hash::FxHashSet;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "additional instances",
    when: |setting| setting.looks_into_references(),
    reads: &[
        document(documents::METADATA),
        column(columns::EQUAL_DEGREE),
        column(columns::EQUAL_TO),
        column(columns::EQUAL_COMPONENT),
        column(columns::SET_ROW),
        column(columns::SET_MEMBER),
        column(columns::CLASS_NAME),
        texts(STRINGS).when(crate::options::names_classes),
    ],
    writes: &[column(SET_ADDITIONAL)],
    arrays: &[&[Offsets::SIZE, per_edge::<NodeId>(), per_node::<u32>()]],
    // Besides the pairs, the sorter and the frames of paged arrays.
    fixed: BYTES + (12 << 20),
    // The rows twice, while they are sorted.
    temporary: &[ROWS, ROWS],
    passes: "sets twice",
    run,
    ..Stage::NEW
};

/// Estimated size of the rows in all but tiny heaps.
const ROWS: Size = bits_per_node(8 * size_of::<AdditionalRow>() as u64);

/// Row limit of tiny heaps.
const LEAST_ROWS: u64 = 1 << 20;

/// Maximum number of pairs of a member with the first one: a constant, so that results do not depend on the budget.
const MOST: usize = 1 << 17;

/// Bytes of the pairs of a set: up to twice [`MOST`] pairs in a half-full hash table of 9 bytes each, and half of that
/// while it grows; the nodes of one side likewise; two lists of pairs.
const BYTES: u64 = 13 << 20;

const SORTED: [Column<AdditionalRow>; 2] = [Column::new("set.additional_runs"), Column::new("set.additional_merged")];

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let work = Choices::load(job)?.work;
    let nodes = ColumnReader::open(scratch, columns::EQUAL_DEGREE)?.remaining();
    context.progress.begin(STAGE.name, 2 * ColumnReader::open(scratch, columns::SET_ROW)?.remaining());
    let _pairs = context.budget.reserve("pairs of a set", BYTES)?;
    let limit = nodes.max(LEAST_ROWS);
    let rows = Sorter::new(STAGE.name, limit as usize, SORTED, &context.budget, scratch)?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (offsets, to, components) = plan.make((
        offsets(columns::EQUAL_DEGREE, columns::EQUAL_TO),
        lookup(columns::EQUAL_TO),
        lookup(columns::EQUAL_COMPONENT),
    ))?;
    let mut merge = Merge {
        slots: SlotArrays::new(offsets, to),
        components,
        pairs: FxHashSet::default(),
        kept: FxHashSet::default(),
        fresh: Vec::new(),
        queue: Vec::new(),
        rows,
        left: limit,
        work,
    };
    let given_up = merge.all(job)?;
    let rows = write(merge.rows, &given_up, job)?;
    context.progress.end();
    Ok(Stats { rows, spilled_bytes: plan.spilled_bytes() })
}

/// Reason why rows of a set are missing.
enum Gap {
    Large,
    /// The rows or the work are used up, so later sets have no rows either.
    UsedUp,
}

struct Merge<'a> {
    slots: SlotArrays,
    components: Lookup<u32>,
    /// Pairs of the current set seen so far; the node that stays is in the upper half.
    pairs: FxHashSet<u64>,
    /// Nodes of the current set that stay and have a counterpart.
    kept: FxHashSet<u32>,
    /// Pairs of the current member that no earlier member had.
    fresh: Vec<(u32, u32)>,
    queue: Vec<(u32, u32)>,
    rows: Sorter<'a, AdditionalRow>,
    /// Rows that may still be pushed.
    left: u64,
    /// Slots that may still be read.
    work: u64,
}

impl Merge<'_> {
    /// Finds the rows of all sets; returns the sets with missing rows.
    fn all(&mut self, job: &Job<'_>) -> Result<Vec<SetId>, StageError> {
        let mut given_up = Vec::new();
        for held in [false, true] {
            let mut sets = ColumnReader::open(job.scratch, columns::SET_ROW)?;
            let mut members = ColumnReader::open(job.scratch, columns::SET_MEMBER)?;
            for set in (0..sets.remaining() as u32).map(SetId) {
                job.context.step_every(1 << 16, set.0)?;
                let row = sets.next()?;
                let is_compared = row.reasons & (limits::MODE | limits::WORK) == 0;
                if !is_compared || row.held_by.is_none() == held {
                    members.skip(row.members.into())?;
                    continue;
                }
                let mut unread = row.members;
                match self.set(set, &row, &mut members, &mut unread, job)? {
                    None => {}
                    Some(Gap::Large) => given_up.push(set),
                    Some(Gap::UsedUp) => {
                        given_up.push(set);
                        return Ok(given_up);
                    }
                }
                members.skip(unread.into())?;
            }
        }
        Ok(given_up)
    }

    /// Finds the rows of a set. `unread` counts its unread members.
    fn set(
        &mut self,
        set: SetId,
        row: &SetRow,
        members: &mut ColumnReader<NodeId>,
        unread: &mut u32,
        job: &Job<'_>,
    ) -> Result<Option<Gap>, StageError> {
        let first = members.next()?;
        *unread -= 1;
        self.forget();
        let component = self.components.get(first.index())?;
        while *unread > 0 {
            let member = members.next()?;
            *unread -= 1;
            job.context.check_every(1 << 12, *unread)?;
            self.fresh.clear();
            if row.trivial == 1 {
                self.fresh.push((first.0, member.0));
            } else if self.components.get(member.index())? != component
                && let Some(gap) = self.walk(first.0, member.0)?
            {
                return Ok(Some(gap));
            }
            if let Some(gap) = self.push(set)? {
                return Ok(Some(gap));
            }
        }
        Ok(None)
    }

    /// Drops the pairs of the last set.
    fn forget(&mut self) {
        self.kept = FxHashSet::default();
        self.pairs = FxHashSet::default();
    }

    /// Collects the pairs of the map from the first member to another one.
    fn walk(&mut self, first: u32, member: u32) -> Result<Option<Gap>, StageError> {
        if self.pairs.len() > MOST {
            self.pairs = FxHashSet::default();
        }
        self.queue.clear();
        self.meet(first, member);
        while let Some((stays, goes)) = self.queue.pop() {
            if self.fresh.len() > MOST || self.kept.len() > MOST {
                return Ok(Some(Gap::Large));
            }
            let (a, b) = (self.slots.of(stays)?, self.slots.of(goes)?);
            match self.work.checked_sub(a.len() as u64 + 1) {
                Some(work) => self.work = work,
                None => return Ok(Some(Gap::UsedUp)),
            }
            for (a, b) in a.zip(b) {
                let (a, b) = (self.slots.to(a)?, self.slots.to(b)?);
                if a != b {
                    self.meet(a, b);
                }
            }
        }
        Ok(None)
    }

    /// Adds a pair. Skips a known pair: it implies all pairs below it.
    #[inline]
    fn meet(&mut self, stays: u32, goes: u32) {
        if self.pairs.insert(u64::from(stays) << 32 | u64::from(goes)) {
            self.kept.insert(stays);
            self.fresh.push((stays, goes));
            self.queue.push((stays, goes));
        }
    }

    fn push(&mut self, set: SetId) -> Result<Option<Gap>, StageError> {
        match self.left.checked_sub(self.fresh.len() as u64) {
            Some(left) => self.left = left,
            None => return Ok(Some(Gap::UsedUp)),
        }
        for &(stays, goes) in &self.fresh {
            if !self.kept.contains(&goes) {
                self.rows.push(AdditionalRow { set, node: NodeId(goes), by: NodeId(stays) })?;
            }
        }
        Ok(None)
    }
}

/// Writes the rows in order, each node of a set once; returns their number.
fn write(rows: Sorter<'_, AdditionalRow>, given_up: &[SetId], job: &Job<'_>) -> Result<u64, StageError> {
    let mut given_up = given_up.to_vec();
    given_up.sort_unstable();
    let mut sorted = rows.finish()?;
    let mut writer = ColumnWriter::create(job.scratch, SET_ADDITIONAL)?;
    let mut last = None;
    while let Some(row) = sorted.pop()? {
        let place = Some((row.set, row.node));
        if place != last && given_up.binary_search(&row.set).is_err() {
            writer.push(row)?;
        }
        last = place;
    }
    writer.finish()
}
