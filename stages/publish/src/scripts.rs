//! Stage `scripts table`: the scripts as a table.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::scripts`].

use crate::writer::write;
use arrow::datatypes::UInt32Type;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{ColumnReader, Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::{Source, read};
use heaplake_lake::text::{NONE, Texts};
use heaplake_names::source_maps::of_script;
use heaplake_schemas::options::{SourceMap, SourceMaps, TableName};
use heaplake_schemas::scratch::{SCRIPT_ID, SCRIPT_URL, STRINGS};
use heaplake_schemas::scripts::TABLE;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "scripts table",
    version: 2,
    when: |setting| setting.has(TableName::Scripts),
    reads: &[column(SCRIPT_ID), column(SCRIPT_URL), texts(STRINGS)],
    fixed: 8 << 20,
    passes: "scripts once",
    run,
    ..Stage::NEW
};

/// Names of the source maps, and the position of each script's map among them.
fn used(
    maps: Option<&SourceMaps>,
    strings: &StringTable,
    job: &Job<'_>,
) -> Result<(Vec<String>, Vec<u32>), StageError> {
    let mut urls = ColumnReader::open(job.scratch, SCRIPT_URL)?;
    let count = urls.remaining() as usize;
    let Some(maps) = maps else { return Ok((Vec::new(), vec![NONE; count])) };
    let file = |map: &SourceMap| map.path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let names = maps.maps.iter().map(file).collect();
    let mut of_scripts = Vec::with_capacity(count);
    for url in read(&mut urls, count)? {
        job.context.check()?;
        let url = url.get().map(|url| strings.text(url as usize));
        let map = url.and_then(|url| of_script(maps, &url));
        let at = map.and_then(|map| maps.maps.iter().position(|other| std::ptr::eq(map, other)));
        of_scripts.push(at.map_or(NONE, |at| at as u32));
    }
    Ok((names, of_scripts))
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let strings = StringTable::open(job.scratch, STRINGS)?;
    let mut urls = ColumnReader::open(job.scratch, SCRIPT_URL)?;
    let count = urls.remaining();
    let maps = job.setting.options.source_maps();
    let (names, of_scripts) = used(maps, &strings, job)?;
    let mut of_scripts = of_scripts.into_iter();
    let sources = vec![
        Source::column::<_, UInt32Type>(job.scratch, SCRIPT_ID)?,
        Source::texts(Texts::Table(&strings), move |rows| {
            Ok(read(&mut urls, rows)?.into_iter().map(|url| url.get().unwrap_or(NONE)).collect())
        }),
        Source::texts(Texts::Names(&names), move |rows| Ok(of_scripts.by_ref().take(rows).collect())),
    ];
    write(job, STAGE.name, &TABLE, sources, count)
}
