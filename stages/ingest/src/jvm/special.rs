//! Classes and fields with a special meaning.

use super::layouts::{Position, Types};
use super::sizes::Sizes;
use super::stack_chunk::StackChunk;
use super::{value, variables};
use heaplake_kit::{Job, StageError, StringTable};
use heaplake_schemas::options::Referents;
use heaplake_schemas::scratch::STRINGS;

/// Reference classes with a `referent` that may be a weak edge.
const WEAK_CLASSES: [&str; 3] =
    ["java.lang.ref.SoftReference", "java.lang.ref.WeakReference", "java.lang.ref.PhantomReference"];

/// Superclass of [`WEAK_CLASSES`] and of final references, which wait for finalizers.
const REFERENCE: &str = "java.lang.ref.Reference";

/// Classes and fields with a special meaning.
pub(crate) struct Special {
    /// `java.lang.Class`, the class of classes.
    pub class: Option<Position>,
    /// `java.lang.ClassLoader`, the assumed class of the boot loader.
    pub loader: Option<Position>,
    /// Classes of primitive arrays, by type code.
    pub arrays: [Option<Position>; 12],
    /// `java.lang.String`.
    pub string: Option<Text>,
    /// Stack chunks of virtual threads, if their sizes follow HotSpot.
    pub stack: Option<StackChunk>,
    /// The field of a thread's name.
    pub thread_name: Option<usize>,
    /// Classes that name variables of Clojure.
    pub variables: Option<variables::Classes>,
}

/// `java.lang.String`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text {
    /// The class.
    pub class: Position,
    /// Offset of the text array in an instance.
    pub value: u32,
    /// Offset of the encoding, if there is one.
    pub coder: Option<u32>,
}

impl Special {
    /// Finds the classes, and marks referents as weak edges or as edges that paths avoid, by the options.
    pub(crate) fn find(types: &mut Types, sizes: &Sizes, job: &Job<'_>) -> Result<Self, StageError> {
        let strings = StringTable::open(job.scratch, STRINGS)?;
        let named = |name: &str| types.named(name, &strings);
        let mut arrays = [None; 12];
        for (kind, slot) in arrays.iter_mut().enumerate() {
            *slot = value::name(kind as u8).and_then(|name| named(&format!("{name}[]")));
        }
        let string = named("java.lang.String").and_then(|class| {
            let (_, value) = types.own_field(class, "value", value::OBJECT, &strings)?;
            let coder = types.own_field(class, "coder", value::BYTE, &strings);
            Some(Text { class, value, coder: coder.map(|(_, at)| at) })
        });
        let reference = |class: &str, field: &str| {
            let (field, _) = types.own_field(named(class)?, field, value::OBJECT, &strings)?;
            Some(field)
        };
        let special = Self {
            class: named("java.lang.Class"),
            loader: named("java.lang.ClassLoader"),
            arrays,
            string,
            stack: StackChunk::find(types, sizes, &strings),
            thread_name: reference("java.lang.Thread", "name"),
            variables: variables::Classes::find(types, &strings),
        };
        let referent = reference(REFERENCE, "referent");
        if let Some(referent) = referent {
            let all: Vec<Position> = named(REFERENCE).into_iter().collect();
            let tops: Vec<Position> = WEAK_CLASSES.iter().filter_map(|name| named(name)).collect();
            let all = types.extending(&all, job.context)?;
            let weak = types.extending(&tops, job.context)?;
            for class in (0..all.len()).filter(|&class| all[class]) {
                types.refer(class, referent, !weak[class] || job.analysis().referents == Referents::Hold);
            }
        }
        Ok(special)
    }
}
