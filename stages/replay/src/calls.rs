//! Who allocates: sampled objects by stack and type, and the call trees that follow from them.

use crate::sampling::scale;
use crate::stacks::{EMPTY, Node};
use heaplake_kit::charge::Charge;
use heaplake_kit::{Budget, BudgetVec, StageError};
use heaplake_schemas::object_lifetimes::GENERATIONS;
use rustc_hash::FxHashMap;

/// Bytes of an entry of a hash table, with the room that it keeps free.
const ENTRY: u64 = 64;

/// No function: the root of a call tree, or a frame whose function is not known.
pub const NONE: u32 = u32::MAX;

/// Sampled objects of one type that were allocated on one stack.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Node of the stack.
    pub stack: u32,
    /// The type.
    pub type_id: u32,
    /// Events.
    pub samples: u64,
    /// Objects: one for each, unless the runtime itself takes a sample.
    pub count: u64,
    /// Their sizes, bytes.
    pub bytes: u64,
    /// Those that were reclaimed, by generation: objects and bytes.
    pub deaths: [(u64, u64); GENERATIONS.len()],
}

/// All cells.
pub struct Cells {
    cells: BudgetVec<Cell>,
    numbers: FxHashMap<(u32, u32), u32>,
    charge: Charge,
}

impl Cells {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        let who = "the allocating stacks of the trace";
        Ok(Self { cells: budget.growing(who), numbers: FxHashMap::default(), charge: Charge::new(budget, who)? })
    }

    /// Counts a sampled event that stands for `count` objects; the number of its cell.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    #[inline]
    pub fn add(&mut self, stack: u32, type_id: u32, count: u64, bytes: u64) -> Result<u32, StageError> {
        let number = match self.numbers.get(&(stack, type_id)) {
            Some(&number) => number,
            None => self.make(stack, type_id)?,
        };
        let cell = &mut self.cells[number as usize];
        cell.samples += 1;
        cell.count = cell.count.saturating_add(count);
        cell.bytes = cell.bytes.saturating_add(bytes);
        Ok(number)
    }

    #[cold]
    fn make(&mut self, stack: u32, type_id: u32) -> Result<u32, StageError> {
        self.charge.add(ENTRY)?;
        let number = u32::try_from(self.cells.len()).map_err(|_| StageError::Overflow("the number of stacks"))?;
        self.cells.push(Cell { stack, type_id, samples: 0, count: 0, bytes: 0, deaths: Default::default() })?;
        self.numbers.insert((stack, type_id), number);
        Ok(number)
    }

    /// Counts `count` objects, all of which were allocated there.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn add_all(&mut self, stack: u32, type_id: u32, count: u64, bytes: u64) -> Result<(), StageError> {
        let number = self.add(stack, type_id, count, bytes)?;
        let samples = &mut self.cells[number as usize].samples;
        *samples = samples.saturating_add(count.saturating_sub(1));
        Ok(())
    }

    /// Counts the death of an object of a cell.
    #[inline]
    pub fn died(&mut self, cell: u32, generation: usize, bytes: u64) {
        if let Some(cell) = self.cells.get_mut(cell as usize) {
            let (count, sum) = &mut cell.deaths[generation];
            *count += 1;
            *sum = sum.saturating_add(bytes);
        }
    }

    /// The cells, in the order in which they first occurred.
    #[must_use]
    pub fn all(&self) -> &[Cell] {
        &self.cells
    }
}

/// What sampled objects stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Sampled objects.
    pub samples: u64,
    /// Their sizes, bytes.
    pub sampled_bytes: u64,
    /// All objects that they stand for.
    pub count: u64,
    /// The sizes of these, bytes.
    pub bytes: u64,
}

impl Amount {
    /// Samples that are `count` objects, of a type of which `total` were allocated and `sampled` taken.
    #[must_use]
    pub fn of(samples: u64, count: u64, bytes: u64, (total, sampled): (u64, u64)) -> Self {
        let all = |part| if sampled == 0 { part } else { scale(part, total, sampled) };
        Self { samples, sampled_bytes: bytes, count: all(count), bytes: all(bytes) }
    }

    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.sampled_bytes = self.sampled_bytes.saturating_add(other.sampled_bytes);
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// A function in a tree of calls.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Node above; less than the node itself.
    pub parent: u32,
    /// The function; [`NONE`] at the root.
    pub function: u32,
    /// What belongs to the node itself.
    pub exclusive: Amount,
    /// What belongs to it and the nodes below.
    pub inclusive: Amount,
}

