//! Whether the budget suffices, and what each stage gets of it.

use super::graph::Graph;
use super::registry;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_kit::{Budget, Stage, StageError};

/// A stage gets one part in so many beyond what it declares, for memory other than its arrays.
const MARGIN: u64 = 16;

/// Refuses an input before the work on it starts, when some stage cannot keep in memory what it must.
///
/// # Errors
/// [`StageError::Plan`] with the stage that needs most and what would suffice.
pub fn admit(graph: &Graph, memory: u64, nodes: u64, edges: u64) -> Result<(), StageError> {
    let need = |stage: &Stage| stage.least_bytes(nodes, edges).saturating_add(FIXED_OVERHEAD);
    match graph.steps.iter().map(|step| step.stage).max_by_key(|stage| need(stage)) {
        Some(stage) if need(stage) > memory => {
            Err(StageError::Plan { stage: stage.name, limit: memory, suffices: need(stage) })
        }
        _ => Ok(()),
    }
}

/// The budget below which no input at all can be worked on, bytes.
#[must_use]
pub fn smallest_budget() -> u64 {
    registry::all_stages().map(|stage| stage.least_bytes(0, 0)).max().unwrap_or(0) + FIXED_OVERHEAD
}

/// The share of the budget for a stage, while other stages use a part of it and `ready` stages, this one among them,
/// wait for a share; nothing where it must wait. A stage whose arrays do not fit runs alone, with the whole budget,
/// and pages.
#[must_use]
pub fn grant(stage: &Stage, budget: &Budget, alone: bool, ready: u64, (nodes, edges): (u64, u64)) -> Option<u64> {
    let resident = stage.resident_bytes(nodes, edges);
    let wanted = resident.saturating_add(resident / MARGIN);
    let free = budget.free();
    if wanted <= free {
        // Memory that no stage declares is shared, for stages that can use more.
        Some((free / ready.max(1)).max(wanted))
    } else {
        alone.then_some(free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::access::per_node;

    const HALF: Stage = Stage { arrays: &[&[per_node::<u64>()]], fixed: 1 << 20, ..Stage::NEW };

    #[test]
    fn stages_share_what_there_is() {
        let budget = Budget::new(64 << 20);
        assert_eq!(grant(&HALF, &budget, true, 1, (1 << 20, 0)), Some(64 << 20));
        assert_eq!(grant(&HALF, &budget, true, 2, (1 << 20, 0)), Some(32 << 20));
        assert_eq!(grant(&HALF, &budget, true, 64, (1 << 20, 0)), Some((9 << 20) + (9 << 16)));
        assert_eq!(grant(&HALF, &budget, true, 2, (1 << 23, 0)), Some(64 << 20), "it pages, alone");
        assert_eq!(grant(&HALF, &budget, false, 2, (1 << 23, 0)), None);
    }
}
