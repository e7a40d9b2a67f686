//! Stage `trivial equals`: what can be told without looking into references.
//!
//! * Computes: groups of nodes with one value. Proved are those without slots; the others stay open.
//! * Reads: `equal.{value,degree}`.
//! * Writes: `equal.{group,proof,open,open_reason}`.
//! * Resident memory: a bit per node.
//! * Passes over disk: one over the values.
//! * Worst case: linear.
//! * Fails when: the budget is too small.
//! * Determinism: order of the input.
//! * Reference: the trivial duplicates of the definition have no references, and all values equal.

use heaplake_kit::{Bitset, ColumnReader, ColumnWriter, Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, limits};

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "trivial equals",
    version: 2,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 1,
    least_fixed: 8 << 20,
    scratch_per_node: 8,
    scratch_per_edge: 0,
    passes: "values once",
};

/// Makes a group of each value.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let mut values = ColumnReader::open(scratch, columns::EQUAL_VALUE)?;
    let mut degrees = ColumnReader::open(scratch, columns::EQUAL_DEGREE)?;
    let mut groups = ColumnWriter::create(scratch, columns::EQUAL_GROUP)?;
    let mut proofs = ColumnWriter::create(scratch, columns::EQUAL_CERTIFICATE)?;
    let nodes = values.remaining();
    context.progress.begin(STAGE.name, nodes);
    let mut unsettled = Bitset::new(&context.budget, "groups that stay open", nodes as usize)?;
    for node in 0..nodes as u32 {
        let (value, degree) = (values.next()?, degrees.next()?);
        groups.push(value)?;
        if degree == 0 {
            proofs.push(value)?;
        } else {
            proofs.push(NodeId(node))?;
            if value.0 != node {
                unsettled.insert(value.index());
            }
        }
    }
    groups.finish()?;
    proofs.finish()?;
    let mut open = ColumnWriter::create(scratch, columns::EQUAL_UNDECIDED)?;
    let mut reasons = ColumnWriter::create(scratch, columns::EQUAL_UNDECIDED_REASON)?;
    for node in (0..nodes as u32).filter(|&node| unsettled.contains(node as usize)) {
        open.push(NodeId(node))?;
        reasons.push(limits::MODE)?;
    }
    open.finish()?;
    reasons.finish()?;
    context.progress.end();
    Ok(Stats { rows: nodes, spilled_bytes: 0 })
}
