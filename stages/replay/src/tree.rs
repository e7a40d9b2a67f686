//! Trees of calls: links from each node to the one above it, in arrays that page where they do not fit.
//!
//! A node comes after the one above it, so sums go through the nodes from the last to the first, and nothing here
//! depends on how deep a tree is: no path is walked for each of its nodes, and nothing recurs.

use crate::calls::{Amount, NONE};
use crate::index_table::{IndexTable, hash};
use crate::ordered::{Space, Unordered};
use crate::stacks::{EMPTY, Node};
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::filled;
use heaplake_kit::{Array, ArrayPlan, ReadAt, StageError, WriteAt};
use heaplake_schemas::scratch::Column;

/// Name of these arrays in the memory budget.
const WHO: &str = "a call tree";

const ORDER: [Column<Child>; 2] = [Column::new("replay.children.a"), Column::new("replay.children.b")];

/// A node's caller and function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Link {
    /// Node above; less than the node itself.
    pub parent: u32,
    /// The function; [`NONE`] at the root.
    pub function: u32,
}

/// The root of a tree.
const ROOT: Link = Link { parent: EMPTY, function: NONE };

/// A tree of calls; node 0 is the root.
pub struct Tree {
    /// The nodes.
    pub links: Array<Link>,
    /// How many there are.
    pub count: usize,
}

/// The tree of calls by function, from the tree of frames: `function` gives the function of a frame, [`NONE`] where it
/// is not known; such frames are left out. Gives the tree, and each stack's node in it.
///
/// # Errors
/// [`StageError::Budget`], [`StageError::Io`], [`StageError::Cancelled`], and those of `function`.
pub fn merge(
    frames: &[Node],
    mut function: impl FnMut(u64) -> Result<u32, StageError>,
    space: Space<'_>,
) -> Result<(Tree, Array<u32>), StageError> {
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
        let node = match index.find_in(hash_of(link), |node| Ok(links.get(node as usize)? == link))? {
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
    Ok((Tree { links, count }, nodes))
}

impl Tree {
    /// Makes of what belongs to each node itself what belongs to it and the nodes below.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Cancelled`].
    pub fn sum(&mut self, amounts: &mut Array<Amount>, space: Space<'_>) -> Result<(), StageError> {
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
    /// All bits of its weight turned round: the heaviest comes first.
    weight: u64,
    /// Function and node.
    last: u64,
}

/// The children of all nodes, in order.
pub struct Children {
    /// Where the next child of each node is in `order`.
    next: Array<u32>,
    /// Children by the nodes above them.
    order: Array<u32>,
    count: usize,
}

/// A step of a walk through a tree.
pub enum Step {
    /// Into a node.
    Enter(Place),
    /// Out of a node, after all below it.
    Leave(Link),
}

/// A node's place in the preorder of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The node.
    pub node: u32,
    /// Its link.
    pub link: Link,
    /// Nodes above it but the root.
    pub depth: u32,
}

impl Children {
    /// Orders siblings by weight descending, then by function. What has no weight is left out, with all below it.
    ///
    /// # Errors
    /// [`StageError::Budget`], [`StageError::Io`], [`StageError::Cancelled`], and those of `weight`.
    pub fn new(
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

    /// The next child of a node.
    fn child(&mut self, tree: &mut Tree, of: u32) -> Result<Option<(u32, Link)>, StageError> {
        let at = self.next.get(of as usize)? as usize;
        if at >= self.count {
            return Ok(None);
        }
        let node = self.order.get(at)?;
        let link = tree.links.get(node as usize)?;
        // Behind the last child of a node come those of another one.
        if link.parent != of {
            return Ok(None);
        }
        self.next.set(of as usize, at as u32 + 1)?;
        Ok(Some((node, link)))
    }

    /// Goes through a tree in preorder, without the root.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Cancelled`], and those of the visitor.
    pub fn walk(
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
