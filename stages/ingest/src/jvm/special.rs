//! Classes and fields that mean something to the reader.

use super::Dump;
use super::classes::{Classes, Position};
use super::records::value;
use heaplake_kit::{Context, Scratch, StageError, StringTable};
use heaplake_schemas::scratch::STRINGS;

/// References whose `referent` may not hold.
const WEAK_CLASSES: [&str; 3] =
    ["java.lang.ref.SoftReference", "java.lang.ref.WeakReference", "java.lang.ref.PhantomReference"];

/// Classes and fields that mean something to the reader.
pub struct Special {
    /// `java.lang.Class`, which classes are instances of.
    pub class: Option<Position>,
    /// `java.lang.ClassLoader`, which the boot loader passes for an instance of.
    pub loader: Option<Position>,
    /// Classes of arrays of primitive values, by type.
    pub arrays: [Option<Position>; 12],
    /// `java.lang.String`.
    pub string: Option<Text>,
    /// The field of a thread's name.
    pub thread_name: Option<usize>,
}

/// `java.lang.String`.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// The class.
    pub class: Position,
    /// Where the array of the text lies in an instance.
    pub value: u32,
    /// Where the number lies that says how it is encoded, where there is one.
    pub coder: Option<u32>,
}

impl Special {
    /// Finds them, and lets references be weak where that is wanted.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn find(
        classes: &mut Classes,
        dump: &Dump,
        scratch: &Scratch,
        context: &Context<'_>,
    ) -> Result<Self, StageError> {
        let strings = StringTable::open(scratch, STRINGS)?;
        let id_bytes = usize::from(dump.id_bytes);
        let named = |name: &str| classes.named(name, &strings);
        let mut arrays = [None; 12];
        for (kind, slot) in arrays.iter_mut().enumerate() {
            *slot = value::name(kind as u8).and_then(|name| named(&format!("{name}[]")));
        }
        let string = named("java.lang.String").and_then(|class| {
            let (_, value) = classes.own_field(class, "value", value::OBJECT, id_bytes, &strings)?;
            let coder = classes.own_field(class, "coder", value::BYTE, id_bytes, &strings);
            Some(Text { class, value, coder: coder.map(|(_, at)| at) })
        });
        let reference = |class: &str, field: &str| {
            let (field, _) = classes.own_field(named(class)?, field, value::OBJECT, id_bytes, &strings)?;
            Some(field)
        };
        let special = Self {
            class: named("java.lang.Class"),
            loader: named("java.lang.ClassLoader"),
            arrays,
            string,
            thread_name: reference("java.lang.Thread", "name"),
        };
        let referent = reference("java.lang.ref.Reference", "referent");
        if let Some(referent) = referent.filter(|_| !dump.choices.referents_hold) {
            let tops: Vec<Position> = WEAK_CLASSES.iter().filter_map(|name| named(name)).collect();
            let weak = classes.extending(&tops, context)?;
            (0..weak.len()).filter(|&class| weak[class]).for_each(|class| classes.weaken(class, referent));
        }
        Ok(special)
    }
}
