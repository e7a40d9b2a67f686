//! Shared by the rules about containers: groups the containers that a rule judges by class and holder.

use super::class_roles::role;
use super::heap::{Found, Heap};
use super::rule::{Detector, Rule, Tells, bounded, map_bytes, severity};
use heaplake_kit::access::{column, per_node};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::{ArrayPlan, Lookup, ReadAt, StageError};
use heaplake_schemas::containers::{ContainerRow, flags};
use heaplake_schemas::findings::Finding;
use heaplake_schemas::ids::{ClassId, NodeId};
use heaplake_schemas::scratch as columns;
use std::collections::BTreeMap;

/// Declaration of such a rule, without its names and constructor.
pub(super) const BASE: Rule = Rule {
    reads: &[column(columns::CONTAINER_ROW).if_any(), column(columns::NODE_SELF)],
    arrays: &[per_node::<NodeId>(), per_node::<ClassId>(), per_node::<u8>(), per_node::<u64>()],
    working: map_bytes::<(u32, Holder), Crowd>(PAIRS),
    tells: Tells::Waste,
    ..Rule::NEW
};

/// Maximum number of pairs of class and holder.
const PAIRS: usize = 1 << 14;
/// Number of dominators searched for the holder of a container.
const STEPS: usize = 64;

/// Minimum bytes of a store beyond the initial capacity of a container.
pub(super) const LARGE: u64 = 256;

/// A container with the sizes of its parts.
pub(super) struct Container {
    pub row: ContainerRow,
    /// Bytes of the object itself, without its store.
    pub own: u64,
    /// Bytes of the store; 0 if it is shared.
    pub store: u64,
}

/// Holder of containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    /// Objects of a class.
    Class(u32),
    /// A single object: a class with its static fields.
    Node(u32),
    /// No single holder.
    Many,
}

/// Containers of one class with one holder.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Crowd {
    pub count: u64,
    /// Their entries.
    pub entries: u64,
    /// Bytes that count for the rule.
    pub bytes: u64,
    /// Whether the input does not show all their entries.
    unsure: bool,
    /// The container with most of these bytes.
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
pub(super) struct Judge {
    pub name: &'static str,
    /// Minimum percent of the heap of a high (never), medium, low finding.
    pub percent: [u64; 3],
    pub next_step: &'static str,
    /// The bytes of a container that count for the rule, if any.
    pub bytes: fn(&Container) -> Option<u64>,
    /// The beginning of the message about a crowd with this description.
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
        let mut crowds: BTreeMap<(u32, Holder), Crowd> = BTreeMap::new();
        heap.job.each_row_if_any(columns::CONTAINER_ROW, |row| {
            let node = row.node;
            let bytes = (self.bytes)(&nodes.container(row)?);
            let Some(bytes) = bytes.filter(|_| !heap.is_garbage(node)) else { return Ok(()) };
            let key = (nodes.class.get(node as usize)?.0, nodes.holder(node, heap)?);
            bounded(&mut crowds, PAIRS, key).into_iter().for_each(|crowd| crowd.add(&row, bytes));
            Ok(())
        })?;
        Ok(crowds)
    }

    fn finding(&self, class: u32, holder: Holder, crowd: &Crowd, heap: &Heap) -> Option<Finding> {
        let severity = severity(crowd.bytes, heap.bytes, self.percent)?;
        let found = Found { rule: self.name, severity, count: crowd.count, bytes: crowd.bytes };
        let mut finding = found.about_class(class, Some(crowd.largest.1), heap);
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

    /// Returns the nearest dominator that is an object of the program and no container.
    fn holder(&mut self, node: u32, heap: &Heap) -> Result<Holder, StageError> {
        let mut at = node as usize;
        for _ in 0..STEPS {
            at = self.dominator.get(at)?.index();
            if at == heap.metadata.root.index() {
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
