//! Metadata tables of ECMA-335: their positions, column widths and cells.

use crate::bytes::{array, offset, part, u16, u32};

/// Numbers of tables.
pub(crate) const TYPE_DEF: usize = 0x02;
pub(crate) const METHOD_DEF: usize = 0x06;
pub(crate) const NESTED_CLASS: usize = 0x29;

/// Maximum number of tables.
const TABLES: usize = 64;

/// First bytes of metadata.
pub(crate) const MAGIC: &[u8] = b"BSJB";

/// A column of a table.
#[derive(Clone, Copy)]
enum Column {
    /// Fixed number of bytes.
    Bytes(usize),
    /// Offset in the heap of strings, GUIDs or blobs.
    String,
    Guid,
    Blob,
    /// Row number of a table.
    Row(usize),
    /// Row number of one of several tables; the low bits select the table.
    OneOf(u32, &'static [usize]),
}

use Column::{Blob, Bytes, Guid, OneOf, Row, String as Text};

const TYPE: Column = OneOf(2, &[0x02, 0x01, 0x1b]);
const ATTRIBUTED: &[usize] = &[
    0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14, 0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27, 0x28,
    0x2a, 0x2c, 0x2b,
];
const METHOD: Column = OneOf(1, &[0x06, 0x0a]);
const IMPLEMENTATION: Column = OneOf(2, &[0x26, 0x23, 0x27]);

/// Columns of the tables up to the last one read, by number (ECMA-335, II.22).
const COLUMNS: [&[Column]; NESTED_CLASS + 1] = [
    &[Bytes(2), Text, Guid, Guid, Guid],
    &[OneOf(2, &[0x00, 0x1a, 0x23, 0x01]), Text, Text],
    &[Bytes(4), Text, Text, TYPE, Row(0x04), Row(0x06)],
    &[Row(0x04)],
    &[Bytes(2), Text, Blob],
    &[Row(0x06)],
    &[Bytes(4), Bytes(2), Bytes(2), Text, Blob, Row(0x08)],
    &[Row(0x08)],
    &[Bytes(2), Bytes(2), Text],
    &[Row(0x02), TYPE],
    &[OneOf(3, &[0x02, 0x01, 0x1a, 0x06, 0x1b]), Text, Blob],
    &[Bytes(2), OneOf(2, &[0x04, 0x08, 0x17]), Blob],
    &[OneOf(5, ATTRIBUTED), OneOf(3, &[0x06, 0x0a]), Blob],
    &[OneOf(1, &[0x04, 0x08]), Blob],
    &[Bytes(2), OneOf(2, &[0x02, 0x06, 0x20]), Blob],
    &[Bytes(2), Bytes(4), Row(0x02)],
    &[Bytes(4), Row(0x04)],
    &[Blob],
    &[Row(0x02), Row(0x14)],
    &[Row(0x14)],
    &[Bytes(2), Text, TYPE],
    &[Row(0x02), Row(0x17)],
    &[Row(0x17)],
    &[Bytes(2), Text, Blob],
    &[Bytes(2), Row(0x06), OneOf(1, &[0x14, 0x17])],
    &[Row(0x02), METHOD, METHOD],
    &[Text],
    &[Blob],
    &[Bytes(2), OneOf(1, &[0x04, 0x06]), Text, Row(0x1a)],
    &[Bytes(4), Row(0x04)],
    &[Bytes(4), Bytes(4)],
    &[Bytes(4)],
    &[Bytes(4), Bytes(8), Bytes(4), Blob, Text, Text],
    &[Bytes(4)],
    &[Bytes(4), Bytes(4), Bytes(4)],
    &[Bytes(8), Bytes(4), Blob, Text, Text, Blob],
    &[Bytes(4), Row(0x23)],
    &[Bytes(4), Bytes(4), Bytes(4), Row(0x23)],
    &[Bytes(4), Text, Blob],
    &[Bytes(4), Bytes(4), Text, Text, IMPLEMENTATION],
    &[Bytes(4), Bytes(4), Text, IMPLEMENTATION],
    &[Row(0x02), Row(0x02)],
];

/// Position, rows and row width of a table.
#[derive(Clone, Copy, Default)]
struct Table {
    place: usize,
    rows: usize,
    width: usize,
}

/// The metadata of an assembly.
pub(crate) struct Metadata<'a> {
    /// The stream of tables.
    stream: &'a [u8],
    strings: &'a [u8],
    tables: [Table; NESTED_CLASS + 1],
    widths: Widths,
}

