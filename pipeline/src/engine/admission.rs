//! Admission control: whether the budget suffices, and memory grants of jobs.

use super::graph::Graph;
use super::registry;
use heaplake_kit::budget::with_margin;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_kit::{Budget, Stage, StageError};

/// A job that pages beside another one gets at least 1/3 of the budget.
const LEAST_SHARE: u64 = 3;

/// Refuses an input before work starts if a stage cannot keep its resident minimum. [`StageError::Plan`] names the
/// largest such stage and a sufficient budget.
pub fn admit(graph: &Graph, memory: u64, nodes: u64, edges: u64) -> Result<(), StageError> {
    let need = |stage: &Stage| stage.least_bytes(nodes, edges).saturating_add(FIXED_OVERHEAD);
    match graph.steps.iter().map(|step| step.stage).max_by_key(|stage| need(stage)) {
        Some(stage) if need(stage) > memory => {
            Err(StageError::Plan { stage: stage.name, limit: memory, suffices: need(stage) })
        }
        _ => Ok(()),
    }
}

/// Smallest budget that any input needs, bytes.
pub fn smallest_budget() -> u64 {
    registry::all_stages().map(|stage| stage.least_bytes(0, 0)).max().unwrap_or(0) + FIXED_OVERHEAD
}

/// Memory and threads that a job wants.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Name of the reservation.
    pub who: &'static str,
    /// Memory with which all its arrays are resident, bytes; `u64::MAX`: the whole budget.
    pub wanted: u64,
    /// Memory that it must have, bytes.
    pub least: u64,
    /// See [`Stage::shares`].
    pub shares: bool,
    /// Most threads that it holds.
    pub most_threads: usize,
}

impl Wish {
    /// Wish of a stage: its arrays resident, plus a margin. Its inner work runs on all threads of the pool.
    pub fn of(stage: &Stage, (nodes, edges): (u64, u64)) -> Self {
        let (wanted, least) = (wanted(stage, (nodes, edges)), stage.least_bytes(nodes, edges));
        Self { who: stage.name, wanted, least, shares: stage.shares, most_threads: 1 }
    }
}

/// Memory that a stage wants: its arrays resident, plus a margin.
pub fn wanted(stage: &Stage, (nodes, edges): (u64, u64)) -> u64 {
    with_margin(stage.resident_bytes(nodes, edges))
}

/// Memory grant of a job while others hold part of the budget; `None` if it must wait. `others` lists the wishes of the
/// other ready jobs. A job that wants more than the budget gets all of it, alone, or, if it [shares](Stage::shares),
/// half or more when first and a third or more beside another one.
pub fn grant(wish: &Wish, budget: &Budget, alone: bool, others: &[u64]) -> Option<u64> {
    let (wanted, least, free) = (wish.wanted, wish.least, budget.free());
    let for_others = others.iter().fold(0, |sum: u64, &other| sum.saturating_add(other));
    if wanted <= free {
        // Memory that no job asks for is divided among the ready jobs, for those that can use more.
        let spare = (free - wanted).saturating_sub(for_others);
        return Some(wanted + spare / (others.len() as u64 + 1));
    }
    // A job that fits the budget never pages because of another one.
    let shares = wish.shares && wanted > budget.limit();
    match alone {
        true if shares => Some((free - for_others.min(free / 2)).max(least).min(free)),
        true => Some(free),
        false => (shares && free >= least.max(budget.limit() / LEAST_SHARE)).then_some(free),
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
        let grant = |stage: &Stage, budget: &Budget, alone, others: &[u64], size| {
            super::grant(&Wish::of(stage, size), budget, alone, others)
        };
        let fits = (1 << 20, 0);
        assert_eq!(grant(&HALF, &budget, true, &[], fits), Some(64 << 20));
        assert_eq!(grant(&HALF, &budget, true, &[wanted(&HALF, fits)], fits), Some(32 << 20));
        assert_eq!(grant(&HALF, &budget, true, &[64 << 20], fits), Some((9 << 20) + (9 << 16)));
        assert_eq!(grant(&HALF, &budget, true, &[1 << 20], (1 << 23, 0)), Some(64 << 20), "it pages, alone");
        assert_eq!(grant(&HALF, &budget, false, &[], (1 << 23, 0)), None);
        let shares = Stage { shares: true, ..HALF };
        assert_eq!(grant(&shares, &budget, true, &[], (1 << 23, 0)), Some(64 << 20), "nothing else is ready");
        assert_eq!(
            grant(&shares, &budget, true, &[1 << 20], (1 << 23, 0)),
            Some(63 << 20),
            "the other one needs little"
        );
        assert_eq!(grant(&shares, &budget, true, &[60 << 20], (1 << 23, 0)), Some(32 << 20));
        let other = budget.reserve("another stage", 32 << 20).unwrap();
        assert_eq!(grant(&shares, &budget, false, &[], (1 << 23, 0)), Some(32 << 20));
        assert_eq!(grant(&shares, &budget, false, &[], (5 << 20, 0)), None, "it fits when the other one has ended");
        assert_eq!(grant(&HALF, &budget, false, &[], (1 << 23, 0)), None);
        drop(other);
    }
}
