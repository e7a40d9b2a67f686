//! Sums objects by class, and writes the table of classes.

use super::class_list::ClassList;
use super::join::Joined;
use super::question::{Change, ClassChange, MOST_CLASSES};
use super::slices::{amounts, numbers, texts};
use arrow::datatypes::{Int64Type, UInt64Type};
use heaplake_kit::stage::Output;
use heaplake_kit::{Budget, BudgetVec, Context, StageError};
use heaplake_lake::table::{Table, WRITER_BYTES};
use heaplake_schemas::diff_object_classes::TABLE;
use heaplake_schemas::diff_objects::Status;
use heaplake_schemas::run;
use std::cmp::Reverse;

/// Sums by class and in total.
pub(super) struct ClassSums {
    of_class: BudgetVec<Change>,
    /// Total.
    pub total: Change,
    /// Number of objects with different classes in the two snapshots.
    pub reclassified: u64,
}

impl ClassSums {
    /// Creates zero sums.
    pub(super) fn new(classes: &ClassList, budget: &Budget) -> Result<Self, StageError> {
        let of_class = budget.filled("sums of classes", classes.len(), Change::default())?;
        Ok(Self { of_class, total: Change::default(), reclassified: 0 })
    }

    /// Adds an object; returns its status if it counts.
    pub(super) fn add(&mut self, found: &Joined) -> Result<Option<Status>, StageError> {
        let Some(node) = found.target.or(found.base).filter(|node| node.hidden == 0) else { return Ok(None) };
        let status = match (&found.base, &found.target) {
            (None, _) => Status::New,
            (_, None) => Status::Deleted,
            _ => Status::Kept,
        };
        let before = found.base.map_or(0, |node| node.shallow);
        for sum in [&mut self.of_class[node.class as usize], &mut self.total] {
            add(sum, status, before, node.shallow).ok_or(StageError::Overflow("the size of a class"))?;
        }
        self.reclassified += u64::from(status == Status::New && found.in_both);
        Ok(Some(status))
    }

    /// Writes the table; also returns the classes that grew most.
    pub(super) fn write(
        &self,
        classes: &ClassList,
        output: &Output,
        context: &Context<'_>,
    ) -> Result<(run::Table, Vec<ClassChange>), StageError> {
        let mut order = context.budget.growing("order of classes");
        for (class, change) in self.of_class.iter().enumerate() {
            if !change.is_none() || change.kept_count > 0 {
                order.push(class as u32)?;
            }
        }
        order.sort_unstable_by_key(|&class| (Reverse(self.of(class).delta_bytes()), &classes.keys[class as usize]));
        let _writer = context.budget.reserve("diff_object_classes: Parquet writer", WRITER_BYTES)?;
        let mut table = Table::create(output, TABLE.file, TABLE.schema())?;
        let rows: &[u32] = &order;
        let amount = |of: fn(&Change) -> u64| amounts(rows, move |&class| of(self.of(class)));
        let delta = |of: fn(&Change) -> i64| numbers::<Int64Type, u32>(rows, move |&class| of(self.of(class)));
        let sources = vec![
            texts(rows, &classes.names, |&class| class),
            texts(rows, &classes.keys, |&class| class),
            texts(rows, &classes.signatures, |&class| class),
            numbers::<UInt64Type, u32>(rows, |&class| classes.fingerprints[class as usize]),
            amount(|change| change.new_count),
            amount(|change| change.deleted_count),
            amount(|change| change.kept_count),
            delta(Change::delta_count),
            amount(|change| change.new_bytes),
            amount(|change| change.deleted_bytes),
            amount(|change| change.kept_bytes),
            delta(Change::delta_bytes),
            delta(Change::kept_delta_bytes),
        ];
        table.fill(sources, rows.len() as u64, context)?;
        let grown = rows.iter().take(MOST_CLASSES).filter(|&&class| self.of(class).delta_bytes() > 0);
        let grown = grown.map(|&class| ClassChange {
            class: classes.names[class as usize].clone(),
            class_key: classes.keys[class as usize].clone(),
            change: *self.of(class),
        });
        Ok((table.finish()?, grown.collect()))
    }

    fn of(&self, class: u32) -> &Change {
        &self.of_class[class as usize]
    }
}

/// Adds an object to a sum; `None` on overflow.
fn add(sum: &mut Change, status: Status, before: u64, now: u64) -> Option<()> {
    match status {
        Status::New => {
            sum.new_count += 1;
            sum.new_bytes = sum.new_bytes.checked_add(now)?;
        }
        Status::Deleted => {
            sum.deleted_count += 1;
            sum.deleted_bytes = sum.deleted_bytes.checked_add(before)?;
        }
        Status::Kept => {
            sum.kept_count += 1;
            sum.kept_bytes = sum.kept_bytes.checked_add(now)?;
            sum.kept_base_bytes = sum.kept_base_bytes.checked_add(before)?;
        }
    }
    Some(())
}
