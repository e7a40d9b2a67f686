//! Source locations of nodes: the section `locations` and its columns.

use super::header::{Header, position};
use super::rows::{Limit, NodeWidth, U32, beyond, first_of, flaw};
use super::salvage::BadReferences;
use bytemuck::{Pod, Zeroable};
use heaplake_input::bytes::Bytes;
use heaplake_input::chunks::{BadNumber, Place};
use heaplake_input::numbers::Sign;
use heaplake_kit::sorter::Sorter;
use heaplake_kit::{ColumnReader, ColumnWriter, Context, Scratch, StageError, create_all, finish_all, open_all};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column};

const SORTED: [Column<Location>; 2] = [Column::new("v8.locations.a"), Column::new("v8.locations.b")];

/// Locations that are sorted in memory; more are merged from disk.
const AT_ONCE: u64 = 1 << 18;
/// Lower bound of [`AT_ONCE`] for a file of few nodes, which may still have many locations.
const AT_LEAST: u64 = 1 << 15;

/// Reads the section; the last location of a node counts. Locations are sorted on disk if they do not fit, 20 bytes
/// each. With `bad`, invalid locations go there and are dropped, and the rows before an error remain.
pub fn read(
    header: &Header,
    scanner: &mut Bytes<'_>,
    mut bad: Option<&mut BadReferences>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let Some(rows) = LocationRows::new(header) else { return scanner.skip_value() };
    let at_once = header.node_count.clamp(AT_LEAST, AT_ONCE) as usize;
    let mut sorter = Sorter::new("source locations", at_once, SORTED, &context.budget, scratch)?;
    let mut order = 0;
    let salvage = bad.is_some();
    let read = scanner.number_columns(
        (rows.width, Sign::Unsigned),
        |numbers, place, columns| rows.read(numbers, place, salvage, columns),
        |columns: &mut LocationColumns| {
            bad.iter_mut().for_each(|bad| bad.append(&mut columns.bad));
            columns.rows.drain(..).try_for_each(|location| {
                order += 1;
                sorter.push(Location { order, ..location })
            })
        },
    );
    let flaw = match read {
        Err(error @ StageError::Input(_)) if salvage => Err(error),
        other => other.map(Ok)?,
    };
    let mut sorted = sorter.finish()?;
    let mut writer = Writer::create(scratch)?;
    let mut last: Option<Location> = None;
    while let Some(location) = sorted.pop()? {
        if let Some(last) = last.replace(location).filter(|last| last.node != location.node) {
            writer.push(last)?;
        }
        context.check_every(1 << 16, location.order)?;
    }
    last.map_or(Ok(()), |last| writer.push(last))?;
    writer.finish()?;
    flaw.map(drop)
}

/// Writes the columns without locations.
pub fn write_none(scratch: &Scratch) -> Result<(), StageError> {
    Writer::create(scratch)?.finish()
}

/// Writes the columns of locations.
struct Writer {
    node: ColumnWriter<NodeId>,
    script: ColumnWriter<u32>,
    line: ColumnWriter<u32>,
    column: ColumnWriter<u32>,
}

impl Writer {
    fn create(scratch: &Scratch) -> Result<Self, StageError> {
        let (node, script, line, column) = create_all(
            scratch,
            (columns::LOCATION_NODE, columns::LOCATION_SCRIPT, columns::LOCATION_LINE, columns::LOCATION_COLUMN),
        )?;
        Ok(Self { node, script, line, column })
    }

    fn push(&mut self, location: Location) -> Result<(), StageError> {
        self.node.push(NodeId(location.node))?;
        self.script.push(location.script)?;
        self.line.push(location.line)?;
        self.column.push(location.column)
    }

    fn finish(self) -> Result<(), StageError> {
        finish_all((self.node, self.script, self.line, self.column))
    }
}

/// A source location of a node, as in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Location {
    node: u32,
    /// Position among the file's locations: of two for one node, the later counts.
    order: u32,
    script: u32,
    line: u32,
    column: u32,
}

/// Rows of `locations`.
#[derive(Default)]
struct LocationColumns {
    rows: Vec<Location>,
    /// Invalid values; their locations are dropped.
    bad: BadReferences,
}