/// Sizes that determine the widths of columns.
struct Widths {
    /// Bits of the heaps with offsets of four bytes: strings, GUIDs, blobs.
    heaps: u8,
    rows: [usize; TABLES],
}

impl Widths {
    fn of(&self, column: Column) -> usize {
        let wide = |wide: bool| if wide { 4 } else { 2 };
        match column {
            Bytes(count) => count,
            Text => wide(self.heaps & 1 != 0),
            Guid => wide(self.heaps & 2 != 0),
            Blob => wide(self.heaps & 4 != 0),
            Row(table) => wide(self.rows[table] >= 1 << 16),
            OneOf(bits, tables) => wide(tables.iter().any(|&table| self.rows[table] >= 1 << (16 - bits))),
        }
    }
}

impl<'a> Metadata<'a> {
    /// Finds the tables; an error is a few words.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, &'static str> {
        if !bytes.starts_with(MAGIC) {
            return Err("its metadata does not begin as such");
        }
        let streams = Streams::of(bytes).ok_or("the list of its streams ends too early")?;
        let stream = streams.tables.ok_or("it has no tables")?;
        let (tables, widths) = tables(stream).ok_or("its tables end too early")?;
        Ok(Self { stream, strings: streams.strings.unwrap_or_default(), tables, widths })
    }

    /// Number of rows of a table.
    pub(crate) fn rows(&self, table: usize) -> u32 {
        self.tables[table].rows as u32
    }

    /// Cell of a row (from 1) and column (from 0).
    pub(crate) fn cell(&self, table: usize, row: u32, column: usize) -> Option<u32> {
        let Table { place, rows, width } = self.tables[table];
        let before = (row as usize).checked_sub(1).filter(|&before| before < rows)?;
        let columns = COLUMNS[table];
        let within: usize = columns.iter().take(column).map(|&column| self.widths.of(column)).sum();
        let at = place + before * width + within;
        match self.widths.of(*columns.get(column)?) {
            2 => u16(self.stream, at).map(u32::from),
            _ => u32(self.stream, at),
        }
    }

    /// Text of a cell with an offset in the strings.
    pub(crate) fn text(&self, table: usize, row: u32, column: usize) -> Option<&'a str> {
        let text = self.strings.get(self.cell(table, row, column)? as usize..)?;
        let end = text.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&text[..end]).ok()
    }
}

/// Streams of the metadata that are read.
#[derive(Default)]
struct Streams<'a> {
    tables: Option<&'a [u8]>,
    strings: Option<&'a [u8]>,
}

impl<'a> Streams<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let mut at = offset(bytes, 12)?.checked_add(16)?;
        let count = u16(bytes, at.checked_add(2)?)?;
        at += 4;
        let mut found = Self::default();
        for _ in 0..count {
            let (place, length) = (offset(bytes, at)?, offset(bytes, at + 4)?);
            let name = bytes.get(at + 8..)?;
            let end = name.iter().take(32).position(|&byte| byte == 0)?;
            match &name[..end] {
                b"#~" | b"#-" => found.tables = Some(part(bytes, place, length)?),
                b"#Strings" => found.strings = Some(part(bytes, place, length)?),
                _ => {}
            }
            at += 8 + (end + 1).next_multiple_of(4);
        }
        Some(found)
    }
}

/// Positions of the tables, and the sizes that determine their column widths.
fn tables(stream: &[u8]) -> Option<([Table; NESTED_CLASS + 1], Widths)> {
    let heaps = *stream.get(6)?;
    let present = u64::from_le_bytes(array(stream, 8)?);
    let (mut at, mut rows) = (24, [0; TABLES]);
    for (table, rows) in rows.iter_mut().enumerate().filter(|(table, _)| present >> table & 1 != 0) {
        // In some tables the upper bits of the row count have no known meaning.
        *rows = offset(stream, at).filter(|&rows| table >= COLUMNS.len() || rows < 1 << 24)?;
        at += 4;
    }
    if heaps & 0x40 != 0 {
        at += 4;
    }
    let widths = Widths { heaps, rows };
    let mut tables = [Table::default(); NESTED_CLASS + 1];
    for (table, columns) in tables.iter_mut().zip(COLUMNS).zip(rows).map(|((table, columns), rows)| {
        table.rows = rows;
        (table, columns)
    }) {
        table.width = columns.iter().map(|&column| widths.of(column)).sum();
        table.place = at;
        at += table.rows * table.width;
    }
    (at <= stream.len()).then_some((tables, widths))
}
