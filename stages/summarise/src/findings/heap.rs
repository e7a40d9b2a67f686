//! What rules may ask of the heap, and findings to be filled in.

use super::class_roles::{ClassRoles, Kinds, role};
use crate::nodes::Nodes;
use heaplake_kit::chains::Chains;
use heaplake_kit::text::{count, size};
use heaplake_kit::{ColumnMap, ColumnReader, Job, StageError, StringTable};
use heaplake_schemas::chains::ChainRow;
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::{Finding, Scope, Severity};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, CLASS_KEYS, Facts, STRINGS};
use std::borrow::Cow;

/// Characters of a class name that a message shows.
const MOST_NAME: usize = 80;
/// Steps of a chain that a message shows at each end.
const CHAIN_ENDS: usize = 4;
/// Steps of a chain that are looked at.
const CHAIN_STEPS: usize = 4096;

/// Chains to a class that are looked at.
const CHAINS: usize = 64;

/// The heap as a whole, and what can be looked up in it.
pub struct Heap<'a> {
    pub facts: Facts,
    pub job: Job<'a>,
    /// Bytes of all nodes that the root holds.
    pub bytes: u64,
    pub nodes: Nodes,
    /// What part classes play in the runtime.
    pub classes: ClassRoles,
    /// Kinds of parts of the runtime or of the object that holds them, and of classes.
    parts: Kinds,
    class_objects: Kinds,
    names: ColumnMap<StringId>,
    strings: StringTable,
    keys: StringTable,
    /// Where chains were looked for.
    chains: Option<(ColumnMap<ChainRow>, Chains)>,
}

impl<'a> Heap<'a> {
    pub fn open(facts: Facts, job: &Job<'a>) -> Result<Self, StageError> {
        let Job { scratch, context, .. } = *job;
        let nodes = Nodes::open(scratch)?;
        let names = ColumnMap::uncounted(scratch, columns::CLASS_NAME)?;
        let strings = StringTable::open(scratch, STRINGS)?;
        let name = |class: usize| strings.text(names[class].index());
        let classes = ClassRoles::of(names.len(), name, &facts.roles, &context.budget)?;
        strings.release();
        Ok(Self {
            bytes: nodes.retained[facts.root.index()],
            nodes,
            classes,
            parts: Kinds::of(&facts.roles.part_kinds, &facts).with(&facts.synthetic_kinds),
            class_objects: Kinds::of(&facts.roles.class_objects, &facts),
            names,
            strings,
            keys: StringTable::open(scratch, CLASS_KEYS)?,
            chains: match scratch.has(columns::CHAIN_ROW) {
                true => Some((ColumnMap::uncounted(scratch, columns::CHAIN_ROW)?, Chains::open(scratch)?)),
                false => None,
            },
            facts,
            job: *job,
        })
    }

    pub fn each_class(&self, mut each: impl FnMut(&ClassRow)) -> Result<(), StageError> {
        let mut rows = ColumnReader::open(self.job.scratch, columns::CLASS_ROW)?;
        while rows.remaining() > 0 {
            each(&rows.next()?);
        }
        Ok(())
    }

