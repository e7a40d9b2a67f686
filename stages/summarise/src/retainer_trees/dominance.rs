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
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The dominator tree is numbered when as many steps were taken in it as one in so many nodes.
const CLIMBS: usize = 4;
/// Bytes that are kept for that: page frames of two arrays.
pub(super) const KEPT: u64 = 9 << 18;

/// See the module documentation.
pub(super) struct Dominance {
    /// The dominator of the node at each position, as a position.
    pub above: Lookup<Preorder>,
    /// Of all threads.
    numbers: Arc<Numbers>,
}

/// The dominator tree in numbers, once they pay.
struct Numbers {
    /// Steps to dominators that may still be taken before the tree is numbered.
    climbs: AtomicUsize,
    tree: Mutex<Tree>,
}

/// See [`Numbers`].
enum Tree {
    /// Not numbered; the budget that is kept for the numbers.
    Kept(Option<Reservation>),
    Numbered(DominatorTree),
}

/// Numbers in a preorder of the dominator tree, and the end of what each position dominates.
struct DominatorTree {
    begin: Array<u32>,
    end: Array<u32>,
    /// Bytes of numbers that did not fit.
    spilled: u64,
}

impl Dominance {
    /// Of the dominators of positions; `kept` is given back for the numbers.
    pub fn new(above: Lookup<Preorder>, kept: Reservation) -> Self {
        let (climbs, tree) = (AtomicUsize::new(above.count() / CLIMBS), Mutex::new(Tree::Kept(Some(kept))));
        Self { above, numbers: Arc::new(Numbers { climbs, tree }) }
    }

    /// The same for another thread; nothing if the dominators are behind page frames.
    pub fn share(&self) -> Option<Self> {
        Some(Self { above: self.above.share()?, numbers: Arc::clone(&self.numbers) })
    }

    /// Bytes of numbers that did not fit.
    pub fn spilled_bytes(&self) -> u64 {
        match &*self.numbers.tree() {
            Tree::Kept(_) => 0,
            Tree::Numbered(tree) => tree.spilled,
        }
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
        let mut open: Vec<u64> = (0..).zip(asked).filter_map(is_open).collect();
        let allowed = self.numbers.climbs.load(Ordering::Relaxed);
        let climbs = match &mut self.above {
            Lookup::Mapped(above) => climb(above, &mut open, asked, out, allowed),
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

/// Goes from dominator to dominator, question by question, in so many steps at most. `open` has the position of a node and
/// the number of a question, and keeps those that are left. Returns the steps.
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

/// The same for all questions together, from the last positions down, so that dominators are read in one direction.
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
        // What a thread leaves behind that panicked is not looked at: the panic is passed on.
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DominatorTree {
    /// Numbers the dominator tree.
    #[cold]
    fn number(positions: usize, job: &Job<'_>) -> Result<Self, StageError> {
        let mut plan = ArrayPlan::of(job, "retainer trees");
        let (mut begin, mut end) = plan.make((filled(positions, 0u32), filled(positions, 1u32)))?;
        on_resident!(begin, end => number(begin, end, job.scratch))?;
        Ok(Self { begin, end, spilled: plan.spilled_bytes() })
    }

    /// Answers the questions that are `open`: position of a node that what is asked about lives on, and of the question.
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
