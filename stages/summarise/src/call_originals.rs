//! Original places of the functions of a call tree, from the source maps of their scripts.

use heaplake_kit::{ColumnMap, Job, StageError, StringTable, StringWriter};
use heaplake_names::source_maps::{self, BYTES_PER_BYTE, Original, Place, of_script};
use heaplake_schemas::allocation_functions::FunctionRow;
use heaplake_schemas::ids::StringId;
use heaplake_schemas::options::{SourceMap, SourceMaps};
use heaplake_schemas::scratch::{self as columns, STRINGS};
use std::collections::BTreeMap;

/// No place, no text.
const NONE: u32 = u32::MAX;

/// Bytes per function during the lookup, with the texts of its place.
const FUNCTION: u64 = 640;

/// Places of functions, with their rows.
type Asked = Vec<(Place, usize)>;

/// Fills the original places of functions if their scripts have source maps.
///
/// # Errors
/// [`StageError::Refused`] if a map has changed or is damaged.
pub(crate) fn fill(rows: &mut [FunctionRow], texts: &mut StringWriter, job: &Job<'_>) -> Result<(), StageError> {
    let Some(maps) = job.setting.options.source_maps().filter(|_| !rows.is_empty()) else { return Ok(()) };
    let _reserved = job.context.budget.reserve("places of functions", rows.len() as u64 * FUNCTION)?;
    for (url, mut asked) in by_script(rows, maps, job)? {
        job.context.check()?;
        let Some(map) = of_script(maps, &url) else { continue };
        asked.sort_unstable();
        let (places, positions): (Vec<Place>, Vec<usize>) = asked.into_iter().unzip();
        for (original, at) in originals(map, &places, job)?.into_iter().zip(positions) {
            let row = &mut rows[at];
            if let (Some(file), Some(line), Some(column)) = (original.source, original.line, original.column) {
                row.original_file = push(texts, &file)?;
                row.original_line = from_one(line);
                row.original_column = from_one(column);
                row.original_name = push(texts, original.name.as_deref().unwrap_or_default())?;
            }
        }
    }
    Ok(())
}

/// Returns the functions with a place in a script with a map, by the URL of the script.
fn by_script(rows: &[FunctionRow], maps: &SourceMaps, job: &Job<'_>) -> Result<BTreeMap<String, Asked>, StageError> {
    let strings = StringTable::open(job.scratch, STRINGS)?;
    let names: ColumnMap<StringId> = ColumnMap::uncounted(job.scratch, columns::FUNCTION_NAME)?;
    let files: ColumnMap<StringId> = ColumnMap::uncounted(job.scratch, columns::FUNCTION_SCRIPT_NAME)?;
    let text = |id: StringId| id.get().map_or("".into(), |id| strings.text(id as usize));
    let mut by_script: BTreeMap<String, Asked> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.line != NONE && row.column != NONE) {
        let (url, name) = (text(files[row.function_id as usize]), text(names[row.function_id as usize]));
        let place = Place { line: row.line - 1, column: row.column - 1, name: name.into_owned() };
        if let Some(asked) = by_script.get_mut(&*url) {
            asked.push((place, at));
        } else if of_script(maps, &url).is_some() {
            by_script.insert(url.into_owned(), vec![(place, at)]);
        }
    }
    Ok(by_script)
}

/// Looks up ascending places in a map.
pub(crate) fn originals(map: &SourceMap, places: &[Place], job: &Job<'_>) -> Result<Vec<Original>, StageError> {
    let _reserved = job.context.budget.reserve("a source map", map.bytes.saturating_mul(BYTES_PER_BYTE))?;
    let refused = |problem: String| StageError::Refused {
        problem,
        advice: "name source maps of the scripts of this snapshot, or leave the option out".to_owned(),
    };
    let content = source_maps::read(map).map_err(|error| refused(error.to_string()))?;
    source_maps::originals(&content, places).map_err(|problem| refused(format!("{}: {problem}", map.path)))
}

/// Converts a number from 0 to one from 1.
fn from_one(number: u32) -> u32 {
    number.saturating_add(1).min(NONE - 1)
}

/// Adds a text; returns its position, [`NONE`] for an empty one.
pub(crate) fn push(texts: &mut StringWriter, text: &str) -> Result<u32, StageError> {
    if text.is_empty() {
        return Ok(NONE);
    }
    let position = texts.count() as u32;
    texts.push(text.as_bytes())?;
    Ok(position)
}
