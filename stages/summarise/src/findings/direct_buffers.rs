//! Rule `direct-buffers`: buffers with memory outside the heap, by holder.
//!
//! The shortest paths to the buffers form a tree. The rule follows the branch with more than half of the memory from
//! the root down; where there is none, the memory accumulates: in a collection, or below one object. That is one
//! finding, and the rest is searched in the same way. If the memory accumulates nowhere, the finding names the class
//! with the objects that hold most of the buffers. Bytes of these findings are outside the heap, so they do not compare
//! with bytes of other findings.
//!
//! A buffer without a cleaner counts if the program holds it and it is no view of another buffer. Of more than
//! [`VISITED`] buffers only those with a cleaner count.

use super::class_roles::role;
use super::heap::{Found, Heap};
use super::rule::{Detector, Rule, Tells, list_bytes, map_bytes, severity};
use super::tree::Tree;
use heaplake_kit::access::column;
use heaplake_kit::text::{count, size};
use heaplake_kit::{ColumnReader, StageError};
use heaplake_schemas::chains::label;
use heaplake_schemas::direct_buffers::{DIRECT_BUFFER, DirectBuffer};
use heaplake_schemas::findings::{Finding, Scope, Severity};
use heaplake_schemas::ids::NodeId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    names: &[NAME],
    reads: &[column(DIRECT_BUFFER).if_any()],
    working: map_bytes::<u32, Branch>(VISITED)
        + map_bytes::<u32, (Sum, u32)>(CLASSES)
        + 2 * list_bytes::<(u32, u32)>(VISITED)
        + list_bytes::<DirectBuffer>(VISITED),
    tells: Tells::Place,
    is_outside: true,
    open: |_, _| Ok(Box::new(DirectBuffers)),
    ..Rule::NEW
};

const NAME: &str = "direct-buffers";
/// Minimum percent of heap and such memory together of a high, medium, low finding.
const PERCENT: [u64; 3] = [50, 20, 5];
/// [`PERCENT`] of buffers that only wait to be freed; never high.
const PERCENT_LEFT: [u64; 3] = [101, 20, 5];
/// Minimum number of buffers of a high finding: fewer do not show growth.
const MANY: u64 = 50;
/// Maximum number of places.
const PLACES: usize = 8;
/// Maximum number of distinct objects on the paths, and of steps of one path.
const VISITED: usize = 1 << 17;
const STEPS: usize = 1 << 14;
/// Maximum number of classes of holders.
const CLASSES: usize = 1 << 10;
/// Steps of a path that show the holder of a buffer without a cleaner.
const NEAR: usize = 16;

struct DirectBuffers;

#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Subtracts a part.
    fn take(&mut self, other: Self) {
        self.count -= other.count.min(self.count);
        self.bytes -= other.bytes.min(self.bytes);
    }
}

/// An object on the paths.
#[derive(Clone, Copy)]
struct Branch {
    above: u32,
    /// Number of children not summed up yet.
    open: u32,
    /// The buffers below it.
    sum: Sum,
}

/// The paths to the buffers.
struct Paths {
    root: u32,
    branches: BTreeMap<u32, Branch>,
    /// Pairs of parent and child, sorted.
    behind: Vec<(u32, u32)>,
    /// Places found so far.
    found: BTreeSet<u32>,
    /// Buffers that are held, and buffers that only wait for their memory to be freed.
    held: Sum,
    left: Sum,
}

impl Detector for DirectBuffers {
    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let Some(tree) = heap.tree.as_ref().filter(|_| heap.job.scratch.has(DIRECT_BUFFER)) else {
            return Ok(Vec::new());
        };
        let mut paths = Paths::new(heap.metadata.root.0);
        let rows = ColumnReader::open(heap.job.scratch, DIRECT_BUFFER)?.remaining();
        let (are_few, mut few) = (rows <= VISITED as u64, Vec::new());
        heap.job.each_row_if_any(DIRECT_BUFFER, |row| {
            match row.has_cleaner {
                _ if are_few => few.push(row),
                0 => {}
                _ => paths.add(row, tree, heap),
            }
            Ok(())
        })?;
        for row in distinct(few) {
            if row.has_cleaner != 0 || !is_of_platform(row.node, tree, heap) {
                paths.add(row, tree, heap);
            }
        }
        paths.sum_up();
        let mut found: Vec<Finding> = Vec::new();
        for _ in 0..PLACES {
            let Some((place, sum)) = paths.place(heap) else { break };
            found.extend(held(place, sum, &paths, heap));
            paths.leave_out(place, sum);
        }
        found.extend(left(&paths, heap));
        Ok(found)
    }
}

