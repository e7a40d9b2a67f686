//! Finds the rows of the table of nodes that pass a filter, in units that threads read side by side.
//!
//! A unit is a part of a row group. Its tests are read in stages, the cheap ones first; a later stage reads only rows
//! that are not decided yet. Statistics of the row group decide tests without reading. Memory per thread: the columns of
//! a batch, and a byte per test and a few per undecided row of the unit.

use super::check::{Checker, TRUE, Verdict};
use super::columns::{Column, detached};
use super::logic::{Known, Verdicts};
use super::plan::{Compiled, Plan};
use super::terms::{Stage, Term};
use heaplake_kit::StageError;
use heaplake_lake::reader::{Batch, Reader, Texts};
use heaplake_lake::shared_table::SharedTable;
use std::ops::Range;
use std::path::Path;

/// Maximum rows of a unit.
const UNIT: u64 = 1 << 18;
/// Rows of a batch.
const BATCH: usize = 1 << 14;
/// Rows are read one by one if the unit has this many times as many.
const SPARSE: usize = 24;
/// A verdict that is not known yet.
const UNSET: Verdict = u8::MAX;

/// The table of nodes, open for scans.
pub(crate) struct Nodes {
    table: SharedTable,
    pub rows: u64,
}

/// A part of the table.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    group: usize,
    rows: Range<u64>,
}

/// Rows to read.
pub(crate) enum Rows {
    /// All of a unit.
    All(Range<u64>),
    /// Some of a unit, ascending.
    Some(Range<u64>, Vec<u32>),
}

impl Rows {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::All(range) => (range.end - range.start) as usize,
            Self::Some(_, rows) => rows.len(),
        }
    }

    /// Row at a place.
    pub(crate) fn at(&self, place: usize) -> u32 {
        match self {
            Self::All(range) => range.start as u32 + place as u32,
            Self::Some(_, rows) => rows[place],
        }
    }

    fn range(&self) -> Range<u64> {
        match self {
            Self::All(range) | Self::Some(range, _) => range.clone(),
        }
    }
}

/// Rows of a batch that were asked for: those at `places`, or all.
pub(crate) struct Picked<'a> {
    first: u32,
    len: usize,
    /// Rows asked for, ascending, all in the batch.
    rows: Option<&'a [u32]>,
    /// Whether the batch has just these rows.
    is_exact: bool,
}

impl Picked<'_> {
    /// Calls `work` with each place in the batch, and its node.
    pub(crate) fn each(&self, mut work: impl FnMut(usize, u32)) {
        match self.rows {
            None => (0..self.len).for_each(|at| work(at, self.first + at as u32)),
            Some(rows) if self.is_exact => rows.iter().enumerate().for_each(|(at, &row)| work(at, row)),
            Some(rows) => rows.iter().for_each(|&row| work((row - self.first) as usize, row)),
        }
    }
}

impl Nodes {
    /// Opens the table; texts of `terms` that repeat are read once.
    pub(crate) fn open(path: &Path, terms: impl Iterator<Item = Term>) -> Result<Self, StageError> {
        let table = SharedTable::open(path)?;
        let names = terms.map(Term::described).filter(|term| term.stage == Stage::Names).map(|term| term.column);
        let mut names: Vec<&str> = names.filter(|column| table.has(column)).collect();
        names.sort_unstable();
        names.dedup();
        let rows = table.rows();
        Ok(Self { table: table.with_distinct(&names)?, rows })
    }

    /// Whether the table has a column: older runs lack some.
    pub(crate) fn has(&self, column: &str) -> bool {
        self.table.has(column)
    }

    /// Its parts, in order.
    pub(crate) fn units(&self) -> Vec<Unit> {
        let groups = self.table.row_groups().into_iter().enumerate();
        let parts = groups.flat_map(|(group, rows)| {
            let starts = (rows.start..rows.end).step_by(UNIT as usize);
            starts.map(move |start| Unit { group, rows: start..(start + UNIT).min(rows.end) })
        });
        parts.collect()
    }

