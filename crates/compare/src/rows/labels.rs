//! Key columns and signatures of selected rows of many runs, on disk.

use super::Gathered;
use super::signatures::{self, OfRun};
use heaplake_kit::{Budget, Context, Reservation, StageError};
use heaplake_lake::reader::{Batch, Reader, value};
use heaplake_schemas::diff::DiffTable;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// If a table has more than this many times the selected rows, only these are read.
const SPARSE: u64 = 64;

/// Rules that find possible duplicates begin with this.
const POSSIBLE: &str = "possible-duplicates";

/// Labels of a row.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    /// Key columns of the table; `None` also if an old table lacks the column.
    pub keys: Vec<Option<String>>,
    /// Signature.
    pub signature: String,
}

impl Labels {
    /// Returns a key column.
    pub(crate) fn key(&self, at: usize) -> Option<&str> {
        self.keys.get(at)?.as_deref()
    }

    /// Whether the row of this table is only a possible duplicate.
    pub(crate) fn is_possible(&self, table: &DiffTable) -> bool {
        match table.compared.name {
            "findings" => self.key(0).is_some_and(|rule| rule.starts_with(POSSIBLE)),
            "duplicate_sets" => self.signature.starts_with("possible "),
            _ => false,
        }
    }
}

/// A file of labels.
pub(crate) struct LabelFile {
    folder: PathBuf,
    file: File,
    /// Offset and length of the labels of each row.
    places: Vec<(u64, u32)>,
    _grant: Reservation,
}

/// Reads the labels of rows, given by run and row.
pub(crate) fn read(
    gathered: &Gathered<'_>,
    examples: &[[u32; 2]],
    context: &Context<'_>,
) -> Result<LabelFile, StageError> {
    let folder = gathered.scratch();
    let grant = context.budget.reserve("comparison: places of texts", examples.len() as u64 * 24)?;
    let file = tempfile::tempfile_in(folder).map_err(|error| StageError::io(folder, "create a file in", error))?;
    let mut order: Vec<u32> = (0..examples.len() as u32).collect();
    order.sort_unstable_by_key(|&at| examples[at as usize]);
    let places = vec![(0, 0); examples.len()];
    let mut writer = Writer { folder, file: BufWriter::with_capacity(256 << 10, &file), written: 0, places };
    for of_run in order.chunk_by(|&a, &b| examples[a as usize][0] == examples[b as usize][0]) {
        context.check()?;
        let run = examples[of_run[0] as usize][0];
        let chosen: Vec<(u32, u32)> = of_run.iter().map(|&at| (examples[at as usize][1], at)).collect();
        of_rows(gathered, run, &chosen, &mut writer, &context.budget)?;
    }
    writer.file.flush().map_err(|error| StageError::io(folder, "write to", error))?;
    let places = std::mem::take(&mut writer.places);
    drop(writer);
    Ok(LabelFile { folder: folder.to_owned(), file, places, _grant: grant })
}

/// Reads labels of one run. `chosen` has pairs of row and output index, ascending.
fn of_rows(
    gathered: &Gathered<'_>,
    run: u32,
    chosen: &[(u32, u32)],
    writer: &mut Writer<'_>,
    budget: &Budget,
) -> Result<(), StageError> {
    let table = gathered.table;
    let place = &gathered.runs[run as usize].folder;
    let of_run = OfRun::read(place, table, gathered.source, budget)?;
    let mut reader = Reader::open(&place.join(table.compared.file))?;
    let mut columns: Vec<&str> = signatures::columns(table, gathered.source).to_vec();
    columns.extend(table.keys.iter().filter(|key| !columns.contains(*key)).copied().collect::<Vec<_>>());
    columns.retain(|column| reader.has(column));
    let sparse = reader.rows() > SPARSE * chosen.len() as u64;
    if sparse {
        let rows: Vec<u32> = chosen.iter().map(|(row, _)| *row).collect();
        reader = reader.only(&rows)?;
    }
    let mut chosen = chosen.iter().copied().peekable();
    let mut batches = reader.columns(&columns)?;
    while let Some(batch) = batches.batch()? {
        for row in 0..batch.len() {
            let number = batch.first_row() as usize + row;
            let Some((_, at)) = chosen.next_if(|(wanted, _)| sparse || *wanted as usize == number) else { continue };
            let signature = signatures::of(table, (&batch, row), gathered.source, &of_run)?;
            writer.write(at, &Labels { keys: keys(table, &batch, row)?, signature })?;
        }
    }
    Ok(())
}

/// Key columns of a row; null if an old table lacks the column.
fn keys(table: &DiffTable, batch: &Batch, row: usize) -> Result<Vec<Option<String>>, StageError> {
    let key = |name: &&str| {
        let name = match *name {
            // Its name in schema version 2.
            "method_signature" if !batch.has(name) => signatures::SIGNATURE,
            name => name,
        };
        Ok(if batch.has(name) { value(batch.texts(name)?, row).map(str::to_owned) } else { None })
    };
    table.keys.iter().map(key).collect()
}

struct Writer<'a> {
    folder: &'a Path,
    file: BufWriter<&'a File>,
    written: u64,
    places: Vec<(u64, u32)>,
}

impl Writer<'_> {
    fn write(&mut self, at: u32, labels: &Labels) -> Result<(), StageError> {
        let mut bytes = Vec::new();
        for text in labels.keys.iter().map(Option::as_deref).chain([Some(&*labels.signature)]) {
            bytes.extend(text.map_or(u32::MAX, |text| text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text.unwrap_or_default().as_bytes());
        }
        self.file.write_all(&bytes).map_err(|error| StageError::io(self.folder, "write to", error))?;
        self.places[at as usize] = (self.written, bytes.len() as u32);
        self.written += bytes.len() as u64;
        Ok(())
    }
}

impl LabelFile {
    /// Reads the labels of the row with index `at`.
    pub(crate) fn of(&self, at: usize) -> Result<Labels, StageError> {
        let (start, length) = self.places[at];
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, start).map_err(|error| StageError::io(&self.folder, "read from", error))?;
        let mut rest = bytes.as_slice();
        let mut keys = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk() {
            let length = u32::from_le_bytes(*length);
            let (text, after) = after.split_at(if length == u32::MAX { 0 } else { length as usize });
            keys.push((length != u32::MAX).then(|| String::from_utf8_lossy(text).into_owned()));
            rest = after;
        }
        let signature = keys.pop().flatten().unwrap_or_default();
        Ok(Labels { keys, signature })
    }
}
