//! The rows of reverse call graphs, a batch of types at a time.
//!
//! Stacks are sorted from the inside out, so nodes are made in preorder: descendants follow their node, and a sum is
//! complete when the next stack leaves the node. Only siblings are reordered, by bytes.

use crate::calls::{Amount, NONE};
use crate::ordered::{Space, Unordered};
use crate::stacks::EMPTY;
use crate::tree::Tree;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::filled;
use heaplake_kit::{Array, ArrayPlan, BudgetVec, ColumnWriter, ReadAt, StageError, WriteAt};
use heaplake_schemas::allocation_callers::CallerRow;
use heaplake_schemas::replay::CALLERS;
use heaplake_schemas::scratch::Column;

/// Memory account of the arrays.
pub(crate) const WHO: &str = "the callers of all types";

/// Most siblings that are sorted in a permanent list; memory of longer lists is reserved on demand.
const FEW: usize = 1 << 10;

/// Bytes left free for these, if available.
const FOR_SIBLINGS: u64 = 8 << 20;

const SIBLINGS: [Column<Sibling>; 2] = [Column::new("replay.siblings.a"), Column::new("replay.siblings.b")];

/// A stack, up to a depth, with the part shared with the one before.
#[derive(Clone, Copy)]
pub(crate) struct Stack {
    /// Its node in the call tree.
    pub node: u32,
    /// Number of its functions.
    pub depth: u32,
    /// Innermost functions shared with the previous stack of the type.
    pub shared: u32,
}

/// A node of a reverse call graph, in preorder: its first child follows it, each further child follows the descendants
/// of the one before.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Branch {
    /// The function; the type at the root.
    function: u32,
    /// The node after all its descendants.
    end: u32,
}

/// A node to be written, and its distance from the type.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Waiting {
    node: u32,
    depth: u32,
}

/// A node among its siblings, in reverse order: by bytes, then by function descending.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Sibling {
    bytes: u64,
    /// Function and node, bits inverted.
    last: u64,
}

impl Sibling {
    fn new(node: u32, function: u32, bytes: u64) -> Self {
        Self { bytes, last: !(u64::from(function) << 32 | u64::from(node)) }
    }

    fn node(self) -> u32 {
        !self.last as u32
    }
}

/// The reverse call graphs of some types, each below a root.
pub(crate) struct Batch {
    nodes: Array<Branch>,
    /// By node; of nodes off the path including all descendants.
    amounts: Array<Amount>,
    count: usize,
    /// Nodes from the root of the type to that of the last stack.
    path: Array<u32>,
    on_path: usize,
    type_id: Option<u32>,
    /// Stack of nodes to be written.
    waiting: Array<Waiting>,
}

impl Batch {
    /// Allocates for `rows` nodes and chains of `depth` callers.
    pub(crate) fn new(rows: u64, depth: u32, space: Space<'_>) -> Result<Self, StageError> {
        let rows = rows as usize;
        let mut plan = ArrayPlan::new(space.budget(), space.scratch, WHO);
        // Arrays that page take nearly all memory.
        let _for_siblings = space.budget().reserve(WHO, FOR_SIBLINGS.min(space.budget().free() / 4))?;
        let (nodes, amounts, path, waiting) = plan.make((
            filled(rows, Branch::zeroed()),
            filled(rows, Amount::default()),
            filled(rows.min((depth as usize).saturating_add(1)), EMPTY),
            filled(rows, Waiting::zeroed()),
        ))?;
        Ok(Self { nodes, amounts, count: 0, path, on_path: 0, type_id: None, waiting })
    }

    /// Appends a node to the path.
    fn grow(&mut self, function: u32) -> Result<(), StageError> {
        let (node, depth) = (self.count, self.on_path);
        self.nodes.set(node, Branch { function, end: 0 })?;
        self.path.set(depth, node as u32)?;
        (self.count, self.on_path) = (node + 1, depth + 1);
        Ok(())
    }

    /// Visits the siblings from `node` to the `end` of their parent.
    fn each(
        &mut self,
        mut node: u32,
        end: u32,
        mut show: impl FnMut(Sibling) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        while node < end {
            let Branch { function, end: next } = self.nodes.get(node as usize)?;
            show(Sibling::new(node, function, self.amounts.get(node as usize)?.bytes))?;
            node = next;
        }
        Ok(())
    }

    /// Cuts the path to `length` nodes.
    fn cut(&mut self, length: usize) -> Result<(), StageError> {
        while self.on_path > length {
            self.on_path -= 1;
            let (node, end) = (self.path.get(self.on_path)? as usize, self.count as u32);
            self.nodes.change(node, |branch| branch.end = end)?;
            if let Some(above) = self.on_path.checked_sub(1) {
                let amount = self.amounts.get(node)?;
                self.amounts.change(self.path.get(above)? as usize, |sum| sum.add(&amount))?;
            }
        }
        Ok(())
    }

