//! Roles of the classes and kinds of Java heaps.

use heaplake_schemas::roles::{Finalizers, NamePatterns, Roles, ThreadLocals};

/// Returns the roles.
pub(crate) fn roles() -> Roles {
    Roles {
        part_kinds: NamePatterns::of(&["object array", "primitive array"]),
        data_arrays: NamePatterns::of(&["primitive array"]),
        weak_fields: NamePatterns::of(&["referent", "java.lang.ref.Reference.referent"]),
        text_classes: NamePatterns::of(&["java.lang.String"]),
        data_array_advice:
            "Intern values where they are made or read, or let the collector do it (Java: -XX:+UseStringDeduplication)."
                .to_owned(),
        direct_buffer_advice:
            "Release what is done with, or reuse buffers of a pool: the collector sees only small objects and frees such memory \
             late. -XX:MaxDirectMemorySize bounds it."
                .to_owned(),
        // Before JDK 19 arrays of `int` fill gaps.
        fillers: NamePatterns::of(&[
            "jdk.internal.vm.FillerObject",
            "jdk.internal.vm.FillerArray",
            "jdk.internal.vm.FillerElement[]",
            "int[]",
        ]),
        reference_arrays: NamePatterns::of(&["object array"]),
        class_objects: NamePatterns::of(&["class"]),
        class_of_classes: NamePatterns::of(&["java.lang.Class"]),
        common_classes: common_classes(),
        register_classes: NamePatterns::of(&["java.lang.Class", "*ClassLoader", "jdk.internal.loader.*"]),
        generated_classes: NamePatterns::of(&[
            "*$Proxy*",
            "*$$*",
            "*Lambda$*",
            "*LambdaForm*",
            "*GeneratedMethodAccessor*",
            "*GeneratedConstructorAccessor*",
        ]),
        containers: NamePatterns::of(&["java.util.*"]),
        entries: NamePatterns::of(&["java.util.*$*Node", "java.util.*$*Entry"]),
        boxes: NamePatterns::of(&[
            "java.lang.Boolean",
            "java.lang.Byte",
            "java.lang.Character",
            "java.lang.Double",
            "java.lang.Float",
            "java.lang.Integer",
            "java.lang.Long",
            "java.lang.Short",
        ]),
        variables: NamePatterns::of(&["clojure.lang.Var"]),
        threads: NamePatterns::of(&[
            "java.lang.Thread",
            "java.lang.VirtualThread",
            "java.lang.ThreadBuilders$BoundVirtualThread",
        ]),
        virtual_threads: NamePatterns::of(&["java.lang.VirtualThread"]),
        thread_locals: Some(thread_locals()),
        finalizers: Some(finalizers()),
        ..Roles::default()
    }
}

/// Classes of the platform and of the runtime libraries of other languages.
fn common_classes() -> NamePatterns {
    let platform = ["(*", "*[]", "java.*", "javax.*", "jdk.*", "sun.*"];
    let languages = ["kotlin.*", "clojure.lang.*", "scala.collection.*"];
    NamePatterns::of(&[&platform[..], &languages[..]].concat())
}

fn thread_locals() -> ThreadLocals {
    ThreadLocals {
        map: "java.lang.ThreadLocal$ThreadLocalMap".to_owned(),
        entry: "java.lang.ThreadLocal$ThreadLocalMap$Entry".to_owned(),
        advice: "Call ThreadLocal.remove() when the work is done, in a finally block.".to_owned(),
    }
}

fn finalizers() -> Finalizers {
    let advice = "Close what can be closed, and use java.lang.ref.Cleaner instead of finalize(); a slow finalizer holds up \
                  all others.";
    Finalizers { class: "java.lang.ref.Finalizer".to_owned(), advice: advice.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_containers_by_their_names() {
        let Roles { entries, .. } = roles();
        for name in [
            "java.util.HashMap$Node",
            "java.util.HashMap$TreeNode",
            "java.util.LinkedHashMap$Entry",
            "java.util.concurrent.ConcurrentHashMap$Node",
            "java.util.LinkedList$Node",
        ] {
            assert!(entries.fit(name), "{name}");
        }
        for name in ["java.util.HashMap$Node[]", "java.util.HashMap", "com.example.Tree$Node", "java.util.Entry"] {
            assert!(!entries.fit(name), "{name}");
        }
    }
}
