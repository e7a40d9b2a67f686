//! Folds the dominator tree into groups.
//!
//! A group is all objects of one class with the same classes above them in the dominator tree, recursion folded: a list
//! of ten million elements is one group. Its bytes are the shallow bytes of its objects; its total adds those of the
//! groups below it, so totals never count a byte twice, and the root's is the heap.
//!
//! Objects with large retained sizes create groups first, up to the limit; later objects go to a group of others beside
//! them. No bytes are lost, but a group of others shows only its size.

use heaplake_kit::array_plan::{filled, lookup};
use heaplake_kit::{Array, ArrayPlan, ColumnWriter, Context, Lookup, ReadAt, Scratch, Stack, StageError, WriteAt};
use heaplake_lake::reader::Reader;
use heaplake_schemas::nodes;
use heaplake_schemas::scratch::Column;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::path::Path;

const CLASS: Column<u32> = Column::new("report.class");
const DOMINATOR: Column<u32> = Column::new("report.dominator");

/// Class of a group of others.
pub const OTHERS: u32 = u32::MAX;
/// No node.
pub const NONE: u32 = u32::MAX;

/// Maximum groups created for classes.
const MOST: usize = 1 << 18;
/// Maximum depth; deeper objects go to the nearest group above of the same class, or to the deepest.
const DEEPEST: u32 = 48;
/// Objects that retain at least 1 / this of the heap create groups before all others.
const LARGE_PART: u64 = 1 << 14;

/// A group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Parent group; the root's is itself.
    pub parent: u32,
    /// Class of the objects, or [`OTHERS`].
    pub class: u32,
    /// Number of groups above.
    pub depth: u32,
    /// Number of objects.
    pub count: u64,
    /// Shallow bytes.
    pub bytes: u64,
    /// Shallow bytes, including the groups below.
    pub total: u64,
    /// The object with the largest retained size, the first of several.
    pub example: u32,
    /// Its retained size.
    pub example_bytes: u64,
}

/// Maximum dominators listed per node.
const ABOVE: usize = 12;

/// The folded tree of a run, and dominators of selected nodes.
pub struct Folded {
    /// Groups, each after its parent; the first is the root.
    pub groups: Vec<Group>,
    /// Nearest dominators of each selected node.
    pub above: Vec<Above>,
}

/// The nearest dominators of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Above {
    /// Node.
    pub node: u32,
    /// Its dominators, nearest first, without the root.
    pub dominators: Vec<u32>,
    /// Whether there are more.
    pub more: bool,
}

