//! Texts about sets of duplicates: for their table, and for the summary.

use heaplake_kit::{ColumnMap, ReadAt, Scratch, StageError, StringTable};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::ids::{ClassId, StringId};
use heaplake_schemas::scratch::{self as columns, SET_PREVIEWS, STRINGS, limits};

/// Maximum characters of a preview.
const PREVIEW: usize = 120;

/// Text of the reasons why a set is only a possible one.
pub(crate) fn reason(bits: u16) -> Option<String> {
    let words: [(u16, &str); 9] = [
        (limits::MODE, "references not looked into: not asked for"),
        (limits::WORK, "references not looked into to the end: the allowed work did not suffice"),
        (limits::NUMBERS.into(), "numbers are not in the file, or not their signs"),
        (limits::TEXTS.into(), "only the beginning of a text is in the file"),
        (limits::CHARACTERS.into(), "characters of a text are not told apart in the file"),
        (limits::CONTENTS.into(), "the content of a part is not in the file"),
        (limits::STACK.into(), "the words of the stack of a virtual thread are not in the file"),
        (limits::STATE.into(), "the state of an object of the engine is not in the file"),
        (limits::SLOTS.into(), "slots without objects are not in the file"),
    ];
    let words: Vec<&str> = words.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, words)| words).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// `exact` if the members of a set are certainly equal, else `possible`.
pub(crate) fn status(row: &SetRow) -> &'static str {
    if row.reasons == 0 { "exact" } else { "possible" }
}

/// A member of a set: its class, and its own name if requested.
#[derive(Clone, Copy)]
pub(crate) struct Example {
    pub(crate) class: ClassId,
    name: StringId,
}

impl Example {
    /// Reads the example of a set from columns of all nodes.
    pub(crate) fn of(
        row: &SetRow,
        classes: &mut impl ReadAt<ClassId>,
        names: Option<&mut impl ReadAt<StringId>>,
    ) -> Result<Self, StageError> {
        let node = row.example.index();
        let name = names.map_or(Ok(StringId::NONE), |names| names.get(node))?;
        Ok(Self { class: classes.get(node)?, name })
    }
}

/// Names of classes and nodes, and previews.
pub(crate) struct Words {
    strings: StringTable,
    class_names: ColumnMap<StringId>,
    /// Previews by the format's reader.
    previews: Option<StringTable>,
}

impl Words {
    pub(crate) fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            strings: StringTable::open(scratch, STRINGS)?,
            class_names: ColumnMap::uncounted(scratch, columns::CLASS_NAME)?,
            previews: match scratch.has(SET_PREVIEWS.start) {
                true => Some(StringTable::open(scratch, SET_PREVIEWS)?),
                false => None,
            },
        })
    }

    /// Whether previews are made from the names of nodes.
    pub(crate) fn need_names(&self) -> bool {
        self.previews.is_none()
    }

    pub(crate) fn class_name(&self, example: Example) -> String {
        self.strings.text(self.class_names[example.class.index()].index()).into_owned()
    }

    /// Preview of a member: by the format's reader, or its own name if that differs from its class.
    pub(crate) fn preview(&self, set: u32, example: Example) -> Option<String> {
        if let Some(previews) = &self.previews {
            return Some(previews.text(set as usize).into_owned()).filter(|text| !text.is_empty());
        }
        let name = example.name;
        if name.is_none() || name == self.class_names[example.class.index()] {
            return None;
        }
        let text = self.strings.beginning(name.index(), PREVIEW + 1);
        if text.is_empty() {
            return None;
        }
        let mut shown: String = text.chars().take(PREVIEW).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        Some(format!("{shown:?}"))
    }
}
