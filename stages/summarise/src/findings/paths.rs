//! Readable paths to objects: from a named root, over references with their labels, to the object.
//!
//! A path is the shortest one of references, from the stage `shortest paths`; without one, or if it goes through an
//! avoidable weak reference, the chain of dominators. It begins after the runtime's own nodes, which show as one step
//! with a readable name. The inside of a container (tables, entries, arrays) is no step: the step of the container ends
//! with `[]` in its place. Variables of closures belong to the step of their function. Equal steps in a row are one,
//! with a star. No other steps are left out, except the middle of a very long path.

use super::class_roles::role;
use super::heap::{Heap, shorten};
use super::packages::CodeOf;
use heaplake_kit::StringTable;
use heaplake_kit::text::count;
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::{NO_ID, NodeId};

/// Maximum number of nodes of a path, from its end.
const MOST: usize = 1 << 14;
/// Maximum characters of a name and of a label.
const MOST_NAME: usize = 80;
const MOST_LABEL: usize = 48;
/// Steps at each end in the table, and in a message.
pub(super) const KEPT: usize = 32;
pub(super) const SHOWN: usize = 5;
/// Number of steps above an object searched for its holder.
const NEAR: usize = 5;

/// A node of a path and the label of the edge that leads to it.
#[derive(Clone, Copy)]
struct Hop {
    node: u32,
    label: u32,
}

/// A step of a path as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub node: u32,
    /// Its class or name, and the same without parts that differ between runs.
    name: String,
    stable: String,
    /// Text of the reference to the next step: `.field`, `[]`.
    out: String,
    /// Whether its class has a name of the program.
    named: bool,
    /// Whether it is a container of the platform.
    container: bool,
}

pub(super) struct Path {
    /// The nodes, from the root down.
    hops: Vec<Hop>,
    pub steps: Vec<Step>,
    /// Whether its beginning is missing.
    cut: bool,
    between: &'static str,
}

impl Path {
    /// Returns the path to a node.
    pub(super) fn to(node: u32, heap: &Heap) -> Self {
        let (hops, cut, between) = match by_reference(node, heap) {
            Some((hops, cut)) => (hops, cut, " → "),
            None => {
                let (hops, cut) = by_dominators(node, heap);
                (hops, cut, " › ")
            }
        };
        let steps = fold(from_program(from_variable(from_module(steps(&hops, heap), &hops, heap), heap), heap));
        Self { hops, steps, cut, between }
    }

    /// The nodes from the object upwards.
    pub(super) fn upwards(&self) -> impl Iterator<Item = u32> {
        self.hops.iter().rev().map(|hop| hop.node)
    }

    /// The steps as texts; `ends` at each end of a long path.
    pub(super) fn texts(&self, ends: usize) -> Vec<String> {
        self.list(ends, |step| format!("{}{}", step.name, step.out))
    }

    /// Like [`Self::texts`], without parts that differ between runs.
    pub(super) fn stable(&self, ends: usize) -> Vec<String> {
        self.list(ends, |step| format!("{}{}", step.stable, step.out))
    }

    fn list(&self, ends: usize, text: impl Fn(&Step) -> String) -> Vec<String> {
        let all = self.steps.len();
        let beginning = self.cut.then(|| "…".to_owned());
        if all <= 2 * ends + 1 {
            return beginning.into_iter().chain(self.steps.iter().map(text)).collect();
        }
        let (head, tail) = (self.steps[..ends].iter().map(&text), self.steps[all - ends..].iter().map(&text));
        let middle = format!("… {} more …", count((all - 2 * ends) as u64));
        beginning.into_iter().chain(head).chain([middle]).chain(tail).collect()
    }

    /// The path in one line.
    pub(super) fn line(&self) -> String {
        self.texts(SHOWN).join(self.between)
    }

    /// Position of the nearest step of a named class above the last step, or of the first step if it is near.
    fn holder_step(&self) -> Option<usize> {
        let above = self.steps.len().checked_sub(2)?;
        let near = (above.saturating_sub(NEAR - 1)..=above).rev();
        near.clone().find(|&at| self.steps[at].named).or_else(|| near.min().filter(|&at| at == 0))
    }

    /// The nearest object of a named class above the last.
    pub(super) fn holder(&self) -> Option<u32> {
        self.holder_step().filter(|&at| self.steps[at].named).map(|at| self.steps[at].node)
    }

