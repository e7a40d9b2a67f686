//! Signatures of rows: stored in the tables, or, for older runs and other rules, computed from their texts.
//!
//! Chains of older runs name classes without their scripts. Both sides are then computed alike, and agree.

use crate::scripts::Scripts;
use heaplake_kit::{Budget, StageError};
use heaplake_lake::reader::{Batch, Reader, value};
use heaplake_names::{Normaliser, fingerprint};
use heaplake_schemas::classes;
use heaplake_schemas::diff::DiffTable;
use rustc_hash::FxHashMap;
use std::path::Path;

/// Column of signatures.
pub(crate) const SIGNATURE: &str = "signature";
/// Column of their hashes.
pub(crate) const FINGERPRINT: &str = "fingerprint";

/// Source of the signatures of all runs.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// Columns of the tables.
    Stored,
    /// Computed by these rules.
    Made(&'a Normaliser),
}

/// Data of a run that rows refer to.
#[derive(Default)]
pub(crate) struct OfRun {
    /// Class signatures by id, if rows refer to classes and signatures are computed.
    classes: FxHashMap<u32, String>,
    /// Class fingerprints by id.
    fingerprints: FxHashMap<u32, u64>,
    scripts: Scripts,
}

impl OfRun {
    /// Reads the data that rows of `table` refer to.
    pub(crate) fn read(
        place: &Path,
        table: &DiffTable,
        source: Source<'_>,
        budget: &Budget,
    ) -> Result<Self, StageError> {
        let mut of_run = Self::default();
        let needs_classes = match table.compared.name {
            "chains" => true,
            "findings" | "duplicate_sets" => matches!(source, Source::Made(_)),
            _ => false,
        };
        if matches!(source, Source::Made(_)) && (needs_classes || table.compared.name == "classes") {
            of_run.scripts = Scripts::read(place, budget)?;
        }
        if needs_classes {
            of_run.read_classes(place, source)?;
        }
        Ok(of_run)
    }

    fn read_classes(&mut self, place: &Path, source: Source<'_>) -> Result<(), StageError> {
        let Some(reader) = Reader::open_if_present(&place.join(classes::TABLE.file))? else { return Ok(()) };
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

    /// Signature of a class key; V8 keys begin with a script id.
    fn class(&self, names: &Normaliser, key: &str) -> String {
        names.class(key, self.scripts.of_class(key))
    }

    /// Fingerprint of a class; 0 if unknown.
    pub(crate) fn fingerprint(&self, class: u32) -> u64 {
        self.fingerprints.get(&class).copied().unwrap_or(0)
    }
}

/// Columns from which signatures are computed; old runs may lack some.
pub(crate) fn columns(table: &DiffTable, source: Source<'_>) -> &'static [&'static str] {
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
pub(crate) fn of(
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

fn chain(names: &Normaliser, kind: &str, path: &Batch) -> Result<String, StageError> {
    let (edges, labels, repeats) = (path.texts("edge")?, path.texts("class")?, path.flags("repeats")?);
    // Chain elements have class names, not keys: a name is the key of a class without location.
    let keys: Vec<String> =
        labels.iter().map(|name| names.class(&format!(",{}", name.unwrap_or_default()), None)).collect();
    let steps = keys.iter().enumerate().map(|(at, class)| (value(edges, at), class.as_str(), repeats.value(at)));
    Ok(names.chain(kind, steps))
}

fn function(names: &Normaliser, batch: &Batch, row: usize) -> Result<String, StageError> {
    // Named `signature` in schema version 2.
    let overload = if batch.has("method_signature") { "method_signature" } else { SIGNATURE };
    let text = |name: &str| Ok::<_, StageError>(value(batch.texts(name)?, row));
    Ok(names.function(text("function")?.unwrap_or_default(), text(overload)?, text("module")?, text("file")?))
}
