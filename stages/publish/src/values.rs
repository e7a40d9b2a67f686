//! Stage `values table`: contents of nodes, on request.
//!
//! * Resident memory: a batch of a column for each thread and a row group, [`WRITER_BYTES`] at most.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::values`].

use crate::rows::write;
use arrow::array::{ArrayRef, StringBuilder};
use arrow::datatypes::UInt32Type;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{ColumnReader, Job, Scratch, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::{Source, array, read};
use heaplake_lake::table::WRITER_BYTES;
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch::STRINGS;
use heaplake_schemas::values::{NO_TEXT, VALUE_DEGREE, VALUE_ROW, VALUE_TEXTS, ValueRow, kind};
use std::sync::Arc;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "values table",
    when: |setting| setting.has(TableName::Values),
    reads: &[column(VALUE_DEGREE), column(VALUE_ROW), texts(VALUE_TEXTS), texts(STRINGS)],
    fixed: WRITER_BYTES,
    passes: "values once",
    run,
    ..Stage::NEW
};

/// Maximum characters and bytes of a text: a batch of 65,536 must fit beside the writer's buffers.
const SHOWN: usize = 120;
const SHOWN_BYTES: usize = 160;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let _writer = job.context.budget.reserve("values: Parquet writer", WRITER_BYTES)?;
    let scratch = job.scratch;
    let (strings, arrays) = (StringTable::open(scratch, STRINGS)?, StringTable::open(scratch, VALUE_TEXTS)?);
    let mut shown = ColumnReader::open(scratch, VALUE_ROW)?;
    let (mut nodes, mut positions) = (Nodes::open(scratch)?, Nodes::open(scratch)?);
    let texts = |rows| {
        let mut texts = StringBuilder::new();
        for row in read(&mut shown, rows)? {
            texts.append_option(text(&row, &strings, &arrays));
        }
        Ok(Arc::new(texts.finish()) as ArrayRef)
    };
    let computed = vec![
        ("node", Source::values(move |rows| Ok(array::<UInt32Type>(nodes.next(rows, |node, _| node)?)))),
        (
            "position",
            Source::values(move |rows| Ok(array::<UInt32Type>(positions.next(rows, |_, position| position)?))),
        ),
        ("value", Source::values(texts)),
    ];
    write::<ValueRow>(job, STAGE.name, computed)
}

/// Computes the node of each value, and its position among the node's values.
struct Nodes {
    degrees: ColumnReader<u32>,
    /// One more than the current node.
    node: u32,
    degree: u32,
    left: u32,
}

impl Nodes {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self { degrees: ColumnReader::open(scratch, VALUE_DEGREE)?, node: 0, degree: 0, left: 0 })
    }

    fn next(&mut self, rows: usize, of: impl Fn(u32, u32) -> u32) -> Result<Vec<u32>, StageError> {
        let mut values = Vec::with_capacity(rows);
        while values.len() < rows {
            while self.left == 0 {
                self.degree = self.degrees.next()?;
                self.left = self.degree;
                self.node += 1;
            }
            values.push(of(self.node - 1, self.degree - self.left));
            self.left -= 1;
        }
        Ok(values)
    }
}

/// Text of a value; `None` without one.
fn text(row: &ValueRow, strings: &StringTable, arrays: &StringTable) -> Option<String> {
    let bits = row.bits;
    let beginning = |texts: &StringTable| (bits != NO_TEXT).then(|| cut(&texts.beginning(bits as usize, SHOWN + 1)));
    match row.kind {
        kind::REFERENCE | kind::TEXT | kind::NUMBER => beginning(strings),
        kind::ELEMENTS => beginning(arrays),
        kind::LENGTH | kind::MORE => Some(bits.to_string()),
        kind::ADDRESS => Some(format!("{bits:#x}")),
        of => number(of, bits),
    }
}

/// Truncates a text.
fn cut(text: &str) -> String {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take(SHOWN).take_while(|&end| end <= SHOWN_BYTES).last().unwrap_or(0);
    if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() }
}

/// Text of a primitive value.
fn number(of: u8, bits: u64) -> Option<String> {
    Some(match *kind::NAMES.get(usize::from(of))? {
        "boolean" => (bits != 0).to_string(),
        "char" => format!("{:?}", char::from_u32(bits as u32).unwrap_or(char::REPLACEMENT_CHARACTER)),
        "float" => format!("{:?}", f32::from_bits(bits as u32)),
        "double" => format!("{:?}", f64::from_bits(bits)),
        "byte" => (bits as u8 as i8).to_string(),
        "short" => (bits as u16 as i16).to_string(),
        "int" => (bits as u32 as i32).to_string(),
        "long" => (bits as i64).to_string(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut() {
        assert_eq!([cut(""), cut("abc")], ["", "abc"]);
        assert_eq!([cut(&"x".repeat(120)), cut(&"x".repeat(121))], ["x".repeat(120), "x".repeat(120) + "…"]);
        assert_eq!(cut(&"€".repeat(60)), "€".repeat(53) + "…");
    }

    #[test]
    fn numbers_of_all_types() {
        let all = [(4, 1), (5, 'x'.into()), (6, f32::to_bits(1.5).into()), (7, (-0.0f64).to_bits()), (8, 0xff)];
        let texts: Vec<String> = all.iter().filter_map(|&(of, bits)| number(of, bits)).collect();
        assert_eq!(texts, ["true", "'x'", "1.5", "-0.0", "-1"]);
        let all = [(9, 0x8000), (10, 0xffff_fffe), (11, u64::MAX)];
        let texts: Vec<String> = all.iter().filter_map(|&(of, bits)| number(of, bits)).collect();
        assert_eq!(texts, ["-32768", "-2", "-1"]);
        assert_eq!(number(kind::NULL, 0), None);
    }
}
