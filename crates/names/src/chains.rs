//! Signatures of chains of classes: holders without indices, without the insides of standard collections, and without
//! list lengths.

use crate::runtime::Runtime;
use crate::steps::{Step, variable};
use crate::{jvm, v8};

/// Role of a class in a chain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A step of its own.
    Step,
    /// Standard collections, and objects used as such.
    Collection,
    /// Arrays and other insides of the object that holds them.
    Inside,
    /// The variables of a function.
    Scope,
    /// Groups of roots.
    Roots,
}

/// Returns the role of a class.
pub(crate) fn part(runtime: Runtime, class: &str) -> Part {
    match runtime {
        Runtime::V8 => match class {
            "Map" | "Set" | "WeakMap" | "WeakSet" | "Array" | "Object" => Part::Collection,
            "(array)" | "(system)" | "(compiled code)" | "(object shape)" => Part::Inside,
            "(synthetic)" | "(GC roots)" => Part::Roots,
            _ if class.starts_with("system / Context") => Part::Scope,
            _ if class.starts_with("system / ") => Part::Inside,
            _ => Part::Step,
        },
        Runtime::Jvm => {
            let class = class.split(" (").next().unwrap_or(class);
            let nested = class.rsplit_once('$').filter(|_| class.starts_with("java.util."));
            match nested {
                _ if class.ends_with("[]") => Part::Inside,
                Some((_, name)) if name.ends_with("Node") || name.ends_with("Entry") || name == "#" => Part::Inside,
                _ if class.starts_with("java.util.") => Part::Collection,
                _ => Part::Step,
            }
        }
        Runtime::DotNet => {
            let generic = class.split(['`', '[', ' ']).next().unwrap_or(class);
            match generic {
                _ if class.ends_with("[]") => Part::Inside,
                "Entry" | "Node" | "Tables" | "Bucket" | "Slot" | "VolatileNode" => Part::Inside,
                _ if generic.ends_with("LinkedListNode") || generic.ends_with("QueueSegment") => Part::Inside,
                _ if generic.starts_with("System.Collections.") => Part::Collection,
                _ => Part::Step,
            }
        }
    }
}

/// An element: the normalised label of the edge to it, and the signature of its class.
pub(crate) struct Element<'a> {
    /// `[]` for an index, empty without a label.
    pub label: String,
    pub class: &'a str,
    pub repeats: bool,
}

/// Returns the steps of a chain.
pub(crate) fn steps(runtime: Runtime, elements: &[Element<'_>]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    // Whether the last element is a scope, and whether it is inside a collection.
    let (mut scope, mut inside) = (false, false);
    for (at, element) in elements.iter().enumerate() {
        let part = part(runtime, element.class);
        let is_last = at + 1 == elements.len();
        let Some(holder) = steps.last_mut() else {
            let label = Some(&*element.label).filter(|label| !label.is_empty() && *label != "[]");
            steps.extend(label.map(|label| Step::of(&format!("({label})"))));
            steps.push(Step::of(if part == Part::Scope { "(scope)" } else { element.class }));
            (scope, inside) = (part == Part::Scope, false);
            continue;
        };
        let of_collection = self::part(runtime, &holder.name) == Part::Collection;
        let enters = of_collection && (part == Part::Inside || wraps(&holder.name, part));
        if inside || enters || element.label == "(entry)" || element.label == "[]" {
            if part != Part::Scope && self::part(runtime, &holder.name) != Part::Roots {
                holder.index();
            }
        } else if part != Part::Scope {
            lead(holder, element, scope, runtime);
        }
        inside = (inside || of_collection) && part == Part::Inside;
        let hidden = matches!(part, Part::Inside | Part::Scope) || (enters && part == Part::Collection);
        scope = part == Part::Scope;
        if is_last || !hidden {
            steps.push(Step::of(element.class));
            fold(&mut steps, element.repeats, runtime);
        }
    }
    steps
}

/// Whether a Java collection is a face of another one: a set of a map, a view.
fn wraps(holder: &str, part: Part) -> bool {
    let is_face = holder.ends_with("Set") || holder.starts_with("java.util.Collections$");
    part == Part::Collection && is_face && holder.starts_with("java.util.")
}

/// Adds the label of an edge to the step that it leaves.
fn lead(holder: &mut Step, element: &Element<'_>, scope: bool, runtime: Runtime) {
    let label = &*element.label;
    if label.is_empty() {
        return;
    }
    if runtime == Runtime::Jvm && holder.name == "java.lang.Class" && label.contains('.') {
        // A static field, after the name of its class.
        let (class, field) = label.rsplit_once('.').unwrap_or_default();
        class.clone_into(&mut holder.name);
        holder.out = format!(".{field}");
        return;
    }
    let label = if scope { variable(label) } else { label };
    if !(scope && v8::is_named(element.class)) {
        holder.out.push('.');
        holder.out.push_str(label);
    }
}

/// Merges the last two steps, if the last is the next element of a list.
fn fold(steps: &mut Vec<Step>, repeats: bool, runtime: Runtime) {
    let [.., before, last] = &**steps else { return };
    let named = match runtime {
        Runtime::V8 => v8::is_named(&last.name),
        Runtime::Jvm | Runtime::DotNet => part(runtime, &last.name) == Part::Step && last.name != "java.lang.Class",
    };
    if before.name == last.name && (repeats || named || before.out == "[]") {
        let before = steps.len() - 2;
        steps.remove(before);
    }
}

/// Removes the path by which the class loader of the class path holds the class of a static field: it is equal for
/// every class and depends on the version.
pub(crate) fn without_loader(steps: &mut Vec<Step>, runtime: Runtime) {
    let is_loader = |step: &Step| jvm::is_platform_loader(&step.name);
    if runtime != Runtime::Jvm || !steps.first().is_some_and(is_loader) {
        return;
    }
    let is_list = |step: &Step| step.name.starts_with("java.util.") || step.name == "java.lang.Object[]";
    let start = 1 + steps[1..].iter().take_while(|step| is_list(step)).count();
    let is_class = |step: &Step| !step.out.is_empty() || step.name == "java.lang.Class";
    if steps.get(start).is_some_and(is_class) && start + 1 < steps.len() {
        steps.drain(..start);
    }
}
