//! Computes the subjects of a table, and ranks them: rows on disk, ranks in memory.

use super::row::{Row, RowFile, RowWriter};
use crate::rows::labels::{self, LabelFile, Labels};
use crate::rows::{Gathered, Group, OfSide, unreported};
use bytemuck::Pod;
use heaplake_kit::{Context, Reservation, StageError};
use heaplake_schemas::diff::DiffTable;

/// A table of subjects, with values `V` and ranks `R`.
pub(crate) struct Ranked<V, R> {
    /// Table.
    pub table: &'static DiffTable,
    /// Number of runs and hosts with the table, per side.
    pub sides: Vec<OfSide>,
    /// Row numbers, least rank first.
    pub order: Vec<u32>,
    /// Rank of each row.
    pub ranks: Vec<R>,
    /// Name of each run's host, or of the run.
    names: Vec<String>,
    rows: RowFile<V>,
    labels: LabelFile,
    _grant: Reservation,
}

/// Sizes of a subject.
pub(crate) struct Layout {
    /// Name of the memory grant.
    pub grant: &'static str,
    /// Values of its row.
    pub values: usize,
    /// Bytes of its rank, and of all else that is kept in memory.
    pub bytes: u64,
}

impl<V: Pod + Send, R: Ord> Ranked<V, R> {
    /// Computes the row of each group, and passes it to `take`. Unordered until [`Self::rank`] is called.
    pub(crate) fn of(
        table: &'static DiffTable,
        mut gathered: Gathered<'_>,
        layout: &Layout,
        context: &Context<'_>,
        row: impl Fn(&Group<'_>) -> Row<V> + Sync,
        mut take: impl FnMut(&Row<V>),
    ) -> Result<Self, StageError> {
        if table.compared.name == "chains" {
            gathered.unreported = unreported::find(&gathered, context)?;
        }
        let bytes = gathered.subjects.keys.len() as u64 * layout.bytes;
        let grant = context.budget.reserve(layout.grant, bytes)?;
        let mut rows = RowWriter::create(gathered.scratch())?;
        let mut examples = Vec::new();
        gathered.each(context, row, |row| {
            take(&row);
            examples.push(row.head.example);
            rows.push(&row)
        })?;
        Ok(Self {
            table,
            sides: gathered.of_sides(),
            order: Vec::new(),
            ranks: Vec::new(),
            names: gathered.runs.iter().map(|run| run.name.clone()).collect(),
            rows: rows.finish(layout.values)?,
            labels: labels::read(&gathered, &examples, context)?,
            _grant: grant,
        })
    }

    /// Orders the rows by their ranks.
    pub(crate) fn rank(&mut self, ranks: Vec<R>) {
        self.order = (0..ranks.len() as u32).collect();
        self.order.sort_by(|&a, &b| ranks[a as usize].cmp(&ranks[b as usize]));
        self.ranks = ranks;
    }

    /// Reads a row.
    pub(crate) fn row(&self, number: u32) -> Result<Row<V>, StageError> {
        self.rows.row(number)
    }

    /// Reads the labels of a row.
    pub(crate) fn labels(&self, number: u32) -> Result<Labels, StageError> {
        self.labels.of(number as usize)
    }

    /// Names of the hosts (or runs) on which a subject changed most, each once, separated by commas.
    pub(crate) fn changed_on(&self, row: &Row<V>) -> Option<String> {
        let mut names: Vec<&str> = Vec::new();
        for name in row.head.named.iter().filter_map(|&run| self.names.get(run as usize)) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        (!names.is_empty()).then(|| names.join(", "))
    }
}

/// A number whose order is that of `f64::total_cmp`.
pub(crate) fn ordered(number: f64) -> i64 {
    let bits = number.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}
