//! Roles of the classes and kinds of nodes of a runtime, stated by the reader of its format. The rules of findings
//! know nothing else of a runtime.

use serde::{Deserialize, Serialize};

/// Patterns of names. In a pattern, `*` matches any text; a pattern without one is a whole name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Names(Vec<String>);

impl Names {
    /// These patterns.
    #[must_use]
    pub fn of(patterns: &[&str]) -> Self {
        Self(patterns.iter().map(|&pattern| pattern.to_owned()).collect())
    }

    /// Whether a name fits one of the patterns.
    #[must_use]
    pub fn fit(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| fits(pattern, name))
    }

    /// Whether there are no patterns.
    #[must_use]
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
        // The first match of a part leaves the most text for the parts after it.
        let Some(at) = within.find(part) else { return false };
        within = &within[at + part.len()..];
    }
    true
}

/// Maps that threads keep values in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadLocals {
    /// Class of the map that each thread has.
    pub map: String,
    /// Class of its entries.
    pub entry: String,
    /// What to do when they retain much.
    pub advice: String,
}

/// References that the runtime has for objects with finalizers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finalizers {
    /// Their class.
    pub class: String,
    /// What to do when there are many.
    pub advice: String,
}

/// What the runtime calls resources that nobody ends, and what to do about them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// What to do about timers.
    pub timer_advice: String,
    /// What to do about listeners.
    pub listener_advice: String,
    /// What to do about promises that nothing settles.
    pub promise_advice: String,
    /// What a realm is called, in the plural.
    pub realms: String,
    /// What to do about realms.
    pub realm_advice: String,
    /// What to do about memories of WebAssembly.
    pub memory_advice: String,
}

/// The roles. A role that a runtime does not have stays empty. Classes and kinds are given by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Roles {
    /// Kinds of nodes that are parts of the runtime, or of the object that refers to them.
    pub part_kinds: Names,
    /// Those of [`Self::part_kinds`] whose references the input states once more, with the object that they are parts of.
    pub restated_kinds: Names,
    /// Classes of nodes that are such parts.
    pub part_classes: Names,
    /// Kinds of texts.
    pub texts: Names,
    /// Those of [`Self::texts`] whose nodes contain the characters themselves.
    pub plain_texts: Names,
    /// Kinds of arrays of plain data.
    pub data_arrays: Names,
    /// Classes of texts whose characters are in such an array.
    pub text_classes: Names,
    /// What to do about buffers outside the heap.
    pub direct_buffer_advice: String,
    /// What to do about many of those texts with the same content.
    pub data_array_advice: String,
    /// Classes of fillers: unreachable objects that a collector writes into gaps of the heap. Programs may have reachable
    /// objects of these classes, too.
    pub fillers: Names,
    /// Kinds of arrays of references from which one edge leads to their class and one to each element that is not null.
    pub reference_arrays: Names,
    /// Kinds of nodes that represent memory outside the managed heap.
    pub native_memory: Names,
    /// Kinds of nodes that are classes, which retain the targets of their static fields.
    pub class_objects: Names,
    /// Classes of such nodes.
    pub class_of_classes: Names,
    /// Classes that every program has plenty of.
    pub common_classes: Names,
    /// Those of [`Self::common_classes`] that are called by the fields of their objects, as object literals are.
    pub shape_classes: Names,
    /// Classes of the program's global variables, where these are objects with a name. Paths begin with them.
    pub variables: Names,
    /// Classes by which the runtime registers code or native objects: modules and the like, which hold whatever the
    /// program has and are no cause of it.
    pub register_classes: Names,
    /// Classes that are made anew at will.
    pub generated_classes: Names,
    /// Classes of containers and of their parts.
    pub containers: Names,
    /// Classes of entries of containers, through which a container refers to its elements.
    pub entries: Names,
    /// Classes of the variables of closures.
    pub closure_contexts: Names,
    /// Fields through which weak and soft references refer to their objects.
    pub weak_fields: Names,
    /// Kinds of code, to which the runtime keeps its text.
    pub code: Names,
    /// Kinds of functions, with what they refer to.
    pub functions: Names,
    /// Names of synthetic nodes at which paths begin, and what people call them.
    pub root_names: Vec<(String, String)>,
    /// Classes of numbers, characters and truth values that are objects.
    pub boxes: Names,
    /// Classes of threads, to which the reader attaches the variables of their stacks.
    pub threads: Names,
    /// Those of threads of which dumps may omit the stack, while they wait.
    pub virtual_threads: Names,
    /// Where the runtime has such.
    pub thread_locals: Option<ThreadLocals>,
    /// Where the runtime has such.
    pub finalizers: Option<Finalizers>,
    /// Classes of native objects that can be detached and are no part of a document.
    pub no_documents: Names,
    /// Words about [resources](crate::resources).
    pub resources: Resources,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names() {
        let names = Names::of(&["Map", "java.*", "*[]", "*$Proxy*", "java.util.*$*Node"]);
        for name in ["Map", "java.lang.Object", "a.B[]", "com.sun.$Proxy12", "$Proxy", "java.util.HashMap$TreeNode"] {
            assert!(names.fit(name), "{name}");
        }
        for name in ["Maps", "a.Map", "javax.Thing", "[]a", "Proxy"] {
            assert!(!names.fit(name), "{name}");
        }
        let entries = Names::of(&["java.util.*$*Node"]);
        assert!(entries.fit("java.util.concurrent.ConcurrentHashMap$Node") && entries.fit("java.util.A$B$Node"));
        assert!(!entries.fit("java.util.Node") && !entries.fit("java.util.HashMap$Node[]"));
        let twice = Names::of(&["a*bc*bc*c"]);
        assert!(twice.fit("abcbcc") && twice.fit("a-bc-bc-c") && !twice.fit("abcc") && !twice.fit("abcbc"));
        assert!(!Names::of(&["ab*ba"]).fit("aba") && Names::default().is_empty());
    }
}
