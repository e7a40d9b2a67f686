//! Leak candidates: objects that the target has, the base lacks, and a third snapshot still has.
//!
//! Reference: memlab, `HeapAnalyzer.diffSnapshots`: every node, by id alone.
//!
//! A candidate is a *head* if its immediate dominator is no candidate; only heads' retained sizes are summed.

use super::chains::Chains;
use super::class_list::ClassList;
use super::join::Node;
use super::node_rows::Snapshot;
use super::object_rows::{BATCH, take};
use super::question::{CandidateGroup, Candidates, MOST_CLASSES};
use super::slices::{amounts, flags, numbers, optional_numbers, texts};
use arrow::datatypes::{UInt32Type, UInt64Type};
use bytemuck::{Pod, Zeroable};
use heaplake_kit::sorter::{Sorted, Sorter};
use heaplake_kit::stage::Output;
use heaplake_kit::{Bitset, Budget, BudgetVec, ColumnReader, Context, Scratch, StageError};
use heaplake_lake::table::{Table, WRITER_BYTES};
use heaplake_lake::text::NONE;
use heaplake_schemas::diff_leak_candidates::TABLE;
use heaplake_schemas::scratch::Column;
use heaplake_schemas::{nodes, run};
use std::cmp::{Ordering, Reverse};

const COLUMNS: [Column<Row>; 2] = [Column::new("objects.candidates"), Column::new("objects.candidates_merged")];

/// A candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Row {
    retained: u64,
    id: u64,
    shallow: u64,
    node: u32,
    class: u32,
    kind: u32,
    padding: u32,
}

impl Ord for Row {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |row: &Self| (!row.retained, row.id, row.node);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Candidates of one class.
#[derive(Clone, Copy, Default)]
struct Group {
    count: u64,
    shallow: u64,
    /// Retained sizes of heads.
    retained: u64,
    /// Largest retained size, and its node.
    largest: u64,
    example: u32,
}

/// All candidates, sorted, with sums.
pub(super) struct CandidateSets<'a> {
    sorted: Sorted<'a, Row>,
    groups: BudgetVec<Group>,
    shallow: u64,
    retained: u64,
    /// Candidates by node; heads once known.
    nodes: Bitset,
    heads: Bitset,
}

const TOO_LARGE: StageError = StageError::Overflow("the size of the candidates");

/// Selects the nodes of the third snapshot with ids in `fresh`, which is ascending.
pub(super) fn find<'a>(
    mut fresh: ColumnReader<u64>,
    mut last: Sorted<'_, Node>,
    (classes, node_count): (&ClassList, u64),
    budget: &'a Budget,
    scratch: &'a Scratch,
) -> Result<CandidateSets<'a>, StageError> {
    let most = usize::try_from(fresh.remaining()).unwrap_or(usize::MAX);
    let mut sorter = Sorter::new("candidates of leaks", most, COLUMNS, budget, scratch)?;
    let mut groups = budget.filled("candidates by class", classes.len(), Group::default())?;
    let count = usize::try_from(node_count).unwrap_or(usize::MAX);
    let mut nodes = Bitset::new(budget, "nodes that are candidates", count)?;
    let heads = Bitset::new(budget, "candidates that no other one dominates", count)?;
    let (mut shallow, mut id) = (0u64, None);
    while let Some(Node { id: wanted, class, node, kind, shallow: bytes, retained, .. }) = last.pop()? {
        while id.is_none_or(|id| id < wanted) && fresh.remaining() > 0 {
            id = Some(fresh.next()?);
        }
        if id != Some(wanted) {
            continue;
        }
        shallow = shallow.checked_add(bytes).ok_or(TOO_LARGE)?;
        let group = &mut groups[class as usize];
        if group.count == 0 || retained > group.largest {
            (group.largest, group.example) = (retained, node);
        }
        group.count += 1;
        group.shallow = group.shallow.checked_add(bytes).ok_or(TOO_LARGE)?;
        nodes.insert(node as usize);
        sorter.push(Row { retained, id: wanted, shallow: bytes, node, class, kind, padding: 0 })?;
    }
    Ok(CandidateSets { sorted: sorter.finish()?, groups, shallow, retained: 0, nodes, heads })
}

