//! The classes of a dump: for each, the fields of its instances that are masked.
//!
//! Some numbers are structure, not data: the encoding of a string, the number of entries of a container, the bounds of
//! a buffer. Analyses need them, so they stay ([`STRUCTURE`]). Cached hashes of texts are data whatever the choice for
//! numbers, and so are `char` fields.

use super::walk::{BOOLEAN, CHAR, OBJECT, width};
use heaplake_kit::{Budget, BudgetVec, Reservation, StageError};
use rustc_hash::FxHashMap;

/// Fields of the library that stay, by class: structure without data. `*` is any class of the folder.
pub(super) const STRUCTURE: [(&str, &[&str]); 12] = [
    ("java/lang/String", &["coder"]),
    ("java/lang/AbstractStringBuilder", &["coder", "count"]),
    ("java/lang/Enum", &["ordinal"]),
    ("java/nio/Buffer", &["mark", "position", "limit", "capacity", "address"]),
    ("java/lang/Thread", &["daemon", "priority", "threadStatus", "tid"]),
    ("java/lang/Thread$FieldHolder", &["daemon", "priority", "threadStatus"]),
    ("java/lang/Integer$IntegerCache", &["high", "low"]),
    ("jdk/internal/vm/StackChunk", &["size", "sp", "bottom", "argsize"]),
    ("java/util/concurrent/ConcurrentHashMap", &["baseCount", "sizeCtl"]),
    ("java/util/concurrent/ArrayBlockingQueue", &["count", "takeIndex", "putIndex"]),
    ("java/util/ArrayDeque", &["head", "tail"]),
    ("java/util/*", &["size", "count", "elementCount", "modCount", "threshold", "loadFactor", "capacity"]),
];

/// Boxes of numbers.
const BOXES: [&str; 8] = [
    "java/lang/Boolean",
    "java/lang/Byte",
    "java/lang/Character",
    "java/lang/Double",
    "java/lang/Float",
    "java/lang/Integer",
    "java/lang/Long",
    "java/lang/Short",
];

/// Longest text that may be a known word.
pub(super) const MOST_WORD: u64 = 48;

/// Meaning of a name of the dump for the fields of its classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A class of [`STRUCTURE`], by its position.
    Class(u8),
    /// A box of a number.
    Box,
    /// Another class below `java/util/`.
    Util,
    /// A field, by its name in [`STRUCTURE`].
    Field(&'static str),
    /// A cached hash.
    Hash,
}

/// Returns the meaning of a text, if it is the name of a known class or field.
pub(super) fn word(text: &[u8]) -> Option<Word> {
    let text = std::str::from_utf8(text).ok()?.replace('.', "/");
    if text == "hash" {
        return Some(Word::Hash);
    }
    if let Some(at) = STRUCTURE.iter().position(|(class, _)| *class == text) {
        return Some(Word::Class(at as u8));
    }
    if BOXES.contains(&text.as_str()) {
        return Some(Word::Box);
    }
    if text.starts_with("java/util/") {
        return Some(Word::Util);
    }
    let field = STRUCTURE.iter().flat_map(|(_, fields)| fields.iter()).find(|field| **field == text);
    field.map(|field| Word::Field(field))
}

/// A class as its record describes it.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    pub superclass: u64,
    /// Own fields: text id of the name, type.
    pub fields: Vec<(u64, u8)>,
}

/// What happens to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// It stays: a reference, or structure.
    Keep,
    /// It is a number.
    Number,
    /// It is the value of a box.
    Boxed,
    /// It is text, or a hash of text.
    Text,
}

/// A masked field of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Offset in the instance.
    pub at: u32,
    /// Bytes.
    pub width: u8,
    pub is_boolean: bool,
    pub care: Care,
}

/// The masked fields of the instances of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Bytes of an instance.
    pub bytes: u64,
    pub steps: Vec<Step>,
}

/// Heap dump and id of a class: ids of several dumps in one file may be equal.
pub(super) type ClassKey = (u32, u64);

/// The classes and names of a dump.
pub(super) struct Classes {
    /// Bytes of an id.
    pub id: usize,
    pub classes: FxHashMap<ClassKey, Class>,
    /// Meanings of texts by id.
    pub words: FxHashMap<u64, Word>,
    /// Text id of each class's name.
    pub named: FxHashMap<u64, u64>,
    /// Text ids of all names: sorted and unique after [`Self::settle`].
    pub names: BudgetVec<u64>,
    memory: Reservation,
}

/// Estimated bytes of an entry of a hash table.
const ENTRY: u64 = 64;

/// Superclasses followed; deeper chains are circles of a damaged file.
const LEVELS: usize = 1 << 10;

/// Limit of the masked fields of a class.
const MOST_STEPS: usize = 1 << 16;

impl Classes {
    /// Starts empty.
    pub(super) fn new(budget: &Budget) -> Result<Self, StageError> {
        Ok(Self {
            id: 8,
            classes: FxHashMap::default(),
            words: FxHashMap::default(),
            named: FxHashMap::default(),
            names: budget.growing("names of the dump"),
            memory: budget.reserve("classes of the dump", 0)?,
        })
    }

