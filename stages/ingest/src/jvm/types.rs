//! Type descriptors: the classes of a dump with their names and fields.
//!
//! All are in memory: about 80 bytes per class, 8 per field and 16 per static reference, accounted.

use super::names::{Texts, class_name};
use super::record::ClassPart;
use super::value;
use crate::names::NameWriter;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::{BudgetVec, ColumnReader, ColumnWriter, Context, Scratch, StageError};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::Column;
use std::ops::Range;

/// A class of the dump.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct TypeDescriptor {
    /// Its address.
    pub id: u64,
    /// Address of its superclass; 0 for none.
    pub superclass: u64,
    /// Address of its loader; 0 for the boot loader.
    pub loader: u64,
    /// Offset of its record.
    pub offset: u64,
    /// Its node.
    pub node: NodeId,
    /// Its display name.
    pub name: StringId,
    /// Its first field in [`FIELDS`].
    pub first_field: u32,
    /// Its number of fields.
    pub fields: u32,
    /// Its first static reference in [`STATICS`].
    pub first_static: u32,
    /// Its number of static references.
    pub statics: u32,
    /// Bytes of its primitive static fields.
    pub static_bytes: u32,
    /// Whether a primitive static field has eight bytes.
    pub has_wide_static: u32,
}

impl TypeDescriptor {
    /// Its fields in [`FIELDS`].
    pub(crate) fn fields(&self) -> Range<usize> {
        self.first_field as usize..(self.first_field + self.fields) as usize
    }

    /// Its static references in [`STATICS`].
    pub(crate) fn statics(&self) -> Range<usize> {
        self.first_static as usize..(self.first_static + self.statics) as usize
    }
}

/// A field of instances.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Field {
    /// Its name; [`StringId::NONE`] if the dump has none.
    pub name: StringId,
    /// Its type code.
    pub kind: u32,
}

/// A static reference field.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Static {
    /// Address of its target.
    pub value: u64,
    /// Its name; [`StringId::NONE`] if the dump has none.
    pub name: StringId,
    /// Whether the virtual machine stores it outside the class object.
    pub elsewhere: u32,
}

/// The descriptors, in the order of the dump.
pub(crate) const DESCRIPTORS: Column<TypeDescriptor> = Column::new("jvm.class");
/// Fields of their instances, contiguous per class, in the order of an instance's body.
pub(crate) const FIELDS: Column<Field> = Column::new("jvm.field");
/// Their static references, contiguous per class.
pub(crate) const STATICS: Column<Static> = Column::new("jvm.static");

/// Collects the classes of a dump in the order of their records.
pub(crate) struct TypeWriter {
    descriptors: BudgetVec<TypeDescriptor>,
    fields: BudgetVec<Field>,
    statics: BudgetVec<Static>,
    /// Ids of the names of fields and of static fields; the texts may follow later.
    field_names: BudgetVec<u64>,
    static_names: BudgetVec<u64>,
    /// Class and name of the load records.
    loaded: BudgetVec<(u64, u64)>,
    /// Serial number and class of the load records.
    serials: BudgetVec<(u32, u64)>,
}

impl TypeWriter {
    /// Starts empty.
    pub(crate) fn new(context: &Context<'_>) -> Self {
        let budget = &context.budget;
        Self {
            descriptors: budget.growing("classes"),
            fields: budget.growing("fields"),
            statics: budget.growing("static fields"),
            field_names: budget.growing("names of fields"),
            static_names: budget.growing("names of static fields"),
            loaded: budget.growing("loaded classes"),
            serials: budget.growing("loaded classes"),
        }
    }

    /// Adds a load record.
    pub(crate) fn load(&mut self, serial: u32, class: u64, name: u64) -> Result<(), StageError> {
        self.loaded.push((class, name))?;
        self.serials.push((serial, class))
    }

    /// Returns the positions at which the next class's fields and static fields begin.
    pub(crate) fn mark(&self) -> (u32, u32) {
        (self.fields.len() as u32, self.statics.len() as u32)
    }

