//! Stage `dominators`: who must be passed on every way from the root.
//!
//! * Computes: the immediate dominator of every node in the preorder, by semi-NCA: semidominators from the last
//!   position down with path compression, then each dominator as the nearest common ancestor of parent and
//!   semidominator in the tree built so far.
//! * Reads: `preorder.parent`, `retainers.{degree,from}`, all front to back.
//! * Writes: `preorder.dominator`.
//! * Resident memory: 12 bytes per node (ancestor, label, dominator), 4 more for the stack of a compression at worst.
//! * Passes over disk: one over the retainers.
//! * Worst case: O(m log n). The climb of the second step alone could be quadratic; its steps are counted, and past
//!   [`PATIENCE`] per node it goes on over jump pointers (Myers, "An Applicative Random-Access Stack", IPL 17(5), 1983),
//!   which take the place of the arrays that the first step no longer needs, and bound a climb by O(log n). So no
//!   second algorithm with its own arrays is kept for bad cases.
//! * Fails when: the budget is too small.
//! * Determinism: dominators are unique.
//! * Reference: Georgiadis, Tarjan, Werneck, "Finding Dominators in Practice", JGAA 10(1), 2006, section 2.2.

use heaplake_kit::{BudgetVec, ColumnReader, ColumnWriter, Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::ids::Preorder;
use heaplake_schemas::scratch as columns;

/// What the plan knows of this stage.
pub const STAGE: StageInfo =
    StageInfo { name: "dominators", version: 1, bytes_per_node: 16, bytes_per_edge: 0, bytes_fixed: 2 << 20 };

/// Steps per node that the plain climb may take on the whole.
const PATIENCE: u64 = 16;

/// Finds the dominators.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let mut parents = ColumnReader::open(scratch, columns::PREORDER_PARENT)?;
    let nodes = parents.remaining() as usize;
    context.progress.begin(STAGE.name, 2 * nodes as u64);
    let mut ancestor = context.budget.zeroed::<u32>("dominators: ancestors", nodes)?;
    parents.read_into(bytemuck_ids(&mut ancestor))?;
    let mut label = context.budget.zeroed::<u32>("dominators: labels", nodes)?;
    let mut dominator = context.budget.zeroed::<u32>("dominators", nodes)?;
    semidominators(&mut ancestor, &mut label, &mut dominator, scratch, context)?;
    // The first step is over; its arrays are free for the second.
    let (jump, depth) = (ancestor, label);
    nearest_common_ancestors(&mut dominator, jump, depth, PATIENCE, scratch, context)?;
    let mut column = ColumnWriter::create(scratch, columns::PREORDER_DOMINATOR)?;
    column.extend(bytemuck_ids(&mut dominator))?;
    column.finish()?;
    context.progress.end();
    Ok(Stats { rows: nodes as u64, spilled_bytes: 0 })
}

/// The same memory as ids; the loops below compare and index plain numbers.
fn bytemuck_ids(numbers: &mut [u32]) -> &mut [Preorder] {
    bytemuck::cast_slice_mut(numbers)
}

/// First step: leaves each node's semidominator in `semi`.
///
/// `ancestor` holds the parents and is shortened by compression; `label[v]` is the least semidominator known on the way
/// from `v` up to, but without, `ancestor[v]`. Nodes below the one at hand are not linked yet and stand for themselves.
fn semidominators(
    ancestor: &mut [u32],
    label: &mut [u32],
    semi: &mut [u32],
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let mut degrees = ColumnReader::open(scratch, columns::RETAINERS_DEGREE)?;
    let mut retainers = ColumnReader::open(scratch, columns::RETAINERS_FROM)?;
    let mut path = context.budget.growing::<u32>("dominators: compression");
    for node in (1..ancestor.len() as u32).rev() {
        let mut least = node;
        let mut left = degrees.next()? as usize;
        while left > 0 {
            let group = retainers.next_slice(left)?;
            left -= group.len();
            for &Preorder(retainer) in group {
                let candidate = if retainer <= node {
                    retainer
                } else {
                    compress(retainer, node, ancestor, label, &mut path)?;
                    label[retainer as usize]
                };
                least = least.min(candidate);
            }
        }
        semi[node as usize] = least;
        label[node as usize] = least;
        if node.is_multiple_of(1 << 16) {
            context.step(1 << 16)?;
        }
    }
    Ok(())
}