/// Removes buffers without a cleaner whose memory begins inside that of another buffer.
fn distinct(mut rows: Vec<DirectBuffer>) -> Vec<DirectBuffer> {
    rows.sort_unstable_by_key(|row| (row.address, row.has_cleaner == 0, Reverse(row.bytes), row.node));
    let mut end = 0;
    rows.retain(|row| {
        let is_inside = row.has_cleaner == 0 && row.address < end;
        end = end.max(row.address.saturating_add(row.bytes.into()));
        !is_inside
    });
    rows.sort_unstable_by_key(|row| row.node);
    rows
}

impl Paths {
    fn new(root: u32) -> Self {
        let branches = BTreeMap::from([(root, Branch { above: root, open: 0, sum: Sum::default() })]);
        Self { root, branches, behind: Vec::new(), found: BTreeSet::new(), held: Sum::default(), left: Sum::default() }
    }

    /// Adds a buffer at the end of its path.
    fn add(&mut self, buffer: DirectBuffer, tree: &Tree, heap: &Heap) {
        let sum = Sum { count: 1, bytes: buffer.bytes.into() };
        if is_left(buffer.node, tree, heap) {
            return self.left.add(sum);
        }
        self.held.add(sum);
        let (mut at, mut below) = (buffer.node, None);
        for _ in 0..STEPS {
            if self.branches.contains_key(&at) {
                break;
            }
            // If there is no space for an object, its children become children of its parent.
            if self.branches.len() < VISITED {
                self.link(below, at);
                let own = if below.is_none() { sum } else { Sum::default() };
                self.branches.insert(at, Branch { above: self.root, open: below.is_some().into(), sum: own });
                below = Some(at);
            }
            at = tree.parent(at).get().unwrap_or(self.root);
        }
        let end = if self.branches.contains_key(&at) { at } else { self.root };
        self.link(below, end);
        if let Some(branch) = self.branches.get_mut(&end) {
            match below {
                Some(_) => branch.open += 1,
                None => branch.sum.add(sum),
            }
        }
    }

    /// Sets the parent of an object.
    fn link(&mut self, below: Option<u32>, above: u32) {
        if let Some(branch) = below.and_then(|below| self.branches.get_mut(&below)) {
            branch.above = above;
        }
    }

    /// Sums up the buffers below each object.
    fn sum_up(&mut self) {
        let mut done: Vec<u32> = self.branches.iter().filter(|(_, one)| one.open == 0).map(|(&node, _)| node).collect();
        while let Some(node) = done.pop() {
            let Some(&Branch { above, sum, .. }) = self.branches.get(&node).filter(|one| one.above != node) else {
                continue;
            };
            if let Some(branch) = self.branches.get_mut(&above) {
                branch.sum.add(sum);
                branch.open = branch.open.saturating_sub(1);
                if branch.open == 0 {
                    done.push(above);
                }
            }
        }
        let behind = self.branches.iter().filter(|&(&node, one)| one.above != node);
        self.behind = behind.map(|(&node, one)| (one.above, node)).collect();
        self.behind.sort_unstable();
    }

    fn sum(&self, node: u32) -> Sum {
        self.branches.get(&node).map_or(Sum::default(), |branch| branch.sum)
    }