/// A node's place in the preorder of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The node.
    pub node: u32,
    /// Its position in the order, from 0 below the root.
    pub position: u32,
    /// That of the node above; [`NONE`] at the top.
    pub parent: u32,
    /// Nodes above it.
    pub depth: u32,
}

/// A tree of calls, from the outermost functions down or from the allocating ones up.
pub struct Tree {
    calls: BudgetVec<Call>,
    children: FxHashMap<(u32, u32), u32>,
    charge: Charge,
}

impl Tree {
    /// A root alone.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        let who = "a call tree";
        let mut calls = budget.growing(who);
        let (exclusive, inclusive) = (Amount::default(), Amount::default());
        calls.push(Call { parent: EMPTY, function: NONE, exclusive, inclusive })?;
        Ok(Self { calls, children: FxHashMap::default(), charge: Charge::new(budget, who)? })
    }

    /// Forgets everything but the root; memory is kept.
    pub fn clear(&mut self) {
        let root = self.calls[0];
        self.calls.clear();
        // There is room for one.
        let _ = self.calls.push(Call { exclusive: Amount::default(), inclusive: Amount::default(), ..root });
        self.charge.sub(self.children.len() as u64 * ENTRY);
        self.children.clear();
    }

    /// The node of a function below another node.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn child(&mut self, parent: u32, function: u32) -> Result<u32, StageError> {
        if let Some(&node) = self.children.get(&(parent, function)) {
            return Ok(node);
        }
        self.charge.add(ENTRY)?;
        let node = self.calls.len() as u32;
        self.calls.push(Call { parent, function, exclusive: Amount::default(), inclusive: Amount::default() })?;
        self.children.insert((parent, function), node);
        Ok(node)
    }

    /// Adds to a node itself.
    pub fn add(&mut self, node: u32, amount: &Amount) {
        self.calls[node as usize].exclusive.add(amount);
    }

    /// Sums up from the leaves; once, when all is added.
    pub fn sum(&mut self) {
        for node in (0..self.calls.len()).rev() {
            let call = &mut self.calls[node];
            let exclusive = call.exclusive;
            call.inclusive.add(&exclusive);
            let (inclusive, parent) = (call.inclusive, call.parent as usize);
            if node > 0 {
                self.calls[parent].inclusive.add(&inclusive);
            }
        }
    }

    /// The nodes; the first is the root, and each comes after the one above it.
    #[must_use]
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Visits all nodes but the root in preorder, siblings by bytes descending, then by function: the visitor gets each
    /// node with its place.
    ///
    /// # Errors
    /// Those of the visitor, [`StageError::Budget`].
    pub fn preorder(
        &self,
        budget: &Budget,
        mut visit: impl FnMut(&Call, Place) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        // Children of a node side by side, in reverse: what comes last is taken from the stack first.
        let mut order = budget.filled("a call tree in order", self.calls.len(), 0_u32)?;
        order.iter_mut().zip(0..).for_each(|(slot, node)| *slot = node);
        let key = |node: u32| {
            let call = &self.calls[node as usize];
            (call.parent, call.inclusive.bytes, std::cmp::Reverse(call.function))
        };
        order[1..].sort_unstable_by_key(|&node| key(node));
        let mut first = budget.filled("a call tree in order", self.calls.len() + 1, 0_u32)?;
        for &node in &order[1..] {
            first[self.calls[node as usize].parent as usize + 1] += 1;
        }
        first[0] = 1;
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut stack = budget.growing("a call tree in order");
        let mut position = 0;
        let children = |node: u32| first[node as usize] as usize..first[node as usize + 1] as usize;
        for &node in &order[children(EMPTY)] {
            stack.push((node, NONE, 0))?;
        }
        while let Some((node, parent, depth)) = stack.pop() {
            visit(&self.calls[node as usize], Place { node, position, parent, depth })?;
            for &child in &order[children(node)] {
                stack.push((child, position, depth + 1))?;
            }
            position += 1;
        }
        Ok(())
    }
}

/// The tree of calls by function, from the tree of frames: `function` tells the function of each frame's node. Frames of
/// no known function are left out. Gives the tree, and each stack's node in it.
///
/// # Errors
/// [`StageError::Budget`].
pub fn merge(budget: &Budget, frames: &[Node], functions: &[u32]) -> Result<(Tree, BudgetVec<u32>), StageError> {
    let mut tree = Tree::new(budget)?;
    let mut nodes = budget.filled("the stacks of the trace", frames.len(), EMPTY)?;
    for (at, frame) in frames.iter().enumerate().skip(1) {
        let parent = nodes[frame.parent as usize];
        let function = functions[at];
        nodes[at] = if function == NONE { parent } else { tree.child(parent, function)? };
    }
    Ok((tree, nodes))
}