    /// Accounts for an entry.
    pub(super) fn grow(&mut self) -> Result<(), StageError> {
        self.memory.grow(ENTRY)
    }

    /// Adds the text id of a name.
    pub(super) fn name(&mut self, id: u64) -> Result<(), StageError> {
        if self.names.last() == Some(&id) {
            return Ok(());
        }
        self.names.push(id)
    }

    /// Sorts the names.
    pub(super) fn settle(&mut self) {
        self.names.sort_unstable();
        let mut last = None;
        self.names.retain_mut(|_, id| last.replace(*id) != Some(*id));
    }

    /// Whether a text is a name.
    pub(super) fn is_name(&self, id: u64) -> bool {
        self.names.binary_search(&id).is_ok()
    }

    fn word(&self, id: u64) -> Option<Word> {
        self.words.get(&id).copied()
    }

    /// Returns what happens to a field of this class.
    pub(super) fn care(&self, class: u64, name: u64, kind: u8) -> Care {
        let of = self.named.get(&class).and_then(|&name| self.word(name));
        let field = self.word(name);
        match kind {
            OBJECT => Care::Keep,
            _ if field == Some(Word::Hash) || kind == CHAR => Care::Text,
            _ if is_structure(of, field) => Care::Keep,
            _ if of == Some(Word::Box) => Care::Boxed,
            _ => Care::Number,
        }
    }

    /// Returns the plan of a class; `None` if the class or a superclass is missing.
    pub(super) fn plan(&self, (heap, class): ClassKey) -> Option<Plan> {
        let mut plan = Plan::default();
        let mut at = class;
        for _ in 0..LEVELS {
            let Class { superclass, fields } = self.classes.get(&(heap, at))?;
            for &(name, kind) in fields {
                let width = width(kind, self.id)?;
                let care = self.care(at, name, kind);
                if care != Care::Keep {
                    let (at, is_boolean) = (u32::try_from(plan.bytes).ok()?, kind == BOOLEAN);
                    plan.steps.push(Step { at, width: width as u8, is_boolean, care });
                }
                plan.bytes += width as u64;
            }
            if *superclass == 0 {
                return Some(plan);
            }
            if plan.steps.len() > MOST_STEPS {
                return None;
            }
            at = *superclass;
        }
        None
    }
}

/// Whether a field of a class is structure.
fn is_structure(class: Option<Word>, field: Option<Word>) -> bool {
    let Some(Word::Field(field)) = field else { return false };
    let (any_of_util, known) = (&STRUCTURE[STRUCTURE.len() - 1], STRUCTURE.iter());
    match class {
        Some(Word::Class(at)) => known.enumerate().any(|(row, (name, fields))| {
            (row == usize::from(at) || (*name == any_of_util.0 && is_util(at))) && fields.contains(&field)
        }),
        Some(Word::Util) => any_of_util.1.contains(&field),
        _ => false,
    }
}

/// Whether a class of [`STRUCTURE`] is below `java/util/`.
fn is_util(at: u8) -> bool {
    STRUCTURE[usize::from(at)].0.starts_with("java/util/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_stays_and_data_does_not() {
        let mut classes = Classes::new(&Budget::new(1 << 20)).unwrap();
        classes.id = 4;
        for (id, text) in [
            (1, "java/lang/String"),
            (2, "coder"),
            (3, "hash"),
            (4, "java.lang.Integer"),
            (5, "value"),
            (6, "java/util/HashMap"),
            (7, "size"),
            (8, "app/Account"),
        ] {
            word(text.as_bytes()).map(|word| classes.words.insert(id, word));
        }
        for (class, name) in [(101, 1), (104, 4), (106, 6), (108, 8)] {
            classes.named.insert(class, name);
        }
        let care = |class: u64, name: u64, kind: u8| classes.care(class, name, kind);
        assert_eq!([care(101, 2, 8), care(101, 3, 10), care(101, 5, 2)], [Care::Keep, Care::Text, Care::Keep]);
        assert_eq!([care(104, 5, 10), care(106, 7, 10), care(108, 7, 10)], [Care::Boxed, Care::Keep, Care::Number]);
        assert_eq!([care(108, 2, 8), care(108, 5, 5)], [Care::Number, Care::Text]);
    }

    #[test]
    fn plans_follow_superclasses() {
        let mut classes = Classes::new(&Budget::new(1 << 20)).unwrap();
        classes.classes.insert((0, 1), Class { superclass: 2, fields: vec![(9, 10), (9, 2), (9, 4)] });
        classes.classes.insert((0, 2), Class { superclass: 0, fields: vec![(9, 11)] });
        let plan = classes.plan((0, 1)).unwrap();
        assert_eq!(plan.bytes, 4 + 8 + 1 + 8);
        assert_eq!(plan.steps.iter().map(|step| (step.at, step.width)).collect::<Vec<_>>(), [(0, 4), (12, 1), (13, 8)]);
        assert_eq!(classes.plan((1, 1)), None);
        classes.classes.insert((0, 2), Class { superclass: 1, fields: vec![] });
        assert_eq!(classes.plan((0, 1)), None);
    }
}
