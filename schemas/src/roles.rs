//! Roles of the classes and node kinds of a runtime, stated by the reader of its format. Rules of findings know nothing
//! else of a runtime.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name patterns: `*` matches any text; a pattern without it is a whole name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NamePatterns(Vec<String>);

impl NamePatterns {
    /// These patterns.
    pub fn of(patterns: &[&str]) -> Self {
        Self(patterns.iter().map(|&pattern| pattern.to_owned()).collect())
    }

    /// Whether a pattern matches a name.
    pub fn fit(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| fits(pattern, name))
    }

    /// Whether there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    let within = name.strip_prefix(start).and_then(|name| name.strip_suffix(end));
    let Some(mut within) = within else { return false };
    for part in middle.split('*') {
        // The first match of a part leaves most text for the parts after it.
        let Some(at) = within.find(part) else { return false };
        within = &within[at + part.len()..];
    }
    true
}

/// Maps of thread-local values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadLocals {
    /// Class of the map of each thread.
    pub map: String,
    /// Class of its entries.
    pub entry: String,
    /// Advice if they retain much.
    pub advice: String,
}

/// The runtime's references to objects with finalizers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finalizers {
    /// Their class.
    pub class: String,
    /// Advice if there are many.
    pub advice: String,
}

/// The runtime's words for resources that nobody ends, and advice about them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Resources {
    /// Advice about timers.
    pub timer_advice: String,
    /// Advice about listeners.
    pub listener_advice: String,
    /// Advice about promises that nothing settles.
    pub promise_advice: String,
    /// Name of realms, plural.
    pub realms: String,
    /// Advice about realms.
    pub realm_advice: String,
    /// Advice about WebAssembly memories.
    pub memory_advice: String,
}

/// The roles, as names of classes and kinds. A role that a runtime lacks is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Roles {
    /// Node kinds that are parts of the runtime, or of the object that refers to them.
    pub part_kinds: NamePatterns,
    /// Those of [`Self::part_kinds`] whose references the input repeats with the object they are parts of.
    pub restated_kinds: NamePatterns,
    /// Classes of such parts.
    pub part_classes: NamePatterns,
    /// Kinds of strings.
    pub texts: NamePatterns,
    /// Those of [`Self::texts`] whose nodes contain the characters.
    pub plain_texts: NamePatterns,
    /// Kinds of arrays of primitive values.
    pub data_arrays: NamePatterns,
    /// Classes of strings with their characters in such an array.
    pub text_classes: NamePatterns,
    /// Advice about buffers outside the heap.
    pub direct_buffer_advice: String,
    /// Advice about many such strings with equal contents.
    pub data_array_advice: String,
    /// Classes of fillers: unreachable objects that a collector writes into gaps of the heap. Programs may also have
    /// reachable objects of these classes.
    pub fillers: NamePatterns,
    /// Kinds of arrays of references with one edge to their class and one to each non-null element.
    pub reference_arrays: NamePatterns,
    /// Kinds of nodes that represent memory outside the managed heap.
    pub native_memory: NamePatterns,
    /// Kinds of class nodes, which retain the targets of their static fields.
    pub class_objects: NamePatterns,
    /// Classes of such nodes.
    pub class_of_classes: NamePatterns,
    /// Classes that every program has plenty of.
    pub common_classes: NamePatterns,
    /// Those of [`Self::common_classes`] named after the fields of their objects, as object literals are.
    pub shape_classes: NamePatterns,
    /// Classes of global variables that are named objects. Paths begin with them.
    pub variables: NamePatterns,
    /// Classes in which the runtime registers code or native objects, such as modules: they hold whatever the program
    /// has and cause nothing.
    pub register_classes: NamePatterns,
    /// Classes generated at run time.
    pub generated_classes: NamePatterns,
    /// Classes of containers and their parts.
    pub containers: NamePatterns,
    /// Classes of container entries, through which a container refers to its elements.
    pub entries: NamePatterns,
    /// Classes of closure contexts.
    pub closure_contexts: NamePatterns,
    /// Fields with which weak and soft references refer to their referents.
    pub weak_fields: NamePatterns,
    /// Kinds of code, for which the runtime keeps the source text.
    pub code: NamePatterns,
    /// Kinds of functions and of parts they refer to.
    pub functions: NamePatterns,
    /// Synthetic nodes where paths begin, with names for people.
    pub root_names: Vec<(String, String)>,
    /// Classes of boxed numbers, characters and booleans.
    pub boxes: NamePatterns,
    /// Classes of threads; the reader attaches their stack variables.
    pub threads: NamePatterns,
    /// Classes of virtual threads; dumps may omit their stacks while they wait.
    pub virtual_threads: NamePatterns,
    /// Thread locals, if the runtime has them.
    pub thread_locals: Option<ThreadLocals>,
    /// Finalizers, if the runtime has them.
    pub finalizers: Option<Finalizers>,
    /// Classes of native objects that can be detached but are not part of a document.
    pub no_documents: NamePatterns,
    /// Words about [resources](crate::resources).
    pub resources: Resources,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names() {
        let names = NamePatterns::of(&["Map", "java.*", "*[]", "*$Proxy*", "java.util.*$*Node"]);
        for name in ["Map", "java.lang.Object", "a.B[]", "com.sun.$Proxy12", "$Proxy", "java.util.HashMap$TreeNode"] {
            assert!(names.fit(name), "{name}");
        }
        for name in ["Maps", "a.Map", "javax.Thing", "[]a", "Proxy"] {
            assert!(!names.fit(name), "{name}");
        }
        let entries = NamePatterns::of(&["java.util.*$*Node"]);
        assert!(entries.fit("java.util.concurrent.ConcurrentHashMap$Node") && entries.fit("java.util.A$B$Node"));
        assert!(!entries.fit("java.util.Node") && !entries.fit("java.util.HashMap$Node[]"));
        let twice = NamePatterns::of(&["a*bc*bc*c"]);
        assert!(twice.fit("abcbcc") && twice.fit("a-bc-bc-c") && !twice.fit("abcc") && !twice.fit("abcbc"));
        assert!(!NamePatterns::of(&["ab*ba"]).fit("aba") && NamePatterns::default().is_empty());
    }
}