    /// The field that refers to the last object, after the object of a named class that has the field; `None` if the
    /// last object is of such a class itself.
    pub(super) fn field(&self) -> Option<String> {
        let last = self.steps.last()?;
        let holder = self.holder_step().filter(|_| !last.named)?;
        let fields: String = self.steps[holder..self.steps.len() - 1].iter().map(|step| &*step.out).collect();
        Some(format!("{}{fields}", self.steps[holder].name)).filter(|_| !fields.is_empty())
    }

    /// Name of the last object: its class, or its field if its class is common to every program.
    pub(super) fn subject(&self) -> String {
        self.field().or_else(|| Some(self.steps.last()?.stable.clone())).unwrap_or_default()
    }

    /// Whether this path and the other one lead to the same place in objects of the same classes, or the other one goes
    /// on from there.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let same = |(a, b): (&Step, &Step)| (&a.stable, &a.out) == (&b.stable, &b.out);
        let Some((last, above)) = self.steps.split_last() else { return false };
        above.iter().zip(&other.steps).all(same)
            && other.steps.get(above.len()).is_some_and(|other| other.stable == last.stable)
    }
}

/// Descriptions of objects by their paths.
impl Heap<'_> {
    /// The path to a node from a named root, as text; see [`Path`].
    pub(super) fn chain(&self, node: u32) -> String {
        Path::to(node, self).line()
    }

    /// Name of a node in a message: its class, or its holder with the field.
    pub(super) fn subject(&self, node: u32) -> String {
        Path::to(node, self).subject()
    }

    /// [`Self::subject`] as the subject of a sentence: `Server.sessions (Map @12)`, or `One Map @12`.
    pub(super) fn described(&self, node: u32) -> String {
        let class = self.shown_class(self.nodes.class.at(node as usize).0);
        // The root of some formats has no id.
        let id = Some(self.nodes.id.at(node as usize)).filter(|&id| id != NO_ID);
        let id = id.map_or_else(String::new, |id| format!(" @{id}"));
        match Path::to(node, self).field() {
            Some(name) => format!("{name} ({class}{id})"),
            None => {
                let kind = self.nodes.kind.at(node as usize);
                let name = match self.internal_name(node, kind) {
                    Some(name) => name,
                    None if self.is_class_object(kind) => self.nodes.label(NodeId(node)),
                    None => class,
                };
                format!("One {name}{id}")
            }
        }
    }

    /// The runtime's name of an object of its own: `PromiseReaction`.
    fn internal_name(&self, node: u32, kind: u8) -> Option<String> {
        let own = self.metadata.internal_kinds.contains(&kind).then(|| self.nodes.own_name(NodeId(node), MOST_NAME))?;
        // `system / PromiseReaction`
        let name = own.rsplit(" / ").next().unwrap_or_default().trim();
        (!name.is_empty()).then(|| name.to_owned())
    }

    /// Whether a node is a named root, such as a global object.
    pub(super) fn is_top(&self, node: u32) -> bool {
        Path::to(node, self).steps.len() <= 1
    }
}

/// Returns the shortest path, and whether its beginning is missing.
fn by_reference(node: u32, heap: &Heap) -> Option<(Vec<Hop>, bool)> {
    let tree = heap.tree.as_ref()?;
    let mut hops = Vec::new();
    let mut at = node;
    while at != heap.metadata.root.0 {
        let label = tree.label(at);
        if label == label::NO_PATH {
            return None;
        }
        hops.push(Hop { node: at, label });
        let above = tree.parent(at);
        if above.is_none() || hops.len() == MOST {
            break;
        }
        at = above.0;
    }
    hops.reverse();
    let cut = hops.len() == MOST;
    (!hops.is_empty() && !is_weak(&hops, node, heap)).then_some((hops, cut))
}

/// Whether a path goes through a weak or soft reference and another path does not: then dominators say more.
fn is_weak(hops: &[Hop], node: u32, heap: &Heap) -> bool {
    let weak = &heap.metadata.roles.weak_fields;
    let is_weak = |hop: &Hop| hop.label < label::NO_PATH && weak.fit(&heap.strings().text(hop.label as usize));
    let avoidable = |pair: &[Hop]| is_weak(&pair[1]) && !heap.is_within(node, pair[0].node);
    !weak.is_empty() && hops.windows(2).any(avoidable)
}

fn by_dominators(node: u32, heap: &Heap) -> (Vec<Hop>, bool) {
    let mut hops = Vec::new();
    let mut at = node;
    while at != heap.metadata.root.0 && hops.len() < MOST {
        hops.push(Hop { node: at, label: label::NONE });
        at = heap.nodes.dominator.at(at as usize).0;
    }
    hops.reverse();
    let cut = hops.len() == MOST;
    (hops, cut)
}

