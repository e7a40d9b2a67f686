//! Rule `direct-buffers`: buffers whose memory lies outside the heap, by what holds them.
//!
//! The shortest paths to the buffers form a tree. From the root down the branch with more than half of the memory is followed;
//! where there is none, the memory accumulates: in a collection, or below one object. That is one finding, and the rest is
//! looked through in the same way. If the memory accumulates nowhere, the finding names the class whose objects hold most of
//! the buffers. Bytes of these findings are outside the heap, so none of them compares with bytes of others.
//!
//! A buffer without a cleaner counts if the program holds it and it does not show memory of another one. Of more than
//! [`VISITED`] buffers only those with a cleaner count.

use super::class_roles::role;
use super::heap::{Heap, about_node, blank};
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

/// The rule.
pub const RULE: Rule = Rule {
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
/// Percent of heap and such memory together from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [50, 20, 5];
/// The same of buffers that only wait to be freed.
const PERCENT_LEFT: [u64; 3] = [101, 20, 5];
/// Buffers from which on there may be ever more; fewer are not high.
const MANY: u64 = 50;
/// Places that are told apart, at most.
const PLACES: usize = 8;
/// Distinct objects on the paths at most, and steps of one path at most.
const VISITED: usize = 1 << 17;
const STEPS: usize = 1 << 14;
/// Maximum number of classes of holders that are counted.
const CLASSES: usize = 1 << 10;
/// Steps of a path that say whose a buffer without a cleaner is.
const NEAR: usize = 16;

struct DirectBuffers;

/// Buffers, and their memory.
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

    /// What is left without a part of it.
    fn take(&mut self, other: Self) {
        self.count -= other.count.min(self.count);
        self.bytes -= other.bytes.min(self.bytes);
    }
}

/// An object on the paths.
#[derive(Clone, Copy)]
struct Branch {
    /// The one before it.
    above: u32,
    /// Those behind it that are not summed up yet.
    open: u32,
    /// The buffers behind it.
    sum: Sum,
}

/// The paths to the buffers.
struct Paths {
    root: u32,
    branches: BTreeMap<u32, Branch>,
    /// Each object with those behind it.
    behind: Vec<(u32, u32)>,
    /// Places that were found.
    found: BTreeSet<u32>,
    /// All buffers that are held, and those that only wait for their memory to be freed.
    held: Sum,
    left: Sum,
}

impl Detector for DirectBuffers {
    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let Some(tree) = heap.tree.as_ref().filter(|_| heap.job.scratch.has(DIRECT_BUFFER)) else {
            return Ok(Vec::new());
        };
        let mut paths = Paths::new(heap.facts.root.0);
        let mut rows = ColumnReader::open(heap.job.scratch, DIRECT_BUFFER)?;
        let (are_few, mut few) = (rows.remaining() <= VISITED as u64, Vec::new());
        while rows.remaining() > 0 {
            let row = rows.next()?;
            match row.has_cleaner {
                _ if are_few => few.push(row),
                0 => {}
                _ => paths.add(row, tree, heap),
            }
            if rows.remaining().is_multiple_of(1 << 12) {
                heap.job.context.check()?;
            }
        }
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
            // Where there is no room for an object, those behind it count as behind the one before it.
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

    /// Makes an object the one before another.
    fn link(&mut self, below: Option<u32>, above: u32) {
        if let Some(branch) = below.and_then(|below| self.branches.get_mut(&below)) {
            branch.above = above;
        }
    }

    /// Sums up the buffers behind each object.
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

    /// What is behind an object, and most of it.
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

    /// Where most of what is left accumulates, and the buffers there. A root that people know holds the whole program, so the
    /// heaviest branch behind it is followed if it is worth that.
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

    /// The container that an object is inside of, and the first object of a list.
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

    /// The class whose objects hold most of the buffers that belong to no place, with those buffers and one of them. Arrays and
    /// parts of containers do not count.
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

