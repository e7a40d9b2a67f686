//! Stacks of a trace as one tree: a stack is the node of its innermost frame.
//!
//! A frame is a number with a meaning that depends on the format (an address, or the number of a function). Stacks
//! share common outer frames, so the size of the tree depends on the number of distinct calls, not on the length of the
//! trace.

use crate::index_table::{IndexTable, hash};
use heaplake_kit::{Budget, BudgetVec, StageError};

/// The empty stack, and the parent of outermost frames.
pub(crate) const EMPTY: u32 = 0;

/// Memory account.
const WHO: &str = "the stacks of the trace";

/// A frame of the tree.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Node of the calling frame; less than the node itself.
    pub parent: u32,
    /// The frame.
    pub frame: u64,
}

/// The tree.
pub struct Stacks {
    nodes: BudgetVec<Node>,
    children: IndexTable,
    /// Hash and node of stacks looked up as a whole.
    wholes: BudgetVec<(u64, u32)>,
    whole_index: IndexTable,
    /// Buffer for the frames of a look-up.
    frames: BudgetVec<u64>,
    budget: Budget,
}

/// Resolves the stacks that events refer to.
pub trait Frames {
    /// Returns the node of a stack.
    fn node(&mut self, stack: u32, stacks: &mut Stacks) -> Result<u32, StageError>;
}

/// A stack with a known node.
pub(crate) struct At(pub u32);

impl Frames for At {
    fn node(&mut self, _: u32, _: &mut Stacks) -> Result<u32, StageError> {
        Ok(self.0)
    }
}

impl Stacks {
    /// Returns a tree of the empty stack alone.
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        let mut nodes = budget.growing(WHO);
        nodes.push(Node { parent: EMPTY, frame: 0 })?;
        let table = || IndexTable::new(budget, WHO);
        let (wholes, frames) = (budget.growing(WHO), budget.growing(WHO));
        Ok(Self { nodes, children: table()?, wholes, whole_index: table()?, frames, budget: budget.clone() })
    }

    /// Returns the node of a frame called from a node.
    #[inline]
    pub fn callee(&mut self, parent: u32, frame: u64) -> Result<u32, StageError> {
        let nodes = &self.nodes;
        let is = |node: u32| {
            let node = &nodes[node as usize];
            node.parent == parent && node.frame == frame
        };
        if let Some(node) = self.children.find(hash(u64::from(parent), frame), is) {
            return Ok(node);
        }
        let node = u32::try_from(self.nodes.len()).map_err(|_| StageError::Overflow("the number of stack frames"))?;
        self.nodes.push(Node { parent, frame })?;
        let nodes = &self.nodes;
        self.children.add(node, |node| {
            let node = &nodes[node as usize];
            hash(u64::from(node.parent), node.frame)
        })?;
        Ok(node)
    }

    /// Returns the node of a whole stack, outermost frame first. Traces repeat stacks, so a known one is compared, not
    /// looked up frame by frame.
    pub fn whole(&mut self, frames: impl Iterator<Item = u64>) -> Result<u32, StageError> {
        self.frames.clear();
        let mut sum = 0;
        for frame in frames {
            sum = hash(sum, frame);
            self.frames.push(frame)?;
        }
        let (nodes, wholes, frames) = (&self.nodes, &self.wholes, &self.frames);
        let is = |number: u32| {
            let (other, node) = wholes[number as usize];
            other == sum && is_stack(nodes, node, frames)
        };
        if let Some(number) = self.whole_index.find(sum, is) {
            return Ok(self.wholes[number as usize].1);
        }
        let mut node = EMPTY;
        for at in 0..self.frames.len() {
            node = self.callee(node, self.frames[at])?;
        }
        let number = u32::try_from(self.wholes.len()).map_err(|_| StageError::Overflow("the number of stacks"))?;
        self.wholes.push((sum, node))?;
        let wholes = &self.wholes;
        self.whole_index.add(number, |number| wholes[number as usize].0)?;
        Ok(node)
    }

    /// Takes out all nodes, the first of which is the empty stack; releases the look-up tables.
    pub fn take(&mut self) -> BudgetVec<Node> {
        (self.wholes, self.frames) = (self.budget.growing(WHO), self.budget.growing(WHO));
        self.children.give_up();
        self.whole_index.give_up();
        std::mem::replace(&mut self.nodes, self.budget.growing(WHO))
    }
}

/// Whether the stack of a node has these frames, outermost first.
fn is_stack(nodes: &[Node], mut node: u32, frames: &[u64]) -> bool {
    for &frame in frames.iter().rev() {
        if node == EMPTY || nodes[node as usize].frame != frame {
            return false;
        }
        node = nodes[node as usize].parent;
    }
    node == EMPTY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_stacks_are_those_of_their_frames() {
        let budget = Budget::new(64 << 20);
        let mut stacks = Stacks::new(&budget).expect("room");
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let length = (state >> 60) as usize;
            let frames: Vec<u64> = (0..length).map(|at| state >> (at * 4) & 3).collect();
            let node = stacks.whole(frames.iter().copied()).expect("room");
            let slow = frames.iter().try_fold(EMPTY, |node, &frame| stacks.callee(node, frame)).expect("room");
            assert_eq!(node, slow, "{frames:?}");
        }
        assert_eq!(stacks.whole(std::iter::empty()).expect("room"), EMPTY);
    }
}
