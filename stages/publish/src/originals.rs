//! Original names of classes of minified scripts, by source maps.

use crate::script_urls::Scripts;
use heaplake_kit::{BudgetVec, Job, Reservation, StageError, StringTable};
use heaplake_names::source_maps::{BYTES_PER_BYTE, MapError, Place, of_script, originals, read};
use heaplake_paths::chains::cut;
use heaplake_schemas::options::{SourceMap, SourceMaps};

/// Bytes per class, besides its row.
const CLASS: u64 = 512;

/// A class in a script, by the parts of its key.
struct Located {
    script: u32,
    place: Place,
    class: u32,
}

/// A class as its author wrote it: its key with the original name, and its file.
struct Written {
    class: u32,
    key: String,
    source: Option<String>,
}

/// Classes that source maps describe.
#[derive(Default)]
pub(crate) struct Originals {
    /// Sorted by class.
    written: Vec<Written>,
    _reserved: Option<Reservation>,
}

impl Originals {
    /// Reads the maps of scripts with classes, one after the other. An unusable map is [`StageError::Refused`].
    pub(crate) fn of(
        maps: &SourceMaps,
        keys: &StringTable,
        scripts: &Scripts,
        job: &Job<'_>,
    ) -> Result<Self, StageError> {
        let (located, reserved) = located(keys, job)?;
        let mut written = Vec::new();
        for classes in located.chunk_by(|one, next| one.script == next.script) {
            let url = scripts.url(classes[0].script);
            let Some(map) = url.and_then(|url| of_script(maps, &url)) else { continue };
            job.context.check()?;
            add(map, classes, &mut written, job)?;
        }
        written.sort_unstable_by_key(|class| class.class);
        Ok(Self { written, _reserved: Some(reserved) })
    }

    /// Returns key and file of a class, if known.
    pub(crate) fn of_class(&self, class: u32) -> Option<(&str, &Option<String>)> {
        let at = self.written.binary_search_by_key(&class, |written| written.class).ok()?;
        Some((&self.written[at].key, &self.written[at].source))
    }
}

/// Returns the classes with a place in their key, sorted by script and place.
fn located(keys: &StringTable, job: &Job<'_>) -> Result<(BudgetVec<Located>, Reservation), StageError> {
    let mut located = job.context.budget.growing("source maps: classes");
    let mut reserved = job.context.budget.reserve("source maps: names of classes", 0)?;
    for class in 0..keys.len() {
        let key = keys.text(class);
        let mut parts = key.splitn(4, ',');
        let mut number = || parts.next()?.parse().ok();
        let (Some(script), Some(line), Some(column)) = (number(), number(), number()) else { continue };
        let name = cut(parts.next().unwrap_or_default().into()).into_owned();
        reserved.grow(CLASS)?;
        located.push(Located { script, place: Place { line, column, name }, class: class as u32 })?;
    }
    located.sort_unstable_by(|one, other| {
        (one.script, &one.place, one.class).cmp(&(other.script, &other.place, other.class))
    });
    Ok((located, reserved))
}

/// Adds the classes of a map's script.
fn add(map: &SourceMap, classes: &[Located], written: &mut Vec<Written>, job: &Job<'_>) -> Result<(), StageError> {
    let bytes = map.bytes.saturating_mul(BYTES_PER_BYTE);
    let _reserved = job.context.budget.reserve("a source map", bytes)?;
    let content = read(map).map_err(|error| refused(&error))?;
    let places: Vec<Place> = classes.iter().map(|class| class.place.clone()).collect();
    let originals =
        originals(&content, &places).map_err(|problem| refused(&MapError { file: map.path.clone(), problem }))?;
    for (class, original) in classes.iter().zip(originals) {
        if original.source.is_none() && original.name.is_none() {
            continue;
        }
        let Place { line, column, name } = &class.place;
        let name = original.name.as_deref().unwrap_or(name);
        let key = format!("{},{line},{column},{}", class.script, cut(name.into()));
        written.push(Written { class: class.class, key, source: original.source.map(end_of) });
    }
    Ok(())
}

/// The last characters of a path, the most informative ones.
fn end_of(path: String) -> String {
    const MOST: usize = 200;
    match path.char_indices().rev().nth(MOST) {
        Some((at, _)) => path[at..].to_owned(),
        None => path,
    }
}

fn refused(error: &MapError) -> StageError {
    let advice = "name source maps of the scripts of this snapshot with --source-maps, or leave the option out";
    StageError::Refused { problem: error.to_string(), advice: advice.to_owned() }
}
