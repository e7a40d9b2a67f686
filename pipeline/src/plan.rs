//! Which stages a run has, and whether its budget can carry them.

use heaplake_kit::budget::FIXED_OVERHEAD;
use heaplake_kit::{StageError, StageInfo};

/// All stages of an analysis, in the order in which they run.
pub fn stages() -> impl Iterator<Item = &'static StageInfo> {
    heaplake_ingest::v8::STAGES
        .into_iter()
        .chain(heaplake_graph::STAGES)
        .chain(heaplake_summarise::STAGES)
        .chain(heaplake_publish::STAGES)
}

/// Refuses an input before the work on it starts, when some stage could not hold what it must. Whether the table of
/// `edges` is written, the user decides.
///
/// # Errors
/// [`StageError::Plan`] with the stage that needs most and what would suffice.
pub fn admit(memory: u64, nodes: u64, edges: bool) -> Result<(), StageError> {
    let need = |stage: &StageInfo| stage.least_bytes(nodes).saturating_add(FIXED_OVERHEAD);
    let runs = |stage: &&StageInfo| edges || stage.name != heaplake_publish::edges::STAGE.name;
    match stages().filter(runs).max_by_key(|stage| need(stage)) {
        Some(stage) if need(stage) > memory => {
            Err(StageError::Plan { stage: stage.name, limit: memory, suffices: need(stage) })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_what_would_suffice() {
        let Err(StageError::Plan { suffices, .. }) = admit(64 << 20, 1_000_000_000, true) else {
            panic!("a billion nodes in 64 MiB");
        };
        assert!(admit(suffices, 1_000_000_000, true).is_ok());
        assert!(admit(suffices - 1, 1_000_000_000, true).is_err());
    }
}
