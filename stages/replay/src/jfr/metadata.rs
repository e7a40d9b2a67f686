//! The metadata of a chunk: classes of its events and constants.
//!
//! The metadata is an event with a string table and a tree of elements. Only elements `class` and the elements `field`
//! inside them are used. A field is a number, a text, an inline object of another class, or the key of a constant; or a
//! list of these.

use super::chunk::{Bad, Failure, bad};
use super::cursor::{Cursor, Written};
use heaplake_kit::memory_account::{MemoryAccount, allocated};
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Greatest depth of elements, and of inline objects.
const DEEPEST: usize = 32;

/// Bytes of a text, class or field besides its name, list growth included.
const ENTRY: u64 = 128;

/// Kind of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// 8-bit integer.
    Byte,
    /// 16-bit integer.
    Short,
    /// 32-bit integer.
    Int,
    /// 64-bit integer.
    Long,
    /// 32-bit float.
    Float,
    /// 64-bit float.
    Double,
    /// A text.
    Text,
    /// An inline object, with the position of its class.
    Object(u32),
    /// The key of a constant, with the position of its class.
    Constant(u32),
    /// Of an undescribed class.
    Unknown,
}

/// A field of a class.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Its name.
    pub name: Box<str>,
    /// Its kind, or that of its elements.
    pub kind: Kind,
    /// Whether it is a list.
    pub list: bool,
}

/// A class of events or constants.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// Its name.
    pub name: Box<str>,
    /// Its fields, in order.
    pub fields: Vec<Field>,
}

/// The class of a field as written.
struct Wanted {
    class: i64,
    constant: bool,
}

/// All classes of a chunk.
pub(crate) struct Types {
    /// The classes, by position.
    pub classes: Vec<Class>,
    /// The class of texts.
    pub texts: Option<u32>,
    numbers: FxHashMap<i64, u32>,
    account: MemoryAccount,
}

/// Reads the tree.
struct Reader<'a> {
    fields: Cursor<'a>,
    texts: Vec<String>,
    types: Types,
    /// By class, then by field.
    wanted: Vec<Vec<Wanted>>,
}

impl Types {
    /// Parses the metadata event at `start` of a chunk.
    pub(crate) fn read(event: &[u8], compressed: bool, start: u64, budget: &Budget) -> Result<Self, Failure> {
        let account = MemoryAccount::new(budget, "the metadata of the recording")?;
        let types = Self { classes: Vec::new(), texts: None, numbers: FxHashMap::default(), account };
        let fields = Cursor::new(event, compressed);
        let mut reader = Reader { fields, texts: Vec::new(), types, wanted: Vec::new() };
        let done = reader.head().and_then(|()| reader.element(None, 0));
        let at = start + reader.fields.at() as u64;
        match done {
            Ok(()) => {}
            Err(Stop::Early) => return Err(short(at).into()),
            Err(Stop::Stage(error)) => return Err(error.into()),
        }
        Ok(reader.resolve())
    }

    /// Returns the position of the class with an id.
    pub(crate) fn number(&self, id: i64) -> Option<u32> {
        self.numbers.get(&id).copied()
    }

    /// Returns the position of the class with a name.
    pub(crate) fn named(&self, name: &str) -> Option<u32> {
        self.classes.iter().position(|class| &*class.name == name).map(|number| number as u32)
    }

    /// Skips a field.
    pub(crate) fn skip(&self, field: &Field, fields: &mut Cursor<'_>, depth: usize) -> Option<()> {
        let count = if field.list { fields.count()? } else { 1 };
        (0..count).try_for_each(|_| self.skip_one(field.kind, fields, depth))
    }

    fn skip_one(&self, kind: Kind, fields: &mut Cursor<'_>, depth: usize) -> Option<()> {
        match kind {
            Kind::Byte => fields.byte().map(drop),
            Kind::Short => fields.short().map(drop),
            Kind::Int => fields.int().map(drop),
            Kind::Long | Kind::Constant(_) => fields.long().map(drop),
            Kind::Float => fields.take(4).map(drop),
            Kind::Double => fields.take(8).map(drop),
            Kind::Text => fields.text().map(drop),
            Kind::Object(class) => self.skip_object(class, fields, depth + 1),
            Kind::Unknown => None,
        }
    }

    /// Skips all fields of a class. Inline objects need at least one field, so that the work is bounded by the bytes.
    pub(crate) fn skip_object(&self, class: u32, fields: &mut Cursor<'_>, depth: usize) -> Option<()> {
        let class = &self.classes[class as usize];
        if depth > DEEPEST || (depth > 0 && class.fields.is_empty()) {
            return None;
        }
        // Text constants have no fields.
        if &*class.name == TEXT {
            return fields.text().map(drop);
        }
        class.fields.iter().try_for_each(|field| self.skip(field, fields, depth))
    }
}

/// The class of texts.
const TEXT: &str = "java.lang.String";

fn short(at: u64) -> Bad {
    bad(at, "the metadata of a chunk", "something else, or its end")
}

/// Why parsing of the tree stops.
enum Stop {
    Early,
    Stage(StageError),
}

