//! Sampled objects by stack and type, and the call trees computed from them.

use crate::index_table::{IndexTable, hash};
use crate::sampling::scale;
use crate::stacks::{EMPTY, Node};
use heaplake_kit::{Budget, BudgetVec, StageError};
use heaplake_schemas::object_lifetimes::GENERATIONS;

/// No function: the root of a call tree, or a frame whose function is not known.
pub const NONE: u32 = u32::MAX;

/// Sampled objects of one type and stratum that were allocated on one stack.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Node of the stack.
    pub stack: u32,
    /// The type.
    pub type_id: u32,
    /// Their stratum in the sample of the type.
    pub stratum: u32,
    /// Events.
    pub samples: u64,
    /// Objects: one for each, unless the runtime itself takes a sample.
    pub count: u64,
    /// Their sizes, bytes.
    pub bytes: u64,
}

/// Objects and bytes by generation in which they were reclaimed.
pub type Deaths = [(u64, u64); GENERATIONS.len()];

/// All cells.
pub struct Cells {
    cells: BudgetVec<Cell>,
    /// Deaths of each, those in generation 0 apart, and in their place what was lost: most objects die there, and how
    /// many follows from the others.
    deaths: BudgetVec<Deaths>,
    index: IndexTable,
}

impl Cells {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        let who = "the allocating stacks of the trace";
        let (cells, deaths) = (budget.growing(who), budget.growing(who));
        Ok(Self { cells, deaths, index: IndexTable::new(budget, who)? })
    }

    /// Counts a sampled event of a stratum that represents `count` objects; returns the number of its cell.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    #[inline]
    pub fn add(
        &mut self,
        stack: u32,
        (type_id, stratum): (u32, u32),
        count: u64,
        bytes: u64,
    ) -> Result<u32, StageError> {
        let cells = &self.cells;
        let is = |number: u32| {
            let cell = &cells[number as usize];
            cell.stack == stack && cell.type_id == type_id && cell.stratum == stratum
        };
        let number = match self.index.find(hash(u64::from(stack), u64::from(type_id)), is) {
            Some(number) => number,
            None => self.make(stack, type_id, stratum)?,
        };
        let cell = &mut self.cells[number as usize];
        cell.samples += 1;
        cell.count = cell.count.saturating_add(count);
        cell.bytes = cell.bytes.saturating_add(bytes);
        Ok(number)
    }

    #[cold]
    fn make(&mut self, stack: u32, type_id: u32, stratum: u32) -> Result<u32, StageError> {
        let number = u32::try_from(self.cells.len()).map_err(|_| StageError::Overflow("the number of stacks"))?;
        self.cells.push(Cell { stack, type_id, stratum, samples: 0, count: 0, bytes: 0 })?;
        self.deaths.push(Deaths::default())?;
        let cells = &self.cells;
        self.index.add(number, |number| {
            let cell = &cells[number as usize];
            hash(u64::from(cell.stack), u64::from(cell.type_id))
        })?;
        Ok(number)
    }

    /// Counts `count` objects, all of which were allocated there.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn add_all(&mut self, stack: u32, type_id: u32, count: u64, bytes: u64) -> Result<(), StageError> {
        let number = self.add(stack, (type_id, 1), count, bytes)?;
        let samples = &mut self.cells[number as usize].samples;
        *samples = samples.saturating_add(count.saturating_sub(1));
        Ok(())
    }

    /// Counts the death of an object of a cell.
    #[inline]
    pub fn died(&mut self, cell: u32, generation: usize, bytes: u64) {
        if generation != 0 {
            self.gone(cell, generation, 1, bytes);
        }
    }

    /// Counts objects of a cell that were lost: whether they died is unknown.
    pub fn lost(&mut self, cell: u32, count: u64, bytes: u64) {
        self.gone(cell, 0, count, bytes);
    }

    fn gone(&mut self, cell: u32, generation: usize, objects: u64, bytes: u64) {
        if let Some(deaths) = self.deaths.get_mut(cell as usize) {
            let (count, sum) = &mut deaths[generation];
            *count += objects;
            *sum = sum.saturating_add(bytes);
        }
    }

    /// The cells, in the order in which they first occurred.
    #[must_use]
    pub fn all(&self) -> &[Cell] {
        &self.cells
    }

    /// Where the objects of a cell died, when all that live at the end have been counted.
    #[must_use]
    pub fn deaths(&self, cell: usize) -> Deaths {
        let (Cell { samples, bytes, .. }, mut deaths) = (self.cells[cell], self.deaths[cell]);
        let others = deaths.iter().fold((0, 0_u64), |sum, other| (sum.0 + other.0, sum.1.saturating_add(other.1)));
        deaths[0] = (samples.saturating_sub(others.0), bytes.saturating_sub(others.1));
        deaths
    }
}

