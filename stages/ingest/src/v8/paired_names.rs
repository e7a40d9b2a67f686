//! Names of weak-map entry edges: their table, and the number of their pair. Used by [`super::essential_edges`].
//!
//! Resident memory: three bits per string, if there are any such names. The names are sorted by external merging, with
//! an eighth of the free budget, and looked up in a mapped file.

use super::snapshot::{EPHEMERON_SHARED, EPHEMERON_STRING, EPHEMERON_TABLE};
use heaplake_kit::sorter::Sorter;
use heaplake_kit::{BudgetVec, ColumnMap, ColumnReader, ColumnWriter, Context, Scratch, StageError, open_all};
use heaplake_schemas::scratch::{Column, Per};

/// By name: the name above the number of its pair; the table.
const NAMES: Column<[u64; 2]> = Column::of("v8.paired_name", Per::Few);

/// Sort files: by the shared part of a pair and the order in the file; then by the order of the pair's first name; then
/// by name.
const SHARED: [Column<[u64; 4]>; 2] = [Column::new("v8.paired_shared.a"), Column::new("v8.paired_shared.b")];
const FIRST: [Column<[u64; 3]>; 2] = [Column::new("v8.paired_first.a"), Column::new("v8.paired_first.b")];
const SORTED: [Column<[u64; 2]>; 2] = [Column::new("v8.paired_sorted.a"), Column::new("v8.paired_sorted.b")];

const WHO: &str = "weak-map entries";

/// Names of weak-map entry edges.
pub(super) struct PairedNames {
    /// Set of the strings that are such names.
    words: BudgetVec<u64>,
    /// Number of such names before each word.
    before: BudgetVec<u32>,
    rows: ColumnMap<[u64; 2]>,
}

impl PairedNames {
    /// Loads the names of a snapshot.
    pub(super) fn load(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let last = match ColumnReader::open(scratch, EPHEMERON_STRING)?.remaining() {
            0 => None,
            count => write(count as usize, scratch, context)?,
        };
        let Some(last) = last else {
            let (words, before) = (context.budget.growing(WHO), context.budget.growing(WHO));
            return Ok(Self { words, before, rows: ColumnMap::empty() });
        };
        let count = last as usize / 64 + 1;
        let mut words = context.budget.zeroed::<u64>(WHO, count)?;
        let mut before = context.budget.zeroed::<u32>(WHO, count)?;
        let mut rows = ColumnReader::open(scratch, NAMES)?;
        while rows.remaining() > 0 {
            let name = rows.next()?[0] >> 32;
            words[name as usize / 64] |= 1u64 << (name % 64);
        }
        let mut sum = 0;
        for (before, word) in before.iter_mut().zip(words.iter()) {
            *before = sum;
            sum += word.count_ones();
        }
        let rows = ColumnMap::uncounted(scratch, NAMES)?;
        scratch.discard(NAMES);
        Ok(Self { words, before, rows })
    }

    /// Returns table and pair number of an edge name, if it is of a weak-map entry.
    #[inline]
    pub(super) fn get(&self, name: u32) -> Option<(u64, u32)> {
        let word = *self.words.get(name as usize / 64)?;
        let bit = 1u64 << (name % 64);
        if word & bit == 0 {
            return None;
        }
        let at = self.before[name as usize / 64] + (word & (bit - 1)).count_ones();
        let [row, table] = self.rows[at as usize];
        Some((table, row as u32))
    }
}

/// Writes [`NAMES`]; returns the last name. Pairs are numbered by the first of their names in the file.
fn write(count: usize, scratch: &Scratch, context: &Context<'_>) -> Result<Option<u64>, StageError> {
    let budget = &context.budget;
    let (mut names, mut tables, mut shared) = open_all(scratch, (EPHEMERON_STRING, EPHEMERON_TABLE, EPHEMERON_SHARED))?;
    let mut by_shared = Sorter::new(WHO, count, SHARED, budget, scratch)?;
    for order in 0..count as u64 {
        by_shared.push([shared.next()?, order, names.next()?.0.into(), tables.next()?])?;
    }
    let mut by_shared = by_shared.finish()?;
    let mut by_first = Sorter::new(WHO, count, FIRST, budget, scratch)?;
    let mut group = None;
    while let Some([shared, order, name, table]) = by_shared.pop()? {
        let first = group.filter(|&(of, _)| of == shared).map_or(order, |(_, first)| first);
        group = Some((shared, first));
        by_first.push([first, name, table])?;
        context.check_every(1 << 12, order)?;
    }
    drop(by_shared);
    let mut by_first = by_first.finish()?;
    let mut by_name = Sorter::new(WHO, count, SORTED, budget, scratch)?;
    let (mut last, mut pair) = (None, 0);
    while let Some([first, name, table]) = by_first.pop()? {
        pair += u64::from(last.is_some_and(|last| last != first));
        last = Some(first);
        by_name.push([name << 32 | pair, table])?;
        context.check_every(1 << 12, name)?;
    }
    drop(by_first);
    let mut by_name = by_name.finish()?;
    let mut writer = ColumnWriter::create(scratch, NAMES)?;
    let mut last = None;
    while let Some(row) = by_name.pop()? {
        if last.replace(row[0] >> 32) != Some(row[0] >> 32) {
            writer.push(row)?;
        }
        context.check_every(1 << 12, row[0])?;
    }
    writer.finish()?;
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::Budget;
    use heaplake_kit::stage::Silent;
    use heaplake_schemas::ids::StringId;
    use std::sync::atomic::AtomicBool;

    /// Checks look-ups; each name has its id, its table and the part it shares with its pair's other name.
    fn check(names: &[(u32, u64, u64)], expected: &[(u32, u32)]) {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let cancel = AtomicBool::new(false);
        let context = Context { budget: Budget::new(1 << 20), threads: 1, progress: &Silent, cancel: &cancel };
        let mut strings = ColumnWriter::create(&scratch, EPHEMERON_STRING).unwrap();
        let mut tables = ColumnWriter::create(&scratch, EPHEMERON_TABLE).unwrap();
        let mut shared = ColumnWriter::create(&scratch, EPHEMERON_SHARED).unwrap();
        for &(name, table, both) in names {
            strings.push(StringId(name)).unwrap();
            tables.push(table).unwrap();
            shared.push(both).unwrap();
        }
        strings.finish().unwrap();
        tables.finish().unwrap();
        shared.finish().unwrap();
        let found = PairedNames::load(&scratch, &context).unwrap();
        for &(name, table, _) in names {
            let pair = expected.iter().find(|of| of.0 == name).unwrap().1;
            assert_eq!(found.get(name), Some((table, pair)));
        }
        assert!((0..2000).filter(|name| found.get(*name).is_some()).count() == expected.len());
        assert_eq!(found.get(u32::MAX), None);
    }

    #[test]
    fn pairs_are_numbered_by_the_first_of_their_names() {
        check(&[], &[]);
        // The shared part is a hash, so its order means nothing; one name occurs twice.
        let names = [(70, 1, 9), (3, 1, 5), (4, 2, 9), (1000, 2, 5), (63, 3, 1), (64, 3, 1), (3, 1, 5)];
        check(&names, &[(70, 0), (3, 1), (4, 0), (1000, 1), (63, 2), (64, 2)]);
    }
}
