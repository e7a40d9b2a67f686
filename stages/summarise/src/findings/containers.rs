//! What rules about containers share: those that a rule judges, by their class and by whoever holds them.

use super::class_roles::role;
use super::heap::{Heap, about_class};
use super::rule::{Detector, Rule, Tells, map_bytes, severity};
use heaplake_kit::access::{column, per_node};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::{ArrayPlan, ColumnReader, Lookup, ReadAt, StageError};
use heaplake_schemas::containers::{ContainerRow, flags};
use heaplake_schemas::findings::Finding;
use heaplake_schemas::ids::{ClassId, NodeId};
use heaplake_schemas::scratch as columns;
use std::collections::BTreeMap;

/// What such a rule declares, but for its names and how it begins.
pub const BASE: Rule = Rule {
    reads: &[column(columns::CONTAINER_ROW).if_any(), column(columns::NODE_SELF)],
    arrays: &[per_node::<NodeId>(), per_node::<ClassId>(), per_node::<u8>(), per_node::<u64>()],
    working: map_bytes::<(u32, Holder), Crowd>(PAIRS),
    tells: Tells::Waste,
    ..Rule::NEW
};

/// Pairs of class and holder that are told apart.
const PAIRS: usize = 1 << 14;
/// Dominators among which the holder of a container is looked for.
const STEPS: usize = 64;

/// Bytes of a store from which on it is more than what a container begins with.
pub const LARGE: u64 = 256;

/// A container with the sizes of its parts.
pub struct Container {
    /// The row.
    pub row: ContainerRow,
    /// Bytes of the object itself, its store apart.
    pub own: u64,
    /// Bytes of the store; 0 where it is not the container's alone.
    pub store: u64,
}

/// Who holds containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    /// Objects of a class.
    Class(u32),
    /// One object that stands for itself: a class with its static fields.
    Node(u32),
    /// Nobody alone.
    Many,
}

/// Containers of one class that are held alike.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crowd {
    /// How many they are.
    pub count: u64,
    /// Their entries.
    pub entries: u64,
    /// What the rule says of them, bytes.
    pub bytes: u64,
    /// Whether the input does not show all that they may hold.
    unsure: bool,
    /// The one of which it says most.
    largest: (u64, u32),
}

impl Crowd {
    fn add(&mut self, row: &ContainerRow, bytes: u64) {
        self.count += 1;
        self.entries += u64::from(row.entries);
        self.bytes = self.bytes.saturating_add(bytes);
        self.unsure |= row.flags & flags::UNSURE != 0;
        if self.count == 1 || bytes > self.largest.0 {
            self.largest = (bytes, row.node);
        }
    }
}

/// How a rule judges containers.
#[derive(Clone, Copy)]
pub struct Judge {
    /// Name of its findings.
    pub name: &'static str,
    /// Percent of the heap from which on a finding is high (never), medium, low.
    pub percent: [u64; 3],
    /// What to do.
    pub next_step: &'static str,
    /// The bytes of a container that count for the rule, if it does.
    pub bytes: fn(&Container) -> Option<u64>,
    /// The beginning of the message about a crowd that is called so.
    pub message: fn(&Crowd, &str, &Heap) -> String,
}

impl Detector for Judge {
    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        if !heap.job.scratch.has(columns::CONTAINER_ROW) {
            return Ok(Vec::new());
        }
        let crowds = self.crowds(heap)?;
        Ok(crowds.iter().filter_map(|(&(class, holder), crowd)| self.finding(class, holder, crowd, heap)).collect())
    }
}

impl Judge {
    fn crowds(&self, heap: &Heap) -> Result<BTreeMap<(u32, Holder), Crowd>, StageError> {
        let mut nodes = Nodes::open(heap)?;
        let mut rows = ColumnReader::open(heap.job.scratch, columns::CONTAINER_ROW)?;
        let mut crowds: BTreeMap<(u32, Holder), Crowd> = BTreeMap::new();
        while rows.remaining() > 0 {
            let container = nodes.container(rows.next()?)?;
            if rows.remaining().is_multiple_of(1 << 10) {
                heap.job.context.check()?;
            }
            let Some(bytes) = (self.bytes)(&container) else { continue };
            let node = container.row.node;
            if heap.is_garbage(node) {
                continue;
            }
            let key = (nodes.class.get(node as usize)?.0, nodes.holder(node, heap)?);
            if crowds.len() < PAIRS || crowds.contains_key(&key) {
                crowds.entry(key).or_default().add(&container.row, bytes);
            }
        }
        Ok(crowds)
    }

    fn finding(&self, class: u32, holder: Holder, crowd: &Crowd, heap: &Heap) -> Option<Finding> {
        let mut finding = about_class(self.name, severity(crowd.bytes, heap.bytes, self.percent)?, class, heap);
        finding.node = Some(crowd.largest.1);
        finding.count = crowd.count;
        finding.bytes = crowd.bytes;
        let held = match holder {
            Holder::Class(class) => format!(", held by {}", heap.shown_class(class)),
            Holder::Node(node) => format!(", held by {}", heap.subject(node)),
            Holder::Many => String::new(),
        };
        let what = format!("{}{held},", heap.objects(crowd.count, class, None));
        let message = (self.message)(crowd, &what, heap);
        finding.message = format!("{message}; for example {}", heap.chain(crowd.largest.1));
        if crowd.unsure {
            finding.message += ". Small integers among the entries are not in the file";
        }
        finding.next_step = self.next_step.to_owned();
        Some(finding)
    }
}

/// Columns of nodes that are looked up for every container.
struct Nodes {
    dominator: Lookup<NodeId>,
    class: Lookup<ClassId>,
    kind: Lookup<u8>,
    own: Lookup<u64>,
}

impl Nodes {
    fn open(heap: &Heap) -> Result<Self, StageError> {
        let (dominator, class, kind, own) = ArrayPlan::of(&heap.job, "findings: containers").make((
            lookup(columns::NODE_DOMINATOR),
            lookup(columns::NODE_CLASS),
            lookup(columns::NODE_KIND),
            lookup(columns::NODE_SELF),
        ))?;
        Ok(Self { dominator, class, kind, own })
    }

    fn container(&mut self, row: ContainerRow) -> Result<Container, StageError> {
        let store = row.store as usize;
        let alone = store < self.dominator.count() && self.dominator.get(store)?.0 == row.node;
        let store = if alone { self.own.get(store)? } else { 0 };
        Ok(Container { row, own: self.own.get(row.node as usize)?, store })
    }

    /// The nearest dominator that is an object of the program and no container.
    fn holder(&mut self, node: u32, heap: &Heap) -> Result<Holder, StageError> {
        let mut at = node as usize;
        for _ in 0..STEPS {
            at = self.dominator.get(at)?.index();
            if at == heap.facts.root.index() {
                return Ok(Holder::Many);
            }
            let kind = self.kind.get(at)?;
            if heap.is_class_object(kind) {
                return Ok(Holder::Node(at as u32));
            }
            let class = self.class.get(at)?.0;
            if !heap.is_part(kind, class) && !heap.classes.has(class, role::CONTAINER) {
                return Ok(Holder::Class(class));
            }
        }
        Ok(Holder::Many)
    }
}