/// Sampled objects, and the estimate of all objects that they represent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Sampled objects.
    pub samples: u64,
    /// Their sizes, bytes.
    pub sampled_bytes: u64,
    /// All objects that they represent.
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
    /// The node that was added last below it; [`EMPTY`] for none.
    newest: u32,
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
    children: IndexTable,
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
        calls.push(Call { parent: EMPTY, function: NONE, newest: EMPTY, exclusive, inclusive })?;
        Ok(Self { calls, children: IndexTable::new(budget, who)? })
    }

    /// Forgets everything but the root, in a tree that was grown in order; memory is kept.
    pub fn clear(&mut self) {
        let (exclusive, inclusive) = (Amount::default(), Amount::default());
        let root = Call { newest: EMPTY, exclusive, inclusive, ..self.calls[0] };
        self.calls.clear();
        // The capacity suffices for one.
        let _ = self.calls.push(root);
    }

    /// The node of a function below another node.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn child(&mut self, parent: u32, function: u32) -> Result<u32, StageError> {
        let calls = &self.calls;
        let is = |node: u32| {
            let call = &calls[node as usize];
            call.parent == parent && call.function == function
        };
        if let Some(node) = self.children.find(hash(u64::from(parent), u64::from(function)), is) {
            return Ok(node);
        }
        let node = self.grow(parent, function)?;
        let calls = &self.calls;
        self.children.add(node, |node| {
            let call = &calls[node as usize];
            hash(u64::from(call.parent), u64::from(call.function))
        })?;
        Ok(node)
    }

    /// The same in a tree that is grown in order: functions below a node come one after the other, so that a function
    /// is the newest one there or was not there before.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    #[inline]
    pub fn child_in_order(&mut self, parent: u32, function: u32) -> Result<u32, StageError> {
        let newest = self.calls[parent as usize].newest;
        if newest != EMPTY && self.calls[newest as usize].function == function {
            return Ok(newest);
        }
        self.grow(parent, function)
    }

    fn grow(&mut self, parent: u32, function: u32) -> Result<u32, StageError> {
        let node = u32::try_from(self.calls.len()).map_err(|_| StageError::Overflow("the number of calls"))?;
        let (exclusive, inclusive) = (Amount::default(), Amount::default());
        self.calls.push(Call { parent, function, newest: EMPTY, exclusive, inclusive })?;
        self.calls[parent as usize].newest = node;
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

    /// Visits all nodes with samples but the root in preorder, siblings by bytes descending, then by function: the
    /// visitor gets each node with its place.
    ///
    /// # Errors
    /// Those of the visitor, [`StageError::Budget`].
    pub fn preorder(
        &self,
        budget: &Budget,
        mut visit: impl FnMut(&Call, Place) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        // Children of a node side by side, in reverse: what comes last is taken from the stack first. At first the
        // places where they end, then, as they are filled from behind, those where they begin.
        let mut first = budget.filled("a call tree in order", self.calls.len() + 1, 0_u32)?;
        for call in &self.calls[1..] {
            first[call.parent as usize] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut order = budget.filled("a call tree in order", self.calls.len() - 1, 0_u32)?;
        for node in 1..self.calls.len() {
            let place = &mut first[self.calls[node].parent as usize];
            *place -= 1;
            order[*place as usize] = node as u32;
        }
        for node in 0..self.calls.len() {
            let children = &mut order[first[node] as usize..first[node + 1] as usize];
            if children.len() > 1 {
                children.sort_unstable_by_key(|&node| {
                    let call = &self.calls[node as usize];
                    (call.inclusive.bytes, std::cmp::Reverse(call.function))
                });
            }
        }
        let mut stack = budget.growing("a call tree in order");
        let mut position = 0;
        let children = |node: u32| first[node as usize] as usize..first[node as usize + 1] as usize;
        let counts = |node: &&u32| self.calls[**node as usize].inclusive.samples > 0;
        for &node in order[children(EMPTY)].iter().filter(counts) {
            stack.push((node, NONE, 0))?;
        }
        while let Some((node, parent, depth)) = stack.pop() {
            visit(&self.calls[node as usize], Place { node, position, parent, depth })?;
            for &child in order[children(node)].iter().filter(counts) {
                stack.push((child, position, depth + 1))?;
            }
            position += 1;
        }
        Ok(())
    }
}

/// The order of a tree's nodes by their functions, read from the inside out: by the function of the node itself, then
/// by that of its caller, and so on. In this order, nodes that begin alike from the inside are next to each other.
///
/// Ranks by the first function give those by the first two, these give those by the first four, and so on, so the
/// depth of stacks counts by its logarithm.
///
/// # Errors
/// [`StageError::Budget`].
pub fn ranks(budget: &Budget, tree: &Tree) -> Result<BudgetVec<u32>, StageError> {
    const WHO: &str = "the order of callers";
    let calls = tree.calls();
    let mut ranks = budget.filled(WHO, calls.len(), 0_u32)?;
    let mut above = budget.filled(WHO, calls.len(), EMPTY)?;
    let mut order = budget.filled(WHO, calls.len(), (0_u64, 0_u32))?;
    for (at, call) in calls.iter().enumerate().skip(1) {
        (ranks[at], above[at]) = (call.function + 1, call.parent);
    }
    loop {
        for (node, slot) in order.iter_mut().enumerate() {
            *slot = (u64::from(ranks[node]) << 32 | u64::from(ranks[above[node] as usize]), node as u32);
        }
        order.sort_unstable();
        let (mut rank, mut before) = (0, None);
        for &(key, node) in order.iter() {
            rank += u32::from(before.is_some_and(|before| before != key));
            before = Some(key);
            ranks[node as usize] = rank;
        }
        if rank as usize + 1 == calls.len() || above.iter().all(|&node| node == EMPTY) {
            return Ok(ranks);
        }
        // From the leaves up: what a node is looked up in has not been changed yet.
        for node in (0..above.len()).rev() {
            above[node] = above[above[node] as usize];
        }
    }
}

/// The tree of calls by function, from the tree of frames: `function` tells the function of each frame's node. Frames
/// of no known function are left out. Gives the tree, and each stack's node in it.
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
