//! Type descriptors: the classes of a dump with their names and fields.
//!
//! They are held in memory: some 80 bytes per class, 8 per field and 16 per static reference, all of it counted.

use super::names::{Texts, class_name};
use super::record::ClassPart;
use super::value;
use crate::names::Names;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::access::{Access, column};
use heaplake_kit::{BudgetVec, ColumnReader, ColumnWriter, Context, Scratch, StageError};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::Column;

/// A class as the dump has it.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct TypeDescriptor {
    /// Its address.
    pub id: u64,
    /// That of the class that it extends; 0 for none.
    pub superclass: u64,
    /// That of its loader; 0 for the boot loader.
    pub loader: u64,
    /// Where the dump has it.
    pub offset: u64,
    /// Its node.
    pub node: NodeId,
    /// Its name for people.
    pub name: StringId,
    /// Its first one of [`FIELDS`].
    pub first_field: u32,
    /// How many they are.
    pub fields: u32,
    /// Its first one of [`STATICS`].
    pub first_static: u32,
    /// How many they are.
    pub statics: u32,
    /// Bytes of its other static fields.
    pub static_bytes: u32,
    /// Whether one of these has eight bytes.
    pub has_wide_static: u32,
}

/// A field of instances.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Field {
    /// Its name; [`StringId::NONE`] where the dump has none.
    pub name: StringId,
    /// Its type, as the format numbers them.
    pub kind: u32,
}

/// A static field that is a reference.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Static {
    /// What it refers to.
    pub value: u64,
    /// Its name; [`StringId::NONE`] where the dump has none.
    pub name: StringId,
    /// Whether the virtual machine keeps it elsewhere, so that the class has no such field.
    pub elsewhere: u32,
}

/// The descriptors, in the order of the dump.
pub const DESCRIPTORS: Column<TypeDescriptor> = Column::new("jvm.class");
/// Fields of their instances, those of one class together, in the order in which instances have them.
pub const FIELDS: Column<Field> = Column::new("jvm.field");
/// Their static references, those of one class together.
pub const STATICS: Column<Static> = Column::new("jvm.static");

/// All that describes types, for the declaration of a stage.
pub const COLUMNS: [Access; 3] = [column(DESCRIPTORS), column(FIELDS), column(STATICS)];

/// Collects the classes of a dump as they come.
pub struct TypeWriter {
    descriptors: BudgetVec<TypeDescriptor>,
    fields: BudgetVec<Field>,
    statics: BudgetVec<Static>,
    /// Ids of the names of fields and of static fields, which may be known later only.
    field_names: BudgetVec<u64>,
    static_names: BudgetVec<u64>,
    /// Class and name of the records of loading.
    loaded: BudgetVec<(u64, u64)>,
    /// Serial number and class of the same.
    serials: BudgetVec<(u32, u64)>,
}

impl TypeWriter {
    /// Begins without any.
    #[must_use]
    pub fn new(context: &Context<'_>) -> Self {
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

    /// A class got loaded.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn load(&mut self, serial: u32, class: u64, name: u64) -> Result<(), StageError> {
        self.loaded.push((class, name))?;
        self.serials.push((serial, class))
    }

    /// Where the fields of the next class begin, among fields and static fields.
    #[must_use]
    pub fn mark(&self) -> (u32, u32) {
        (self.fields.len() as u32, self.statics.len() as u32)
    }

    /// A part of the next class; gives the bytes of a static field that is no reference.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn part(&mut self, part: ClassPart) -> Result<u32, StageError> {
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

    /// A class whose parts were given since `mark`.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn class(&mut self, class: TypeDescriptor, mark: (u32, u32)) -> Result<(), StageError> {
        let (first_field, first_static) = mark;
        let (fields, statics) = (self.fields.len() as u32 - first_field, self.statics.len() as u32 - first_static);
        self.descriptors.push(TypeDescriptor { first_field, fields, first_static, statics, ..class })
    }

    /// Gives everything its name and writes it.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn finish(mut self, texts: &Texts, names: &mut Names, scratch: &Scratch) -> Result<Loaded, StageError> {
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
        write(scratch, DESCRIPTORS, &self.descriptors)?;
        write(scratch, FIELDS, &self.fields)?;
        write(scratch, STATICS, &self.statics)?;
        Ok(loaded)
    }
}

/// What the dump calls its classes.
pub struct Loaded {
    /// Class and id of its name, by class.
    names: BudgetVec<(u64, u64)>,
    /// Serial number and class, by number.
    serials: BudgetVec<(u32, u64)>,
}

impl Loaded {
    fn new(mut names: BudgetVec<(u64, u64)>, mut serials: BudgetVec<(u32, u64)>) -> Self {
        names.sort_unstable();
        serials.sort_unstable();
        Self { names, serials }
    }

    /// Name of a class.
    #[must_use]
    pub fn name<'a>(&self, class: u64, texts: &'a Texts) -> Option<&'a [u8]> {
        let at = self.names.partition_point(|&(id, _)| id < class);
        self.names.get(at).filter(|&&(id, _)| id == class).and_then(|&(_, name)| texts.get(name))
    }

    /// Name of the class with a serial number.
    #[must_use]
    pub fn name_by_serial<'a>(&self, serial: u32, texts: &'a Texts) -> Option<&'a [u8]> {
        let at = self.serials.binary_search_by_key(&serial, |&(serial, _)| serial).ok()?;
        self.name(self.serials[at].1, texts)
    }
}

fn write<T: Pod>(scratch: &Scratch, column: Column<T>, items: &[T]) -> Result<(), StageError> {
    let mut writer = ColumnWriter::create(scratch, column)?;
    writer.extend(items)?;
    writer.finish().map(drop)
}

/// Reads a column into memory.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`].
pub fn load<T: Pod>(
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