    /// Returns the child of an object with most memory.
    fn heaviest(&self, node: u32) -> Option<(u32, Sum)> {
        let first = self.behind.partition_point(|&(above, _)| above < node);
        let behind = self.behind[first..].iter().take_while(|&&(above, _)| above == node).map(|&(_, one)| one);
        let most = |best: Option<(u32, Sum)>, one: u32| {
            let sum = self.sum(one);
            let is_more = best.map_or(sum.bytes > 0, |(_, most)| sum.bytes > most.bytes);
            if is_more { Some((one, sum)) } else { best }
        };
        behind.fold(None, most)
    }

    /// Returns the place where most of the rest accumulates, and its buffers. A well-known root retains the whole
    /// program, so its heaviest branch is followed if it is large enough.
    fn place(&self, heap: &Heap) -> Option<(u32, Sum)> {
        let mut at = self.root;
        loop {
            let sum = self.sum(at);
            let is_top = || at == self.root || heap.is_top(heap.whole(at)) || heap.is_register(heap.whole(at));
            match self.heaviest(at) {
                Some((next, most)) if most.bytes > sum.bytes / 2 => at = next,
                Some((next, most)) if most.bytes >= self.held.bytes / 20 && is_top() => at = next,
                _ => break,
            }
        }
        let place = self.beginning(at, heap);
        Some((place, self.sum(place))).filter(|(_, sum)| sum.bytes > 0)
    }

    /// Returns the container of an object, or the first object of its list.
    fn beginning(&self, node: u32, heap: &Heap) -> u32 {
        let class = |node: u32| heap.nodes.class.at(node as usize);
        let mut at = node;
        for _ in 0..STEPS {
            let whole = if at == self.root { at } else { whole(at, heap) };
            let above = self.branches.get(&at).map_or(at, |branch| branch.above);
            at = match () {
                () if whole != at && self.branches.contains_key(&whole) => whole,
                () if above != at && above != self.root && class(above) == class(at) => above,
                () => break,
            };
        }
        at
    }

    /// Returns the class with the objects that hold most of the buffers outside all places, with those buffers and an
    /// example. Arrays and parts of containers do not count.
    fn commonest(&self, heap: &Heap) -> Option<(u32, Sum, u32)> {
        let mut classes: BTreeMap<u32, (Sum, u32)> = BTreeMap::new();
        for (&node, &Branch { sum, .. }) in self.branches.iter().filter(|&(&node, _)| self.is_end(node)) {
            let class = self.holder(node, heap);
            if let Some(class) = class.filter(|class| classes.len() < CLASSES || classes.contains_key(class)) {
                classes.entry(class).or_insert((Sum::default(), node)).0.add(sum);
            }
        }
        let most = classes.into_iter().max_by_key(|&(class, (sum, _))| (sum.bytes, Reverse(class)));
        most.map(|(class, (sum, node))| (class, sum, node))
    }

    /// Whether an object has no child on the paths.
    fn is_end(&self, node: u32) -> bool {
        let first = self.behind.partition_point(|&(above, _)| above < node);
        self.behind.get(first).is_none_or(|&(above, _)| above != node)
    }

    /// Returns the class of the nearest object above a buffer that is neither an array nor a part of a container;
    /// `None` if a place was found on the path.
    fn holder(&self, buffer: u32, heap: &Heap) -> Option<u32> {
        let (mut at, mut holder) = (buffer, None);
        for _ in 0..STEPS {
            let above = self.branches.get(&at)?.above;
            if self.found.contains(&above) {
                return None;
            }
            if above == at || above == self.root {
                break;
            }
            at = above;
            let class = heap.nodes.class.at(at as usize).0;
            let is_inside = heap.classes.has(class, role::CONTAINER | role::PART | role::ENTRY);
            if holder.is_none() && !is_inside && !heap.shown_class(class).ends_with("[]") {
                holder = Some(class);
            }
        }
        holder
    }

    /// Subtracts a place that was found from its ancestors.
    fn leave_out(&mut self, place: u32, sum: Sum) {
        self.found.insert(place);
        let mut at = place;
        while let Some(branch) = self.branches.get_mut(&at) {
            branch.sum.take(sum);
            if branch.above == at {
                break;
            }
            at = branch.above;
        }
    }
}