/// Hangs `node` and everything on its way up directly under the first node at or below `unlinked`, keeping the least
/// labels.
#[inline]
fn compress(
    node: u32,
    unlinked: u32,
    ancestor: &mut [u32],
    label: &mut [u32],
    path: &mut BudgetVec<u32>,
) -> Result<(), StageError> {
    let mut top = node;
    let mut above = ancestor[top as usize];
    if above <= unlinked {
        return Ok(());
    }
    while above > unlinked {
        path.push(top)?;
        top = above;
        above = ancestor[top as usize];
    }
    // `top` hangs under an unlinked node already; the rest of the way learns from it.
    let root = above;
    let mut least = label[top as usize];
    while let Some(below) = path.pop() {
        least = least.min(label[below as usize]);
        label[below as usize] = least;
        ancestor[below as usize] = root;
    }
    Ok(())
}

/// Second step: turns semidominators into dominators, in place, from position 1 up.
fn nearest_common_ancestors(
    dominator: &mut [u32],
    jump: BudgetVec<u32>,
    depth: BudgetVec<u32>,
    patience: u64,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let mut parents = ColumnReader::open(scratch, columns::PREORDER_PARENT)?;
    if dominator.is_empty() {
        return Ok(());
    }
    parents.next()?;
    let limit = patience * dominator.len() as u64;
    let mut steps = 0u64;
    let mut jumps: Option<Jumps> = None;
    let mut free = Some((jump, depth));
    for node in 1..dominator.len() as u32 {
        let semi = dominator[node as usize];
        let mut candidate = parents.next()?.0;
        match &jumps {
            Some(jumps) => candidate = jumps.climb(candidate, semi, dominator),
            None => {
                while candidate > semi {
                    candidate = dominator[candidate as usize];
                    steps += 1;
                }
            }
        }
        dominator[node as usize] = candidate;
        if let Some(jumps) = &mut jumps {
            jumps.add(node, candidate);
        } else if steps > limit {
            // The tree is deep and the climbs are long: build the pointers for what is there, and go on with them.
            jumps = free.take().map(|(jump, depth)| Jumps::new(jump, depth, &dominator[..=node as usize]));
        }
        if node.is_multiple_of(1 << 16) {
            context.step(1 << 16)?;
        }
    }
    Ok(())
}

/// Jump pointers over the dominator tree built so far: a climb takes O(log n) steps.
struct Jumps {
    jump: BudgetVec<u32>,
    depth: BudgetVec<u32>,
}

impl Jumps {
    fn new(mut jump: BudgetVec<u32>, mut depth: BudgetVec<u32>, dominator: &[u32]) -> Self {
        (jump[0], depth[0]) = (0, 0);
        let mut jumps = Self { jump, depth };
        for node in 1..dominator.len() as u32 {
            jumps.add(node, dominator[node as usize]);
        }
        jumps
    }

    fn add(&mut self, node: u32, dominator: u32) {
        let Self { jump, depth } = self;
        let far = jump[dominator as usize];
        let same_length =
            depth[dominator as usize] - depth[far as usize] == depth[far as usize] - depth[jump[far as usize] as usize];
        jump[node as usize] = if same_length { jump[far as usize] } else { dominator };
        depth[node as usize] = depth[dominator as usize] + 1;
    }

    /// The first node on the way from `node` to the root whose number is at most `limit`.
    fn climb(&self, mut node: u32, limit: u32, dominator: &[u32]) -> u32 {
        while node > limit {
            let far = self.jump[node as usize];
            node = if far > limit { far } else { dominator[node as usize] };
        }
        node
    }
}