fn steps(hops: &[Hop], heap: &Heap) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (at, hop) in hops.iter().enumerate() {
        let (kind, class) = (heap.nodes.kind.at(hop.node as usize), heap.nodes.class.at(hop.node as usize).0);
        let is_last = at + 1 == hops.len();
        let variables = heap.classes.has(class, role::CLOSURE_CONTEXT);
        let root = heap.metadata.synthetic_kinds.contains(&kind);
        if root
            && steps.iter().all(|step| heap.metadata.synthetic_kinds.contains(&heap.nodes.kind.at(step.node as usize)))
        {
            steps.clear();
        } else if let Some(last) = steps.last_mut() {
            let inside = heap.is_part(kind, class) || heap.classes.has(class, role::ENTRY);
            lead(last, hop.label, inside, variables, heap);
            let is_shown_in_it = variables || (inside && !is_last);
            if is_shown_in_it && !heap.is_class_object(kind) {
                continue;
            }
        }
        steps.push(step(hop.node, kind, class, heap));
    }
    steps
}

/// Cuts a path through a global variable: the runtime's register of variables is not informative.
fn from_variable(mut steps: Vec<Step>, heap: &Heap) -> Vec<Step> {
    let is_variable = |step: &Step| heap.classes.has(heap.nodes.class.at(step.node as usize).0, role::VARIABLE);
    if let Some(at) = steps.iter().rposition(is_variable) {
        steps.drain(..at);
    }
    steps
}

/// Cuts a path through modules of the program to the last one: the order of their loading is not informative. Modules
/// have the name of their package, or of their script if that is the program's own.
fn from_module(mut steps: Vec<Step>, hops: &[Hop], heap: &Heap) -> Vec<Step> {
    let Some(at) = steps.iter().rposition(|step| step.out == EXPORTS && heap.is_register(step.node)) else {
        return steps;
    };
    let module = steps[at].node;
    let mut below = hops.iter().skip_while(|hop| hop.node != module).map(|hop| hop.node);
    let name = below.find(|&node| heap.code_of(node).is_of_program()).and_then(|node| heap.module_of(node));
    steps.drain(..at);
    let Some(name) = name else { return steps };
    let name = format!("module {name}");
    steps[0].name.clone_from(&name);
    steps[0].stable = name;
    steps[0].out.clear();
    steps
}

/// Cuts the runtime's path to a timer or to a class: a path begins with the last object of the platform before the
/// program's own, or with a class of the program.
fn from_program(mut steps: Vec<Step>, heap: &Heap) -> Vec<Step> {
    let code = |step: &Step| heap.code_of(step.node);
    let Some(own) = steps.iter().position(|step| code(step).is_of_program()) else { return steps };
    let is_class = heap.is_class_object(heap.nodes.kind.at(steps[own].node as usize));
    let before = steps[..own].iter().rposition(|step| code(step) == CodeOf::Platform);
    let is_thread = steps[..own].iter().any(|step| heap.is_thread(step.node));
    match before {
        Some(_) if is_class => steps.drain(..own),
        Some(last) if last >= LEFT_OUT && !is_thread => steps.drain(..last),
        _ => return steps,
    };
    steps
}

/// Minimum number of steps of the platform that are left out.
const LEFT_OUT: usize = 2;

/// Reference from a module.
const EXPORTS: &str = ".exports";

/// Extends the reference from a step by an edge.
fn lead(step: &mut Step, label: u32, inside: bool, variables: bool, heap: &Heap) {
    if step.container && (inside || step.out == "[]") {
        "[]".clone_into(&mut step.out);
    } else if !variables {
        let edge = edge(label, heap.strings());
        if edge == "[]" && step.out.ends_with("[]") {
            // Tables in tables.
            return;
        }
        // Static fields may have the name of their class before their own.
        let own = edge.strip_prefix('.').and_then(|edge| edge.strip_prefix(&*step.name));
        step.out += own.filter(|own| own.starts_with('.')).unwrap_or(&edge);
    }
}

fn edge(label: u32, strings: &StringTable) -> String {
    match label {
        label::INDEX | label::ENTRY => "[]".to_owned(),
        label if label >= label::NO_PATH => String::new(),
        name => format!(".{}", shorten(&strings.text(name as usize), MOST_LABEL)),
    }
}