    /// Whether no object on the paths is behind this one.
    fn is_end(&self, node: u32) -> bool {
        let first = self.behind.partition_point(|&(above, _)| above < node);
        self.behind.get(first).is_none_or(|&(above, _)| above != node)
    }

    /// The class of the nearest object above a buffer that is neither an array nor a part of a container; nothing where a place
    /// was found on the path.
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

    /// Leaves what was found there out of all that follows.
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

/// Whether only classes of the platform are near on the path to a buffer. Without a cleaner it shows memory of the virtual
/// machine then, such as the file of its modules.
fn is_of_platform(node: u32, tree: &Tree, heap: &Heap) -> bool {
    let common = role::COMMON | role::CONTAINER | role::PART | role::ENTRY;
    let mut at = node;
    for _ in 0..NEAR {
        let Some(above) = tree.parent(at).get().filter(|&above| above != heap.facts.root.0) else { return true };
        at = above;
        let is_common = if heap.is_class_object(heap.nodes.kind.at(at as usize)) {
            heap.facts.roles.common_classes.fit(&heap.nodes.own_name(NodeId(at), 80))
        } else {
            heap.classes.has(heap.nodes.class.at(at as usize).0, common)
        };
        if !is_common {
            return false;
        }
    }
    true
}

/// Whether nothing holds a buffer but what is to free its memory.
fn is_left(node: u32, tree: &Tree, heap: &Heap) -> bool {
    let weak = &heap.facts.roles.weak_fields;
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

/// The container that an object is inside of. An array in a static field stays itself: its class says less than the field.
fn whole(node: u32, heap: &Heap) -> u32 {
    let whole = heap.whole(node);
    if heap.is_class_object(heap.nodes.kind.at(whole as usize)) { node } else { whole }
}

/// Buffers below a place.
fn held(place: u32, sum: Sum, paths: &Paths, heap: &Heap) -> Option<Finding> {
    let all = heap.bytes.saturating_add(paths.held.bytes).saturating_add(paths.left.bytes);
    let severity = severity(sum.bytes, all, PERCENT)?;
    let severity = if sum.count < MANY { severity.max(Severity::Medium) } else { severity };
    let (has, inside) = (buffers(sum.count), size(heap.bytes));
    let outside = format!("{has} {} outside the heap, beside {inside} in it", size(sum.bytes));
    let mut finding = if place == paths.root {
        let mut finding = blank(NAME, severity, Scope::Snapshot, "direct buffers".to_owned());
        finding.message = format!("{outside}, held in many places");
        let commonest = paths.commonest(heap).filter(|(_, of_class, _)| of_class.bytes > sum.bytes / 2);
        if let Some((class, of_class, node)) = commonest {
            let (many, class) = (count(of_class.count), heap.shown_class(class));
            finding.message += &format!(": {many} of them by objects of {class}, such as {}", heap.chain(node));
        }
        finding
    } else {
        let whole = whole(place, heap);
        let mut finding = about_node(NAME, severity, whole, heap);
        finding.subject = heap.subject(whole);
        finding.message = format!("{outside}, below {}: {}", heap.described(whole), heap.chain(whole));
        finding
    };
    (finding.count, finding.bytes) = (sum.count, sum.bytes);
    finding.next_step.clone_from(&heap.facts.roles.direct_buffer_advice);
    Some(finding)
}

/// Buffers that nothing holds any more.
fn left(paths: &Paths, heap: &Heap) -> Option<Finding> {
    let Sum { count, bytes } = paths.left;
    let all = heap.bytes.saturating_add(paths.held.bytes).saturating_add(bytes);
    let mut finding = blank(NAME, severity(bytes, all, PERCENT_LEFT)?, Scope::Snapshot, "direct buffers".to_owned());
    (finding.count, finding.bytes) = (count, bytes);
    finding.message = format!(
        "{} {} outside the heap though nothing holds them but what frees that memory once they are collected",
        buffers(count),
        size(bytes),
    );
    finding.next_step.clone_from(&heap.facts.roles.direct_buffer_advice);
    Some(finding)
}
