//! Reference chains that hold the instances of a class.

use super::class_list::ClassesOfRun;
use super::side::Side;
use heaplake_kit::{Budget, Reservation, StageError};
use heaplake_lake::reader::Batch;
use heaplake_names::fingerprint;
use heaplake_schemas::chains;
use rustc_hash::FxHashMap;

/// The largest chain of each class.
pub(super) struct Chains {
    /// Chains as text.
    pub texts: Vec<String>,
    /// Fingerprints of their signatures.
    pub fingerprints: Vec<u64>,
    of_class: FxHashMap<u32, u32>,
    held: Reservation,
}

/// Bytes per chain, without text.
const CHAIN_BYTES: u64 = 96;

impl Chains {
    /// Reads the chains of a run to the `wanted` classes; the table lists them by retained size.
    pub(super) fn of_run(
        side: &Side,
        classes: &ClassesOfRun,
        wanted: impl Fn(u32) -> bool,
        budget: &Budget,
    ) -> Result<Self, StageError> {
        let held = budget.reserve("chains of candidates", 0)?;
        let (texts, fingerprints) = (Vec::new(), Vec::new());
        let mut found = Self { texts, fingerprints, of_class: FxHashMap::default(), held };
        let Some(reader) = side.reader_if_any(chains::TABLE.file)? else { return Ok(found) };
        let signed = reader.has("fingerprint");
        let columns = ["kind", "class_id", "text", if signed { "fingerprint" } else { "path" }];
        let mut batches = reader.columns(&columns)?;
        while let Some(batch) = batches.batch()? {
            let (kinds, ids, texts) = (batch.texts("kind")?, batch.u32s("class_id")?, batch.texts("text")?);
            for row in 0..batch.len() {
                let class = classes.number(ids.value(row));
                if kinds.value(row) != chains::KINDS[0] || found.of_class.contains_key(&class) || !wanted(class) {
                    continue;
                }
                let hash = if signed { batch.u64s("fingerprint")?.value(row) } else { signature(side, &batch, row)? };
                found.add(class, texts.value(row), hash)?;
            }
        }
        Ok(found)
    }

    fn add(&mut self, class: u32, text: &str, hash: u64) -> Result<(), StageError> {
        self.held.grow(CHAIN_BYTES + text.len() as u64)?;
        self.of_class.insert(class, self.texts.len() as u32);
        self.texts.push(text.to_owned());
        self.fingerprints.push(hash);
        Ok(())
    }

    /// Returns the chain of a class.
    pub(super) fn of(&self, class: u32) -> Option<u32> {
        self.of_class.get(&class).copied()
    }
}

/// Computes the fingerprint of a chain for a run without fingerprints.
fn signature(side: &Side, batch: &Batch, row: usize) -> Result<u64, StageError> {
    let path = batch.elements("path", row)?;
    let (edges, names, repeats) = (path.texts("edge")?, path.texts("class")?, path.flags("repeats")?);
    let names: Vec<String> = names.iter().flatten().map(|name| side.names.class(name, None)).collect();
    let steps = names
        .iter()
        .enumerate()
        .map(|(step, name)| (heaplake_lake::reader::value(edges, step), name.as_str(), repeats.value(step)));
    Ok(fingerprint(&side.names.chain(chains::KINDS[0], steps)))
}
