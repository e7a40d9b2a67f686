//! Stacks of a trace, kept as one tree: a stack is the node of its innermost frame.
//!
//! A frame is a number whose meaning the format knows (an address, or the number of a function). Stacks share the frames
//! that they have in common from the outermost one on, so that the tree is as large as the program's calls are various,
//! not as the trace is long.

use crate::numbers::{Numbers, hash};
use heaplake_kit::{Budget, BudgetVec, StageError};

/// The empty stack, and the parent of outermost frames.
pub const EMPTY: u32 = 0;

/// A frame in its place.
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
    children: Numbers,
}

/// Finds the frames of a stack that an event names.
pub trait Frames {
    /// The node of a stack.
    ///
    /// # Errors
    /// [`StageError::Budget`], and those of the format for a stack that is not there.
    fn node(&mut self, stack: u32, stacks: &mut Stacks) -> Result<u32, StageError>;
}

impl Stacks {
    /// The empty stack alone.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        let mut nodes = budget.growing("the stacks of the trace");
        nodes.push(Node { parent: EMPTY, frame: 0 })?;
        Ok(Self { nodes, children: Numbers::new(budget, "the stacks of the trace")? })
    }

    /// The frame that is called from a node.
    ///
    /// # Errors
    /// [`StageError::Budget`].
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

    /// All nodes; the first is the empty stack.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
}
