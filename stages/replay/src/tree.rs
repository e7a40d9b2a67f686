//! Call trees: links from each node to its parent, in arrays that page if they do not fit.
//!
//! A node comes after its parent, so sums go from the last node to the first, and nothing depends on the depth of a
//! tree: no path is walked per node, and nothing recurs.

use crate::calls::{Amount, NONE};
use crate::index_table::{IndexTable, hash};
use crate::ordered::{Space, Unordered};
use crate::stacks::{EMPTY, Node};
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::filled;
use heaplake_kit::{Array, ArrayPlan, ReadAt, StageError, WriteAt};
use heaplake_schemas::scratch::Column;

/// Memory account of the arrays.
const WHO: &str = "a call tree";

const ORDER: [Column<Child>; 2] = [Column::new("replay.children.a"), Column::new("replay.children.b")];

/// A node's caller and function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Link {
    /// Parent node; less than the node itself.
    pub parent: u32,
    /// The function; [`NONE`] at the root.
    pub function: u32,
}

/// The root of a tree.
pub(crate) const ROOT: Link = Link { parent: EMPTY, function: NONE };

/// A call tree; node 0 is the root.
pub(crate) struct Tree {
    /// The nodes.
    pub links: Array<Link>,
    /// Number of nodes.
    pub count: usize,
}

/// The call tree of a trace.
pub(crate) struct CallTree {
    /// The tree.
    pub tree: Tree,
    /// Its node by stack.
    pub nodes: Array<u32>,
}

/// Merges the tree of frames into a call tree by function: `function` maps a frame to its function, or [`NONE`], which
/// leaves the frame out.
pub(crate) fn merge(
    frames: &[Node],
    mut function: impl FnMut(u64) -> Result<u32, StageError>,
    space: Space<'_>,
) -> Result<CallTree, StageError> {
    let mut index = IndexTable::new(space.budget(), WHO)?;
    let mut plan = ArrayPlan::new(space.budget(), space.scratch, WHO);
    let (mut links, mut nodes) = plan.make((filled(frames.len(), ROOT), filled(frames.len(), EMPTY)))?;
    let mut count = 1_usize;
    let hash_of = |link: Link| hash(u64::from(link.parent), u64::from(link.function));
    for (at, frame) in frames.iter().enumerate().skip(1) {
        space.check(at)?;
        let parent = nodes.get(frame.parent as usize)?;
        let function = function(frame.frame)?;
        if function == NONE {
            nodes.set(at, parent)?;
            continue;
        }
        let link = Link { parent, function };
        let node = match index.find_in(hash_of(link), |node| Ok::<_, StageError>(links.get(node as usize)? == link))? {
            Some(node) => node,
            None => {
                let node = count as u32;
                links.set(count, link)?;
                count += 1;
                index.add_in(node, |node| Ok(hash_of(links.get(node as usize)?)))?;
                node
            }
        };
        nodes.set(at, node)?;
    }
    Ok(CallTree { tree: Tree { links, count }, nodes })
}

impl Tree {
    /// Turns exclusive amounts of nodes into inclusive ones.
    pub(crate) fn sum(&mut self, amounts: &mut Array<Amount>, space: Space<'_>) -> Result<(), StageError> {
        for node in (1..self.count).rev() {
            space.check(node)?;
            let amount = amounts.get(node)?;
            amounts.change(self.links.get(node)?.parent as usize, |above| above.add(&amount))?;
        }
        Ok(())
    }
}

/// A node among its siblings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Child {
    parent: u64,
    /// Its weight, bits inverted: the heaviest comes first.
    weight: u64,
    /// Function and node.
    last: u64,
}

/// The children of all nodes, sorted.
pub(crate) struct Children {
    /// Position in `order` of the next child of each node.
    next: Array<u32>,
    /// Children, grouped by parent.
    order: Array<u32>,
    count: usize,
}

/// A step of a walk through a tree.
pub(crate) enum Step {
    /// Into a node.
    Enter(Place),
    /// Out of a node, after all below it.
    Leave(Link),
}

/// A node's place in the preorder of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The node.
    pub node: u32,
    /// Its link.
    pub link: Link,
    /// Number of ancestors below the root.
    pub depth: u32,
}

impl Children {
    /// Sorts siblings by weight descending, then by function. Leaves out nodes without a weight, with all their
    /// descendants.
    pub(crate) fn new(
        tree: &mut Tree,
        mut weight: impl FnMut(usize) -> Result<Option<u64>, StageError>,
        space: Space<'_>,
    ) -> Result<Self, StageError> {
        let mut children = Unordered::new("a call tree in order", tree.count - 1, ORDER, space)?;
        for node in 1..tree.count {
            if let Some(weight) = weight(node)? {
                let link = tree.links.get(node)?;
                let last = u64::from(link.function) << 32 | node as u64;
                children.push(Child { parent: link.parent.into(), weight: !weight, last })?;
            }
        }
        let mut children = children.finish()?;
        let mut plan = ArrayPlan::new(space.budget(), space.scratch, "a call tree in order");
        let (mut next, mut order) = plan.make((filled(tree.count, u32::MAX), filled(tree.count, EMPTY)))?;
        let mut count = 0;
        while let Some(Child { parent, last, .. }) = children.pop()? {
            if next.get(parent as usize)? == u32::MAX {
                next.set(parent as usize, count as u32)?;
            }
            order.set(count, last as u32)?;
            count += 1;
        }
        Ok(Self { next, order, count })
    }

    /// Returns the next child of a node.
    fn child(&mut self, tree: &mut Tree, of: u32) -> Result<Option<(u32, Link)>, StageError> {
        let at = self.next.get(of as usize)? as usize;
        if at >= self.count {
            return Ok(None);
        }
        let node = self.order.get(at)?;
        let link = tree.links.get(node as usize)?;
        // The last child of a node is followed by those of another.
        if link.parent != of {
            return Ok(None);
        }
        self.next.set(of as usize, at as u32 + 1)?;
        Ok(Some((node, link)))
    }

    /// Walks a tree in preorder, without the root.
    pub(crate) fn walk(
        mut self,
        tree: &mut Tree,
        space: Space<'_>,
        mut visit: impl FnMut(Step) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let (mut at, mut depth, mut number) = ((EMPTY, ROOT), 0, 0);
        loop {
            space.check(number)?;
            number += 1;
            if let Some((node, link)) = self.child(tree, at.0)? {
                visit(Step::Enter(Place { node, link, depth }))?;
                at = (node, link);
                depth += 1;
                continue;
            }
            let (node, link) = at;
            if node == EMPTY {
                return Ok(());
            }
            visit(Step::Leave(link))?;
            depth -= 1;
            at = (link.parent, tree.links.get(link.parent as usize)?);
        }
    }
}