fn step(node: u32, kind: u8, class: u32, heap: &Heap) -> Step {
    let own = heap.nodes.own_name(NodeId(node), MOST_NAME);
    let own = own.trim();
    let class_name = heap.shown_class(class);
    let is_text = heap.texts.has(kind);
    let is_common = heap.classes.has(class, role::COMMON | role::CONTAINER | role::PART | role::ENTRY);
    let (name, stable) = if heap.metadata.synthetic_kinds.contains(&kind) {
        let known = heap.metadata.roles.root_names.iter().find(|(name, _)| name == own);
        let name = known.map_or(if own.is_empty() { &*class_name } else { own }, |(_, words)| words).to_owned();
        (name.clone(), name)
    } else if heap.functions.has(kind) {
        let name = format!("{}()", if own.is_empty() { "(anonymous)" } else { own });
        (name.clone(), name)
    } else if heap.is_class_object(kind) && !own.is_empty() {
        (own.to_owned(), own.to_owned())
    } else if let Some(name) = heap.internal_name(node, kind) {
        (name, class_name)
    } else if own.is_empty() || heap.metadata.roles.common_classes.fit(own) {
        (class_name.clone(), class_name)
    } else if is_text {
        (format!("{class_name} {:?}", shorten(own, 40)), class_name)
    } else {
        (format!("{class_name} {own:?}"), class_name)
    };
    let is_variable = heap.classes.has(class, role::VARIABLE);
    let named = !is_common || is_variable || heap.functions.has(kind) || heap.is_class_object(kind);
    let container = heap.classes.has(class, role::CONTAINER);
    Step { node, name, stable, out: String::new(), named: named && !is_text, container }
}

/// Merges equal steps in a row.
fn fold(steps: Vec<Step>) -> Vec<Step> {
    let mut folded: Vec<Step> = Vec::new();
    let mut repeated = false;
    for step in steps {
        let same = |last: &Step| (&last.stable, &last.out) == (&step.stable, &step.out) && !step.out.is_empty();
        if folded.last().is_some_and(same) {
            repeated = true;
            continue;
        }
        if let Some(last) = folded.last_mut().filter(|_| repeated) {
            last.out.push('*');
        }
        repeated = false;
        folded.push(step);
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(steps: &[(&str, &str, bool)]) -> Path {
        let step = |&(name, out, named): &(&str, &str, bool)| Step {
            node: 0,
            name: name.to_owned(),
            stable: name.to_owned(),
            out: out.to_owned(),
            named,
            container: false,
        };
        Path { hops: Vec::new(), steps: fold(steps.iter().map(step).collect()), cut: false, between: " → " }
    }

    #[test]
    fn only_equal_steps_in_a_row_are_folded() {
        let list =
            path(&[("List", ".head", true), ("Node", ".next", true), ("Node", ".next", true), ("Node", "", true)]);
        assert_eq!(list.line(), "List.head → Node.next* → Node");
        let bus =
            path(&[("Map", "[]", false), ("Bus", ".listeners", true), ("Map", "[]", false), ("Array", "", false)]);
        assert_eq!(bus.line(), "Map[] → Bus.listeners → Map[] → Array");
    }

    #[test]
    fn both_ends_of_a_long_path_stay() {
        let names: Vec<String> = (0..100).map(|at| format!("C{at}")).collect();
        let steps: Vec<_> = names.iter().map(|name| (&**name, ".f", true)).collect();
        let line = path(&steps).line();
        assert!(line.starts_with("C0.f → C1.f") && line.ends_with("C99.f"), "{line}");
        assert!(line.contains(" → … 90 more … → "), "{line}");
    }

    #[test]
    fn a_subject_is_its_field_in_an_object_of_a_named_class() {
        let store = path(&[("global", ".app", false), ("MemoryStore", ".sessions", true), ("Object", "", false)]);
        assert_eq!((store.subject(), store.holder_step()), ("MemoryStore.sessions".to_owned(), Some(1)));
        let bus = path(&[("Bus", ".listeners", true), ("Map", "[]", false), ("Array", "", false)]);
        assert_eq!(bus.subject(), "Bus.listeners[]");
        let global = path(&[("global", ".cache", false), ("Object", ".sessions", false), ("Map", "", false)]);
        assert_eq!((global.subject(), global.holder()), ("global.cache.sessions".to_owned(), None));
        let named = path(&[("global", ".cache", false), ("SessionCache", "", true)]);
        assert_eq!((named.subject(), named.field()), ("SessionCache".to_owned(), None));
    }

    #[test]
    fn paths_of_the_same_classes_and_fields_are_alike() {
        let entry = path(&[("Thread", ".locals", true), ("Entry", "", false)]);
        let value = path(&[("Thread", ".locals", true), ("Entry", ".value", false), ("byte[]", "", false)]);
        let other = path(&[("Thread", ".name", true), ("Entry", "", false)]);
        assert!(entry.is_like(&value) && entry.is_like(&entry));
        assert!(!value.is_like(&entry) && !other.is_like(&value));
    }
}
