//! Columns of the table of nodes for nodes with a source location.

use arrow::buffer::BooleanBuffer;
use arrow::datatypes::UInt32Type;
use bytemuck::Pod;
use heaplake_kit::{ColumnMap, ColumnReader, Scratch, StageError, StringTable};
use heaplake_lake::source::{Source, nullable};
use heaplake_lake::text::{NONE, Texts};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{Column, LOCATION_NODE, LOCATION_SCRIPT, SCRIPT_ID, SCRIPT_URL};
use heaplake_schemas::symbols::{ORIGINAL_PLACE, ORIGINAL_TEXTS, OriginalPlace};

/// Column of a number of each source location, spread over all nodes; `u32::MAX` becomes null.
pub(crate) fn located<'a, T: Pod + Send + 'a>(
    scratch: &Scratch,
    part: Column<T>,
    number: fn(&T) -> u32,
) -> Result<Source<'a>, StageError> {
    if !scratch.has(part) {
        return Ok(Source::nothing());
    }
    let mut numbers = spread(scratch, LOCATION_NODE, part, number)?;
    Ok(Source::values(move |rows| {
        let values = numbers(rows)?;
        let valid = BooleanBuffer::collect_bool(rows, |row| values[row] != NONE);
        Ok(nullable::<UInt32Type>(values, valid))
    }))
}

/// Spreads a sparse column, with a number for each of `nodes`, over all nodes; the others get [`NONE`].
pub(crate) fn spread<'a, T: Pod + Send + 'a>(
    scratch: &Scratch,
    nodes: Column<NodeId>,
    part: Column<T>,
    number: fn(&T) -> u32,
) -> Result<impl FnMut(usize) -> Result<Vec<u32>, StageError> + Send + use<'a, T>, StageError> {
    let mut nodes = ColumnReader::open(scratch, nodes)?;
    let mut parts = ColumnReader::open(scratch, part)?;
    let mut first = 0;
    let mut next: Option<NodeId> = None;
    Ok(move |rows| {
        let mut values = vec![NONE; rows];
        while next.is_some() || nodes.remaining() > 0 {
            let node = match next.take() {
                Some(node) => node,
                None => nodes.next()?,
            };
            let row = (u64::from(node.0) - first) as usize;
            if row >= rows {
                next = Some(node);
                break;
            }
            values[row] = number(&parts.next()?);
        }
        first += rows as u64;
        Ok(values)
    })
}

/// Column of the script URLs of source locations.
pub(crate) fn urls<'a>(scratch: &Scratch, strings: Texts<'a>) -> Result<Source<'a>, StageError> {
    if !scratch.has(LOCATION_SCRIPT) || !scratch.has(SCRIPT_ID) {
        return Ok(Source::nothing());
    }
    let mut scripts = spread(scratch, LOCATION_NODE, LOCATION_SCRIPT, |&script: &u32| script)?;
    let numbers = ColumnMap::uncounted(scratch, SCRIPT_ID)?;
    let urls = ColumnMap::uncounted(scratch, SCRIPT_URL)?;
    let url = move |number: u32| numbers.binary_search(&number).ok().and_then(|row| urls[row].get()).unwrap_or(NONE);
    // Neighbours often share a script.
    let mut last = (NONE, NONE);
    let mut known = move |number| {
        if number != last.0 {
            last = (number, url(number));
        }
        last.1
    };
    Ok(Source::texts(strings, move |rows| Ok(scripts(rows)?.into_iter().map(&mut known).collect())))
}

/// Original files of scripts, by source maps.
pub(crate) struct Originals(Option<StringTable>);

impl Originals {
    /// Opens the texts.
    pub(crate) fn open(scratch: &Scratch) -> Result<Self, StageError> {
        let texts = if scratch.has(ORIGINAL_PLACE) { Some(StringTable::open(scratch, ORIGINAL_TEXTS)?) } else { None };
        Ok(Self(texts))
    }

    /// Columns of file, line, column and name.
    pub(crate) fn sources<'a>(&'a self, scratch: &Scratch) -> Result<[Source<'a>; 4], StageError> {
        let text = |number: fn(&OriginalPlace) -> u32| match &self.0 {
            Some(texts) => {
                let numbers = spread(scratch, LOCATION_NODE, ORIGINAL_PLACE, number)?;
                Ok(Source::texts(Texts::Table(texts), numbers))
            }
            None => Ok::<_, StageError>(Source::nothing()),
        };
        Ok([
            text(|place| place.file)?,
            located(scratch, ORIGINAL_PLACE, |place| place.line)?,
            located(scratch, ORIGINAL_PLACE, |place| place.column)?,
            text(|place| place.name)?,
        ])
    }
}