/// Folds the dominator tree of a run; `None` without a table of nodes. Lists the dominators of the `asked` nodes that
/// the table has.
pub fn fold(
    folder: &Path,
    asked: &[u32],
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<Option<Folded>, StageError> {
    let Some(heap) = copy_columns(folder, scratch, context)? else { return Ok(None) };
    let mut plan = ArrayPlan::new(&context.budget, scratch, "report");
    let arrays = (filled(heap.nodes as usize, NONE), lookup(DOMINATOR), lookup(CLASS));
    let (group_of, dominator, class) = plan.make(arrays)?;
    let path = Stack::new(&context.budget, scratch, "report.path")?;
    let mut fold = Fold { folder, groups: Groups::new(heap.root_class), group_of, dominator, class, path };
    fold.group_of.set(heap.root as usize, 0)?;
    let least = heap.bytes / LARGE_PART;
    each_node(folder, context, |node, _, retained| {
        if retained > least {
            fold.visit(node)?;
        }
        Ok(())
    })?;
    each_node(folder, context, |node, shallow, retained| {
        let group = fold.visit(node)?;
        fold.groups.list[group as usize].add(node, shallow, retained);
        Ok(())
    })?;
    let known = asked.iter().filter(|&&node| u64::from(node) < heap.nodes);
    let above = known.map(|&node| fold.above(node, heap.root)).collect::<Result<_, _>>()?;
    Ok(Some(Folded { groups: fold.groups.finish(), above }))
}

/// Totals of the table of nodes.
struct Heap {
    nodes: u64,
    root: u32,
    root_class: u32,
    bytes: u64,
}

/// Copies the columns that need random access.
fn copy_columns(folder: &Path, scratch: &Scratch, context: &Context<'_>) -> Result<Option<Heap>, StageError> {
    let Some(reader) = Reader::open_if_present(&folder.join(nodes::TABLE.file))? else { return Ok(None) };
    let mut batches = reader.columns(&["class_id", "dominator", "retained_bytes"])?;
    let mut class = ColumnWriter::create(scratch, CLASS)?;
    let mut dominator = ColumnWriter::create(scratch, DOMINATOR)?;
    let (mut root, mut most) = (None, 0);
    while let Some(rows) = batches.batch()? {
        let dominators = rows.u32s("dominator")?.values();
        let classes = rows.u32s("class_id")?.values();
        if root.is_none() {
            // Only the root dominates itself.
            let own = dominators.iter().zip(class.len()..).position(|(&above, node)| u64::from(above) == node);
            let retained = rows.sizes("retained_bytes")?;
            root = own.map(|at| (class.len() as u32 + at as u32, classes[at], retained.value(at)));
        }
        class.extend(classes)?;
        dominator.extend(dominators)?;
        most = most.max(dominators.iter().copied().max().unwrap_or(0));
        context.check()?;
    }
    let nodes = class.finish()?;
    dominator.finish()?;
    if u64::from(most) >= nodes && nodes > 0 {
        return Err(damaged(folder, format!("expected dominators below {nodes}, found {most}")));
    }
    Ok(root.map(|(root, root_class, bytes)| Heap { nodes, root, root_class, bytes }))
}

/// Calls `each` with every reachable node, its shallow and its retained bytes.
fn each_node(
    folder: &Path,
    context: &Context<'_>,
    mut each: impl FnMut(u32, u64, u64) -> Result<(), StageError>,
) -> Result<(), StageError> {
    let Some(reader) = Reader::open_if_present(&folder.join(nodes::TABLE.file))? else { return Ok(()) };
    let mut batches = reader.columns(&["shallow_bytes", "retained_bytes", "reachable"])?;
    let mut node = 0;
    while let Some(rows) = batches.batch()? {
        let shallow = rows.sizes("shallow_bytes")?;
        let retained = rows.sizes("retained_bytes")?;
        let reachable = rows.flags("reachable")?;
        for row in 0..rows.len() {
            if reachable.value(row) {
                each(node, shallow.value(row), retained.value(row))?;
            }
            node += 1;
        }
        context.step(rows.len() as u64)?;
    }
    Ok(())
}

fn damaged(folder: &Path, problem: String) -> StageError {
    StageError::Table { path: folder.join(nodes::TABLE.file), problem }
}

struct Fold<'a> {
    folder: &'a Path,
    groups: Groups,
    group_of: Array<u32>,
    dominator: Lookup<u32>,
    class: Lookup<u32>,
    /// Nodes of unknown group, each dominated by the next.
    path: Stack<u32>,
}

impl Fold<'_> {
    /// Lists the nearest dominators of a node.
    fn above(&mut self, node: u32, root: u32) -> Result<Above, StageError> {
        let mut dominators = Vec::new();
        let mut at = node;
        while at != root {
            at = self.dominator.get(at as usize)?;
            if at == root || dominators.len() == ABOVE {
                break;
            }
            dominators.push(at);
        }
        Ok(Above { node, dominators, more: at != root })
    }

    /// Returns the group of a node; determines those of its dominators on the way.
    fn visit(&mut self, node: u32) -> Result<u32, StageError> {
        let mut at = node;
        let mut steps = 0;
        let mut group = self.group_of.get(at as usize)?;
        while group == NONE {
            steps += 1;
            if steps > self.group_of.count() {
                // Occurs only in a foreign table.
                return Err(damaged(
                    self.folder,
                    format!("expected a way from node {node} to the root, found a ring of dominators"),
                ));
            }
            self.path.push(at)?;
            at = self.dominator.get(at as usize)?;
            group = self.group_of.get(at as usize)?;
        }
        while let Some(below) = self.path.pop()? {
            group = self.groups.below(group, self.class.get(below as usize)?);
            self.group_of.set(below as usize, group)?;
        }
        Ok(group)
    }
}

impl Group {
    fn new(parent: u32, class: u32, depth: u32) -> Self {
        Self { parent, class, depth, count: 0, bytes: 0, total: 0, example: NONE, example_bytes: 0 }
    }

    fn add(&mut self, node: u32, shallow: u64, retained: u64) {
        if self.example == NONE || retained > self.example_bytes {
            (self.example, self.example_bytes) = (node, retained);
        }
        self.count += 1;
        self.bytes = self.bytes.saturating_add(shallow);
    }
}