impl CandidateSets<'_> {
    /// Whether a class has candidates.
    pub(super) fn has(&self, class: u32) -> bool {
        self.groups[class as usize].count > 0
    }

    /// Finds the heads in the run of the third snapshot.
    pub(super) fn find_heads(&mut self, last: &Snapshot<'_>, context: &Context<'_>) -> Result<(), StageError> {
        let columns = ["node", "class_id", "dominator", "retained_bytes"];
        let reader = last.side.reader(nodes::TABLE.file)?;
        let count = reader.rows();
        let mut batches = reader.columns(&columns)?;
        while let Some(batch) = batches.batch()? {
            let (ordinals, class_ids) = (batch.u32s("node")?, batch.u32s("class_id")?);
            let (dominators, retained) = (batch.u32s("dominator")?, batch.sizes("retained_bytes")?);
            for row in 0..batch.len() {
                let (node, dominator) = (ordinals.value(row), dominators.value(row));
                let has = |node: u32| u64::from(node) < count && self.nodes.contains(node as usize);
                if !has(node) || node != dominator && has(dominator) {
                    continue;
                }
                self.heads.insert(node as usize);
                let group = &mut self.groups[last.classes.number(class_ids.value(row)) as usize];
                group.retained = group.retained.checked_add(retained.value(row)).ok_or(TOO_LARGE)?;
                self.retained = self.retained.checked_add(retained.value(row)).ok_or(TOO_LARGE)?;
            }
            context.check()?;
        }
        Ok(())
    }

    /// Writes the table.
    pub(super) fn write(
        mut self,
        chains: &Chains,
        (classes, kinds): (&ClassList, &[String]),
        output: &Output,
        context: &Context<'_>,
    ) -> Result<(run::Table, Candidates), StageError> {
        let answer = self.brief(chains, classes);
        let _writer = context.budget.reserve("diff_leak_candidates: Parquet writer", WRITER_BYTES)?;
        let mut table = Table::create(output, TABLE.file, TABLE.schema())?;
        let mut rows = context.budget.filled("rows of diff_leak_candidates", BATCH, Row::zeroed())?;
        loop {
            let count = take(&mut self.sorted, &mut rows)?;
            if count == 0 {
                return Ok((table.finish()?, answer));
            }
            let rows = &rows[..count];
            let sources = vec![
                numbers::<UInt64Type, _>(rows, |row: &Row| row.id),
                numbers::<UInt32Type, _>(rows, |row| row.node),
                texts(rows, &classes.names, |row| row.class),
                texts(rows, &classes.keys, |row| row.class),
                numbers::<UInt64Type, _>(rows, |row| classes.fingerprints[row.class as usize]),
                texts(rows, kinds, |row| row.kind),
                amounts(rows, |row| row.shallow),
                amounts(rows, |row| row.retained),
                flags(rows, |row| self.heads.contains(row.node as usize)),
                texts(rows, &chains.texts, |row| chains.of(row.class).unwrap_or(NONE)),
                optional_numbers::<UInt64Type, _>(rows, |row| {
                    chains.of(row.class).map(|chain| chains.fingerprints[chain as usize])
                }),
            ];
            table.fill(sources, count as u64, context)?;
        }
    }

    fn brief(&self, chains: &Chains, classes: &ClassList) -> Candidates {
        let mut groups: Vec<(u32, &Group)> = Vec::with_capacity(MOST_CLASSES + 1);
        let rank = |&(class, group): &(u32, &Group)| {
            (Reverse(group.retained), Reverse(group.shallow), Reverse(group.count), &classes.keys[class as usize])
        };
        for group in (0u32..).zip(self.groups.iter()).filter(|(_, group)| group.count > 0) {
            let place = groups.partition_point(|other| rank(other) <= rank(&group));
            groups.insert(place, group);
            groups.truncate(MOST_CLASSES);
        }
        let groups = groups.into_iter().map(|(class, group)| CandidateGroup {
            class: classes.names[class as usize].clone(),
            class_key: classes.keys[class as usize].clone(),
            chain: chains.of(class).map(|chain| chains.texts[chain as usize].clone()),
            count: group.count,
            shallow_bytes: group.shallow,
            retained_bytes: group.retained,
            max_retained_bytes: group.largest,
            example_node: group.example,
        });
        Candidates {
            count: self.sorted.count(),
            shallow_bytes: self.shallow,
            retained_bytes: self.retained,
            groups: groups.collect(),
        }
    }
}
