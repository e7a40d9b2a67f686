//! Selection of fields of events and constants, and their values.

use super::cursor::{Cursor, Written};
use super::metadata::{Field, Kind, Types};

/// Slot of an unselected field.
const PASSED: u8 = u8::MAX;

/// Value of a field. Offsets are in the bytes it was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Value {
    /// The class has no such field, or it is null.
    #[default]
    None,
    /// An integer.
    Number(i64),
    /// Class and key of a constant.
    Constant(u32, i64),
    /// A text.
    Text(String),
    /// Class and offset of an inline object.
    Object(u32, usize),
    /// Element class and offset of a list.
    List(u32, usize),
}

impl Value {
    /// The value of a text as encoded; `texts` is the class of text constants.
    pub(crate) fn of_text(text: Written<'_>, texts: Option<u32>) -> Self {
        match text {
            Written::Null => Self::None,
            Written::Constant(key) => texts.map_or(Self::None, |class| Self::Constant(class, key)),
            text => Self::Text(text.text()),
        }
    }

    /// The value if it is an integer.
    pub(crate) fn number(&self) -> Option<i64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// The value if it is a size or a count.
    pub(crate) fn amount(&self) -> Option<u64> {
        self.number().and_then(|number| u64::try_from(number).ok())
    }

    /// Class and key if it is a constant.
    pub(crate) fn constant(&self) -> Option<(u32, i64)> {
        if let Self::Constant(class, key) = *self { Some((class, key)) } else { None }
    }
}

/// Selected fields of a class, in an order of their own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    class: Option<u32>,
    /// Position among the selected fields, by field.
    slots: Vec<u8>,
}

impl Plan {
    /// Selects fields of a class by their names.
    pub(crate) fn named(types: &Types, class: &str, fields: &[&str]) -> Self {
        types.named(class).map_or_else(Self::default, |class| Self::new(types, class, fields))
    }

    /// Selects fields by name.
    pub(crate) fn new(types: &Types, class: u32, fields: &[&str]) -> Self {
        let slot = |field: &Field| fields.iter().position(|name| **name == *field.name).map_or(PASSED, |at| at as u8);
        Self { class: Some(class), slots: types.classes[class as usize].fields.iter().map(slot).collect() }
    }

    /// Whether the plan is for this class.
    pub(crate) fn is_of(&self, class: u32) -> bool {
        self.class == Some(class)
    }

    /// Reads the selected values; `None` if the bytes end too early.
    pub(crate) fn read<const N: usize>(&self, types: &Types, fields: &mut Cursor<'_>) -> Option<[Value; N]> {
        let mut values = [const { Value::None }; N];
        let class = &types.classes[self.class? as usize];
        for (field, &slot) in class.fields.iter().zip(&self.slots) {
            match values.get_mut(usize::from(slot)) {
                Some(value) => *value = take(types, field, fields)?,
                None => types.skip(field, fields, 0)?,
            }
        }
        Some(values)
    }
}

/// Reads the value of a field.
fn take(types: &Types, field: &Field, fields: &mut Cursor<'_>) -> Option<Value> {
    let at = fields.at();
    let value = match field.kind {
        Kind::Object(class) if field.list => Value::List(class, at),
        _ if field.list => Value::None,
        Kind::Byte => return fields.byte().map(|byte| Value::Number(i64::from(byte as i8))),
        Kind::Short => return fields.short().map(|short| Value::Number(i64::from(short as i16))),
        Kind::Int => return fields.int().map(|int| Value::Number(i64::from(int))),
        Kind::Long => return fields.long().map(Value::Number),
        Kind::Constant(class) => return fields.long().map(|key| Value::Constant(class, key)),
        Kind::Text => return fields.text().map(|text| Value::of_text(text, types.texts)),
        Kind::Object(class) => Value::Object(class, at),
        Kind::Float | Kind::Double | Kind::Unknown => Value::None,
    };
    types.skip(field, fields, 0)?;
    Some(value)
}
