//! Fields of Java library classes that a dump omits or that lie elsewhere in memory: fields that the virtual machine
//! injects, and fields isolated from the others because many threads write them (`@Contended`).
//!
//! Only HotSpot's sizes depend on them. The list is that of JDK 24 to 26, the first with compact headers; stack chunks
//! have the same size in JDK 21.

use super::fields::Group;
use super::types::{Field, TypeDescriptor};
use super::value::{BYTE, INT, LONG, OBJECT, SHORT};
use heaplake_kit::StringTable;
use rustc_hash::FxHashMap;

/// Hidden layout of the instances of a class.
#[derive(Debug)]
pub(super) struct Hidden {
    class: &'static str,
    /// Names and types of injected fields, unless the class declares them.
    added: &'static [(&'static str, u8)],
    /// Names of `@Contended` fields.
    apart: &'static [&'static str],
    /// Whether the other fields are isolated from those of the superclass.
    all_apart: bool,
}

impl Hidden {
    const NOTHING: Self = Self { class: "", added: &[], apart: &[], all_apart: false };
}

/// The classes, all of the boot loader.
const HIDDEN: [Hidden; 16] = [
    Hidden {
        class: "java.lang.Class",
        added: &[
            ("klass", LONG),
            ("array_klass", LONG),
            ("oop_size", INT),
            ("static_oop_field_count", INT),
            ("protectionDomain", OBJECT),
            ("signers", OBJECT),
            ("source_file", OBJECT),
            ("init_lock", OBJECT),
        ],
        ..Hidden::NOTHING
    },
    Hidden { class: "java.lang.ClassLoader", added: &[("loader_data", LONG)], ..Hidden::NOTHING },
    Hidden { class: "java.lang.Module", added: &[("module_entry", LONG)], ..Hidden::NOTHING },
    Hidden {
        class: "java.lang.Thread",
        added: &[
            ("jvmti_thread_state", LONG),
            ("jvmti_VTMS_transition_disable_count", INT),
            ("jvmti_is_in_VTMS_transition", BYTE),
            ("jfr_epoch", SHORT),
        ],
        ..Hidden::NOTHING
    },
    Hidden { class: "java.lang.VirtualThread", added: &[("objectWaiter", LONG)], ..Hidden::NOTHING },
    Hidden { class: "java.lang.InternalError", added: &[("during_unsafe_access", BYTE)], ..Hidden::NOTHING },
    Hidden { class: "java.lang.StackFrameInfo", added: &[("version", SHORT)], ..Hidden::NOTHING },
    Hidden { class: "java.lang.invoke.MemberName", added: &[("vmindex", LONG)], ..Hidden::NOTHING },
    Hidden { class: "java.lang.invoke.ResolvedMethodName", added: &[("vmtarget", LONG)], ..Hidden::NOTHING },
    Hidden {
        class: "java.lang.invoke.MethodHandleNatives$CallSiteContext",
        added: &[("vmdependencies", LONG), ("last_cleanup", LONG)],
        ..Hidden::NOTHING
    },
    Hidden {
        class: STACK_CHUNK,
        added: &[("cont", OBJECT), ("flags", BYTE), ("pc", LONG), ("maxThawingSize", INT), ("lockStackSize", BYTE)],
        ..Hidden::NOTHING
    },
    Hidden { class: "java.util.concurrent.ForkJoinPool", apart: &["ctl", "parallelism"], ..Hidden::NOTHING },
    Hidden {
        class: "java.util.concurrent.ForkJoinPool$WorkQueue",
        apart: &["top", "phase", "stackPred", "source", "nsteals", "parking"],
        ..Hidden::NOTHING
    },
    Hidden { class: "java.util.concurrent.Exchanger$Slot", all_apart: true, ..Hidden::NOTHING },
    Hidden { class: "java.util.concurrent.ConcurrentHashMap$CounterCell", all_apart: true, ..Hidden::NOTHING },
    Hidden { class: "java.util.concurrent.atomic.Striped64$Cell", all_apart: true, ..Hidden::NOTHING },
];

/// Class of stack chunks of virtual threads, which store their words after their fields.
pub(super) const STACK_CHUNK: &str = "jdk.internal.vm.StackChunk";

/// Hidden fields of the classes of a dump, by position.
#[derive(Default)]
pub(super) struct HiddenFields(FxHashMap<usize, &'static Hidden>);

impl HiddenFields {
    /// Finds the classes in a dump.
    pub(super) fn find(types: &[TypeDescriptor], strings: &StringTable) -> Self {
        let known: FxHashMap<&[u8], &Hidden> = HIDDEN.iter().map(|hidden| (hidden.class.as_bytes(), hidden)).collect();
        let of = |(position, class): (usize, &TypeDescriptor)| {
            let hidden = known.get(strings.get(class.name.index()))?;
            (class.loader == 0).then_some((position, *hidden))
        };
        Self(types.iter().enumerate().filter_map(of).collect())
    }

    /// Splits the fields of a class into those laid out after the superclass's and isolated groups; at least one group
    /// if anything is isolated.
    pub(super) fn groups(&self, class: usize, fields: &[Field], strings: &StringTable) -> (Group, Vec<Group>) {
        let (mut rest, mut apart) = (Group::default(), Group::default());
        let hidden = self.0.get(&class).copied().unwrap_or(&Hidden::NOTHING);
        for field in fields {
            let is = |name: &&str| field.name.get().is_some_and(|id| strings.get(id as usize) == name.as_bytes());
            if hidden.apart.iter().any(is) { &mut apart } else { &mut rest }.add(field.kind as u8);
        }
        for (name, kind) in hidden.added {
            let is = |field: &Field| field.name.get().is_some_and(|id| strings.get(id as usize) == name.as_bytes());
            if !fields.iter().any(is) {
                rest.add(*kind);
            }
        }
        let has_apart = apart != Group::default();
        match (hidden.all_apart, has_apart) {
            (true, _) => (Group::default(), if has_apart { vec![rest, apart] } else { vec![rest] }),
            (false, true) => (rest, vec![apart]),
            (false, false) => (rest, Vec::new()),
        }
    }
}
