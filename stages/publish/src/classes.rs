//! Stage `classes table`: the class rows as a table.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::classes`].

use crate::rows::{Rows, write};
use crate::signature_columns::signed;
use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{ColumnMap, Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::{Source, sizes};
use heaplake_lake::text::{NONE, Texts};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch::{self as columns, CLASS_KEYS, CLASS_SIGNATURES, STRINGS, documents};
use std::sync::Arc;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "classes table",
    version: 3,
    when: |setting| setting.has(TableName::Classes),
    reads: &[
        document(documents::METADATA),
        column(columns::CLASS_ROW),
        column(columns::CLASS_NAME),
        column(columns::CLASS_BIG),
        column(columns::CLASS_DUPLICATE_COUNT).if_any(),
        column(columns::CLASS_DUPLICATE_BYTES).if_any(),
        texts(CLASS_KEYS),
        texts(CLASS_SIGNATURES),
        texts(STRINGS),
    ],
    fixed: 8 << 20,
    passes: "class rows once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let scratch = job.scratch;
    let strings = StringTable::open(scratch, STRINGS)?;
    let signatures = StringTable::open(scratch, CLASS_SIGNATURES)?;
    let names = ColumnMap::uncounted(scratch, columns::CLASS_NAME)?;
    let big = ColumnMap::uncounted(scratch, columns::CLASS_BIG)?;
    let rows = Rows::of(scratch, columns::CLASS_ROW);
    let classes = || rows.values(|row| row.class_id);
    let mut computed = signed(&signatures, classes)?;
    let (mut named, mut sized) = (classes()?, classes()?);
    let position = |class: u32| names[class as usize].get().unwrap_or(NONE);
    let named = move |count| Ok(named(count)?.into_iter().map(position).collect());
    computed.push(("class", Source::texts(Texts::Table(&strings), named)));
    computed.push((
        "big",
        Source::values(move |count| {
            let classes = sized(count)?;
            let big = BooleanBuffer::collect_bool(count, |row| big[classes[row] as usize] != 0);
            Ok(Arc::new(BooleanArray::new(big, None)))
        }),
    ));
    if job.metadata()?.has_native {
        let mut native = rows.values(|row| row.native_bytes)?;
        computed.push(("native_bytes", Source::values(move |count| Ok(sizes(native(count)?)))));
    }
    let duplicates =
        [("duplicate_count", columns::CLASS_DUPLICATE_COUNT), ("duplicate_bytes", columns::CLASS_DUPLICATE_BYTES)];
    for (name, column) in duplicates.into_iter().filter(|(_, column)| scratch.has(*column)) {
        let (of_class, mut classes) = (ColumnMap::uncounted(scratch, column)?, classes()?);
        let sums = move |count| Ok(sizes(classes(count)?.into_iter().map(|class| of_class[class as usize]).collect()));
        computed.push((name, Source::values(sums)));
    }
    write::<ClassRow>(job, STAGE.name, computed)
}