    /// Reads columns of rows, in order.
    pub(crate) fn read(
        &self,
        columns: &[&str],
        rows: &Rows,
        mut work: impl FnMut(&Batch, &Picked<'_>) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let range = rows.range();
        let (reader, wanted, is_exact) = match rows {
            Rows::Some(_, rows) if rows.len() * SPARSE < (range.end - range.start) as usize => {
                (self.table.reader().only(rows)?, Some(rows), true)
            }
            Rows::Some(_, rows) => (self.part(&range), Some(rows), false),
            Rows::All(_) => (self.part(&range), None, false),
        };
        let mut batches = reader.in_batches_of(BATCH).columns(columns)?;
        let (mut first, mut done) = (range.start as u32, 0);
        while let Some(batch) = batches.batch()? {
            let len = batch.len();
            let rows = wanted.map(|wanted| {
                let rest = &wanted[done..];
                let count = if is_exact { len } else { rest.partition_point(|&row| row < first + len as u32) };
                &rest[..count.min(rest.len())]
            });
            done += rows.map_or(0, <[u32]>::len);
            work(&batch, &Picked { first, len, rows, is_exact })?;
            first += len as u32;
        }
        Ok(())
    }

    fn part(&self, range: &Range<u64>) -> Reader {
        self.table.reader().from_row(range.start, range.end - range.start)
    }

    /// The rows of a unit that pass a filter, ascending. `per_node` has the verdict of every node for each related test
    /// of the plan, and nothing for the others; without an entry the test counts as undecided, and rows that may pass
    /// are returned.
    pub(crate) fn matches(
        &self,
        unit: &Unit,
        plan: &Plan<'_>,
        per_node: &[Option<Vec<Verdict>>],
    ) -> Result<Rows, StageError> {
        let mut known: Vec<Known> = plan.tests.iter().map(|test| self.of_statistics(unit, test)).collect();
        let mut rows = Rows::All(unit.rows.clone());
        let mut accepted = Vec::new();
        if settle(plan, &mut known, &mut rows, &mut accepted) {
            return Ok(rows);
        }
        for stage in [Stage::Numbers, Stage::Names, Stage::Texts, Stage::Neighbours] {
            let open = |at: &usize| plan.tests[*at].stage() == stage && matches!(known[*at], Known::Nothing);
            let open: Vec<usize> = (0..plan.tests.len()).filter(open).collect();
            if open.is_empty() || rows.len() == 0 {
                continue;
            }
            if stage == Stage::Neighbours {
                for &test in &open {
                    if let Some(Some(verdicts)) = per_node.get(test) {
                        known[test] = Known::Each((0..rows.len()).map(|at| verdicts[rows.at(at) as usize]).collect());
                    }
                }
            } else {
                let found = self.tested(plan, stage, &open, &rows)?;
                open.iter().zip(found).for_each(|(&test, verdicts)| known[test] = Known::Each(verdicts));
            }
            if settle(plan, &mut known, &mut rows, &mut accepted) {
                return Ok(rows);
            }
        }
        // Rows that are still undecided depend on related tests without verdicts.
        if matches!(rows, Rows::All(_)) {
            return Ok(rows);
        }
        accepted.extend((0..rows.len()).map(|at| rows.at(at)));
        accepted.sort_unstable();
        Ok(Rows::Some(unit.rows.clone(), accepted))
    }

    /// Verdict that the statistics of a row group give.
    fn of_statistics(&self, unit: &Unit, test: &Compiled<'_>) -> Known {
        let Compiled::Column(term, checker) = test else { return Known::Nothing };
        if !test.has_bounds() {
            return Known::Nothing;
        }
        let bounds = self.table.least_and_most(unit.group, term.described().column);
        let verdict = bounds.and_then(|(least, most, nulls)| checker.of_range(least, most, nulls > 0));
        verdict.map_or(Known::Nothing, Known::Same)
    }

    /// Verdicts of tests on rows.
    fn tested(
        &self,
        plan: &Plan<'_>,
        stage: Stage,
        open: &[usize],
        rows: &Rows,
    ) -> Result<Vec<Vec<Verdict>>, StageError> {
        let columns: Vec<&str> = plan.columns(stage).into_iter().collect();
        let mut found: Vec<Vec<Verdict>> = open.iter().map(|_| Vec::with_capacity(rows.len())).collect();
        let mut caches: Vec<Cache> = open.iter().map(|_| Cache::default()).collect();
        self.read(&columns, rows, |batch, picked| {
            for ((&test, verdicts), cache) in open.iter().zip(&mut found).zip(&mut caches) {
                if let Compiled::Column(term, checker) = &plan.tests[test] {
                    check(&Column::of(batch, *term)?, checker, picked, cache, verdicts);
                }
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// Verdicts on the distinct texts of a column.
#[derive(Default)]
struct Cache {
    texts: Option<Texts>,
    verdicts: Vec<Verdict>,
}

/// Appends the verdicts on the picked rows of a column.
fn check(column: &Column<'_>, checker: &Checker, picked: &Picked<'_>, cache: &mut Cache, out: &mut Vec<Verdict>) {
    match column {
        Column::Numbers(numbers) if picked.rows.is_none() => numbers.each(|number| out.push(checker.of_number(number))),
        Column::Texts(texts) => {
            if !cache.texts.as_ref().is_some_and(|known| known.are_of(texts)) {
                cache.texts = texts.texts();
                cache.verdicts.clear();
                cache.verdicts.resize(cache.texts.as_ref().map_or(0, |known| known.iter().count()), UNSET);
            }
            picked.each(|row, _| {
                let place = texts.place(row).filter(|_| cache.texts.is_some());
                let known = place.and_then(|place| cache.verdicts.get_mut(place));
                out.push(match known {
                    None => checker.of_text(texts.text(row)),
                    Some(known) => {
                        if *known == UNSET {
                            *known = checker.of_text(texts.text(row));
                        }
                        *known
                    }
                });
            });
        }
        Column::Flags(_) => picked.each(|row, _| out.push(checker.of_flag(column.flag(row)))),
        Column::Codes(numbers) => picked.each(|row, _| out.push(checker.of_flag(detached(numbers.get(row))))),
        _ => picked.each(|row, node| out.push(checker.of_number(column.number(row, node)))),
    }
}

/// Moves rows that are decided out of `rows`: those that pass to `accepted`. Returns true, and moves none, if all rows
/// of the unit pass.
fn settle(plan: &Plan<'_>, known: &mut [Known], rows: &mut Rows, accepted: &mut Vec<u32>) -> bool {
    let verdicts = plan.tree.verdicts(known);
    let len = rows.len();
    let (mut open, mut passed) = (Vec::new(), 0);
    match &verdicts {
        Verdicts::Same([TRUE, _]) => passed = len,
        Verdicts::Same([_, TRUE]) => return false,
        Verdicts::Same(_) => {}
        Verdicts::Each(all) => {
            passed = all.iter().filter(|bounds| bounds[0] == TRUE).count();
            open.extend((0..len).filter(|&at| all[at][0] != TRUE && all[at][1] == TRUE));
        }
    }
    if passed == len && matches!(rows, Rows::All(_)) {
        return true;
    }
    if open.len() == len {
        return false;
    }
    accepted.extend((0..len).filter(|&at| verdicts.of(at)[0] == TRUE).map(|at| rows.at(at)));
    for test in known {
        if let Known::Each(all) = test {
            *all = open.iter().map(|&at| all[at]).collect();
        }
    }
    *rows = Rows::Some(rows.range(), open.iter().map(|&at| rows.at(at)).collect());
    false
}
