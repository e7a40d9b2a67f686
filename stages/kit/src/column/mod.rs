//! Column files: fixed-width elements without a header, read and written sequentially, or mapped for random access.

mod length;
mod map;
mod reader;
mod writer;

pub use map::ColumnMap;
pub use reader::{ColumnReader, ReverseReader};
pub use writer::ColumnWriter;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scratch, StageError};
    use heaplake_schemas::scratch::Column;

    const NUMBERS: Column<u32> = Column::new("numbers");

    #[test]
    fn round_trip_through_all_readers() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let numbers: Vec<u32> = (0..200_000).map(|i: u32| i.wrapping_mul(2_654_435_761)).collect();
        let mut writer = ColumnWriter::create(&scratch, NUMBERS).unwrap();
        writer.extend(&numbers[..7]).unwrap();
        numbers[7..1000].iter().for_each(|&n| writer.push(n).unwrap());
        writer.extend(&numbers[1000..150_000]).unwrap();
        assert_eq!(writer.finish().unwrap(), 150_000);
        let mut writer = ColumnWriter::append(&scratch, NUMBERS).unwrap();
        writer.extend(&numbers[150_000..]).unwrap();
        assert_eq!(writer.finish().unwrap(), 200_000);

        assert_eq!(&*ColumnMap::uncounted(&scratch, NUMBERS).unwrap(), &numbers[..]);
        let mut reader = ColumnReader::open(&scratch, NUMBERS).unwrap();
        assert_eq!(reader.next().unwrap(), numbers[0]);
        reader.skip(99_999).unwrap();
        let mut rest = vec![0; 100_000];
        reader.read_into(&mut rest).unwrap();
        assert_eq!(rest, &numbers[100_000..]);
        assert!(matches!(reader.next(), Err(StageError::Scratch { .. })));

        let mut reader = ReverseReader::open(&scratch, NUMBERS).unwrap();
        for &number in numbers.iter().rev() {
            assert_eq!(reader.next().unwrap(), number);
        }
        assert!(matches!(reader.next(), Err(StageError::Scratch { .. })));
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
