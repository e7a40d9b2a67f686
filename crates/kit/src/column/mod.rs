//! Columns of fixed-width elements, in files or in memory: sequential reads and writes, and maps for random access.

pub(crate) mod file;
mod length;
mod map;
pub(crate) mod packed;
pub(crate) mod packed_blocks;
pub(crate) mod packed_memory;
pub(crate) mod packing;
mod pages;
mod points;
mod reader;
mod resident;
mod sets;
mod source;
mod store;
mod target;
mod writer;

pub use map::ColumnMap;
pub use points::ColumnPoints;
pub use reader::{BLOCK, ColumnReader, ReverseReader};
pub(crate) use resident::Growing;
pub use resident::Residents;
pub use sets::{create_all, finish_all, open_all};
pub use writer::ColumnWriter;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array_plan::lookup;
    use crate::{ArrayPlan, Budget, Lookup, ReadAt};
    use crate::{Scratch, StageError};
    use heaplake_schemas::scratch::{Column, Per};

    const NUMBERS: Column<u32> = Column::new("numbers");
    const OTHERS: Column<u32> = Column::new("others");
    const THIRD: Column<u32> = Column::new("third");
    const PACKED: Column<u32> = Column::of("packed", Per::Edge);

    /// Scratch without columns in memory, and with several limits for them.
    fn scratches(folder: &std::path::Path) -> Vec<Scratch> {
        let in_memory = [0, 100, 70_000, 500_000, 700_000, 5 << 20, 1 << 30].map(Some);
        let create = |(nth, limit): (usize, Option<u64>)| {
            let scratch = Scratch::create(&folder.join(format!("scratch{nth}"))).unwrap();
            match limit {
                Some(limit) => scratch.with_residents(Residents::new(limit)),
                None => scratch,
            }
        };
        [None].into_iter().chain(in_memory).enumerate().map(create).collect()
    }

    #[test]
    fn round_trip_through_all_readers() {
        let folder = tempfile::tempdir().unwrap();
        for scratch in scratches(folder.path()) {
            round_trip(&scratch);
            let used = scratch.residents().map_or(0, Residents::used);
            // Twice: leftovers do not interfere.
            round_trip(&scratch);
            assert_eq!(scratch.residents().map_or(0, Residents::used), used);
            scratch.discard(NUMBERS);
            assert_eq!(scratch.residents().map_or(0, Residents::used), 0);
            assert!(!scratch.has(NUMBERS) && !scratch.path(NUMBERS).exists());
        }
    }

    fn round_trip(scratch: &Scratch) {
        let numbers: Vec<u32> = (0..200_000).map(|i: u32| i.wrapping_mul(2_654_435_761)).collect();
        let mut writer = ColumnWriter::create(scratch, NUMBERS).unwrap();
        writer.extend(&numbers[..7]).unwrap();
        numbers[7..1000].iter().for_each(|&n| writer.push(n).unwrap());
        writer.extend(&numbers[1000..150_000]).unwrap();
        assert_eq!(writer.finish().unwrap(), 150_000);
        let before = ColumnMap::uncounted(scratch, NUMBERS).unwrap();
        let mut writer = ColumnWriter::append(scratch, NUMBERS).unwrap();
        writer.extend(&numbers[150_000..]).unwrap();
        assert_eq!(writer.finish().unwrap(), 200_000);
        assert_eq!(&*before, &numbers[..150_000]);
        drop(before);
        assert_eq!(scratch.length(&scratch.path(NUMBERS)), Some(800_000));

        assert_eq!(&*ColumnMap::uncounted(scratch, NUMBERS).unwrap(), &numbers[..]);
        let mut reader = ColumnReader::open(scratch, NUMBERS).unwrap();
        assert_eq!(reader.next().unwrap(), numbers[0]);
        reader.skip(99_999).unwrap();
        assert_eq!(reader.remaining(), 100_000);
        let mut rest = vec![0; 100_000];
        reader.read_into(&mut rest).unwrap();
        assert_eq!(rest, &numbers[100_000..]);
        assert!(matches!(reader.next(), Err(StageError::Scratch { .. })));

        in_parts(scratch, NUMBERS, &numbers);
    }

    /// Reads blocks of several sizes from the front, elements and slices from the back.
    fn in_parts(scratch: &Scratch, column: Column<u32>, numbers: &[u32]) {
        let mut reader = ReverseReader::open(scratch, column).unwrap();
        for &number in numbers.iter().rev() {
            assert_eq!(reader.next().unwrap(), number);
        }
        assert!(matches!(reader.next(), Err(StageError::Scratch { .. })));
        for size in [1000, BLOCK - 1, BLOCK] {
            let mut reader = ColumnReader::open(scratch, column).unwrap();
            for part in numbers.chunks(size) {
                assert_eq!(reader.block(part.len()).unwrap(), part);
            }
            assert!(reader.remaining() == 0 && matches!(reader.block(1), Err(StageError::Scratch { .. })));
        }
        let (mut reader, mut end) = (ReverseReader::open(scratch, column).unwrap(), numbers.len());
        while end > 0 {
            let part = reader.next_slice(999).unwrap();
            assert!(!part.is_empty() && numbers[..end].ends_with(part));
            end -= part.len();
            let skipped = end.min(end % 2 * 70_000);
            reader.skip(skipped as u64).unwrap();
            end -= skipped;
            assert_eq!(reader.remaining(), end as u64);
        }
        assert!(reader.skip(1).is_err() && reader.next_slice(1).is_err());
    }

    #[test]
    fn packed_columns_are_read_like_others() {
        let folder = tempfile::tempdir().unwrap();
        let numbers: Vec<u32> = (0..200_000u32).map(|i| ((i / 3) * (1 + i % 2 * 7)) ^ (i % 5)).collect();
        for (nth, scratch) in scratches(folder.path()).iter().enumerate() {
            let mut writer = ColumnWriter::create(scratch, PACKED).unwrap();
            writer.extend(&numbers[..50_001]).unwrap();
            numbers[50_001..60_000].iter().for_each(|&number| writer.push(number).unwrap());
            writer.extend(&numbers[60_000..]).unwrap();
            assert_eq!(writer.finish().unwrap(), 200_000);
            assert_eq!(file::bytes(scratch, PACKED), Some(800_000));
            if nth == 1 {
                scratch.limit_residents(0).unwrap();
            }
            let path = scratch.path(PACKED);
            assert_eq!(scratch.sum(&path).unwrap().length(), scratch.length(&path).unwrap());
            assert!(scratch.is_resident(PACKED) || scratch.length(&path).unwrap() < 600_000);
            in_parts(scratch, PACKED, &numbers);
            let mut reader = ColumnReader::open(scratch, PACKED).unwrap();
            reader.skip(123_456).unwrap();
            assert_eq!(reader.next_slice(7).unwrap(), &numbers[123_456..123_463]);
            let points = ColumnPoints::open(scratch, PACKED).unwrap();
            assert_eq!((points.len(), points.get(200_000)), (200_000, None));
            assert!((0..200_000).step_by(501).rev().all(|i| points.at(i) == numbers[i]));
            for memory in [64 << 20, (1 << 20) + (3 << 17)] {
                let budget = Budget::new(memory);
                let mut elements = ArrayPlan::new(&budget, scratch, "all");
                let mut elements = elements.one(lookup(PACKED)).unwrap();
                (0..200_000).step_by(7).for_each(|i| {
                    elements.prefetch(i + 3000);
                    assert_eq!(elements.get(i).unwrap(), numbers[i]);
                });
                assert!(matches!(elements, Lookup::Resident(_)) || memory < 2 << 20);
            }
        }
    }

    #[test]
    fn an_element_that_cannot_be_read_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let mut writer = ColumnWriter::create(&scratch, PACKED).unwrap();
        (0..100_000).for_each(|number| writer.push(number * 3).unwrap());
        writer.finish().unwrap();
        let points = ColumnPoints::open(&scratch, PACKED).unwrap();
        assert_eq!((points.position(1500), points.position(1501)), (Some(500), None));
        assert!(scratch.undamaged().is_ok());
        let file = std::fs::File::options().write(true).open(scratch.path(PACKED)).unwrap();
        file.set_len(100).unwrap();
        assert_eq!(points.at(99_999), 0);
        assert!(scratch.undamaged().is_err());
    }

    #[test]
    fn names_change_in_memory_as_in_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |scratch: &Scratch, column, numbers: &[u32]| {
            let mut writer = ColumnWriter::create(scratch, column).unwrap();
            writer.extend(numbers).unwrap();
            writer.finish().unwrap();
        };
        let read = |scratch: &Scratch, column| ColumnMap::uncounted(scratch, column).unwrap().to_vec();
        for scratch in scratches(folder.path()) {
            write(&scratch, NUMBERS, &[1, 2, 3]);
            scratch.share(NUMBERS, OTHERS).unwrap();
            scratch.copy(NUMBERS, THIRD).unwrap();
            let mut writer = ColumnWriter::append(&scratch, THIRD).unwrap();
            writer.push(4).unwrap();
            writer.finish().unwrap();
            assert_eq!((read(&scratch, NUMBERS), read(&scratch, THIRD)), (vec![1, 2, 3], vec![1, 2, 3, 4]));
            scratch.cut(&scratch.path(THIRD), 8).unwrap();
            assert_eq!(read(&scratch, THIRD), [1, 2]);
            scratch.replace(OTHERS, THIRD).unwrap();
            assert!(read(&scratch, OTHERS) == [1, 2] && !scratch.has(THIRD));
            scratch.set_aside(NUMBERS.name).unwrap();
            write(&scratch, NUMBERS, &[7]);
            scratch.set_aside(NUMBERS.name).unwrap();
            assert_eq!((read(&scratch.originals(), NUMBERS), read(&scratch, NUMBERS)), (vec![1, 2, 3], vec![7]));
            scratch.take_back(NUMBERS).unwrap();
            assert!(read(&scratch, NUMBERS) == [1, 2, 3] && !scratch.originals().has(NUMBERS));
            scratch.write_document("it.json", &[5]).unwrap();
            assert_eq!(scratch.read_document::<[u32; 1]>("it.json").unwrap(), [5]);
            // A name exists once, in memory or on disk.
            for (limit, number) in [(0, 6), (1 << 30, 7), (0, 8)].into_iter().filter(|_| scratch.residents().is_some())
            {
                scratch.limit_residents(limit).unwrap();
                scratch.write_document("it.json", &[number]).unwrap();
                assert_eq!(scratch.file("it.json").exists(), limit == 0);
                assert_eq!(scratch.read_document::<[u32; 1]>("it.json").unwrap(), [number]);
            }
            scratch.withdraw(OTHERS).unwrap();
            assert!(!scratch.has(OTHERS));
            // A forbidden column is refused in memory, too.
            let view = scratch.view("mine", std::collections::BTreeSet::from([OTHERS.name]));
            assert!(ColumnWriter::create(&view, OTHERS).is_err() && ColumnReader::open(&view, OTHERS).is_err());
        }
    }

    #[test]
    fn who_appends_changes_nothing_that_others_see() {
        let folder = tempfile::tempdir().unwrap();
        for (scratch, count) in scratches(folder.path()).iter().zip([10, 100_000].into_iter().cycle()) {
            let first: Vec<u32> = (0..count).collect();
            let mut writer = ColumnWriter::create(scratch, NUMBERS).unwrap();
            writer.extend(&first).unwrap();
            writer.finish().unwrap();
            scratch.copy(NUMBERS, OTHERS).unwrap();
            let mut writers = [NUMBERS, OTHERS].map(|column| (column, ColumnWriter::append(scratch, column).unwrap()));
            let mut expected = [first.clone(), first.clone()];
            for round in 0..5 {
                for (nth, (column, writer)) in writers.iter_mut().enumerate() {
                    let more = vec![nth as u32 * 7 + round; 40_000];
                    writer.extend(&more).unwrap();
                    expected[nth].extend(more);
                    if scratch.is_resident(*column) {
                        assert!(*ColumnMap::uncounted(scratch, *column).unwrap() == first);
                    }
                }
            }
            for ((column, writer), expected) in writers.into_iter().zip(expected) {
                writer.finish().unwrap();
                assert!(*ColumnMap::uncounted(scratch, column).unwrap() == expected);
            }
            // Truncation and appends do not change existing maps.
            let seen = ColumnMap::uncounted(scratch, NUMBERS).unwrap();
            let was = seen.to_vec();
            if scratch.is_resident(NUMBERS) {
                drop(seen);
                scratch.cut(&scratch.path(NUMBERS), 400).unwrap();
                scratch.note(&scratch.path(NUMBERS), None);
                let mut writer = ColumnWriter::append(scratch, NUMBERS).unwrap();
                writer.extend(&[9; 100_000]).unwrap();
                writer.finish().unwrap();
                let now = ColumnMap::uncounted(scratch, NUMBERS).unwrap();
                assert!(now[..100] == was[..100] && now[100..].iter().all(|&number| number == 9));
            }
        }
    }

    #[test]
    fn columns_leave_memory_when_they_must() {
        let folder = tempfile::tempdir().unwrap();
        let residents = Residents::new(1 << 30);
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap().with_residents(residents.clone());
        for (column, count) in [(NUMBERS, 3_000_000u32), (OTHERS, 1000), (THIRD, 2_000_000)] {
            let mut writer = ColumnWriter::create(&scratch, column).unwrap();
            (0..count).for_each(|number| writer.push(number ^ 1).unwrap());
            writer.finish().unwrap();
        }
        let looked_at = ColumnMap::uncounted(&scratch, THIRD).unwrap();
        scratch.limit_residents(9 << 20).unwrap();
        // The largest column is evicted first.
        assert!(!scratch.is_resident(NUMBERS) && scratch.is_resident(THIRD));
        scratch.limit_residents(5 << 20).unwrap();
        assert!(scratch.is_resident(THIRD), "somebody looks at it");
        drop(looked_at);
        scratch.limit_residents(1 << 20).unwrap();
        assert!(!scratch.is_resident(THIRD) && residents.used() < 1 << 20);
        let numbers = ColumnMap::uncounted(&scratch, NUMBERS).unwrap();
        assert!(numbers.len() == 3_000_000 && (0..).zip(numbers.iter()).all(|(at, number)| at ^ 1 == *number));
    }

    #[test]
    fn memory_ahead_of_columns_is_within_their_limit() {
        let folder = tempfile::tempdir().unwrap();
        for limit in [1 << 30, 24 << 20] {
            let residents = Residents::new(limit).hurried();
            let scratch = Scratch::create(&folder.path().join("scratch")).unwrap().with_residents(residents.clone());
            let values = || (0..10_000_000u32).map(|number| number.wrapping_mul(2_654_435_761));
            let mut writer = ColumnWriter::create(&scratch, NUMBERS).unwrap();
            values().for_each(|number| writer.push(number).unwrap());
            writer.finish().unwrap();
            assert_eq!(scratch.is_resident(NUMBERS), limit == 1 << 30);
            let column = ColumnMap::uncounted(&scratch, NUMBERS).unwrap();
            assert!(values().eq(column.iter().copied()));
            drop(column);
            // The limit applies at once.
            scratch.limit_residents(0).unwrap();
            assert_eq!(residents.taken(), 0);
        }
    }

    #[test]
    fn empty_and_torn_columns() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        ColumnWriter::create(&scratch, NUMBERS).unwrap().finish().unwrap();
        assert!(ColumnMap::uncounted(&scratch, NUMBERS).unwrap().is_empty());
        std::fs::write(scratch.path(NUMBERS), [0; 7]).unwrap();
        assert!(matches!(ColumnReader::open(&scratch, NUMBERS), Err(StageError::Scratch { .. })));
    }

    #[test]
    fn what_is_cut_off_while_it_is_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let cut = |length| std::fs::File::options().write(true).open(scratch.path(NUMBERS)).unwrap().set_len(length);
        let numbers: Vec<u32> = (1..=200_000).collect();
        for (first, length) in [(100_000, 0), (100_000, 7), (100_000, 399_999), (199_999, 4)] {
            for appended in [false, true] {
                let mut writer = ColumnWriter::create(&scratch, NUMBERS).unwrap();
                if appended {
                    writer.extend(&numbers[..50_000]).unwrap();
                    writer.finish().unwrap();
                    writer = ColumnWriter::append(&scratch, NUMBERS).unwrap();
                }
                writer.extend(&numbers[..first]).unwrap();
                cut(length).unwrap();
                writer.extend(&numbers[first..]).unwrap();
                let Err(StageError::Scratch { .. }) = writer.finish() else { panic!("{first} {length}") };
                assert!(scratch.sum(&scratch.path(NUMBERS)).is_none());
            }
        }
        // Between two writers, too.
        let mut writer = ColumnWriter::create(&scratch, NUMBERS).unwrap();
        writer.extend(&numbers).unwrap();
        writer.finish().unwrap();
        cut(4).unwrap();
        assert!(matches!(ColumnWriter::append(&scratch, NUMBERS), Err(StageError::Scratch { .. })));
    }
}