impl From<StageError> for Stop {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

impl Reader<'_> {
    /// Reads the head and the string table.
    fn head(&mut self) -> Result<(), Stop> {
        let fields = &mut self.fields;
        let head = fields.int().and_then(|_| fields.long()).and_then(|_| fields.long()).and_then(|_| fields.long());
        let count = head.and_then(|_| fields.long()).and_then(|_| fields.count()).ok_or(Stop::Early)?;
        for _ in 0..count {
            let text = match self.fields.text().ok_or(Stop::Early)? {
                Written::Constant(_) => return Err(Stop::Early),
                written => written.text(),
            };
            self.types.account.add(ENTRY / 2 + allocated(text.len()))?;
            self.texts.push(text);
        }
        Ok(())
    }

    /// Reads an index into the string table.
    fn number(&mut self) -> Result<usize, Stop> {
        let number = self.fields.int().and_then(|number| usize::try_from(number).ok());
        number.filter(|&number| number < self.texts.len()).ok_or(Stop::Early)
    }

    /// Reads an element and all below it; `inside` is its enclosing class.
    fn element(&mut self, inside: Option<usize>, depth: usize) -> Result<(), Stop> {
        if depth > DEEPEST {
            return Err(Stop::Early);
        }
        let name = self.number()?;
        let attributes = self.fields.count().ok_or(Stop::Early)?;
        let (mut of, mut id, mut class, mut constant, mut list) = (None, None, None, false, false);
        for _ in 0..attributes {
            let (key, value) = (self.number()?, self.number()?);
            let value_text = &self.texts[value];
            match self.texts[key].as_str() {
                "name" => of = Some(value),
                "id" => id = value_text.parse::<i64>().ok(),
                "class" => class = value_text.parse::<i64>().ok(),
                "constantPool" => constant = value_text == "true",
                "dimension" => list = value_text != "0",
                _ => {}
            }
        }
        let own = match (self.texts[name].as_str(), inside) {
            ("class", _) => Some(self.class(of, id.ok_or(Stop::Early)?)?),
            ("field", Some(inside)) => {
                let wanted = Wanted { class: class.ok_or(Stop::Early)?, constant };
                self.field(inside, of, wanted, list)?;
                None
            }
            _ => None,
        };
        let children = self.fields.count().ok_or(Stop::Early)?;
        (0..children).try_for_each(|_| self.element(own, depth + 1))
    }

    fn class(&mut self, name: Option<usize>, id: i64) -> Result<usize, Stop> {
        let name = current(name.map_or("", |name| &self.texts[name]));
        self.types.account.add(ENTRY + allocated(name.len()))?;
        let number = self.types.classes.len();
        self.types.numbers.insert(id, number as u32);
        self.types.classes.push(Class { name: name.into(), fields: Vec::new() });
        self.wanted.push(Vec::new());
        Ok(number)
    }

    fn field(&mut self, class: usize, name: Option<usize>, wanted: Wanted, list: bool) -> Result<(), Stop> {
        let name = name.map_or("", |name| &self.texts[name]);
        self.types.account.add(ENTRY + allocated(name.len()))?;
        self.types.classes[class].fields.push(Field { name: name.into(), kind: Kind::Unknown, list });
        self.wanted[class].push(wanted);
        Ok(())
    }

    /// Resolves the kinds of fields, once all classes are known.
    fn resolve(self) -> Types {
        let Self { mut types, wanted, .. } = self;
        for (class, wanted) in wanted.iter().enumerate() {
            for (field, wanted) in wanted.iter().enumerate() {
                let kind = match types.number(wanted.class) {
                    None if wanted.constant => Kind::Long,
                    None => Kind::Unknown,
                    Some(of) if wanted.constant => Kind::Constant(of),
                    Some(of) => primitive(&types.classes[of as usize].name).unwrap_or(Kind::Object(of)),
                };
                types.classes[class].fields[field].kind = kind;
            }
        }
        types.texts = types.named(TEXT);
        types
    }
}

/// Maps a class name of JDK 9 to that of JDK 11.
fn current(name: &str) -> Cow<'_, str> {
    const FORMER: [(&str, &str); 2] = [("com.oracle.jdk.", "jdk."), ("com.oracle.jfr.types.", "jdk.types.")];
    let renamed = |(former, now): &(&str, &str)| name.strip_prefix(former).map(|rest| format!("{now}{rest}").into());
    FORMER.iter().find_map(renamed).unwrap_or(Cow::Borrowed(name))
}

/// Kind of fields of a class without fields of its own.
fn primitive(name: &str) -> Option<Kind> {
    Some(match name {
        "boolean" | "byte" => Kind::Byte,
        "short" | "char" => Kind::Short,
        "int" => Kind::Int,
        "long" => Kind::Long,
        "float" => Kind::Float,
        "double" => Kind::Double,
        TEXT => Kind::Text,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::current;

    #[test]
    fn classes_have_the_names_of_today() {
        for (name, now) in [
            ("com.oracle.jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationInNewTLAB"),
            ("com.oracle.jfr.types.StackTrace", "jdk.types.StackTrace"),
            ("com.oracle.jfr.settings.Period", "com.oracle.jfr.settings.Period"),
            ("com.oracle.jdk", "com.oracle.jdk"),
            ("jdk.OldObjectSample", "jdk.OldObjectSample"),
        ] {
            assert_eq!(current(name), now);
        }
    }
}
