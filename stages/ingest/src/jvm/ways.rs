//! How the edges that hold are called, for chains, in a byte each: most edges come from instances, and there the class
//! and the position of a field among its references say it. Others have a name of their own.

use super::classes::Classes;
use super::names::Names;
use heaplake_kit::{BudgetVec, ColumnWriter, Context, Scratch, StageError, StringTable};
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::{self as columns, STRINGS, way};

/// What leads from a node to another.
#[derive(Clone, Copy)]
pub enum Way {
    /// Nothing that has a name.
    Unnamed,
    /// The edge from an object to its class.
    Class,
    /// A reference of an instance, by its position among them.
    Slot(usize),
    /// An element of an array.
    Element,
    /// A string id.
    Named(u32),
}

/// The columns of ways.
pub struct Ways {
    way: ColumnWriter<u8>,
    name: ColumnWriter<u32>,
}

impl Ways {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            way: ColumnWriter::create(scratch, columns::HOLDS_WAY)?,
            name: ColumnWriter::create(scratch, columns::HOLDS_NAME)?,
        })
    }

    /// That of the next holding edge. `name` is that of a reference, for the last ones of a class that has very many.
    ///
    /// # Errors
    /// [`StageError::Io`].
    #[inline]
    pub fn push(&mut self, way: Way, name: impl FnOnce() -> u32) -> Result<(), StageError> {
        let named = match way {
            // The class comes before the references.
            Way::Class => return self.way.push(0),
            Way::Slot(slot) if slot + 1 < usize::from(way::LEAST) => return self.way.push(slot as u8 + 1),
            Way::Element => return self.way.push(way::INDEX),
            Way::Slot(_) => name(),
            Way::Unnamed => label::NONE,
            Way::Named(name) => name,
        };
        self.way.push(way::NAMED)?;
        self.name.push(named)
    }

    /// Ends the columns.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(self) -> Result<(), StageError> {
        self.way.finish()?;
        self.name.finish().map(drop)
    }
}

/// Writes the names of the ways out of the instances of each class, and of so many more that have none.
///
/// # Errors
/// [`StageError::Io`].
pub fn write_names(classes: &Classes, more: usize, class: StringId, scratch: &Scratch) -> Result<(), StageError> {
    let mut start = ColumnWriter::create(scratch, columns::CLASS_WAY_START)?;
    let mut names = ColumnWriter::create(scratch, columns::CLASS_WAY)?;
    start.push(0)?;
    for position in 0..classes.classes.len() {
        names.push(class)?;
        for slot in classes.slots(classes.layout(position)).iter().take(usize::from(way::LEAST) - 1) {
            names.push(classes.fields[slot.field()].name)?;
        }
        start.push(names.len())?;
    }
    (0..more).try_for_each(|_| start.push(names.len()))?;
    start.finish()?;
    names.finish().map(drop)
}

/// What static fields are called: class and name, for an object that stands for a class does not show which.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Overflow`].
pub fn static_names(
    classes: &Classes,
    names: &mut Names,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<BudgetVec<u32>, StageError> {
    let strings = StringTable::open(scratch, STRINGS)?;
    let mut of = context.budget.filled("names of static fields", classes.statics.len(), label::NONE)?;
    for class in classes.classes.iter() {
        let (first, end) = (class.first_static as usize, (class.first_static + class.statics) as usize);
        for (field, of) in classes.statics[first..end].iter().zip(&mut of[first..end]) {
            if let Some(name) = field.name.get().filter(|_| field.value != 0) {
                let text = [strings.get(class.name.index()), b".", strings.get(name as usize)].concat();
                *of = names.intern(&text)?.0;
            }
        }
    }
    Ok(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::ColumnMap;

    #[test]
    fn what_has_no_byte_of_its_own_has_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let mut ways = Ways::create(&scratch).unwrap();
        let pushed = [
            Way::Class,
            Way::Slot(0),
            Way::Slot(252),
            Way::Slot(253),
            Way::Slot(70_000),
            Way::Element,
            Way::Unnamed,
            Way::Named(5),
        ];
        for (at, &way) in pushed.iter().enumerate() {
            ways.push(way, || 100 + at as u32).unwrap();
        }
        ways.finish().unwrap();
        let bytes = ColumnMap::open(&scratch, columns::HOLDS_WAY, None).unwrap();
        assert_eq!(bytes[..], [0, 1, 253, 255, 255, 254, 255, 255]);
        let names = ColumnMap::open(&scratch, columns::HOLDS_NAME, None).unwrap();
        assert_eq!(names[..], [103, 104, label::NONE, 5]);
    }
}