    /// Adds a part of the next class; returns the bytes of a primitive static field, otherwise 0.
    pub(crate) fn part(&mut self, part: ClassPart) -> Result<u32, StageError> {
        match part {
            ClassPart::Field { name, kind } => {
                self.field_names.push(name)?;
                self.fields.push(Field { name: StringId::NONE, kind: kind.into() })?;
            }
            ClassPart::Static { name, kind: value::OBJECT, value } => {
                self.static_names.push(name)?;
                self.statics.push(Static { value, name: StringId::NONE, elsewhere: 0 })?;
            }
            ClassPart::Static { kind, .. } => return Ok(value::width(kind, 0).unwrap_or(0) as u32),
        }
        Ok(0)
    }

    /// Adds a class with the parts since `mark`.
    pub(crate) fn class(&mut self, class: TypeDescriptor, mark: (u32, u32)) -> Result<(), StageError> {
        let (first_field, first_static) = mark;
        let (fields, statics) = (self.fields.len() as u32 - first_field, self.statics.len() as u32 - first_static);
        self.descriptors.push(TypeDescriptor { first_field, fields, first_static, statics, ..class })
    }

    /// Resolves the names and writes the columns.
    pub(crate) fn finish(
        mut self,
        texts: &Texts,
        names: &mut NameWriter,
        scratch: &Scratch,
    ) -> Result<Loaded, StageError> {
        let mut name_of = |id: u64| texts.get(id).map_or(Ok(StringId::NONE), |text| names.intern(text));
        for (field, &name) in self.fields.iter_mut().zip(self.field_names.iter()) {
            field.name = name_of(name)?;
        }
        for (field, &name) in self.statics.iter_mut().zip(self.static_names.iter()) {
            field.name = name_of(name)?;
            field.elsewhere = texts.get(name).is_some_and(|text| text.starts_with(b"<")).into();
        }
        let loaded = Loaded::new(self.loaded, self.serials);
        for class in self.descriptors.iter_mut() {
            class.name = match loaded.name(class.id, texts) {
                Some(text) => names.intern(&class_name(text))?,
                None => names.intern(format!("(unnamed class {:#x})", class.id).as_bytes())?,
            };
        }
        ColumnWriter::write_each(scratch, DESCRIPTORS, self.descriptors.iter().copied())?;
        ColumnWriter::write_each(scratch, FIELDS, self.fields.iter().copied())?;
        ColumnWriter::write_each(scratch, STATICS, self.statics.iter().copied())?;
        Ok(loaded)
    }
}

/// Names of classes, from load records.
pub(crate) struct Loaded {
    /// Class and id of its name, sorted by class.
    names: BudgetVec<(u64, u64)>,
    /// Serial number and class, sorted by number.
    serials: BudgetVec<(u32, u64)>,
}

impl Loaded {
    fn new(mut names: BudgetVec<(u64, u64)>, mut serials: BudgetVec<(u32, u64)>) -> Self {
        names.sort_unstable();
        serials.sort_unstable();
        Self { names, serials }
    }

    /// Returns the name of a class.
    pub(crate) fn name<'a>(&self, class: u64, texts: &'a Texts) -> Option<&'a [u8]> {
        let at = self.names.partition_point(|&(id, _)| id < class);
        self.names.get(at).filter(|&&(id, _)| id == class).and_then(|&(_, name)| texts.get(name))
    }

    /// Returns the name of the class with a serial number.
    pub(crate) fn name_by_serial<'a>(&self, serial: u32, texts: &'a Texts) -> Option<&'a [u8]> {
        let at = self.serials.binary_search_by_key(&serial, |&(serial, _)| serial).ok()?;
        self.name(self.serials[at].1, texts)
    }
}

/// Reads a column into memory.
pub(crate) fn load<T: Pod>(
    scratch: &Scratch,
    context: &Context<'_>,
    who: &'static str,
    column: Column<T>,
) -> Result<BudgetVec<T>, StageError> {
    let mut reader = ColumnReader::open(scratch, column)?;
    let mut items = context.budget.zeroed(who, reader.remaining() as usize)?;
    reader.read_into(&mut items)?;
    Ok(items)
}
