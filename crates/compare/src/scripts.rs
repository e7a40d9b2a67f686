//! Scripts of a run, for signatures of V8 classes.

use heaplake_kit::{Budget, Reservation, StageError};
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::scripts;
use rustc_hash::FxHashMap;
use std::path::Path;

/// Bytes per script in a map, which may be half empty and growing, without its URL.
const SCRIPT_BYTES: u64 = 64;

/// Script URLs by id.
#[derive(Default)]
pub(crate) struct Scripts {
    urls: FxHashMap<u32, Box<str>>,
    _held: Option<Reservation>,
}

impl Scripts {
    /// Reads the scripts of a run; empty if it lacks the table.
    pub(crate) fn read(folder: &Path, budget: &Budget) -> Result<Self, StageError> {
        let Some(reader) = Reader::open_if_present(&folder.join(scripts::TABLE.file))? else {
            return Ok(Self::default());
        };
        let (mut urls, mut held) = (FxHashMap::default(), budget.reserve("scripts of a snapshot", 0)?);
        let mut batches = reader.columns(&["script_id", "url"])?;
        while let Some(batch) = batches.batch()? {
            let (ids, texts) = (batch.u32s("script_id")?, batch.texts("url")?);
            for row in 0..batch.len() {
                if let Some(url) = value(texts, row) {
                    held.grow(SCRIPT_BYTES + url.len() as u64)?;
                    urls.insert(ids.value(row), url.into());
                }
            }
        }
        Ok(Self { urls, _held: Some(held) })
    }

    /// URL of the script whose id starts a class key.
    pub(crate) fn of_class(&self, key: &str) -> Option<&str> {
        let (id, _) = key.split_once(',')?;
        self.urls.get(&id.parse().ok()?).map(|url| &**url)
    }
}
