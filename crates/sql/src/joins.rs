//! Choice of join algorithms.
//!
//! The engine's hash join keeps its build side in memory and cannot spill. If that side may be large, the query is
//! planned again with sort-merge joins, which spill.

use datafusion::execution::context::SessionState;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use std::sync::Arc;

/// A hash join's build side may take 1/8 of the memory, by estimate.
const PART: usize = 8;
/// Estimated bytes of a value: half of the columns are texts.
const VALUE: usize = 24;

/// Returns the state to plan a statement with.
pub(crate) async fn state_for(
    state: &SessionState,
    plan: &LogicalPlan,
    memory: usize,
) -> datafusion::error::Result<SessionState> {
    let explained = match plan {
        LogicalPlan::Explain(explain) => &explain.plan,
        LogicalPlan::Analyze(analyze) => &analyze.input,
        plan => plan,
    };
    if matches!(explained, LogicalPlan::Statement(_) | LogicalPlan::DescribeTable(_)) {
        return Ok(state.clone());
    }
    let physical = state.create_physical_plan(explained).await?;
    if !has_large_side(&physical, memory / PART) {
        return Ok(state.clone());
    }
    let mut config = state.config().clone();
    config.options_mut().optimizer.prefer_hash_join = false;
    Ok(SessionStateBuilder::new_from_existing(state.clone()).with_config(config).build())
}

fn has_large_side(plan: &Arc<dyn ExecutionPlan>, most: usize) -> bool {
    let large =
        plan.downcast_ref::<HashJoinExec>().is_some_and(|join| bytes(join.left()).is_none_or(|side| side > most));
    large || plan.children().into_iter().any(|child| has_large_side(child, most))
}

/// Estimated bytes of all rows of a plan; `None` for an unknown number of rows.
fn bytes(plan: &Arc<dyn ExecutionPlan>) -> Option<usize> {
    let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new()).ok()?;
    let rows = statistics.num_rows.get_value().copied()?;
    let columns = plan.schema().fields().len().max(1);
    Some(rows.saturating_mul(columns * VALUE))
}
