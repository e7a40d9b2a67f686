//! Signatures of rows: those that a table has, or, for runs of older versions and other rules, made from its texts.
//!
//! Chains of such runs name classes without their scripts. Both sides are then made so, and agree.

use heaplake_kit::StageError;
use heaplake_lake::reader::{Batch, Reader, value};
use heaplake_names::{Names, fingerprint};
use heaplake_schemas::diff::DiffTable;
use heaplake_schemas::{classes, scripts};
use rustc_hash::FxHashMap;
use std::path::Path;

/// Column of tables that have signatures.
pub const SIGNATURE: &str = "signature";
/// Its hash.
pub const FINGERPRINT: &str = "fingerprint";

/// Where the signatures of all runs come from.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// The tables have them.
    Stored,
    /// They are made by these rules.
    Made(&'a Names),
}

/// What the rows of a run refer to.
#[derive(Default)]
pub struct OfRun {
    /// Signatures of classes, by id. Only where rows refer to classes and signatures are made.
    classes: FxHashMap<u32, String>,
    /// Fingerprints of classes, by id.
    fingerprints: FxHashMap<u32, u64>,
    /// URLs of scripts, by number.
    scripts: FxHashMap<u32, String>,
}

impl OfRun {
    /// Reads what rows of `table` refer to.
    ///
    /// # Errors
    /// As [`Reader`].
    pub fn read(place: &Path, table: &DiffTable, source: Source<'_>) -> Result<Self, StageError> {
        let mut of_run = Self::default();
        let needs_classes = match table.compared.name {
            "chains" => true,
            "findings" | "duplicate_sets" => matches!(source, Source::Made(_)),
            _ => false,
        };
        if matches!(source, Source::Made(_)) && (needs_classes || table.compared.name == "classes") {
            of_run.read_scripts(place)?;
        }
        if needs_classes {
            of_run.read_classes(place, source)?;
        }
        Ok(of_run)
    }

    fn read_scripts(&mut self, place: &Path) -> Result<(), StageError> {
        let Some(reader) = Reader::open_if_present(&place.join(scripts::FILE))? else { return Ok(()) };
        let mut batches = reader.columns(&["script_id", "url"])?;
        while let Some(batch) = batches.batch()? {
            let (ids, urls) = (batch.u32s("script_id")?, batch.texts("url")?);
            let named = (0..batch.len()).filter_map(|row| Some((ids.value(row), value(urls, row)?.to_owned())));
            self.scripts.extend(named);
        }
        Ok(())
    }

    fn read_classes(&mut self, place: &Path, source: Source<'_>) -> Result<(), StageError> {
        let Some(reader) = Reader::open_if_present(&place.join(classes::FILE))? else { return Ok(()) };
        let text = match source {
            Source::Stored => FINGERPRINT,
            Source::Made(_) => "class_key",
        };
        let mut batches = reader.columns(&["class_id", text])?;
        while let Some(batch) = batches.batch()? {
            let ids = batch.u32s("class_id")?;
            self.fingerprints.reserve(batch.len());
            match source {
                Source::Stored => {
                    let prints = batch.u64s(FINGERPRINT)?;
                    self.fingerprints.extend((0..batch.len()).map(|row| (ids.value(row), prints.value(row))));
                }
                Source::Made(names) => {
                    let keys = batch.texts("class_key")?;
                    for row in 0..batch.len() {
                        let signature = self.class(names, keys.value(row));
                        self.fingerprints.insert(ids.value(row), fingerprint(&signature));
                        self.classes.insert(ids.value(row), signature);
                    }
                }
            }
        }
        Ok(())
    }

    /// Signature of a class from its key, in which V8 puts the number of a script.
    fn class(&self, names: &Names, key: &str) -> String {
        let script = key.split_once(',').and_then(|(number, _)| self.scripts.get(&number.parse().ok()?));
        names.class(key, script.map(String::as_str))
    }

    /// Fingerprint of a class.
    #[must_use]
    pub fn fingerprint(&self, class: u32) -> u64 {
        self.fingerprints.get(&class).copied().unwrap_or(0)
    }
}

/// Columns from which signatures of a table are made, of those that may be missing in old runs too.
#[must_use]
pub fn columns(table: &DiffTable, source: Source<'_>) -> &'static [&'static str] {
    if matches!(source, Source::Stored) {
        return &[SIGNATURE];
    }
    match table.compared.name {
        "classes" => &["class_key"],
        "chains" => &["kind", "path"],
        "owners" => &["owner"],
        "duplicate_sets" => &["class_id", "class", "status", "preview"],
        "findings" => &["rule", "class_id", "subject", "stable_path", "place"],
        "allocation_types" => &["type"],
        "allocation_functions" => &["function", "method_signature", "signature", "module", "file"],
        _ => &["type", "generation"],
    }
}

/// Signature of a row of a batch that has [`columns`].
///
/// # Errors
/// As [`Batch`].
pub fn of(
    table: &DiffTable,
    (batch, row): (&Batch, usize),
    source: Source<'_>,
    run: &OfRun,
) -> Result<String, StageError> {
    let Source::Made(names) = source else { return Ok(batch.texts(SIGNATURE)?.value(row).to_owned()) };
    let text = |name: &str| Ok::<_, StageError>(value(batch.texts(name)?, row).unwrap_or_default());
    let class = || Ok::<_, StageError>(value(batch.u32s("class_id")?, row).and_then(|class| run.classes.get(&class)));
    Ok(match table.compared.name {
        "classes" => run.class(names, text("class_key")?),
        "chains" => chain(names, text("kind")?, &batch.elements("path", row)?)?,
        "owners" => names.owner(text("owner")?),
        "duplicate_sets" => {
            let class = class()?.map_or_else(|| names.class(text("class").unwrap_or_default(), None), Clone::clone);
            names.duplicate_set(&class, text("status")?, value(batch.texts("preview")?, row))
        }
        "findings" => {
            let class = class()?.map_or(text("subject")?, String::as_str);
            let path = if batch.has("stable_path") { batch.list_of_texts("stable_path", row)? } else { Vec::new() };
            let place = if batch.has("place") { value(batch.texts("place")?, row) } else { None };
            names.finding(text("rule")?, class, path.iter().map(String::as_str), place)
        }
        "allocation_types" => names.allocated_type(text("type")?),
        "allocation_functions" => function(names, batch, row)?,
        _ => names.lifetime(text("type")?, text("generation")?),
    })
}

fn chain(names: &Names, kind: &str, path: &Batch) -> Result<String, StageError> {
    let (edges, labels, repeats) = (path.texts("edge")?, path.texts("class")?, path.flags("repeats")?);
    // Elements have names of classes and no keys: a name is the key of a class without a place.
    let keys: Vec<String> =
        labels.iter().map(|name| names.class(&format!(",{}", name.unwrap_or_default()), None)).collect();
    let steps = keys.iter().enumerate().map(|(at, class)| (value(edges, at), class.as_str(), repeats.value(at)));
    Ok(names.chain(kind, steps))
}

fn function(names: &Names, batch: &Batch, row: usize) -> Result<String, StageError> {
    // Version 2 of the tables called it `signature`.
    let overload = if batch.has("method_signature") { "method_signature" } else { SIGNATURE };
    let text = |name: &str| Ok::<_, StageError>(value(batch.texts(name)?, row));
    Ok(names.function(text("function")?.unwrap_or_default(), text(overload)?, text("module")?, text("file")?))
}