    /// Name of a class.
    pub fn class_name(&self, class: u32) -> Cow<'_, str> {
        self.strings.text(self.names[class as usize].index())
    }

    /// Id of that name: equal ones are equal names.
    pub fn class_name_id(&self, class: u32) -> StringId {
        self.names[class as usize]
    }

    /// What tells a class from others of its name.
    pub fn class_key(&self, class: u32) -> Cow<'_, str> {
        self.keys.text(class as usize)
    }

    /// Name of a class in a message.
    pub fn shown_class(&self, class: u32) -> String {
        shorten(&self.class_name(class), MOST_NAME)
    }

    /// Whether classes are objects, which hold what is in their static fields.
    pub fn has_class_objects(&self) -> bool {
        self.class_objects.any()
    }

    /// Whether nodes of a kind are such.
    pub fn is_class_object(&self, kind: u8) -> bool {
        self.class_objects.has(kind)
    }

    /// Whether nodes of a kind and a class are parts of the runtime, or of the object that holds them, rather than
    /// objects of the program.
    pub fn is_part(&self, kind: u8, class: u32) -> bool {
        self.parts.has(kind) || self.classes.has(class, role::PART)
    }

    fn is_internal(&self, node: u32) -> bool {
        self.is_part(self.nodes.kind[node as usize], self.nodes.class[node as usize].0)
    }

    /// The nearest dominator that is an object of the program, the node itself included.
    pub fn owner(&self, node: u32) -> Option<u32> {
        let mut at = node;
        for _ in 0..CHAIN_STEPS {
            if at == self.facts.root.0 {
                return None;
            }
            if !self.is_internal(at) {
                return Some(at);
            }
            at = self.nodes.dominator[at as usize].0;
        }
        None
    }

    /// The dominators of a node from the root down and the node, as text.
    pub fn chain(&self, node: u32) -> String {
        let mut steps: Vec<(String, u64)> = Vec::new();
        let mut at = node;
        for _ in 0..CHAIN_STEPS {
            if at == self.facts.root.0 {
                break;
            }
            let step = self.nodes.label(NodeId(at));
            match steps.last_mut() {
                // A list is one step.
                Some((last, times)) if *last == step => *times += 1,
                _ => steps.push((step, 1)),
            }
            at = self.nodes.dominator[at as usize].0;
        }
        let cut = if at == self.facts.root.0 { "" } else { "… › " };
        let times = |(step, times): &(String, u64)| {
            if *times > 1 { format!("{step} × {}", count(*times)) } else { step.clone() }
        };
        let steps: Vec<String> = steps.iter().rev().map(times).collect();
        if steps.len() <= 2 * CHAIN_ENDS {
            return cut.to_owned() + &steps.join(" › ");
        }
        let (head, tail) = (steps[..CHAIN_ENDS].join(" › "), steps[steps.len() - CHAIN_ENDS..].join(" › "));
        format!("{cut}{head} › … {} more … › {tail}", count((steps.len() - 2 * CHAIN_ENDS) as u64))
    }

    /// The largest chain of references to instances of a class of which the one that retains most fits: as text, with
    /// how many instances it leads to and what they retain.
    pub fn reference_chain(&self, class: u32, fits: impl Fn(u32) -> bool) -> Option<String> {
        let (rows, chains) = self.chains.as_ref()?;
        let found = rows
            .iter()
            .filter(|row| row.kind == 0 && row.class_id == class)
            .take(CHAINS)
            .find(|row| fits(row.example_node))?;
        let text = chains.text(found.element, CHAIN_ENDS);
        Some(format!("{text} ({} ×, {})", count(found.count), size(found.retained_bytes)))
    }

    /// Whether a node is `holder` or is dominated by it.
    pub fn is_within(&self, node: u32, holder: u32) -> bool {
        let up = |&at: &u32| Some(self.nodes.dominator[at as usize].0).filter(|_| at != self.facts.root.0);
        std::iter::successors(Some(node), up).take(CHAIN_STEPS).any(|at| at == holder)
    }

    /// Bytes, and how much of the heap they are.
    pub fn share(&self, bytes: u64) -> String {
        let percent = if self.bytes == 0 { 0.0 } else { 100.0 * bytes as f64 / self.bytes as f64 };
        format!("{} ({percent:.1} % of the heap)", size(bytes))
    }
}

/// A finding about a class.
pub fn about_class(rule: &str, severity: Severity, class: u32, heap: &Heap) -> Finding {
    Finding { class_id: Some(class), ..blank(rule, severity, Scope::Class, heap.shown_class(class)) }
}

/// A finding about a node.
pub fn about_node(rule: &str, severity: Severity, node: u32, heap: &Heap) -> Finding {
    let class = heap.nodes.class[node as usize].0;
    Finding {
        class_id: Some(class),
        node: Some(node),
        count: 1,
        ..blank(rule, severity, Scope::Node, heap.shown_class(class))
    }
}

/// A finding of which all that is optional is not there yet.
pub fn blank(rule: &str, severity: Severity, scope: Scope, subject: String) -> Finding {
    Finding {
        rule: rule.to_owned(),
        severity,
        scope,
        subject,
        class_id: None,
        set: None,
        node: None,
        type_id: None,
        function_id: None,
        count: 0,
        bytes: 0,
        message: String::new(),
        next_step: String::new(),
    }
}

/// At most so many characters.
pub fn shorten(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
