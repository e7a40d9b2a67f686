//! Whether one node dominates another.
//!
//! A few questions are answered by going from dominator to dominator. If they are many, the dominator tree is numbered.

use heaplake_kit::array::Array;
use heaplake_kit::array_plan::filled;
use heaplake_kit::on_resident;
use heaplake_kit::retainer_tree::Dominates;
use heaplake_kit::{
    ArrayPlan, ColumnReader, Job, Lookup, ReadAt, Reservation, ReverseReader, Scratch, StageError, WriteAt,
};
use heaplake_schemas::ids::Preorder;
use heaplake_schemas::scratch as columns;
use std::collections::BinaryHeap;

/// The dominator tree is numbered when as many steps were taken in it as one in so many nodes.
const CLIMBS: usize = 4;
/// Bytes that are kept for that: page frames of two arrays.
pub(super) const KEPT: u64 = 9 << 18;

/// See the module documentation.
pub(super) struct Dominance {
    /// The dominator of the node at each position, as a position.
    pub above: Lookup<Preorder>,
    /// Steps to dominators that may still be taken before the tree is numbered.
    climbs: usize,
    tree: Option<DominatorTree>,
    /// Of budget for the numbers.
    kept: Option<Reservation>,
    /// Bytes of numbers that did not fit.
    pub spilled: u64,
}

/// Numbers in a preorder of the dominator tree, and the end of what each position dominates.
struct DominatorTree {
    begin: Array<u32>,
    end: Array<u32>,
}

impl Dominance {
    /// Of the dominators of positions; `kept` is given back for the numbers.
    pub fn new(above: Lookup<Preorder>, kept: Reservation) -> Self {
        let climbs = above.count() / CLIMBS;
        Self { above, climbs, tree: None, kept: Some(kept), spilled: 0 }
    }

    /// Appends the answers.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Scratch`], [`StageError::Budget`].
    pub fn answer(&mut self, asked: &[Dominates], out: &mut Vec<bool>, job: &Job<'_>) -> Result<(), StageError> {
        let first = out.len();
        // A dominator comes before what it dominates; the root, which is the first, dominates all.
        out.extend(asked.iter().map(|asked| asked.node == asked.above || asked.above == 0));
        let out = &mut out[first..];
        let is_open = |(at, asked): (u32, &Dominates)| {
            (asked.node > asked.above && asked.above > 0).then_some(u64::from(asked.node) << 32 | u64::from(at))
        };
        // From the last positions down, so that dominators are read in one direction.
        let mut open: BinaryHeap<u64> = (0..).zip(asked).filter_map(is_open).collect();
        while self.tree.is_none()
            && let Some(climbing) = open.pop()
        {
            let at = climbing as u32;
            let above = asked[at as usize].above;
            if self.climbs == 0 {
                open.push(climbing);
                self.number(job)?;
                break;
            }
            self.climbs -= 1;
            let dominator = self.above.get((climbing >> 32) as usize)?.0;
            out[at as usize] = dominator == above;
            if dominator > above {
                open.push(u64::from(dominator) << 32 | u64::from(at));
            }
        }
        let Some(DominatorTree { begin, end }) = &mut self.tree else { return Ok(()) };
        let mut open = open.into_vec();
        open.sort_unstable_by_key(|&open| asked[open as u32 as usize].above);
        let mut spans = vec![(0, 0); open.len()];
        for (span, &open) in spans.iter_mut().zip(&open) {
            let above = asked[open as u32 as usize].above as usize;
            *span = (begin.get(above)?, end.get(above)?);
        }
        let mut inner: Vec<(u32, u32)> = (0..).zip(&open).map(|(nth, &open)| ((open >> 32) as u32, nth)).collect();
        inner.sort_unstable();
        for (node, nth) in inner {
            let (begins, ends) = spans[nth as usize];
            out[open[nth as usize] as u32 as usize] = (begins..ends).contains(&begin.get(node as usize)?);
        }
        Ok(())
    }

    /// Numbers the dominator tree.
    #[cold]
    fn number(&mut self, job: &Job<'_>) -> Result<(), StageError> {
        drop(self.kept.take());
        let mut plan = ArrayPlan::of(job, "retainer trees");
        let positions = self.above.count();
        let (mut begin, mut end) = plan.make((filled(positions, 0u32), filled(positions, 1u32)))?;
        on_resident!(begin, end => number(begin, end, job.scratch))?;
        self.spilled += plan.spilled_bytes();
        self.tree = Some(DominatorTree { begin, end });
        Ok(())
    }
}

/// Numbers the dominator tree: first the sizes of what positions dominate, then where they begin and end.
fn number(mut begin: impl WriteAt<u32>, mut end: impl WriteAt<u32>, scratch: &Scratch) -> Result<(), StageError> {
    let mut dominators = ReverseReader::open(scratch, columns::PREORDER_DOMINATOR)?;
    for position in (1..end.count()).rev() {
        let (size, above) = (end.get(position)?, dominators.next()?.index());
        end.change(above, |sum| *sum += size)?;
    }
    let mut dominators = ColumnReader::open(scratch, columns::PREORDER_DOMINATOR)?;
    dominators.skip(1)?;
    // From here on `end` is where the next child begins, and when all have come, the end.
    end.set(0, 1)?;
    for position in 1..end.count() {
        let (size, above) = (end.get(position)?, dominators.next()?.index());
        let first = end.change(above, |next| std::mem::replace(next, *next + size))?;
        begin.set(position, first)?;
        end.set(position, first + 1)?;
    }
    Ok(())
}
