//! The classes of all compared snapshots, each once.

use super::side::Side;
use crate::scripts::Scripts;
use heaplake_kit::{Budget, Reservation, StageError};
use heaplake_lake::reader::{Batch, damaged, value};
use heaplake_names::fingerprint;
use heaplake_schemas::classes;
use rustc_hash::FxHashMap;

/// Classes, numbered from 0 as added.
pub(super) struct ClassList {
    /// Names.
    pub names: Vec<String>,
    /// Keys, unique per class.
    pub keys: Vec<String>,
    /// Signatures, equal in every run.
    pub signatures: Vec<String>,
    /// Fingerprints of the signatures.
    pub fingerprints: Vec<u64>,
    by_key: FxHashMap<Box<str>, u32>,
    held: Reservation,
}

/// Bytes per class in lists and maps, without texts.
const CLASS_BYTES: u64 = 160;

/// Bytes per entry of a map of numbers, which may be half empty and growing.
const ENTRY_BYTES: u64 = 32;

/// Number of a class missing from `classes`: none of its instances counts.
pub(super) const UNLISTED: u32 = u32::MAX;

impl ClassList {
    /// Creates an empty list.
    pub(super) fn new(budget: &Budget) -> Result<Self, StageError> {
        let held = budget.reserve("classes of both snapshots", 0)?;
        let (names, keys, signatures, fingerprints) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Self { names, keys, signatures, fingerprints, by_key: FxHashMap::default(), held })
    }

    /// Returns the class with this key; adds it if missing.
    pub(super) fn number(
        &mut self,
        key: &str,
        name: &str,
        signature: impl FnOnce() -> String,
    ) -> Result<u32, StageError> {
        if let Some(&number) = self.by_key.get(key) {
            return Ok(number);
        }
        let signature = signature();
        self.held.grow(CLASS_BYTES + (2 * key.len() + name.len() + signature.len()) as u64)?;
        let number = self.keys.len() as u32;
        self.by_key.insert(key.into(), number);
        self.keys.push(key.to_owned());
        self.names.push(name.to_owned());
        self.fingerprints.push(fingerprint(&signature));
        self.signatures.push(signature);
        Ok(number)
    }

    /// Number of classes.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Adds the classes of a run.
    pub(super) fn add(&mut self, side: &Side, budget: &Budget) -> Result<ClassesOfRun, StageError> {
        let reader = side.reader(classes::TABLE.file)?;
        let signed = reader.has("signature");
        let mut columns = vec!["class_id", "class", "class_key"];
        columns.extend(signed.then_some("signature"));
        let scripts = Scripts::read(side.found.place(), budget)?;
        let mut of_run = ClassesOfRun {
            numbers: FxHashMap::default(),
            scripts,
            held: budget.reserve("classes of a snapshot", reader.rows() * ENTRY_BYTES)?,
        };
        let mut batches = reader.columns(&columns)?;
        while let Some(batch) = batches.batch()? {
            self.add_batch(&batch, signed, side, &mut of_run)?;
        }
        Ok(of_run)
    }

    fn add_batch(
        &mut self,
        batch: &Batch,
        signed: bool,
        side: &Side,
        run: &mut ClassesOfRun,
    ) -> Result<(), StageError> {
        let (ids, names, keys) = (batch.u32s("class_id")?, batch.texts("class")?, batch.texts("class_key")?);
        let signatures = if signed { Some(batch.texts("signature")?) } else { None };
        for row in 0..batch.len() {
            let key = keys.value(row);
            let number =
                self.number(key, names.value(row), || match signatures.and_then(|texts| value(texts, row)) {
                    Some(signature) => signature.to_owned(),
                    None => run.signature(side, key),
                })?;
            if run.numbers.insert(ids.value(row), number).is_some() {
                let problem = format!("class_id {} is there twice", ids.value(row));
                return Err(damaged(&side.found.place().join(classes::TABLE.file), problem));
            }
        }
        Ok(())
    }
}

/// Class numbers of a run.
pub(super) struct ClassesOfRun {
    numbers: FxHashMap<u32, u32>,
    scripts: Scripts,
    held: Reservation,
}

impl ClassesOfRun {
    /// Returns the number of `class_id`, or [`UNLISTED`].
    #[inline]
    pub(super) fn number(&self, class_id: u32) -> u32 {
        self.numbers.get(&class_id).copied().unwrap_or(UNLISTED)
    }

    /// Signature of the class with this key.
    pub(super) fn signature(&self, side: &Side, key: &str) -> String {
        side.names.class(key, self.scripts.of_class(key))
    }

    /// Assigns a number to a `class_id` that was [`UNLISTED`].
    pub(super) fn list(&mut self, class_id: u32, number: u32) -> Result<(), StageError> {
        self.held.grow(ENTRY_BYTES)?;
        self.numbers.insert(class_id, number);
        Ok(())
    }
}