/// Groups so far.
struct Groups {
    list: Vec<Group>,
    below: FxHashMap<(u32, u32), u32>,
}

impl Groups {
    fn new(root_class: u32) -> Self {
        Self { list: vec![Group::new(0, root_class, 0)], below: FxHashMap::default() }
    }

    /// Returns the group for an object of a class dominated by an object of `group`; creates it if needed.
    fn below(&mut self, group: u32, class: u32) -> u32 {
        let above = self.list[group as usize];
        if above.class == OTHERS || (above.class == class && group != 0) {
            return group;
        }
        if let Some(&known) = self.below.get(&(group, class)) {
            return known;
        }
        if above.depth >= DEEPEST {
            return self.nearest(group, class).unwrap_or(group);
        }
        let class = if self.list.len() < MOST { class } else { OTHERS };
        let next = self.list.len() as u32;
        let found = *self.below.entry((group, class)).or_insert(next);
        if found == next {
            self.list.push(Group::new(group, class, above.depth + 1));
        }
        found
    }

    /// The nearest group above of the same class.
    fn nearest(&self, group: u32, class: u32) -> Option<u32> {
        let mut at = group;
        while at != 0 {
            if self.list[at as usize].class == class {
                return Some(at);
            }
            at = self.list[at as usize].parent;
        }
        None
    }

    fn finish(mut self) -> Vec<Group> {
        for group in &mut self.list {
            group.total = group.bytes;
        }
        for at in (1..self.list.len()).rev() {
            let (parent, total) = (self.list[at].parent, self.list[at].total);
            let above = &mut self.list[parent as usize].total;
            *above = above.saturating_add(total);
        }
        self.list
    }
}

/// Keeps the `most` largest groups and updates parent indices; omitted children of a group become one group of others.
pub fn prune(groups: &[Group], most: usize) -> Vec<Group> {
    let mut order: Vec<u32> = (0..groups.len() as u32).collect();
    // A group is no larger than its parent, and comes after it.
    order.sort_unstable_by_key(|&at| (std::cmp::Reverse(groups[at as usize].total), at));
    let (kept, rest) = order.split_at(most.min(order.len()));
    let mut kept = kept.to_vec();
    kept.sort_unstable();
    let position = |at: u32| kept.binary_search(&at).ok();
    let mut pruned: Vec<Group> = kept
        .iter()
        .map(|&at| {
            let group = groups[at as usize];
            Group { parent: position(group.parent).unwrap_or(0) as u32, ..group }
        })
        .collect();
    let mut others: FxHashMap<u32, u32> = FxHashMap::default();
    let mut tops: Vec<u32> = rest.to_vec();
    tops.sort_unstable();
    for at in tops {
        let group = groups[at as usize];
        // Its total is included in that of an omitted ancestor.
        let Some(parent) = position(group.parent) else { continue };
        let next = pruned.len() as u32;
        let other = *others.entry(parent as u32).or_insert(next);
        if other == next {
            pruned.push(Group::new(parent as u32, OTHERS, group.depth));
        }
        let other = &mut pruned[other as usize];
        other.count += group.count;
        other.bytes = other.bytes.saturating_add(group.total);
        other.total = other.bytes;
    }
    pruned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_is_one_group_and_depth_is_bounded() {
        let mut groups = Groups::new(0);
        let mut at = groups.below(0, 1);
        for _ in 0..1000 {
            assert_eq!(groups.below(at, 1), at);
        }
        for class in 0..10_000 {
            at = groups.below(at, 2 + class % 100);
        }
        assert!(groups.list.len() <= DEEPEST as usize + 1);
    }

    #[test]
    fn what_has_no_room_goes_to_others() {
        let mut groups = Groups::new(0);
        for class in 1..2 * MOST as u32 {
            let group = groups.below(0, class);
            groups.list[group as usize].add(class, 1, 1);
        }
        let groups = groups.finish();
        assert_eq!(groups.len(), MOST + 1);
        assert_eq!(groups[0].total, 2 * MOST as u64 - 1);
        assert_eq!(groups[MOST].class, OTHERS);
        let pruned = prune(&groups, 10);
        assert_eq!(pruned[0].total, groups[0].total);
        let below: u64 = pruned[1..].iter().filter(|group| group.parent == 0).map(|group| group.total).sum();
        assert_eq!(below, groups[0].total);
        assert!(pruned.len() <= 11);
    }
}
