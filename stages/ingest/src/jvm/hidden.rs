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

    const fn added(class: &'static str, added: &'static [(&'static str, u8)]) -> Self {
        Self { class, added, ..Self::NOTHING }
    }

    const fn apart(class: &'static str, apart: &'static [&'static str]) -> Self {
        Self { class, apart, ..Self::NOTHING }
    }

    const fn all_apart(class: &'static str) -> Self {
        Self { class, all_apart: true, ..Self::NOTHING }
    }
}

/// The classes, all of the boot loader.
const HIDDEN: [Hidden; 16] = [
    Hidden::added(
        "java.lang.Class",
        &[
            ("klass", LONG),
            ("array_klass", LONG),
            ("oop_size", INT),
            ("static_oop_field_count", INT),
            ("protectionDomain", OBJECT),
            ("signers", OBJECT),
            ("source_file", OBJECT),
            ("init_lock", OBJECT),
        ],
    ),
    Hidden::added("java.lang.ClassLoader", &[("loader_data", LONG)]),
    Hidden::added("java.lang.Module", &[("module_entry", LONG)]),
    Hidden::added(
        "java.lang.Thread",
        &[
            ("jvmti_thread_state", LONG),
            ("jvmti_VTMS_transition_disable_count", INT),
            ("jvmti_is_in_VTMS_transition", BYTE),
            ("jfr_epoch", SHORT),
        ],
    ),
    Hidden::added("java.lang.VirtualThread", &[("objectWaiter", LONG)]),
    Hidden::added("java.lang.InternalError", &[("during_unsafe_access", BYTE)]),
    Hidden::added("java.lang.StackFrameInfo", &[("version", SHORT)]),
    Hidden::added("java.lang.invoke.MemberName", &[("vmindex", LONG)]),
    Hidden::added("java.lang.invoke.ResolvedMethodName", &[("vmtarget", LONG)]),
    Hidden::added(
        "java.lang.invoke.MethodHandleNatives$CallSiteContext",
        &[("vmdependencies", LONG), ("last_cleanup", LONG)],
    ),
    Hidden::added(
        STACK_CHUNK,
        &[("cont", OBJECT), ("flags", BYTE), ("pc", LONG), ("maxThawingSize", INT), ("lockStackSize", BYTE)],
    ),
    Hidden::apart("java.util.concurrent.ForkJoinPool", &["ctl", "parallelism"]),
    Hidden::apart(
        "java.util.concurrent.ForkJoinPool$WorkQueue",
        &["top", "phase", "stackPred", "source", "nsteals", "parking"],
    ),
    Hidden::all_apart("java.util.concurrent.Exchanger$Slot"),
    Hidden::all_apart("java.util.concurrent.ConcurrentHashMap$CounterCell"),
    Hidden::all_apart("java.util.concurrent.atomic.Striped64$Cell"),
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
