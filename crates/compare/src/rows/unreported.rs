//! Chains are computed for big classes only: if a class is not big in a run, its chains there are unknown.

use super::Gathered;
use super::signatures::OfRun;
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::Reader;
use heaplake_schemas::classes;
use rustc_hash::FxHashMap;

/// For each class fingerprint of gathered chains: the runs that have the class but no chains of it, ascending.
pub(crate) fn find(gathered: &Gathered<'_>, context: &Context<'_>) -> Result<FxHashMap<u64, Vec<u32>>, StageError> {
    let of = &gathered.subjects.classes;
    let mut unreported: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
    // Without chains no run is read.
    let runs = if of.is_empty() { &[][..] } else { &gathered.runs };
    for (number, run) in (0..).zip(runs) {
        context.check()?;
        let of_run = OfRun::read(&run.folder, gathered.table, gathered.source, &context.budget)?;
        let Some(reader) = Reader::open_if_present(&run.folder.join(classes::TABLE.file))? else { continue };
        let mut big_of: FxHashMap<u64, bool> = FxHashMap::default();
        let mut batches = reader.columns(&["class_id", "big"])?;
        while let Some(batch) = batches.batch()? {
            let (ids, big) = (batch.u32s("class_id")?, batch.flags("big")?);
            for row in 0..batch.len() {
                let class = of_run.fingerprint(ids.value(row));
                if of.contains(&class) {
                    *big_of.entry(class).or_default() |= big.value(row);
                }
            }
        }
        for (class, _) in big_of.into_iter().filter(|(_, big)| !big) {
            unreported.entry(class).or_default().push(number);
        }
    }
    Ok(unreported)
}
