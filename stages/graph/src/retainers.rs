//! Stage `retainers`: the holding graph turned round.
//!
//! * Computes: for every node in the preorder, who holds it: the reverse of the holding edges, in preorder space, with
//!   the root as the holder of orphans. Multi-edges stay.
//! * Reads: `holds.{degree,to,orphan}`, `node.preorder`.
//! * Writes: `retainers.{degree,from}`, from the last preorder position down to position 1, each group in the order of
//!   the input: exactly the order in which the dominators are computed, which therefore never read at random.
//! * Resident memory: 4 bytes per node where the budget allows, paged where not; and a [`PairSpill`].
//! * Passes over disk: one over the edges; the pairs written once and read twice (8 bytes each); the groups once.
//! * Worst case: linear; one node with very many holders is streamed, not held.
//! * Fails when: the budget is too small, or the disk is full.
//! * Determinism: one thread, input order.
//! * Reference: counting sort over radix partitions, see [`heaplake_kit::spill`].

use heaplake_kit::spill::PairSpill;
use heaplake_kit::{ColumnReader, Context, Fetch, Room, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::scratch as columns;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "retainers",
    version: 1,
    bytes_per_node: 4,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: PairSpill::MOST_BYTES + (4 << 20),
    scratch_per_node: 4,
    scratch_per_edge: 4,
    passes: "edges once; pairs written once, read twice",
};

/// Turns the graph round.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let mut degrees = ColumnReader::open(scratch, columns::HOLDS_DEGREE)?;
    let mut to = ColumnReader::open(scratch, columns::HOLDS_TO)?;
    let (nodes, edges) = (degrees.remaining() as usize, to.remaining());
    context.progress.begin(STAGE.name, edges);
    let reached = ColumnReader::open(scratch, columns::PREORDER_NODE)?.remaining() as usize;
    let mut orphans = ColumnReader::open(scratch, columns::HOLDS_ORPHAN)?;
    let pairs = edges + orphans.remaining();
    let mut spill = PairSpill::create(&context.budget, scratch, "retainers.pairs", reached, pairs)?;
    let mut room = Room::plan(&context.budget, scratch, STAGE.name, &[nodes as u64 * 4]);
    let mut numbers = room.lookup(columns::NODE_PREORDER)?;
    let mut sources = ColumnReader::open(scratch, columns::NODE_PREORDER)?;
    let mut done = 0;
    for _ in 0..nodes {
        let (degree, from) = (degrees.next()?, sources.next()?);
        if from.is_none() {
            // Out of reach, so it holds nothing that counts.
            to.skip(u64::from(degree))?;
        } else {
            for _ in 0..degree {
                spill.push(numbers.get(to.next()?.index())?.0, from.0)?;
            }
        }
        done += u64::from(degree);
        if done >= 1 << 18 {
            context.step(std::mem::take(&mut done))?;
        }
    }
    while orphans.remaining() > 0 {
        spill.push(numbers.get(orphans.next()?.index())?.0, 0)?;
    }
    drop(numbers);
    let spilled_bytes = spill.spilled_bytes();
    spill.write_groups(scratch, context, 1, columns::RETAINERS_DEGREE, columns::RETAINERS_FROM)?;
    context.progress.end();
    Ok(Stats { rows: pairs, spilled_bytes })
}