/// Reads rows of `locations` into [`Location`]s.
struct LocationRows {
    /// Numbers in a row.
    width: usize,
    object: usize,
    script: usize,
    line: usize,
    column: usize,
    /// Limits of object, script, line and column.
    limits: [Limit; 4],
    node_width: NodeWidth,
}

impl LocationRows {
    /// `None` if the header lacks one of the fields.
    fn new(header: &Header) -> Option<Self> {
        let fields = &header.location_fields;
        let (object, script) = (position(fields, "object_index")?, position(fields, "script_id")?);
        let (line, column) = (position(fields, "line")?, position(fields, "column")?);
        let limit = |at, below, name| Limit { at: Some(at), below, name };
        let limits = [
            limit(object, header.node_count * header.node.width as u64, "a node offset"),
            limit(script, U32, "a script id"),
            limit(line, U32, "a line"),
            limit(column, U32, "a column"),
        ];
        let node_width = NodeWidth::new(header.node.width);
        Some(Self { width: fields.len(), object, script, line, column, limits, node_width })
    }

    /// Appends the locations of a batch of rows to `columns`. With `salvage`, invalid ones are dropped.
    fn read(
        &self,
        rows: &[u64],
        place: &Place<'_>,
        salvage: bool,
        columns: &mut LocationColumns,
    ) -> Result<(), BadNumber> {
        let misaligned = self.node_width.misaligned(rows, self.width, self.object);
        let refused = first_of(beyond(rows, self.width, &self.limits), misaligned);
        let flawed = refused.is_err();
        if flawed && !salvage {
            return refused;
        }
        for (row, numbers) in rows.chunks_exact(self.width).enumerate() {
            if flawed && let Some((at, expected)) = flaw(&self.limits, (self.node_width, self.object), |at| numbers[at])
            {
                columns.bad.note(place, row * self.width + at, numbers[at], &expected);
                continue;
            }
            columns.rows.push(Location {
                node: self.node_width.divide(numbers[self.object]).0 as u32,
                order: 0,
                script: numbers[self.script] as u32,
                line: numbers[self.line] as u32,
                column: numbers[self.column] as u32,
            });
        }
        Ok(())
    }
}

/// Reads the source locations in order.
pub struct Locations {
    node: ColumnReader<NodeId>,
    script: ColumnReader<u32>,
    line: ColumnReader<u32>,
    column: ColumnReader<u32>,
    next: Option<(u64, [u32; 3])>,
}

impl Locations {
    /// Starts before the first one.
    pub fn open(scratch: &Scratch) -> Result<Self, StageError> {
        let (node, script, line, column) = open_all(
            scratch,
            (columns::LOCATION_NODE, columns::LOCATION_SCRIPT, columns::LOCATION_LINE, columns::LOCATION_COLUMN),
        )?;
        let mut locations = Self { node, script, line, column, next: None };
        locations.advance()?;
        Ok(locations)
    }

    fn advance(&mut self) -> Result<(), StageError> {
        self.next = if self.node.remaining() == 0 {
            None
        } else {
            let place = [self.script.next()?, self.line.next()?, self.column.next()?];
            Some((u64::from(self.node.next()?.0), place))
        };
        Ok(())
    }

    /// Returns script, line and column of a node; calls must ascend.
    #[inline]
    pub fn at(&mut self, node: u64) -> Result<Option<[u32; 3]>, StageError> {
        match self.next {
            Some((next, place)) if next == node => {
                self.advance()?;
                Ok(Some(place))
            }
            _ => Ok(None),
        }
    }
}

/// Calls `show` with the node and script number of each location.
pub fn each(scratch: &Scratch, mut show: impl FnMut(NodeId, u32) -> Result<(), StageError>) -> Result<(), StageError> {
    let (mut nodes, mut scripts) = open_all(scratch, (columns::LOCATION_NODE, columns::LOCATION_SCRIPT))?;
    while nodes.remaining() > 0 {
        show(nodes.next()?, scripts.next()?)?;
    }
    Ok(())
}