/// Whether the path near a buffer has classes of the platform only. Without a cleaner, the buffer then shows memory of
/// the virtual machine, such as the file of its modules.
fn is_of_platform(node: u32, tree: &Tree, heap: &Heap) -> bool {
    let common = role::COMMON | role::CONTAINER | role::PART | role::ENTRY;
    let mut at = node;
    for _ in 0..NEAR {
        let Some(above) = tree.parent(at).get().filter(|&above| above != heap.metadata.root.0) else { return true };
        at = above;
        let is_common = if heap.is_class_object(heap.nodes.kind.at(at as usize)) {
            heap.metadata.roles.common_classes.fit(&heap.nodes.own_name(NodeId(at), 80))
        } else {
            heap.classes.has(heap.nodes.class.at(at as usize).0, common)
        };
        if !is_common {
            return false;
        }
    }
    true
}

/// Whether only the object that frees its memory refers to a buffer.
fn is_left(node: u32, tree: &Tree, heap: &Heap) -> bool {
    let weak = &heap.metadata.roles.weak_fields;
    match tree.label(node) {
        _ if tree.parent(node).is_none() => true,
        label::NO_PATH => true,
        name if name < label::NO_PATH => weak.fit(&heap.strings().text(name as usize)),
        _ => false,
    }
}

fn buffers(many: u64) -> String {
    format!("{} direct buffer{}", count(many), if many == 1 { " keeps" } else { "s keep" })
}

/// Returns the container of an object. An array in a static field stays itself: the field says more than its class.
fn whole(node: u32, heap: &Heap) -> u32 {
    let whole = heap.whole(node);
    if heap.is_class_object(heap.nodes.kind.at(whole as usize)) { node } else { whole }
}

/// Finding about the buffers below a place.
fn held(place: u32, sum: Sum, paths: &Paths, heap: &Heap) -> Option<Finding> {
    let all = heap.bytes.saturating_add(paths.held.bytes).saturating_add(paths.left.bytes);
    let severity = severity(sum.bytes, all, PERCENT)?;
    let severity = if sum.count < MANY { severity.max(Severity::Medium) } else { severity };
    let (has, inside) = (buffers(sum.count), size(heap.bytes));
    let outside = format!("{has} {} outside the heap, beside {inside} in it", size(sum.bytes));
    let found = Found { rule: NAME, severity, count: sum.count, bytes: sum.bytes };
    let mut finding = if place == paths.root {
        let mut finding = found.about(Scope::Snapshot, "direct buffers");
        finding.message = format!("{outside}, held in many places");
        let commonest = paths.commonest(heap).filter(|(_, of_class, _)| of_class.bytes > sum.bytes / 2);
        if let Some((class, of_class, node)) = commonest {
            let (many, class) = (count(of_class.count), heap.shown_class(class));
            finding.message += &format!(": {many} of them by objects of {class}, such as {}", heap.chain(node));
        }
        finding
    } else {
        let whole = whole(place, heap);
        let mut finding = found.about_node(whole, heap);
        finding.subject = heap.subject(whole);
        finding.message = format!("{outside}, below {}: {}", heap.described(whole), heap.chain(whole));
        finding
    };
    finding.next_step.clone_from(&heap.metadata.roles.direct_buffer_advice);
    Some(finding)
}

/// Finding about buffers that nothing else holds.
fn left(paths: &Paths, heap: &Heap) -> Option<Finding> {
    let Sum { count, bytes } = paths.left;
    let all = heap.bytes.saturating_add(paths.held.bytes).saturating_add(bytes);
    let severity = severity(bytes, all, PERCENT_LEFT)?;
    let mut finding = Found { rule: NAME, severity, count, bytes }.about(Scope::Snapshot, "direct buffers");
    finding.message = format!(
        "{} {} outside the heap though nothing holds them but what frees that memory once they are collected",
        buffers(count),
        size(bytes),
    );
    finding.next_step.clone_from(&heap.metadata.roles.direct_buffer_advice);
    Some(finding)
}