    /// Adds the allocations of a stack; stacks come sorted by type.
    pub(crate) fn add(
        &mut self,
        calls: &mut Tree,
        type_id: u32,
        stack: Stack,
        amount: &Amount,
    ) -> Result<(), StageError> {
        if self.type_id.replace(type_id) != Some(type_id) {
            self.cut(0)?;
            self.grow(type_id)?;
        }
        if stack.shared < stack.depth {
            self.cut(stack.shared as usize + 1)?;
            let mut link = calls.links.get(stack.node as usize)?;
            for depth in 0..stack.depth {
                if depth >= stack.shared {
                    self.grow(link.function)?;
                }
                link = calls.links.get(link.parent as usize)?;
            }
        }
        let last = self.path.get(stack.depth as usize)?;
        self.amounts.change(last as usize, |sum| sum.add(amount))?;
        Ok(())
    }
}

/// Writes rows, batch by batch.
pub(crate) struct Writer<'a> {
    rows: ColumnWriter<CallerRow>,
    /// Rows so far.
    base: u32,
    /// Buffer of siblings.
    siblings: BudgetVec<Sibling>,
    space: Space<'a>,
    spilled: u64,
}

impl<'a> Writer<'a> {
    /// Creates the column.
    pub(crate) fn new(space: Space<'a>) -> Result<Self, StageError> {
        let siblings = space.budget().with_room(WHO, FEW)?;
        Ok(Self { rows: ColumnWriter::create(space.scratch, CALLERS)?, base: 0, siblings, space, spilled: 0 })
    }

    /// Finishes the column; returns the spilled bytes.
    pub(crate) fn finish(self) -> Result<u64, StageError> {
        self.rows.finish()?;
        Ok(self.spilled)
    }

    /// Writes the rows of a batch.
    pub(crate) fn write(&mut self, mut batch: Batch) -> Result<(), StageError> {
        batch.cut(0)?;
        let mut root = 0;
        while root < batch.count {
            let Branch { function: type_id, end } = batch.nodes.get(root)?;
            let mut waiting = self.children(&mut batch, Waiting { node: root as u32, depth: 0 }, 0)?;
            while waiting > 0 {
                waiting -= 1;
                let next = batch.waiting.get(waiting)?;
                self.row(&mut batch, next, type_id)?;
                waiting = self.children(&mut batch, next, waiting)?;
            }
            root = end as usize;
        }
        Ok(())
    }

    /// Pushes the children of a node onto the stack of `waiting` nodes; returns its new height.
    fn children(&mut self, batch: &mut Batch, of: Waiting, mut waiting: usize) -> Result<usize, StageError> {
        let (end, first, depth) = (batch.nodes.get(of.node as usize)?.end, of.node + 1, of.depth + 1);
        if first == end {
            return Ok(waiting);
        }
        if batch.nodes.get(first as usize)?.end == end {
            batch.waiting.set(waiting, Waiting { node: first, depth })?;
            return Ok(waiting + 1);
        }
        let mut count = 0;
        batch.each(first, end, |_| {
            count += 1;
            Ok(())
        })?;
        if count <= FEW {
            self.siblings.clear();
            batch.each(first, end, |sibling| self.siblings.push(sibling))?;
            self.siblings.sort_unstable();
            for sibling in self.siblings.iter() {
                batch.waiting.set(waiting, Waiting { node: sibling.node(), depth })?;
                waiting += 1;
            }
            return Ok(waiting);
        }
        let mut siblings = Unordered::new(WHO, count, SIBLINGS, self.space)?;
        batch.each(first, end, |sibling| siblings.push(sibling))?;
        let mut siblings = siblings.finish()?;
        while let Some(sibling) = siblings.pop()? {
            batch.waiting.set(waiting, Waiting { node: sibling.node(), depth })?;
            waiting += 1;
        }
        self.spilled += siblings.spilled();
        Ok(waiting)
    }

    fn row(&mut self, batch: &mut Batch, Waiting { node, depth }: Waiting, type_id: u32) -> Result<(), StageError> {
        self.space.check(self.base as usize)?;
        let function = batch.nodes.get(node as usize)?.function;
        let amount = batch.amounts.get(node as usize)?;
        // From here on the path has the rows of the called functions.
        let depth = depth as usize;
        let parent = if depth == 1 { NONE } else { batch.path.get(depth - 1)? };
        batch.path.set(depth, self.base)?;
        self.rows.push(CallerRow {
            parent,
            depth: depth as u32 - 1,
            type_id,
            function_id: function,
            samples: amount.samples,
            sampled_bytes: amount.sampled_bytes,
            estimated_bytes: amount.bytes,
            estimated_count: amount.count,
        })?;
        self.base = self.base.checked_add(1).ok_or(StageError::Overflow("the number of callers"))?;
        Ok(())
    }
}
