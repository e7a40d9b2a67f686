//! Whether one node dominates another.
//!
//! A few queries are answered by climbing from dominator to dominator. For many queries, the dominator tree is
//! numbered.

use crate::dominator_tree;
use heaplake_kit::array::Array;
use heaplake_kit::array_plan::filled;
use heaplake_kit::on_resident;
use heaplake_kit::threads::locked;
use heaplake_kit::{ArrayPlan, Job, Lookup, ReadAt, Reservation, StageError, WriteAt};
use heaplake_paths::retainer_tree::Dominates;
use heaplake_schemas::ids::Preorder;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The dominator tree is numbered once the steps reach one in this many nodes.
const CLIMBS: usize = 4;
/// Bytes reserved for the numbers: page frames of two arrays.
pub(super) const KEPT: u64 = 9 << 18;

pub(super) struct Dominance {
    /// The dominator of the node at each position, as a position.
    pub above: Lookup<Preorder>,
    /// Shared by all threads.
    numbers: Arc<Numbers>,
}

/// The numbers of the dominator tree, once they pay.
struct Numbers {
    /// Steps to dominators left before the tree is numbered.
    climbs: AtomicUsize,
    tree: Mutex<Tree>,
}

/// State of [`Numbers`].
enum Tree {
    /// Not numbered; holds the budget reserved for the numbers.
    Kept(Option<Reservation>),
    Numbered(DominatorTree),
}

/// Preorder numbers in the dominator tree, and the end of the subtree of each position.
struct DominatorTree {
    begin: Array<u32>,
    end: Array<u32>,
    /// Bytes of numbers that did not fit.
    spilled: u64,
}

impl Dominance {
    /// Opens the dominators of positions; `kept` is released for the numbers.
    pub(super) fn new(above: Lookup<Preorder>, kept: Reservation) -> Self {
        let (climbs, tree) = (AtomicUsize::new(above.count() / CLIMBS), Mutex::new(Tree::Kept(Some(kept))));
        Self { above, numbers: Arc::new(Numbers { climbs, tree }) }
    }

    /// Shares the tree with another thread; `None` if the dominators are paged.
    pub(super) fn share(&self) -> Option<Self> {
        Some(Self { above: self.above.share()?, numbers: Arc::clone(&self.numbers) })
    }

    pub(super) fn spilled_bytes(&self) -> u64 {
        match &*self.numbers.tree() {
            Tree::Kept(_) => 0,
            Tree::Numbered(tree) => tree.spilled,
        }
    }

    pub(super) fn answer(&mut self, asked: &[Dominates], out: &mut Vec<bool>, job: &Job<'_>) -> Result<(), StageError> {
        let first = out.len();
        // Dominators come first; the root, at position 0, dominates all nodes.
        out.extend(asked.iter().map(|asked| asked.node == asked.above || asked.above == 0));
        let out = &mut out[first..];
        let is_open = |(at, asked): (u32, &Dominates)| {
            (asked.node > asked.above && asked.above > 0).then_some(u64::from(asked.node) << 32 | u64::from(at))
        };
        let mut open: Vec<u64> = (0..).zip(asked).filter_map(is_open).collect();
        let allowed = self.numbers.climbs.load(Ordering::Relaxed);
        let climbs = match &mut self.above {
            Lookup::Resident(above) => climb(above, &mut open, asked, out, allowed),
            above => climb_in_order(above, &mut open, asked, out, allowed)?,
        };
        // Threads that climb at the same time may together climb a little more.
        let less = |left: usize| Some(left.saturating_sub(climbs));
        let _ = self.numbers.climbs.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        if open.is_empty() {
            return Ok(());
        }
        let mut tree = self.numbers.tree();
        if let Tree::Kept(kept) = &mut *tree {
            drop(kept.take());
            *tree = Tree::Numbered(DominatorTree::number(self.above.count(), job)?);
        }
        let Tree::Numbered(tree) = &mut *tree else { return Ok(()) };
        tree.answer(asked, open, out)
    }
}

/// Climbs from dominator to dominator, query by query, in at most `allowed` steps. Entries of `open` pack the position
/// of a node and the number of a query; unanswered ones stay. Returns the steps.
fn climb(above: &[Preorder], open: &mut Vec<u64>, asked: &[Dominates], out: &mut [bool], allowed: usize) -> usize {
    let mut climbs = 0;
    open.retain_mut(|climbing| {
        let at = *climbing as u32;
        while climbs < allowed {
            climbs += 1;
            let dominator = above[(*climbing >> 32) as usize].0;
            if dominator <= asked[at as usize].above {
                out[at as usize] = dominator == asked[at as usize].above;
                return false;
            }
            *climbing = u64::from(dominator) << 32 | u64::from(at);
        }
        true
    });
    climbs
}

/// Like [`climb`], all queries together, from the last positions down, so that dominators are read in one direction.
fn climb_in_order(
    above: &mut impl ReadAt<Preorder>,
    open: &mut Vec<u64>,
    asked: &[Dominates],
    out: &mut [bool],
    allowed: usize,
) -> Result<usize, StageError> {
    let mut climbs = 0;
    let mut left = BinaryHeap::from(std::mem::take(open));
    while climbs < allowed
        && let Some(climbing) = left.pop()
    {
        let at = climbing as u32;
        let wanted = asked[at as usize].above;
        climbs += 1;
        let dominator = above.get((climbing >> 32) as usize)?.0;
        out[at as usize] = dominator == wanted;
        if dominator > wanted {
            left.push(u64::from(dominator) << 32 | u64::from(at));
        }
    }
    *open = left.into_vec();
    Ok(climbs)
}

impl Numbers {
    fn tree(&self) -> MutexGuard<'_, Tree> {
        // After a panic of another thread the tree is not used: the panic is passed on.
        locked(&self.tree)
    }
}

impl DominatorTree {
    #[cold]
    fn number(positions: usize, job: &Job<'_>) -> Result<Self, StageError> {
        let mut plan = ArrayPlan::of(job, "retainer trees");
        let (mut begin, mut end) = plan.make((filled(positions, 0u32), filled(positions, 1u32)))?;
        on_resident!(begin, end => {
            dominator_tree::lay_out(end, |position, place, _| Ok(begin.set(position, place)?), job)
        })?;
        Ok(Self { begin, end, spilled: plan.spilled_bytes() })
    }

    /// Answers the `open` queries: each packs the position of the dominated node and the number of the query.
    fn answer(&mut self, asked: &[Dominates], mut open: Vec<u64>, out: &mut [bool]) -> Result<(), StageError> {
        if let (Array::Resident(begin), Array::Resident(end)) = (&self.begin, &self.end) {
            for open in open {
                let (node, at) = ((open >> 32) as usize, open as u32 as usize);
                let above = asked[at].above as usize;
                out[at] = (begin[above]..end[above]).contains(&begin[node]);
            }
            return Ok(());
        }
        open.sort_unstable_by_key(|&open| asked[open as u32 as usize].above);
        let mut spans = vec![(0, 0); open.len()];
        for (span, &open) in spans.iter_mut().zip(&open) {
            let above = asked[open as u32 as usize].above as usize;
            *span = (self.begin.get(above)?, self.end.get(above)?);
        }
        let mut inner: Vec<(u32, u32)> = (0..).zip(&open).map(|(nth, &open)| ((open >> 32) as u32, nth)).collect();
        inner.sort_unstable();
        for (node, nth) in inner {
            let (begins, ends) = spans[nth as usize];
            out[open[nth as usize] as u32 as usize] = (begins..ends).contains(&self.begin.get(node as usize)?);
        }
        Ok(())
    }
}
